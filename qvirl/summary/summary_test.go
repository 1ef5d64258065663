package summary

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// newProblem returns a problem of two states, in both of which each action leads to a state of its own.
func newProblem(t testing.TB, pairs, inferBeta bool) *irl.Problem {
	t.Helper()
	m, err := mdp.FromDense(2, 2, []float64{1, 0, 0, 1, 1, 0, 0, 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 1, 3), Discount: 0.5, Beta: 2,
		StateNames: []string{"hall", "garden"}, ActionNames: []string{"in", "out"}}
	if pairs {
		p.Prior = irl.IndependentPrior(4, 1, 3)
	}
	if inferBeta {
		p.BetaLogStd = 0.5
	}
	return p
}

// chains returns a posterior of chains whose rewards are independent AR(1) processes with the prior's moments and the
// coefficient rho, and whose β, where it is inferred, are draws of its prior.
func chains(t testing.TB, p *irl.Problem, count, length int, rho float64) *mcmc.Posterior {
	t.Helper()
	rng, n := rand.New(rand.NewPCG(5, 0)), p.RewardDim()
	post := mcmc.NewPosterior(p, count, length)
	x := make([]float64, n)
	for i := range count * length {
		keep, fresh := rho, math.Sqrt(1-rho*rho)
		if i%length == 0 {
			keep, fresh = 0, 1
		}
		reward := make([]float64, n)
		for j := range x {
			x[j] = keep*x[j] + fresh*rng.NormFloat64()
			reward[j] = p.Prior.Mean[j] + p.Prior.Std[j]*x[j]
		}
		solution, err := p.MDP.Solve(reward, p.Discount)
		if err != nil {
			t.Fatal(err)
		}
		values := solution.V
		if !p.StateOnly() {
			values = solution.Q
		}
		post.Set(i, reward, values)
		if p.InfersBeta() {
			post.Betas()[i] = p.Beta * math.Exp(p.BetaLogStd*rng.NormFloat64())
		}
	}
	return post
}

// closed is a posterior that knows the marginals of rewards, values and β, which its samples do not have: they are all
// 1.
type closed struct{ problem *irl.Problem }

func (p closed) Problem() *irl.Problem     { return p.problem }
func (p closed) Reward(i int) irl.Marginal { return normal(float64(i), 2) }
func (p closed) Value(s int) irl.Marginal  { return normal(float64(10+s), 3) }
func (p closed) Beta() irl.Marginal        { return normal(7, 4) }
func (p closed) Sample(_ *rand.Rand, n int) (*irl.Samples, error) {
	ones := func(columns int) *mat.Dense {
		x := mat.NewDense(n, columns, nil)
		x.Apply(func(int, int, float64) float64 { return 1 }, x)
		return x
	}
	s := &irl.Samples{Reward: ones(p.problem.RewardDim()), Q: ones(4), Beta: make([]float64, n)}
	for i := range s.Beta {
		s.Beta[i] = 1
	}
	return s, nil
}

