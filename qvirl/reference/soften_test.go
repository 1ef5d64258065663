package reference

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// The needle: rooms with rewards N(0, 1), each behind a door that leads to it or to what is known to be worth a
// threshold. The expert chooses a random door rather than the best lottery of all doors but one that has a chance of
// needleGain more than the threshold. What tells these two apart is the worst door alone, so that nothing shows below
// the threshold until all rooms are above it.
const (
	needleGain     = 0.3
	needleDiscount = 0.95
	needleBeta     = 3 // of the worst door's worth
)

func needle(t *testing.T, rooms int, threshold float64, demos int) *irl.Problem {
	t.Helper()
	const all, allButOne, choice, known, gain, first = 0, 1, 2, 3, 4, 5
	states, actions := first+2*rooms, max(rooms, 2)
	rows := make([][]mdp.Transition, states*actions)
	door := func(i int) int { return first + rooms + i }
	for a := range actions {
		for i := range rooms {
			rows[all*actions+a] = append(rows[all*actions+a], mdp.Transition{Next: door(i), Prob: 1 / float64(rooms)})
			if without := a % rooms; i != without {
				rows[allButOne*actions+a] = append(rows[allButOne*actions+a],
					mdp.Transition{Next: door(i), Prob: 1 / float64(rooms-1)})
			}
			to := known
			if a == 0 {
				to = first + i
			}
			rows[door(i)*actions+a] = []mdp.Transition{{Next: to, Prob: 1}}
		}
		rows[choice*actions+a] = []mdp.Transition{{Next: allButOne, Prob: 1 - 1/float64(rooms)},
			{Next: gain, Prob: 1 / float64(rooms)}}
	}
	rows[choice*actions] = []mdp.Transition{{Next: all, Prob: 1}}
	means, std := make([]float64, states), make([]float64, states)
	means[known], means[gain] = threshold, needleDiscount*needleDiscount*(threshold+needleGain)
	for i := range rooms {
		std[first+i] = 1
	}
	p := &irl.Problem{Discount: needleDiscount, Beta: needleBeta * float64(rooms) / math.Pow(needleDiscount, 3),
		Prior: irl.DiagonalPrior(means, std)}
	for range demos {
		p.Demos = append(p.Demos, mdp.Step{State: choice})
	}
	var err error
	if p.MDP, err = mdp.New(states, actions, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// needleMarginal returns the mean and standard deviation of a room, by quadrature over it and the least of the others.
func needleMarginal(rooms int, threshold float64, demos int) (mean, std float64) {
	const points, step = 1601, 0.01
	grid, weights := make([]float64, points), make([]float64, points)
	for i := range grid {
		grid[i] = -6 + step*float64(i)
	}
	others := float64(max(rooms, 2) - 1) // actions that do the same
	for i, x := range grid {
		for _, y := range grid {
			worst := math.Max(math.Min(x, y)-threshold, 0) - needleGain
			least := float64(rooms-1) * math.Exp(distuv.UnitNormal.LogProb(y)) *
				math.Pow(distuv.UnitNormal.Survival(y), float64(rooms-2))
			weights[i] += least * math.Pow(1/(1+others*math.Exp(-needleBeta*worst)), float64(demos))
		}
		weights[i] *= math.Exp(distuv.UnitNormal.LogProb(x))
	}
	return stat.PopMeanStdDev(grid, weights)
}

// TestNothingShowsUntilAllPay: the likelihood is constant near the prior and along every single reward.
func TestNothingShowsUntilAllPay(t *testing.T) {
	for _, c := range []struct {
		rooms     int
		threshold float64
		demos     int
	}{{2, 5, 35}, {3, 3.5, 23}, {5, 1.5, 11}} {
		post := fit(t, Default(), needle(t, c.rooms, c.threshold, c.demos))[0]
		mean, std := needleMarginal(c.rooms, c.threshold, c.demos)
		if ok, reason := post.Convergence(); !ok {
			t.Errorf("%d rooms: not converged: %s", c.rooms, reason)
		}
		for i := range c.rooms {
			// 1,000 effective draws: a standard error of 0.03 std of the mean, and at most that of the deviation
			if r := post.Reward(5 + i); math.Abs(r.Mean()-mean) > 0.12*std || math.Abs(r.StdDev()/std-1) > 0.12 {
				t.Errorf("%d rooms, room %d: %g ± %g, want %g ± %g", c.rooms, i, r.Mean(), r.StdDev(), mean, std)
			}
		}
		if mean < 0.3*c.threshold || mean > 0.8*c.threshold {
			t.Errorf("%d rooms: mean %g: the fixture has one explanation only", c.rooms, mean)
		}
	}
}

// TestSoftGradient compares the gradient of the log-likelihood of an expert who plans softly with central differences.
func TestSoftGradient(t *testing.T) {
	for name, p := range targets(t) {
		target, err := NewTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(3, 1))
		u, grad := make([]float64, target.Dim()), make([]float64, target.Dim())
		for j := range u {
			u[j] = rng.NormFloat64()
		}
		hard := target.LogLikelihood(u, nil)
		for _, temperature := range []float64{0.3, 3} {
			target.temperature = temperature
			if soft := target.LogLikelihood(u, grad); soft == hard {
				t.Errorf("%s: log-likelihood %g of soft planning, %g of hard", name, soft, hard)
			}
			for j := range u {
				const h = 1e-4
				at := func(d float64) float64 {
					moved := append([]float64(nil), u...)
					moved[j] += d
					return target.LogLikelihood(moved, nil)
				}
				// values are known within 1e-6 of the temperature, differences of 2 h therefore within about 0.01
				if want := (at(h) - at(-h)) / (2 * h); !scalar.EqualWithinAbsOrRel(grad[j], want, 0.02, 0.02) {
					t.Errorf("%s, temperature %g: derivative %d is %g, differences give %g", name, temperature, j,
						grad[j], want)
				}
			}
		}
		target.temperature = 0
		if again := target.LogLikelihood(u, nil); !scalar.EqualWithinAbs(again, hard, 1e-9) {
			t.Errorf("%s: log-likelihood %g after soft planning, %g before", name, again, hard)
		}
	}
}
