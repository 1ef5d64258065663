package reference

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
)

// The ring: rooms in a circle, with rewards N(±ringMean, 1) in turn. For each pair of neighbours the expert goes
// ringDemos times to a hall that leads to either, rather than for ringOr, so that the better of them must pay; and as
// often for ringAnd, rather than to either at random, so that not both may. Every second room pays: which, all pairs
// must agree on.
const (
	ringMean     = 0.03
	ringDemos    = 60
	ringBeta     = 8
	ringDiscount = 0.95
	ringOr       = 0.95
	ringAnd      = 1.5
)

func ring(t *testing.T, rooms int) *irl.Problem {
	t.Helper()
	or, and := rooms, rooms+1
	states := rooms + 2 + 3*rooms
	rows := make([][]mdp.Transition, 2*states)
	means, std := make([]float64, states), make([]float64, states)
	means[or], means[and] = ringOr, ringAnd
	p := &irl.Problem{Discount: ringDiscount, Beta: ringBeta}
	for i := range rooms {
		means[i], std[i] = ringMean*float64(2*(i%2)-1), 1
		next := (i + 1) % rooms
		fork := rooms + 2 + 3*i
		hall, lottery := fork+1, fork+2
		rows[2*fork], rows[2*fork+1] = []mdp.Transition{{Next: or, Prob: 1}}, []mdp.Transition{{Next: hall, Prob: 1}}
		rows[2*hall], rows[2*hall+1] = []mdp.Transition{{Next: i, Prob: 1}}, []mdp.Transition{{Next: next, Prob: 1}}
		rows[2*lottery] = []mdp.Transition{{Next: i, Prob: 0.5}, {Next: next, Prob: 0.5}}
		rows[2*lottery+1] = []mdp.Transition{{Next: and, Prob: 1}}
		for range ringDemos {
			p.Demos = append(p.Demos, mdp.Step{State: fork, Action: 1}, mdp.Step{State: lottery, Action: 1})
		}
	}
	p.Prior = irl.DiagonalPrior(means, std)
	var err error
	if p.MDP, err = mdp.New(states, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// ringMarginals returns the means and standard deviations of a room with the lower prior mean and of one with the
// higher, from the trace of the transfer matrix over a grid.
func ringMarginals(rooms int) (mean, std [2]float64) {
	const points, step = 301, 0.04
	grid := make([]float64, points)
	for i := range grid {
		grid[i] = step * float64(i-points/2)
	}
	// logs of the probabilities of what the expert does
	log := func(advantage float64) float64 { return -ringDemos * math.Log1p(math.Exp(-ringBeta*advantage)) }
	var to [2]*mat.Dense // from a room of either prior mean to the next: its prior times the likelihood of both
	for k := range to {
		to[k] = mat.NewDense(points, points, nil)
		to[k].Apply(func(i, j int, _ float64) float64 {
			x, y, prior := grid[i], grid[j], grid[i]-ringMean*float64(2*k-1)
			return math.Exp(log(ringDiscount*(ringDiscount*math.Max(x, y)-ringOr)) +
				log(ringDiscount*(ringAnd-(x+y)/2)) - prior*prior/2)
		}, to[k])
		to[k].Scale(1/mat.Max(to[k]), to[k])
	}
	for k := range to {
		var pair, all mat.Dense
		pair.Mul(to[k], to[1-k])
		all.Pow(&pair, rooms/2)
		weights := make([]float64, points)
		for i := range weights {
			weights[i] = all.At(i, i)
		}
		mean[k], std[k] = stat.PopMeanStdDev(grid, weights)
	}
	return mean, std
}

// TestChainsTurnRings: the two explanations of a ring differ in every room. Chains must jump between them often.
func TestChainsTurnRings(t *testing.T) {
	const rooms = 20
	c := Default()
	c.MaxIterations = 6000 // with one jump in two iterations, 1,000 effective samples took 50,000 of them
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	posts, err := m.Fit(t.Context(), []*irl.Problem{ring(t, rooms)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := posts[0].(*Posterior)
	if ok, reason := got.Convergence(); !ok {
		t.Errorf("not converged: %s", reason)
	}
	mean, std := ringMarginals(rooms)
	for i := range rooms {
		// 1,000 effective draws: a standard error of 0.03 std of the mean, and at most that of the deviation
		if r := got.Reward(i); math.Abs(r.Mean()-mean[i%2]) > 0.12*std[i%2] || math.Abs(r.StdDev()/std[i%2]-1) > 0.1 {
			t.Errorf("room %d: %g ± %g, want %g ± %g", i, r.Mean(), r.StdDev(), mean[i%2], std[i%2])
		}
	}
}

// stored returns a posterior as it is after it was saved and loaded.
func stored(t *testing.T, post *Posterior) *Posterior {
	t.Helper()
	file := filepath.Join(t.TempDir(), "posterior.npz")
	if err := problemfile.Save(file, post); err != nil {
		t.Fatal(err)
	}
	again, err := problemfile.Load(file, map[string]irl.Restore{Kind: Restore})
	if err != nil {
		t.Fatal(err)
	}
	return again.(*Posterior)
}

// TestExplanationsAreStored: a posterior says of its explanations what it said before it was stored.
func TestExplanationsAreStored(t *testing.T) {
	post := fit(t, Default(), detours(t, 1, 3))[0]
	_, want := post.Convergence()
	if !strings.Contains(want, "2 explanations") {
		t.Fatalf("%s, want 2 explanations", want)
	}
	if _, got := stored(t, post).Convergence(); got != want {
		t.Errorf("%q after loading, %q before", got, want)
	}
}

// TestGoalsAreMovedThereAndBack: two goals are as likely to exchange their values as to exchange them back, and great
// values move more.
func TestGoalsAreMovedThereAndBack(t *testing.T) {
	const draws = 20000
	pairs := func(u []float64) map[[2]int]float64 {
		shares, rng := map[[2]int]float64{}, rand.New(rand.NewPCG(1, 2))
		for range draws {
			m := moved([]int{0, 2, 3}, u, rng)
			shares[[2]int{min(m[0][0], m[1][0]), max(m[0][0], m[1][0])}] += 1. / draws
		}
		return shares
	}
	squares := []float64{1, 0, 4, 0.25}
	for _, pair := range [][2]int{{0, 2}, {0, 3}, {2, 3}} {
		u := []float64{-1, 7, 2, 0.5}
		want := (squares[pair[0]] + squares[pair[1]]) / 5.25 / 2
		there := pairs(u)[pair]
		u[pair[0]], u[pair[1]] = u[pair[1]], u[pair[0]]
		if back := pairs(u)[pair]; math.Abs(there-want) > 0.015 || math.Abs(back-want) > 0.015 { // four standard errors
			t.Errorf("goals %v move with probability %.4f, and back with %.4f, want %.4f", pair, there, back, want)
		}
	}
}
