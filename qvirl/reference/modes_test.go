package reference

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// detours is a problem with so many places. In the first state of each the expert turns off to where two roads of so
// many states begin, though a reward of 4 that is known lies straight ahead. Either road may be worth it, against four
// or five standard deviations of the prior: the sum of the first one's rewards is N(0, 1), that of the second
// N(−6, 2²).
func detours(t testing.TB, places, length int) *irl.Problem {
	t.Helper()
	size := 3 + 2*length
	rows := make([][]mdp.Transition, 2*places*size)
	mean, std := make([]float64, places*size), make([]float64, places*size)
	p := &irl.Problem{Discount: 1 - 1e-9, Beta: 5}
	for place := range places {
		begin := place * size
		turn, ahead, first, second := begin+1, begin+2, begin+3, begin+3+length // states
		for _, way := range [][3]int{{begin, turn, ahead}, {turn, first, second}} {
			rows[2*way[0]] = []mdp.Transition{{Next: way[1], Prob: 1}}
			rows[2*way[0]+1] = []mdp.Transition{{Next: way[2], Prob: 1}}
		}
		for _, road := range []int{first, second} {
			for s := road; s < road+length-1; s++ {
				rows[2*s] = []mdp.Transition{{Next: s + 1, Prob: 1}}
				rows[2*s+1] = rows[2*s]
			}
		}
		mean[ahead] = 4
		for i := range length {
			std[first+i] = 1 / math.Sqrt(float64(length))
			mean[second+i], std[second+i] = -6/float64(length), 2/math.Sqrt(float64(length))
		}
		for range 30 {
			p.Demos = append(p.Demos, mdp.Step{State: begin})
		}
	}
	var err error
	if p.MDP, err = mdp.New(places*size, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	p.Prior = irl.DiagonalPrior(mean, std)
	return p
}

// secondShare returns the probability of the detour that the second road is the better one, by quadrature over the sums
// of the rewards.
func secondShare() float64 {
	const nodes = 1201
	var all, second []float64
	for i := range nodes {
		x := 9 * (2*float64(i)/(nodes-1) - 1)
		for j := range nodes {
			z := 9 * (2*float64(j)/(nodes-1) - 1)
			y := -6 + 2*z
			gap := math.Max(x, y) - 4
			l := -x*x/2 - z*z/2 - 30*softplus(-5*gap)
			all = append(all, l)
			if y > x {
				second = append(second, l)
			}
		}
	}
	return math.Exp(floats.LogSumExp(second) - floats.LogSumExp(all))
}

// TestModesAreFound: both explanations of the detour, with their shares within Laplace's error.
func TestModesAreFound(t *testing.T) {
	for _, length := range []int{40, 300} {
		target, err := NewTarget(detours(t, 1, length))
		if err != nil {
			t.Fatal(err)
		}
		_, found := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
		if len(found) != 2 {
			t.Fatalf("%d modes, want 2", len(found))
		}
		target.LogLikelihood(found[0].u, nil)
		share := found.weights()[0]
		if target.solution.V[3] > target.solution.V[3+length] {
			share = 1 - share
		}
		if want := secondShare(); math.Abs(share-want) > 0.1 {
			t.Errorf("the second road of %d states has the share %.3f, want about %.3f", length, share, want)
		}
	}
	easy := detours(t, 1, 40)
	easy.Demos = nil
	target, err := NewTarget(easy)
	if err != nil {
		t.Fatal(err)
	}
	if _, found := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4); found != nil {
		t.Errorf("%d modes of the prior", len(found))
	}
}

// TestManyModesAreFound: one for each of forty goals, more than climbs from the most likely tries alone would find.
func TestManyModesAreFound(t *testing.T) {
	const arms = 40
	target, err := NewTarget(goals(t, arms))
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(3) {
		_, found := target.farStarts(t.Context(), mcmc.Stream(seed, 2, farStream), 4)
		best := map[int]bool{}
		for _, m := range found {
			target.LogLikelihood(m.u, nil)
			best[target.solution.Greedy[1]] = true // the way from the hall
		}
		if len(best) != arms {
			t.Errorf("seed %d: modes of %d goals, want %d", seed, len(best), arms)
		}
	}
}

