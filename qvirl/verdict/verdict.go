// Package verdict says of an approximate posterior whether it is to be believed, on the user's own problem, and goes on
// to a better one where it is not.
//
// The judge is a run of package reference on the same problem: chains that start from draws of the approximation, of
// the prior, and from afar, more of them than sampling takes, so that one finds what the others miss. Where they
// agree, whatever they began from, their samples are of the exact posterior up to a known Monte Carlo error, and the
// approximation is compared with them number by number. Where they do not, nothing vouches for the approximation.
package verdict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Verdict says what a posterior is good for.
type Verdict string

// The verdicts on approximations.
const (
	Trust Verdict = "trust" // the approximation may be used as it is
	// the samples that it was judged by should be used in its place: they have converged
	Refine   Verdict = "refine"
	DoNotUse Verdict = "do not use" // these samples have not converged either: sample anew
)

// NotJudged is that on an approximation that nobody asked to judge.
const NotJudged Verdict = "not judged"

// The verdicts on samples of Markov chains, which tell by themselves.
const (
	Converged    Verdict = "converged"     // the chains agree and are long enough
	NotConverged Verdict = "not converged" // they do not, or are not
)

// Limits of the errors of an approximation that is trusted: each is the largest over the rewards, the optimal values of
// the states, and β where it is inferred.
const (
	MaxMean   = 0.1  // of a mean, in posterior standard deviations
	MaxStd    = 0.1  // of a standard deviation, relative
	MaxPolicy = 0.02 // of the posterior-predictive policy in any state, total variation
	MaxKHat   = 0.7  // shape of the tail of the importance ratios (Vehtari et al., 2024)
	MinWeight = 0.02 // effective sample size of the importance weights, as a share of the draws
)

// Config says how an approximation is judged.
type Config struct {
	Reference reference.Config // the chains that judge it
	Draws     int              // of the approximation: importance ratios, and what it has no closed form for
}

// Default returns the default configuration with the given seed: twice as many chains as sampling takes, which adapt
// together in half the time.
func Default(seed uint64) Config {
	c := Config{Reference: reference.Default(), Draws: 5000}
	c.Reference.Seed = seed
	c.Reference.Chains *= 2
	c.Reference.Warmup /= 2
	return c
}

// Diagnosis says how far an approximate posterior is from the exact one.
type Diagnosis struct {
	Verdict Verdict
	Reason  string // the rule that gave it, with the figures

	// largest error of a reward's mean, in posterior standard deviations, and of its standard deviation, relative
	Mean, Std float64
	ValueMean float64 // the same of an optimal value's
	ValueStd  float64
	Beta      float64 // and of β; 0 where it is known
	BetaStd   float64
	Policy    float64 // total variation of the policy in the worst state
	KHat      float64 // of the importance ratios; NaN where a density is missing
	WeightESS float64 // effective sample size of Draws draws with the importance weights; NaN likewise

	RHat, ESS float64 // worst of the judging chains; 0 if there were none
}

// Diagnose judges an approximate posterior and returns the samples that it was judged by too. The verdict is
//
//   - "do not use" if the judging chains disagree or are too short, or do not vouch for their own samples (see
//     reference.Posterior.Convergence);
//   - "refine" if the approximation's own computation has not converged, if it is further from the samples than
//     MaxMean, MaxStd or MaxPolicy allow, or if k̂ > MaxKHat or the effective size of the weights is below MinWeight:
//     then its tails are wrong, or so many small errors add up that no importance weights could repair them; or if
//     there is no k̂, because it or the prior has no density;
//   - "trust" otherwise.
//
// Monte Carlo error counts against the approximation: it is not taken off.
func Diagnose(ctx context.Context, post irl.Posterior, c Config, progress irl.Progress) (*Diagnosis,
	*reference.Posterior, error) {
	sampler, err := reference.New(c.Reference)
	if err != nil {
		return nil, nil, err
	}
	if err := check.First(irl.CheckFit("verdict", ctx, sampler), irl.CheckPosterior("verdict", post)); err != nil {
		return nil, nil, err
	}
	samples, err := sampler.FitFrom(ctx, post, progress)
	if err != nil {
		return nil, nil, err
	}
	mine, err := summary.Of(post, c.Draws, c.Reference.Seed)
	if err != nil {
		return nil, nil, err
	}
	exact, err := summary.Of(samples, 0, 0)
	if err != nil {
		return nil, nil, err
	}
	d := &Diagnosis{}
	d.RHat, d.ESS = samples.Sampling().Worst()
	if d.KHat, d.WeightESS, err = weigh(ctx, post, c); err != nil {
		return nil, nil, err
	}
	actions := post.Problem().MDP.Actions()
	prior := math.Sqrt(floats.Max(post.Problem().Prior.Variances()))
	d.Mean, d.Std = worst(mine.RewardMean, mine.RewardStd, exact.RewardMean, exact.RewardStd, prior)
	d.ValueMean, d.ValueStd = worst(mine.ValueMean, mine.ValueStd, exact.ValueMean, exact.ValueStd, prior)
	if post.Problem().InfersBeta() {
		d.Beta, d.BetaStd = worst([]float64{mine.BetaMean}, []float64{mine.BetaStd}, []float64{exact.BetaMean},
			[]float64{exact.BetaStd}, prior)
	}
	for s := range post.Problem().MDP.States() {
		tv := 0.0
		for i := s * actions; i < (s+1)*actions; i++ {
			tv += gap(mine.Policy[i], exact.Policy[i]) / 2
		}
		d.Policy = max(d.Policy, tv)
	}
	refine := func(format string, figures ...any) { d.Verdict, d.Reason = Refine, fmt.Sprintf(format, figures...) }
	sure, doubt := samples.Convergence()
	ok, why := irl.Converged(post)
	switch {
	case !sure:
		d.Verdict, d.Reason = DoNotUse, "nothing vouches for it: "+doubt
	case !ok:
		refine("its computation has not converged: %s", why)
	case max(d.Mean, d.ValueMean, d.Beta) > MaxMean:
		refine("a mean is off by %.4f posterior standard deviations, more than %g",
			max(d.Mean, d.ValueMean, d.Beta), MaxMean)
	case max(d.Std, d.ValueStd, d.BetaStd) > MaxStd:
		refine("a standard deviation is off by %.2f %%, more than %.0f %%", 100*max(d.Std, d.ValueStd, d.BetaStd),
			100*MaxStd)
	case d.Policy > MaxPolicy:
		refine("the policy of a state is off by %.4f in total variation, more than %g", d.Policy, MaxPolicy)
	case math.IsNaN(d.KHat):
		refine("it or the prior has no density to tell its tails by")
	case d.KHat > MaxKHat:
		refine("k̂ of the importance ratios is %.2f, above %g", d.KHat, MaxKHat)
	case d.WeightESS < MinWeight*float64(c.Draws):
		refine("the importance weights of %d draws are worth %.0f, less than %g of them", c.Draws, d.WeightESS,
			MinWeight)
	default:
		d.Verdict, d.Reason = Trust, fmt.Sprintf("means within %.2f standard deviations, standard deviations within "+
			"%.0f %%, the policy within %.3f, k̂ %.2f",
			max(d.Mean, d.ValueMean, d.Beta), 100*max(d.Std, d.ValueStd, d.BetaStd), d.Policy, d.KHat)
	}
	return d, samples, nil
}

