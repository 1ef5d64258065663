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
	complete(t, p, rows, mean, std)
	return p
}

// complete gives a problem its MDP, of the rows of all states and actions, and its prior.
func complete(t testing.TB, p *irl.Problem, rows [][]mdp.Transition, mean, std []float64) {
	t.Helper()
	var err error
	if p.MDP, err = mdp.New(len(mean), len(rows)/len(mean), rows, nil); err != nil {
		t.Fatal(err)
	}
	p.Prior = irl.DiagonalPrior(mean, std)
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
		target, found := searched(t, detours(t, 1, length))
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
	if _, found := searched(t, easy); found != nil {
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
		post := fit(t, c, detours(t, places, length))[0]
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
	_, found := searched(t, detours(t, 2, length))
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
