package reference

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// searched returns a problem's target and the modes found.
func searched(t *testing.T, p *irl.Problem) (*Target, modes) {
	t.Helper()
	target, err := NewTarget(p)
	if err != nil {
		t.Fatal(err)
	}
	_, found := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
	return target, found.modes
}

// best returns the rewards of the best mode found.
func best(t *testing.T, p *irl.Problem) []float64 {
	t.Helper()
	target, found := searched(t, p)
	if len(found) == 0 {
		t.Fatal("no mode")
	}
	target.LogLikelihood(found[0].u, nil)
	return target.reward
}

// What is found does not depend on how many climbs run at a time, to the last digit.
func TestExploringOnSeveralProcessors(t *testing.T) {
	p := gate(t, 40, 1, -10, 20)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	_, want := searched(t, p)
	runtime.GOMAXPROCS(4)
	_, got := searched(t, p)
	if len(want) == 0 || len(got) != len(want) {
		t.Fatalf("%d modes on one processor, %d on four", len(want), len(got))
	}
	for i, m := range got {
		if !slices.Equal(m.u, want[i].u) || m.evidence != want[i].evidence {
			t.Errorf("mode %d on four processors differs from that on one", i)
		}
	}
}

// TestGateOfFeatures: the reward behind a gate is a sum over ten features, with random signs, that those elsewhere
// depend on, too.
func TestGateOfFeatures(t *testing.T) {
	const features, elsewhere, goal = 10, 20, 4
	p := gate(t, 40, 1, -10, elsewhere)
	weights := mat.NewDense(p.RewardDim(), features, nil)
	rng := mcmc.Stream(3, 4, 5)
	for i := goal; i < p.RewardDim(); i++ {
		for j := range features {
			w := rng.NormFloat64()
			if i == goal {
				w = math.Copysign(1/math.Sqrt(features), w)
			}
			weights.Set(i, j, w)
		}
	}
	p.Prior = irl.Prior{Mean: p.Prior.Mean, LowRank: weights}
	mean, std := roadSum(40, -10)
	if got := best(t, p)[goal]; math.Abs(got-mean) > std {
		t.Errorf("the best mode has the reward %g, the posterior %g ± %g", got, mean, std)
	}
}

// TestGateOfEqualRewards: the toll behind a gate is worth it only where the mean of four rooms is far out, and
// demonstrations hold the rooms equal, so that none of them can be alone.
func TestGateOfEqualRewards(t *testing.T) {
	const demos, rooms, toll, room, fork, cost = 30, 4, 4, 5, 9, -3.5
	p := gate(t, demos, 1, 0, 0)
	rows, std := append(rowsOf(p.MDP), make([][]mdp.Transition, 4*rooms)...), make([]float64, fork+rooms)
	means := append(p.Prior.Mean, make([]float64, 2*rooms)...)
	means[toll] = cost
	for i := range rooms {
		std[room+i] = 1
		rows[2*toll] = append(rows[2*toll], mdp.Transition{Next: room + i, Prob: 1. / rooms})
		for a := range 2 {
			rows[2*(fork+i)+a] = []mdp.Transition{{Next: room + (i+a)%rooms, Prob: 1}}
			for range 200 {
				p.Demos = append(p.Demos, mdp.Step{State: fork + i, Action: a})
			}
		}
	}
	rows[2*toll+1] = rows[2*toll]
	p.Prior = irl.DiagonalPrior(means, std)
	var err error
	if p.MDP, err = mdp.New(fork+rooms, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	// with the rooms equal, their mean is N(0, 1/4)
	var grid, weights []float64
	for x := -3.; x < 6; x += 1e-3 {
		logLikelihood := -demos * math.Log1p(math.Exp(-2*math.Max(-1, cost+x)))
		grid, weights = append(grid, x), append(weights, math.Exp(logLikelihood-2*x*x))
	}
	mean, deviation := stat.PopMeanStdDev(grid, weights)
	if got := stat.Mean(best(t, p)[room:fork], nil); mean < 3 || math.Abs(got-mean) > deviation {
		t.Errorf("in the best mode the rooms have the mean %g, in the posterior %g ± %g", got, mean, deviation)
	}
}

// TestSummits: an ill-conditioned prior and very many demonstrations, or an expert who hardly ever errs, hold
// rewards in some directions thousands of times as tightly as in others, where L-BFGS takes long. Places on the way are
// no explanations of their own.
func TestSummits(t *testing.T) {
	const states, actions, discount = 10, 3, 0.95
	rows, features := make([][]mdp.Transition, states*actions), mat.NewDense(states*actions, 2, nil)
	for i := range rows {
		s, a := i/actions, i%actions
		up := 0.1 + 0.4*float64(a)
		rows[i] = []mdp.Transition{{Next: min(s+1, states-1), Prob: 0.8 * up},
			{Next: max(s-1, 0), Prob: 0.8 * (1 - up)}, {Next: s, Prob: 0.2}}
		features.SetRow(i, []float64{float64(s) / 2.5, float64(a) / 2})
	}
	m, err := mdp.New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	smooth, err := irl.KernelPrior(irl.Kernel{Name: "rbf", Lengthscale: []float64{1}, Std: []float64{1}, Nugget: 1e-4},
		features, make([]float64, states*actions))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		prior irl.Prior
		demos int
		beta  float64
	}{"smooth": {smooth, 2000, 50}, "rational": {irl.IndependentPrior(states*actions, 0, 1), 60, 1e4}} {
		rng := mcmc.Stream(7, 8, 9)
		factor, err := c.prior.Factor()
		if err != nil {
			t.Fatal(err)
		}
		solution, err := m.Solve(c.prior.Draw(rng, factor), discount)
		if err != nil {
			t.Fatal(err)
		}
		p := &irl.Problem{MDP: m, Prior: c.prior, Discount: discount, Beta: c.beta}
		for i := range c.demos {
			s := i % states
			probs := mdp.LogBoltzmann(nil, solution.Q[s*actions:(s+1)*actions], actions, c.beta)
			for a, l := range probs {
				probs[a] = math.Exp(l)
			}
			p.Demos = append(p.Demos, mdp.Step{State: s, Action: mdp.Draw(rng, probs)})
		}
		_, found := searched(t, p)
		if n := len(found); n == 0 || n > 16 {
			t.Errorf("%s: %d explanations, want one, or few", name, n)
		}
	}
}
