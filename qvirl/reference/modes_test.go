package reference

import (
	"math"
	"math/bits"
	"math/rand/v2"
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
	for _, length := range []int{40, 300, 600} {
		target, err := NewTarget(detours(t, 1, length))
		if err != nil {
			t.Fatal(err)
		}
		_, searched := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
		found := searched.modes
		if len(found) != 2 {
			t.Fatalf("%d modes, want 2", len(found))
		}
		target.LogLikelihood(found[0].u, nil)
		share := found.shares()[0]
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
	if _, found := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4); found.modes != nil {
		t.Errorf("%d modes of the prior", len(found.modes))
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
		_, searched := target.farStarts(t.Context(), mcmc.Stream(seed, 2, farStream), 4)
		found := searched.modes
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
	of := modes{newMode([]float64{0, 0}, mat.NewDense(1, 2, []float64{1, 0.5})),
		newMode([]float64{3, -1}, mat.NewDense(2, 2, []float64{2, -0.5, 0, 1.7}))}
	of[1].evidence = math.Log(0.25)
	m := of.mixture()
	rng := mcmc.Stream(1, 2, 3)
	const draws = 200000
	sum, weight := make([]float64, 2), 0.0
	for range draws {
		u := m.draw(rng)
		floats.Add(sum, u)
		q := distuv.Normal{Sigma: 1}
		weight += math.Exp(q.LogProb(u[0]-1) + q.LogProb(u[1]) - floats.LogSumExp(m.logDensities(u)))
	}
	floats.Scale(1./draws, sum)
	// of the draws, half a fifth and half a half are the second's
	if math.Abs(sum[0]-1.05) > 0.02 || math.Abs(sum[1]+0.35) > 0.02 {
		t.Errorf("mean %.3f, want (1.05, −0.35)", sum)
	}
	// exp logDensity is 2π times the density of the draws.
	if got, want := weight/draws, 1/(2*math.Pi); math.Abs(got/want-1) > 0.03 {
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
// in all coordinates, by shifts, and in the roads of either place.
func TestBlocks(t *testing.T) {
	const length = 3
	target, err := NewTarget(detours(t, 2, length))
	if err != nil {
		t.Fatal(err)
	}
	_, searched := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
	found := searched.modes
	blocks := found.blocks()
	var sizes [][]int
	if len(blocks) < whole || len(blocks[1].shifts) == 0 {
		t.Fatalf("the second of %d blocks has no shifts", len(blocks))
	}
	for _, b := range append(blocks[:1:1], blocks[whole:]...) {
		sizes = append(sizes, b.at)
		weights := b.mixture.shares()
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

// roadSum returns the mean and standard deviation of the road's sum G, of which the expert sees max(−1, G), by the sums
// over a grid.
func roadSum(demos int, mean float64) (float64, float64) {
	var grid, weights []float64
	for g := mean - 6; g < 8; g += 1e-3 {
		logLikelihood := -float64(demos) * math.Log1p(math.Exp(-2*math.Max(-1, g)))
		grid, weights = append(grid, g), append(weights, math.Exp(logLikelihood-(g-mean)*(g-mean)/2))
	}
	return stat.PopMeanStdDev(grid, weights)
}

// balance is a problem in which the expert goes either way so many times: to nothing, or along a road of ten states
// whose sum is N(0, 1).
func balance(t testing.TB, each int) *irl.Problem {
	t.Helper()
	p := gate(t, 0, 10, 0, 0)
	rows := rowsOf(p.MDP)
	rows[1][0].Next = 4 // of state 0, past the hub
	for range each {
		p.Demos = append(p.Demos, mdp.Step{State: 0, Action: 0}, mdp.Step{State: 0, Action: 1})
	}
	var err error
	if p.MDP, err = mdp.New(p.MDP.States(), 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

func rowsOf(m *mdp.MDP) [][]mdp.Transition {
	rows := make([][]mdp.Transition, m.States()*m.Actions())
	for i := range rows {
		next, prob := m.Row(i/m.Actions(), i%m.Actions())
		for k, to := range next {
			rows[i] = append(rows[i], mdp.Transition{Next: int(to), Prob: prob[k]})
		}
	}
	return rows
}

// together returns problems as one, none of which leads to another, and the first state of each.
func together(t testing.TB, parts ...*irl.Problem) (whole *irl.Problem, first []int) {
	t.Helper()
	whole = &irl.Problem{Discount: parts[0].Discount, Beta: parts[0].Beta}
	var rows [][]mdp.Transition
	var means, std []float64
	for _, p := range parts {
		offset := len(means)
		first = append(first, offset)
		for _, row := range rowsOf(p.MDP) {
			for k := range row {
				row[k].Next += offset
			}
			rows = append(rows, row)
		}
		means = append(means, p.Prior.Mean...)
		for _, v := range p.Prior.Variances() {
			std = append(std, math.Sqrt(v))
		}
		for _, step := range p.Demos {
			whole.Demos = append(whole.Demos, mdp.Step{State: offset + step.State, Action: step.Action})
		}
	}
	whole.Prior = irl.DiagonalPrior(means, std)
	var err error
	if whole.MDP, err = mdp.New(len(means), 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return whole, first
}

func TestExplanationsBehindGatesAreFound(t *testing.T) {
	type gated struct {
		demos, length int
		mean          float64
		elsewhere     int
	}
	for _, gates := range [][]gated{
		{{40, 1, -8, 0}}, {{40, 1, -8, 20}}, {{40, 1, -8, 1100}}, {{80, 40, -13, 10}}, {{80, 10, -13, 0}},
		{{80, 40, -13, 0}, {40, 1, -8, 0}, {30, 5, -6, 0}},
	} {
		parts := []*irl.Problem{balance(t, 200)} // whose rewards must not move with those of a road
		for _, g := range gates {
			parts = append(parts, gate(t, g.demos, g.length, g.mean, g.elsewhere))
		}
		p, first := together(t, parts...)
		target, err := NewTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		_, searched := target.farStarts(t.Context(), mcmc.Stream(1, 2, farStream), 4)
		found := searched.modes
		if len(found) == 0 {
			t.Fatalf("%+v: no mode", gates)
		}
		target.LogLikelihood(found[0].u, nil)
		for i, g := range gates {
			mean, std := roadSum(g.demos, g.mean)
			road := first[i+1] + 4
			if got := floats.Sum(target.reward[road : road+g.length]); math.Abs(got-mean) > std {
				t.Errorf("%+v: gate %d of the best mode has the sum %g, the posterior %g ± %g", gates, i, got, mean,
					std)
			}
		}
	}
}

// TestInformedRewards: demonstrations tell of the rewards of a gate's road, not of those elsewhere.
func TestInformedRewards(t *testing.T) {
	target, err := NewTarget(gate(t, 40, 2, -8, 5))
	if err != nil {
		t.Fatal(err)
	}
	var informed []int
	for _, j := range target.informed {
		informed = append(informed, target.free[j])
	}
	if !slices.Equal(informed, []int{4, 5}) {
		t.Errorf("demonstrations tell of the rewards %v, want those of the road, 4 and 5", informed)
	}
}

// TestExplanationsBehindGatesAreSampled: each of several gates opens far out, and none with another. Where one may be
// closed as well, chains go to and fro.
func TestExplanationsBehindGatesAreSampled(t *testing.T) {
	for _, c := range []struct {
		lengths, demos []int
		means          []float64
		seed           uint64
	}{
		{[]int{40, 1, 5}, []int{80, 40, 30}, []float64{-13, -8, -6}, 1},
		{[]int{1, 1, 1, 1}, []int{60, 27, 24, 20}, []float64{-9, -8, -7.5, -7}, 1},
		{[]int{1, 1, 1, 1}, []int{60, 27, 24, 20}, []float64{-9, -8, -7.5, -7}, 2},
	} {
		parts := []*irl.Problem{balance(t, 200)}
		for i, length := range c.lengths {
			parts = append(parts, gate(t, c.demos[i], length, c.means[i], 0))
		}
		p, first := together(t, parts...)
		config := Default()
		config.Seed = c.seed
		got := fit(t, config, p)[0].(*Posterior)
		if ok, reason := got.Convergence(); !ok {
			t.Errorf("%+v: not converged: %s", c, reason)
		}
		for i, length := range c.lengths {
			road, sums := first[i+1]+4, make([]float64, got.Len())
			for k := range sums {
				sums[k] = floats.Sum(got.Rewards().RawRowView(k)[road : road+length])
			}
			mean, std := roadSum(c.demos[i], c.means[i])
			// 4,000 effective draws: a standard error of the mean of 0.016 std; MaxStdError is that of the deviation
			if m, s := stat.MeanStdDev(sums, nil); math.Abs(m-mean) > 0.08*std || math.Abs(s/std-1) > 0.12 {
				t.Errorf("%+v, gate %d: the road's sum is %g ± %g, want %g ± %g", c, i, m, s, mean, std)
			}
		}
	}
}

// TestRecombinationsGoFirst: where there are more modes than are kept, those that combine others go before one that has
// something of its own, however little its evidence.
func TestRecombinationsGoFirst(t *testing.T) {
	const flips = 9
	root := mat.NewDense(1, flips+1, nil)
	at := func(evidence float64, flipped uint) *mode {
		u := make([]float64, flips+1)
		for j := range u {
			if flipped&(1<<j) != 0 {
				u[j] = 3
			}
		}
		o := newMode(u, root)
		o.evidence = evidence
		return o
	}
	var all []*mode
	for combination := range uint(1 << flips) {
		all = append(all, at(-0.1*float64(bits.OnesCount(combination)), combination))
	}
	all = append(all, at(-5, 1<<flips)) // its own
	for seed := range uint64(2) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var kept search
		for _, o := range all {
			kept.add(o)
		}
		if len(kept.modes) != mostModes {
			t.Errorf("seed %d: %d modes are kept, want %d", seed, len(kept.modes), mostModes)
		}
		if kept.crowded() {
			t.Errorf("seed %d: said to be crowded by combinations", seed)
		}
		for j := range flips + 1 {
			if alone := at(0, 1<<j); kept.same(alone) < 0 {
				t.Errorf("seed %d: nothing is kept that differs in place %d alone", seed, j)
			}
		}
	}
}

// TestMoreExplanationsThanAreKept: one of so many rooms must pay, and each is an explanation of its own. Those that
// there is no room for are missed if they have a share that counts, whether their number is too large or what is known
// of other rewards beside them.
func TestMoreExplanationsThanAreKept(t *testing.T) {
	for _, c := range []struct {
		rooms, beside int     // rewards on which all agree
		late          float64 // evidence of those rooms from the 257th on
		kept          int
		crowded       bool
	}{
		{80, 0, 0, 80, false}, {mostModes + 20, 0, 0, mostModes, true}, {mostModes + 20, 0, -4, mostModes, false},
		{40, 600, 0, modeSize / (600 * 600), true},
	} {
		var all search
		root := mat.NewDense(max(c.beside, 1), c.rooms+c.beside, nil)
		for j := range c.beside { // whose curvature is 0.1 everywhere, beside the prior's, in as many rows
			for l := range c.beside {
				root.Set(j, c.rooms+l, math.Sqrt(0.1/float64(c.beside)))
			}
		}
		for room := range c.rooms {
			u := make([]float64, c.rooms+c.beside)
			u[room] = 5
			o := newMode(u, root)
			if o.evidence = -0.001 * float64(room); room >= mostModes {
				o.evidence += c.late
			}
			all.add(o)
			all.add(o) // a second climb
		}
		if len(all.modes) != c.kept || all.crowded() != c.crowded {
			t.Errorf("%d rooms: %d are kept, crowded: %v", c.rooms, len(all.modes), all.crowded())
		}
	}
}

// TestPartsOfModes: what is known of a mode from roots of its curvature is what the matrix itself says.
func TestPartsOfModes(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	root := mat.NewDense(12, 9, nil) // the last rows are zero
	for r, columns := range [][]int{{7, 0}, {2, 3}, {3}, {8}, {0, 5, 7}, {2, 3}, {8}, {1, 5}, {2}} {
		for _, j := range columns {
			root.Set(r, j, 2*rng.NormFloat64())
		}
	}
	root.Set(7, 1, 1e-12) // which binds nothing
	root.Set(7, 5, 1e-12)
	curvature := mat.NewSymDense(9, nil)
	curvature.SymOuterK(1, root.T())
	curvature = priorAnd(curvature, 1)
	u, at := make([]float64, 9), make([]float64, 9)
	for j := range u {
		u[j], at[j] = rng.NormFloat64(), rng.NormFloat64()
	}
	m := newMode(u, root)
	if len(m.parts) != 3 || !slices.Equal(m.parts[0].at, []int{0, 5, 7}) || m.parts[2].at[0] != 8 ||
		(modes{m}).size() != 2*3+2*2+1 {
		t.Fatalf("parts %+v", m.parts)
	}
	var chol mat.Cholesky
	chol.Factorize(curvature)
	offset := mat.NewVecDense(9, nil)
	offset.SubVec(mat.NewVecDense(9, at), mat.NewVecDense(9, u))
	if want := mat.Inner(offset, curvature, offset); math.Abs(m.squared(at)-want) > 1e-12*want {
		t.Errorf("squared distance %g, want %g", m.squared(at), want)
	}
	if want := chol.LogDet(); math.Abs(m.logDet-want) > 1e-12 {
		t.Errorf("log-determinant %g, want %g", m.logDet, want)
	}
	var inverse mat.SymDense
	if err := chol.InverseTo(&inverse); err != nil {
		t.Fatal(err)
	}
	all := modes{m}
	mixture := all.mixture()
	for _, of := range [][]int{{0, 2, 7}, {1, 8}, {3}} {
		marginal := all.marginals(of)[0]
		var precision, covariance mat.SymDense
		covariance.SubsetSym(&inverse, of)
		var c mat.Cholesky
		c.Factorize(&covariance)
		if err := c.InverseTo(&precision); err != nil {
			t.Fatal(err)
		}
		x := make([]float64, len(of))
		for i, j := range of {
			x[i] = at[j] - u[j]
		}
		v := mat.NewVecDense(len(of), x)
		got := marginal.squared(pickAt(at, of))
		if want := mat.Inner(v, &precision, v); math.Abs(got-want) > 1e-10*want {
			t.Errorf("marginal of %v: squared distance %g, want %g", of, got, want)
		}
	}
	// draws have the covariance of the inverse, three standard errors of 20,000 of them allowed
	draws := mat.NewDense(20000, 9, nil)
	for i := range 20000 {
		draws.SetRow(i, mixture.draw(rng))
	}
	var covariance mat.SymDense
	stat.CovarianceMatrix(&covariance, draws, nil)
	for j := range 9 {
		for l := range j + 1 {
			tolerance := 3 * math.Sqrt(2*inverse.At(j, j)*inverse.At(l, l)/20000)
			if off := covariance.At(j, l) - inverse.At(j, l); math.Abs(off) > tolerance {
				t.Errorf("covariance of %d and %d: %g, want %g", j, l, covariance.At(j, l), inverse.At(j, l))
			}
		}
	}
}

// pickAt returns x at some indices.
func pickAt(x []float64, at []int) (out []float64) {
	for _, j := range at {
		out = append(out, x[j])
	}
	return out
}
