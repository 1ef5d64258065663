package problemfile

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// prior is the posterior of a problem without demonstrations: independent rewards N(1, 2²).
type prior struct{ problem *irl.Problem }

func (p prior) Problem() *irl.Problem     { return p.problem }
func (p prior) Reward(i int) irl.Marginal { return irl.NewMarginal(distuv.Normal{Mu: 1, Sigma: 2}) }
func (p prior) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	r := mat.NewDense(n, p.problem.RewardDim(), nil)
	r.Apply(func(_, _ int, _ float64) float64 { return 1 + 2*rng.NormFloat64() }, r)
	samples, err := p.problem.SolveSamples(r)
	if err == nil && p.problem.InfersBeta() {
		samples.Beta = slices.Repeat([]float64{p.problem.Beta}, n)
	}
	return samples, err
}

// chain is a posterior that consists of samples.
type chain struct {
	prior
	samples *irl.Samples
}

func (c chain) Samples() *irl.Samples { return c.samples }

func TestAnswers(t *testing.T) {
	bandit := func(pairs bool) *irl.Problem { // two actions, which both end the episode, in two states
		m, err := mdp.New(2, 2, make([][]mdp.Transition, 4), nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 2
		if pairs {
			n = 4
		}
		return &irl.Problem{MDP: m, Prior: irl.IndependentPrior(n, 1, 2), Discount: .9, Beta: 1}
	}
	const draws = 40000
	se := 2 / math.Sqrt(draws) // Monte Carlo standard error of a mean
	for _, pairs := range []bool{false, true} {
		post := prior{bandit(pairs)}
		answer, err := NewAnswer(post, AnswerOptions{Samples: 7, Draws: draws, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		answer.RHat, answer.ESSBulk = make([]float64, post.problem.RewardDim()),
			make([]float64, post.problem.RewardDim())
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := answer.Write(path); err != nil {
			t.Fatal(err)
		}
		got := map[string]*npz.Array{}
		archive, err := npz.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		for _, name := range archive.Names() {
			if got[name], err = archive.Array(name); err != nil {
				t.Fatal(err)
			}
		}
		shapes := map[string][]int{"reward_mean": {2}, "reward_cov": {2, 2}, "reward_samples": {7, 2}, "rhat": {2},
			"ess_bulk":   {2},
			"value_mean": {2}, "value_std": {2}, "action_probs": {2, 2}}
		valueMean, valueStd := 1.0, 2.0
		if pairs {
			shapes["reward_mean"], shapes["rhat"], shapes["ess_bulk"] = []int{2, 2}, []int{2, 2}, []int{2, 2}
			shapes["reward_cov"], shapes["reward_samples"] = []int{4, 4}, []int{7, 2, 2}
			valueMean = 1 + 2/math.Sqrt(math.Pi) // of the larger of two independent N(1, 2²)
			valueStd = math.Sqrt(4 * (1 - 1/math.Pi))
		}
		for name, shape := range shapes {
			if got[name] == nil || !is(got[name].Shape, shape...) {
				t.Fatalf("%s: %v, want the shape %v", name, got[name], shape)
			}
		}
		near := func(what string, got, want, tolerance float64) {
			t.Helper()
			if !(math.Abs(got-want) <= tolerance) {
				t.Errorf("%s = %g, want %g ± %g", what, got, want, tolerance)
			}
		}
		near("reward mean", got["reward_mean"].Data[1], 1, 0)
		near("reward variance", got["reward_cov"].Data[0], 4, 4*4*math.Sqrt(2)/math.Sqrt(draws))
		near("reward covariance", got["reward_cov"].Data[1], 0, 4*4/math.Sqrt(draws))
		near("value mean", got["value_mean"].Data[1], valueMean, 4*se)
		near("value std", got["value_std"].Data[0], valueStd, 4*se)
		near("action probability", got["action_probs"].Data[0], .5, 4*.5/math.Sqrt(draws))
		near("sum of action probabilities", got["action_probs"].Data[2]+got["action_probs"].Data[3], 1, 1e-12)
	}
}

// moments is a posterior that knows its moments, of whose draws the policies alone are asked for, in parts.
type moments struct{ prior }

func (m moments) RewardCov() *mat.Dense    { return mat.NewDense(1, 1, []float64{4}) }
func (m moments) Value(s int) irl.Marginal { return m.Reward(s) }

func TestDrawsInParts(t *testing.T) {
	m, err := mdp.New(1, 2, make([][]mdp.Transition, 2), nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(1, 1, 2), Discount: .9, Beta: 1, BetaLogStd: 0.5}
	answer, err := NewAnswer(moments{prior{p}}, AnswerOptions{Samples: 7, Draws: DefaultDraws + 2000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a := answer.ActionProbs; !scalar.EqualWithinAbs(a[0], 0.5, 1e-9) || !scalar.EqualWithinAbs(a[1], 0.5, 1e-9) {
		t.Errorf("probabilities %v of actions that do the same", a)
	}
	if rows, _ := answer.RewardSamples.Dims(); rows != 7 || len(answer.BetaSamples) != 7 {
		t.Errorf("%d samples of rewards and %d of β, want 7 of each", rows, len(answer.BetaSamples))
	}
}

func TestAnswerOfSamplesHoldsThemAll(t *testing.T) {
	p := problems(t)["state-only"]
	samples, err := prior{p}.Sample(rand.New(rand.NewPCG(1, 1)), 50)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := NewAnswer(chain{prior{p}, samples}, AnswerOptions{Draws: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(answer.RewardSamples, samples.Reward) {
		t.Error("the samples differ from the posterior's")
	}
	if want := irl.ColumnMeans(samples.Values(5)); !scalar.EqualWithinAbs(answer.ValueMean[2], want[2], 1e-12) {
		t.Errorf("mean value %g, want that of all samples, %g", answer.ValueMean[2], want[2])
	}
	if _, err := NewAnswer(prior{p}, AnswerOptions{Samples: -1, Draws: 5}); err == nil {
		t.Error("a negative number of samples was accepted")
	}
}