// worst returns the largest error of means, in standard deviations of the exact, and of standard deviations, relative.
// prior is the largest standard deviation of a reward under the prior.
func worst(mean, std, exactMean, exactStd []float64, prior float64) (m, s float64) {
	for i, unit := range exactStd {
		// a quantity that the prior and the dynamics fix
		if unit <= known*math.Abs(exactMean[i]) && unit <= negligible*prior {
			unit = math.Abs(exactMean[i]) + 1
			s = max(s, gap(std[i], 0)/unit)
		} else {
			s = max(s, gap(std[i], unit)/unit)
		}
		m = max(m, gap(mean[i], exactMean[i])/unit)
	}
	return m, s
}

// The largest standard deviation that rounding gives the samples of a known quantity, relative to the mean, and to what
// rewards are unsure by: all that is unsure of numbers far from zero may be as small beside them.
const known, negligible = 1e-11, 1e-3

// gap is |a − b|, and +Inf if a is not a number.
func gap(a, b float64) float64 {
	if math.IsNaN(a) {
		return math.Inf(1)
	}
	return math.Abs(a - b)
}

// weigh returns k̂ and the effective sample size of importance sampling with draws of the approximation, NaN where it
// or the prior has no density.
func weigh(ctx context.Context, post irl.Posterior, c Config) (khat, ess float64, err error) {
	err = irl.ErrNoDensity
	var logs []float64
	if a, ok := post.(valuewalk.Approximation); ok {
		logs, err = valuewalk.LogRatios(ctx, a, rand.New(rand.NewPCG(c.Reference.Seed, 0)), c.Draws)
	}
	if errors.Is(err, irl.ErrNoDensity) || errors.Is(err, irl.ErrSingularPrior) {
		return math.NaN(), math.NaN(), nil
	}
	if err != nil {
		return 0, 0, err
	}
	smoothed, err := mcmc.Smooth(logs)
	if err != nil { // the ratios of some are infinite, or all are 0
		return math.Inf(1), 0, nil
	}
	return smoothed.KHat, smoothed.ESS, nil
}

// String gives the verdict with its reason and, of an approximation that was judged, the figures in two lines more.
func (d *Diagnosis) String() string {
	verdict := fmt.Sprintf("verdict: %s: %s", d.Verdict, d.Reason)
	if d.RHat == 0 {
		return verdict
	}
	weights := fmt.Sprintf("importance weights: k̂ %.2f, effective sample size %.0f", d.KHat, d.WeightESS)
	if math.IsNaN(d.KHat) {
		weights = "importance weights: none, as it or the prior has no density"
	}
	beta := ""
	if d.Beta > 0 || d.BetaStd > 0 {
		beta = fmt.Sprintf("β mean %.2f sd, sd %.0f %%; ", d.Beta, 100*d.BetaStd)
	}
	return strings.Join([]string{
		verdict,
		fmt.Sprintf("largest errors: reward mean %.2f sd, sd %.0f %%; value mean %.2f sd, sd %.0f %%; %spolicy %.3f",
			d.Mean, 100*d.Std, d.ValueMean, 100*d.ValueStd, beta, d.Policy),
		fmt.Sprintf("%s; the judging chains: R̂ %.3f, bulk ESS %.0f", weights, d.RHat, d.ESS),
	}, "\n")
}
