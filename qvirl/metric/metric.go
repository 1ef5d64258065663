// Package metric measures how good a reward posterior is, in the same way for every method: distance to a reference
// posterior, log density of the truth, coverage of credible intervals, and distance between the policies that follow
// (Sec. "Evaluation of Posterior Approximation Quality").
package metric

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// The metrics that Evaluate computes. The registry says what each is.
const (
	W1                        = "w1"
	LogDensity                = "log_density"
	RewardCoverage            = "reward_coverage"
	PolicyCoverage            = "policy_coverage"
	PolicyCoverageNonterminal = "policy_coverage_nonterminal"
	PolicyTV                  = "policy_tv"
	PolicyTVNonterminal       = "policy_tv_nonterminal"
	PolicyL1                  = "policy_l1"
	PolicyL1Nonterminal       = "policy_l1_nonterminal"
	W1NoDet                   = "w1_nodet"
	PolicyTVNoDet             = "policy_tv_nodet"
)

// The numbers that an irl.Computed knows of its computation. The registry says what each is.
const (
	RHatMax     = "rhat_max"
	ESSBulkMin  = "ess_bulk_min"
	ESSTailMin  = "ess_tail_min"
	ESS         = "ess"
	Acceptance  = "acceptance"
	Iterations  = "iterations"
	Divergences = "divergences"
	Converged   = "converged"
	ELBO        = "elbo"
	Evaluations = "evaluations"
	Collapsed   = "collapsed"
	Drift       = "drift"
	Settling    = "settling"
)

// Names lists all metrics of Evaluate in the order of a table.
var Names = []string{W1, LogDensity, RewardCoverage, PolicyCoverage, PolicyTV, PolicyL1, W1NoDet, PolicyTVNoDet,
	PolicyCoverageNonterminal, PolicyTVNonterminal, PolicyL1Nonterminal}

// Level is the probability of the central credible intervals whose coverage the metrics report.
const Level = 0.9

// slack is how far outside its interval an action probability still counts as covered. In a terminal state the
// policies of all samples and of the expert are equal up to rounding, and the interval is a point.
const slack = 1e-9

// Result holds the values of the metrics by name. Metrics that need a reference which was not given are absent, and so
// are those over non-terminal states where there are none.
type Result map[string]float64

// Truth is what demonstrations were generated from.
type Truth struct {
	Reward []float64 // true reward, [RewardDim]
	Policy []float64 // the expert's action probabilities, [S·A]
	Best   []int     // an optimal action of each state, [S]
}

// NewTruth returns the truth of a problem whose expert is Boltzmann-rational for the given reward, of length RewardDim,
// or S where the problem's rewards are state-action rewards.
func NewTruth(p *irl.Problem, reward []float64) (*Truth, error) {
	if err := p.CheckThere("metric"); err != nil {
		return nil, err
	}
	if len(reward) == p.MDP.States() && p.RewardDim() != len(reward) {
		var err error
		if reward, err = p.MDP.ExpandReward(reward); err != nil {
			return nil, err
		}
	}
	if len(reward) != p.RewardDim() {
		return nil, fmt.Errorf("metric: true reward: got %d numbers, want %d", len(reward), p.RewardDim())
	}
	sol, err := p.MDP.Solve(reward, p.Discount)
	if err != nil {
		return nil, err
	}
	return &Truth{Reward: reward, Policy: mdp.Boltzmann(nil, sol.Q, p.MDP.Actions(), p.Beta), Best: sol.Greedy}, nil
}

// Reference is the posterior of an oracle, prepared once so that any number of posteriors can be compared with it.
type Reference struct {
	rewards [][]float64 // sorted samples of each reward, [RewardDim][n]
	policy  []float64   // posterior-predictive policy, [S·A]
}

// NewReference prepares the samples of an oracle for the problem, at least two.
func NewReference(p *irl.Problem, samples *irl.Samples) (*Reference, error) {
	if err := checkSamples(p, samples); err != nil {
		return nil, err
	}
	ref := &Reference{
		rewards: make([][]float64, p.RewardDim()),
		policy:  irl.ColumnMeans(samples.Policies(p.MDP.Actions(), p.Beta)),
	}
	for i := range ref.rewards {
		e, err := irl.NewEmpirical(mat.Col(nil, i, samples.Reward))
		if err != nil {
			return nil, fmt.Errorf("metric: reward %d of the reference: %w", i, err)
		}
		ref.rewards[i] = e.Sorted()
	}
	return ref, nil
}

// References are the posteriors to measure distances to. Either may be nil.
type References struct {
	Exact *Reference // the true posterior
	NoDet *Reference // ValueWalk without the log-determinant of its change of variables
}