// TestModesOfGaussians: the mixture's density is that of its draws, by their mean and by importance weights towards one
// of its Gaussians.
func TestModesOfGaussians(t *testing.T) {
	m := modes{newMode([]float64{0, 0}, mat.NewSymDense(2, []float64{2, 0.5, 0.5, 1})),
		newMode([]float64{3, -1}, mat.NewSymDense(2, []float64{5, -1, -1, 4}))}
	m[1].evidence = math.Log(0.25)
	rng := mcmc.Stream(1, 2, 3)
	const draws = 200000
	sum, weight := make([]float64, 2), 0.0
	for range draws {
		u := m.draw(rng)
		floats.Add(sum, u)
		q := distuv.Normal{Sigma: 1}
		weight += math.Exp(q.LogProb(u[0]-1) + q.LogProb(u[1]) - m.logDensity(u))
	}
	floats.Scale(1./draws, sum)
	if math.Abs(sum[0]-0.6) > 0.02 || math.Abs(sum[1]+0.2) > 0.02 { // a fifth of the draws are the second's
		t.Errorf("mean %.3f, want (0.6, −0.2)", sum)
	}
	// exp logDensity is 2π Σ exp evidence times the density of the draws.
	if got, want := weight/draws, 1/(2*math.Pi*1.25); math.Abs(got/want-1) > 0.03 {
		t.Errorf("weights have the mean %.4f, want %.4f", got, want)
	}
}

// TestChainsJumpBetweenModes: they find the share of each explanation, in several places too, whose explanations
// combine.
func TestChainsJumpBetweenModes(t *testing.T) {
	want := secondShare()
	for seed, shape := range [][2]int{{1, 40}, {1, 40}, {3, 3}} {
		places, length := shape[0], shape[1]
		c := Default()
		c.Seed = uint64(seed)
		post := fit(t, c, detours(t, places, length))[0].(*Posterior)
		ok, reason := post.Convergence()
		for place := range places {
			first := place*(3+2*length) + 3
			share := 0.0
			values := post.Values()
			for i := range post.Len() {
				if values.At(i, first+length) > values.At(i, first) {
					share += 1 / float64(post.Len())
				}
			}
			if !ok || !(math.Abs(share-want) < 0.06) { // four standard errors
				t.Errorf("%v: the second road of place %d has the share %.3f, want %.3f; converged: %v, %s", shape,
					place, share, want, ok, reason)
			}
		}
	}
}

// TestBlocks: of two places, with two explanations each, the modes differ in the roads of one or of both; chains jump
// in all coordinates, and in the roads of either place.
func TestBlocks(t *testing.T) {
	const length = 3
	target, err := NewTarget(detours(t, 2, length))
	if err != nil {
		t.Fatal(err)
	}
	_, found := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
	blocks := found.blocks()
	var sizes [][]int
	for _, b := range blocks {
		sizes = append(sizes, b.at)
		weights := b.modes.weights()
		if len(b.at) < 4*length && (len(weights) != 2 || math.Abs(weights[1]-secondShare()) > 0.03) {
			t.Errorf("the modes in %v have the weights %.3f", b.at, weights)
		}
	}
	want := [][]int{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}
	slices.SortFunc(sizes[1:], func(a, b []int) int { return a[0] - b[0] })
	if !slices.EqualFunc(sizes, want, slices.Equal) {
		t.Errorf("blocks %v, want %v", sizes, want)
	}
}