// What a posterior knows in closed form is taken from there, without an error; the policy comes from its samples.
func TestClosedForm(t *testing.T) {
	s, err := Of(closed{newProblem(t, false, true)}, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	want := &Summary{RewardMean: []float64{0, 1}, RewardStd: []float64{2, 2}, ValueMean: []float64{10, 11},
		ValueStd: []float64{3, 3}, Policy: []float64{.5, .5, .5, .5}, BetaMean: 7, BetaStd: 4}
	for _, c := range [][2][]float64{{s.RewardMean, want.RewardMean}, {s.RewardStd, want.RewardStd},
		{s.ValueMean, want.ValueMean}, {s.ValueStd, want.ValueStd}, {s.Policy, want.Policy},
		{s.Error.RewardMean, {0, 0}}, {s.Error.ValueStd, {0, 0}}, {{s.BetaMean, s.BetaStd}, {7, 4}},
		{{s.Error.BetaMean, s.Error.BetaStd}, {0, 0}}} {
		if !slices.Equal(c[0], c[1]) {
			t.Errorf("%v, want %v", c[0], c[1])
		}
	}
	if err := s.Check(newProblem(t, false, true)); err != nil {
		t.Error(err)
	}
	err = s.Check(newProblem(t, true, false))
	if err == nil || !strings.Contains(err.Error(), "2 reward means, want 4") {
		t.Errorf("error %v", err)
	}
	if _, err := Of(closed{newProblem(t, false, false)}, 1, 1); err == nil {
		t.Error("a single draw was taken")
	}
	if _, err := Table(closed{newProblem(t, false, false)}, 3, 1); err == nil {
		t.Error("three draws were taken for a table")
	}
}

// Summary and table of chains whose distribution and effective sample sizes are known: an AR(1) chain of n draws has
// n (1 − ρ)/(1 + ρ) for its mean, and its squares n (1 − ρ²)/(1 + ρ²). Estimates of these are within 30 % at 20,000
// draws; means and deviations within 5 of the standard errors that follow.
func TestChains(t *testing.T) {
	const count, length, rho, std = 4, 5000, 0.6, 3
	const n = count * length
	p := newProblem(t, true, true)
	post := chains(t, p, count, length, rho)
	s, err := Of(post, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Table(post, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range lines {
		names = append(names, l.Name)
	}
	if got := strings.Join(names, "|"); got !=
		"reward[hall, in]|reward[hall, out]|reward[garden, in]|reward[garden, out]|value[hall]|value[garden]|beta" {
		t.Errorf("the lines are %s", got)
	}
	size := n * (1 - rho) / (1 + rho)
	mean, deviation := std/math.Sqrt(size), std/math.Sqrt(2*n*(1-rho*rho)/(1+rho*rho))
	z := distuv.UnitNormal.Quantile((1 + Probability) / 2)
	for i, l := range lines[:4] {
		if math.Abs(l.Mean-1) > 5*mean || math.Abs(l.Std-std) > 5*deviation ||
			l.Mean != s.RewardMean[i] || l.Std != s.RewardStd[i] {
			t.Errorf("%+v; the summary has %g ± %g; want 1 ± 3", l, s.RewardMean[i], s.RewardStd[i])
		}
		for what, ratio := range map[string]float64{"squared error of the mean": math.Pow(l.MeanError/mean, 2),
			"squared error of the deviation": math.Pow(l.StdError/deviation, 2), "bulk ESS": l.BulkESS / size} {
			if !(ratio > 0.7 && ratio < 1.4) {
				t.Errorf("%s: the %s is %.2f of what it should be", l.Name, what, ratio)
			}
		}
		// the shortest interval's ends move along the flat top of its length: twice the error of a quantile
		if math.Abs(l.Low-(1-z*std)) > 0.5 || math.Abs(l.High-(1+z*std)) > 0.5 || !(l.RHat < 1.01) ||
			!(l.TailESS > size/2 && l.TailESS < n) {
			t.Errorf("%+v, want the interval %.2f to %.2f", l, 1-z*std, 1+z*std)
		}
	}
	if beta := lines[6]; math.Abs(beta.Mean-2*math.Exp(0.125)) > 5*beta.MeanError || beta.Mean != s.BetaMean {
		t.Errorf("%+v, want the mean %g", beta, 2*math.Exp(0.125))
	}
	// Chains that are apart say so.
	for i := range length {
		post.Rewards().Set(i, 0, post.Rewards().At(i, 0)+10)
	}
	if lines, err = Table(post, 0, 0); err != nil || !(lines[0].RHat > 1.2 && lines[0].BulkESS < 50) {
		t.Errorf("with one chain 10 higher: %+v (error %v)", lines[0], err)
	}
}

// The policy is the mean of the draws' softmax, each with its own β.
func TestPolicy(t *testing.T) {
	p := newProblem(t, false, true)
	post := chains(t, p, 2, 50, 0)
	s, err := Of(post, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	draws, want := post.Samples(), 0.0
	for i := range 100 {
		want += 1 / (1 + math.Exp(draws.Beta[i]*(draws.Q.At(i, 3)-draws.Q.At(i, 2)))) / 100
	}
	if math.Abs(s.Policy[2]-want) > 1e-12 || !(want > 0 && want < 1) {
		t.Errorf("action 0 in state 1 has the probability %g, want %g", s.Policy[2], want)
	}
}

// No interval between two samples that holds as many of them is shorter.
func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.SliceOfN(rapid.Float64Range(-5, 5), 4, 40).Draw(t, "samples")
		p := rapid.Float64Range(0.1, 0.95).Draw(t, "probability")
		slices.Sort(x)
		low, high := shortest(x, p)
		held := func(low, high float64) (n int) {
			for _, v := range x {
				if v >= low && v <= high {
					n++
				}
			}
			return n
		}
		if float64(held(low, high)) < p*float64(len(x)) {
			t.Fatalf("[%g, %g] holds %d of %v, want the share %g", low, high, held(low, high), x, p)
		}
		inside := int(p * float64(len(x)))
		for i := range x {
			if i+inside < len(x) && x[i+inside]-x[i] < high-low {
				t.Fatalf("[%g, %g] is longer than [%g, %g]", low, high, x[i], x[i+inside])
			}
		}
	})
}

func TestPrint(t *testing.T) {
	var b bytes.Buffer
	err := Print(&b, []Line{{Name: "reward[hall]", Mean: 1.23456, Std: 0.5, Low: -1, High: 2, MeanError: 0.0123,
		StdError: 0.01, BulkESS: 1234.5, TailESS: 999, RHat: 1.0004}, {Name: "beta", Mean: 2, BulkESS: math.NaN(),
		TailESS: math.NaN(), RHat: math.NaN()}})
	want := `                 mean   sd  hdi_3%  hdi_97%  mcse_mean  mcse_sd  ess_bulk  ess_tail  r_hat
  reward[hall]  1.235  0.5      -1        2      0.012     0.01      1234       999  1.000
          beta      2    0       0        0          0        0         –         –      –
`
	if err != nil || b.String() != want {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, b.String(), want)
	}
}

func normal(mean, std float64) irl.Marginal {
	return irl.NewMarginal(distuv.Normal{Mu: mean, Sigma: std})
}