// Evaluate computes all metrics of a posterior. Those of rewards (W1, LogDensity, RewardCoverage) judge its marginals,
// Reward; those of policies the Q-values of samples drawn from it. Of the paper's posterior these are the same for
// Sample and ImpliedSample, whose rewards differ.
func Evaluate(post irl.Posterior, samples *irl.Samples, truth *Truth, refs References) (Result, error) {
	if err := irl.CheckPosterior("metric", post); err != nil {
		return nil, err
	}
	p := post.Problem()
	if err := checkSamples(p, samples); err != nil {
		return nil, err
	}
	if err := check.NotNil("metric: the truth", truth, "that of NewTruth"); err != nil {
		return nil, err
	}
	if len(truth.Reward) != p.RewardDim() || len(truth.Policy) != p.MDP.States()*p.MDP.Actions() {
		return nil, fmt.Errorf("metric: truth: got %d rewards and %d action probabilities, want %d and %d",
			len(truth.Reward), len(truth.Policy), p.RewardDim(), p.MDP.States()*p.MDP.Actions())
	}
	for _, ref := range []*Reference{refs.Exact, refs.NoDet} {
		if ref != nil && (len(ref.rewards) != p.RewardDim() || len(ref.policy) != len(truth.Policy)) {
			return nil, fmt.Errorf("metric: reference: it has %d rewards and %d action probabilities, want %d and %d",
				len(ref.rewards), len(ref.policy), p.RewardDim(), len(truth.Policy))
		}
	}
	policies := samples.Policies(p.MDP.Actions(), p.Beta)
	everywhere := make([]bool, p.MDP.States())
	inside := make([]bool, p.MDP.States())
	for s := range everywhere {
		everywhere[s], inside[s] = true, !p.MDP.Terminal(s)
	}
	covered, err := policyCovered(policies, truth.Policy, Level)
	if err != nil {
		return nil, err
	}
	out := Result{
		LogDensity:     logDensity(post, truth.Reward),
		RewardCoverage: RewardCurve(post, truth.Reward, []float64{Level})[0],
		PolicyCoverage: fraction(covered, everywhere, p.MDP.Actions()),
	}
	out.set(PolicyCoverageNonterminal, fraction(covered, inside, p.MDP.Actions()))
	mean := irl.ColumnMeans(policies)
	if ref := refs.Exact; ref != nil {
		out[W1] = meanW1(ref, post)
		out[PolicyL1] = meanL1(mean, ref.policy, everywhere)
		out[PolicyTV] = out[PolicyL1] / 2
		out.set(PolicyL1Nonterminal, meanL1(mean, ref.policy, inside))
		out.set(PolicyTVNonterminal, meanL1(mean, ref.policy, inside)/2)
	}
	if ref := refs.NoDet; ref != nil {
		out[W1NoDet] = meanW1(ref, post)
		out[PolicyTVNoDet] = meanL1(mean, ref.policy, everywhere) / 2
	}
	return out, nil
}

// set stores a metric unless it is undefined.
func (r Result) set(name string, value float64) {
	if !math.IsNaN(value) {
		r[name] = value
	}
}

// Wasserstein returns the Wasserstein-1 distance of a distribution to n sorted reference samples x: the mean over i of
// |x_i − q((i+½)/n)|, with q its quantile function. It is exact between equally many samples.
func Wasserstein(sorted []float64, m irl.Distribution) float64 {
	if e, ok := m.(*irl.Empirical); ok && len(e.Sorted()) == len(sorted) {
		return floats.Distance(sorted, e.Sorted(), 1) / float64(len(sorted))
	}
	sum, n := 0.0, float64(len(sorted))
	for i, x := range sorted {
		sum += math.Abs(x - m.Quantile((float64(i)+0.5)/n))
	}
	return sum / n
}

func meanW1(ref *Reference, post irl.Posterior) float64 {
	sum := 0.0
	for i, sorted := range ref.rewards {
		sum += Wasserstein(sorted, post.Reward(i))
	}
	return sum / float64(len(ref.rewards))
}

func logDensity(post irl.Posterior, reward []float64) float64 {
	sum := 0.0
	for i, r := range reward {
		sum += post.Reward(i).LogProb(r)
	}
	return sum / float64(len(reward))
}

// meanL1 returns Σ_a |π(a|s) − ρ(a|s)|, averaged over the states that count; NaN if none does.
func meanL1(pi, rho []float64, counts []bool) float64 {
	actions := len(pi) / len(counts)
	sum, n := 0.0, 0.0
	for s, c := range counts {
		if c {
			sum += floats.Distance(pi[s*actions:(s+1)*actions], rho[s*actions:(s+1)*actions], 1)
			n++
		}
	}
	return sum / n
}

// checkSamples refuses samples whose shape is not that of the problem's rewards and Q-values.
func checkSamples(p *irl.Problem, samples *irl.Samples) error {
	if err := check.First(p.CheckThere("metric"), check.NotNil("metric: the samples", samples,
		"those of a posterior")); err != nil {
		return err
	}
	n, dim := samples.Reward.Dims()
	m, pairs := samples.Q.Dims()
	if want := p.MDP.States() * p.MDP.Actions(); dim != p.RewardDim() || pairs != want || n != m || n < 2 {
		return fmt.Errorf("metric: samples: rewards are [%d,%d] and Q-values [%d,%d], want [n,%d] and [n,%d] with n "+
			"≥ 2", n, dim, m, pairs, p.RewardDim(), want)
	}
	return nil
}