// gate is a problem in which the expert goes so many times to a hub rather than to an end that pays nothing. From the
// hub it can leave by a known −1, or by a road of so many states, the sum of whose rewards is N(mean, 1): only if that
// pays, many standard deviations out, is the hub worth it, and nearer the prior the likelihood does not change with it.
// So many rewards more lie where no demonstration leads.
func gate(t testing.TB, demos, length int, mean float64, elsewhere int) *irl.Problem {
	t.Helper()
	const hub, leave, road = 2, 3, 4
	end := road + length
	rows := make([][]mdp.Transition, 2*(end+elsewhere))
	way := func(s, first, second int) {
		rows[2*s], rows[2*s+1] = []mdp.Transition{{Next: first, Prob: 1}}, []mdp.Transition{{Next: second, Prob: 1}}
	}
	way(0, 1, hub)
	way(hub, leave, road)
	means, std := make([]float64, end+elsewhere), make([]float64, end+elsewhere)
	means[leave] = -1
	for s := road; s < end; s++ {
		means[s], std[s] = mean/float64(length), 1/math.Sqrt(float64(length))
		if s < end-1 {
			way(s, s+1, s+1)
		}
	}
	for s := end; s < end+elsewhere; s++ {
		std[s] = 1
		way(s, max(end, s-1), min(end+elsewhere-1, s+1))
	}
	p := &irl.Problem{Discount: 1 - 1e-9, Beta: 2, Prior: irl.DiagonalPrior(means, std)}
	for range demos {
		p.Demos = append(p.Demos, mdp.Step{State: 0, Action: 1})
	}
	var err error
	if p.MDP, err = mdp.New(end+elsewhere, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// gated returns the mean and standard deviation of the road's sum G, of which the expert sees max(−1, G), by the sums
// over a grid.
func gated(demos int, mean float64) (float64, float64) {
	var grid, weights []float64
	for g := mean - 6; g < 8; g += 1e-3 {
		logLikelihood := -float64(demos) * math.Log1p(math.Exp(-2*math.Max(-1, g)))
		grid, weights = append(grid, g), append(weights, math.Exp(logLikelihood-(g-mean)*(g-mean)/2))
	}
	return stat.MeanStdDev(grid, weights)
}

func TestAnExplanationBehindAGateIsFound(t *testing.T) {
	for _, c := range []struct {
		demos, length int
		mean          float64
		elsewhere     int
	}{{40, 1, -8, 0}, {40, 1, -8, 20}, {40, 1, -8, 1100}, {80, 40, -13, 10}} {
		target, err := NewTarget(gate(t, c.demos, c.length, c.mean, c.elsewhere))
		if err != nil {
			t.Fatal(err)
		}
		var informed []int
		for _, j := range target.informed {
			informed = append(informed, target.free[j])
		}
		if len(informed) != c.length || informed[0] != 4 || informed[c.length-1] != 3+c.length {
			t.Fatalf("%+v: demonstrations tell of the rewards %v, want the road's", c, informed)
		}
		_, found := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
		if len(found) == 0 {
			t.Fatalf("%+v: no mode", c)
		}
		target.LogLikelihood(found[0].u, nil)
		mean, std := gated(c.demos, c.mean)
		if got := floats.Sum(target.reward[4 : 4+c.length]); math.Abs(got-mean) > std {
			t.Errorf("%+v: the best mode has the sum %g, the posterior %g ± %g", c, got, mean, std)
		}
	}
}

func TestAnExplanationBehindAGateIsSampled(t *testing.T) {
	m, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	posts, err := m.Fit(t.Context(), []*irl.Problem{gate(t, 40, 1, -8, 20)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := posts[0].(*Posterior)
	if ok, reason := got.Convergence(); !ok {
		t.Errorf("not converged: %s", reason)
	}
	goal := got.Reward(4)
	mean, std := gated(40, -8)
	// 4,000 effective draws: a standard error of 0.016 std of the mean, and half that of the deviation
	if math.Abs(goal.Mean()-mean) > 0.08*std || math.Abs(goal.StdDev()/std-1) > 0.06 {
		t.Errorf("the goal's reward is %g ± %g, want %g ± %g", goal.Mean(), goal.StdDev(), mean, std)
	}
}
