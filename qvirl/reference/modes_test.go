package reference

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// detour is a problem whose expert turns off, in state 0, to where two roads of so many states begin, though a reward
// of 4 that is known lies straight ahead. Either road may be worth it, against four or five standard deviations of the
// prior: the sum of the first one's rewards is N(0, 1), that of the second N(−6, 2²).
func detour(t testing.TB, length int) *irl.Problem {
	t.Helper()
	const turn, ahead = 1, 2 // states; those of the roads follow
	first, second := 3, 3+length
	rows := make([][]mdp.Transition, 2*(second+length))
	rows[0], rows[1] = []mdp.Transition{{Next: turn, Prob: 1}}, []mdp.Transition{{Next: ahead, Prob: 1}}
	rows[2*turn], rows[2*turn+1] = []mdp.Transition{{Next: first, Prob: 1}}, []mdp.Transition{{Next: second, Prob: 1}}
	for _, begin := range []int{first, second} {
		for s := begin; s < begin+length-1; s++ {
			rows[2*s] = []mdp.Transition{{Next: s + 1, Prob: 1}}
			rows[2*s+1] = rows[2*s]
		}
	}
	m, err := mdp.New(second+length, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	mean, std := make([]float64, second+length), make([]float64, second+length)
	mean[ahead] = 4
	for i := range length {
		std[first+i] = 1 / math.Sqrt(float64(length))
		mean[second+i], std[second+i] = -6/float64(length), 2/math.Sqrt(float64(length))
	}
	p := &irl.Problem{MDP: m, Prior: irl.DiagonalPrior(mean, std), Discount: 1 - 1e-9, Beta: 5}
	for range 30 {
		p.Demos = append(p.Demos, mdp.Step{})
	}
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
	target, err := NewTarget(detour(t, 40))
	if err != nil {
		t.Fatal(err)
	}
	_, found := target.farStarts(mcmc.Stream(1, 2, farStream), 4)
	if len(found) != 2 {
		t.Fatalf("%d modes, want 2", len(found))
	}
	target.LogLikelihood(found[0].u, nil)
	share := found.weights()[0]
	if target.solution.V[3] > target.solution.V[43] {
		share = 1 - share
	}
	if want := secondShare(); math.Abs(share-want) > 0.1 {
		t.Errorf("the second road has the share %.3f, want about %.3f", share, want)
	}
	easy := detour(t, 40)
	easy.Demos = nil
	if target, err = NewTarget(easy); err != nil {
		t.Fatal(err)
	}
	if _, found := target.farStarts(mcmc.Stream(1, 2, farStream), 4); found != nil {
		t.Errorf("%d modes of the prior", len(found))
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

// TestChainsJumpBetweenModes: they find the share of each explanation.
func TestChainsJumpBetweenModes(t *testing.T) {
	p := detour(t, 40)
	want := secondShare()
	for seed := range uint64(2) {
		c := Default()
		c.Seed = seed
		post := fit(t, c, p)[0].(*Posterior)
		share := 0.0
		values := post.Values()
		for i := range post.Len() {
			if values.At(i, 43) > values.At(i, 3) {
				share += 1 / float64(post.Len())
			}
		}
		if ok, reason := post.Convergence(); !ok || !(math.Abs(share-want) < 0.06) { // four standard errors
			t.Errorf("seed %d: the second road has the share %.3f, want %.3f; converged: %v, %s", seed, share, want, ok,
				reason)
		}
	}
}
