package valuewalk

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/mcmc"
)

// Density is an approximation whose density is known, so that it can be compared with the exact posterior's.
// *tabular.Gaussian is one.
type Density interface {
	Approximation
	// ValueLogProbs returns its log density at each row of x, [n, RewardDim].
	ValueLogProbs(x *mat.Dense) ([]float64, error)
}

// RewardDensity is an approximation whose density over rewards is known instead. *matched.Warped is one.
type RewardDensity interface {
	Approximation
	// RewardLogProbs returns its log density at rewards, with log β after them if it is inferred, a row each: [n,
	// ValueDim].
	RewardLogProbs(rewards *mat.Dense) ([]float64, error)
}

// Verdict says what an approximate posterior is good for.
type Verdict string

// The verdicts.
const (
	Trust    Verdict = "trust"      // the approximation may be used as it is
	Improve  Verdict = "refine"     // the refined posterior should be used in its place
	DoNotUse Verdict = "do not use" // nor that: sample the posterior instead, or refine for longer
)

// The limits of Diagnose's rule.
const (
	maxDrift       = 0.10 // posterior standard deviations
	maxPolicyDrift = 0.05 // total variation
	maxSettling    = 0.04 // posterior standard deviations
	maxUnrest      = 1.3  // times the Monte Carlo error
	maxStuck       = 0.05
)

// Diagnosis says how far an approximate posterior is from the exact one. The distances are those of RefineDiagnostics.
type Diagnosis struct {
	// shape of the tail of the ratios of the exact posterior's density over values to the approximation's
	KHat      float64
	Threshold float64 // k̂ up to which importance sampling with the approximation works
	ESS       float64 // effective sample size of the smoothed importance weights
	Draws     int     // that it is of

	Drift, PolicyDrift     float64 // from the approximation to its refinement
	Settling, Noise, Stuck float64 // of the refinement

	Verdict Verdict
	Reason  string // the rule that gave it, with the figures
}

// streamRatios is the random stream of a diagnosis, above those of Refine.
const streamRatios = 1 << 23

// diagnosisDraws is the number of draws for importance sampling.
const diagnosisDraws = 4000

// Diagnose judges the approximate posterior that a refinement started from: by the refinement, and by Pareto-smoothed
// importance sampling (Vehtari et al., 2024). The verdict is
//
//   - "do not use" if the refinement has not come to rest, so that it vouches for nothing: from the first to the second
//     half of the walkers' samples, the reward marginals still move, by 0.04 posterior standard deviations beyond Monte
//     Carlo error and 1.3 times that error, or more than 5 % of the walkers never moved;
//   - "trust" if refinement moves the reward marginals by no more than 0.1 posterior standard deviations (W1, mean over
//     rewards, Monte Carlo error taken off) and the posterior-predictive policy by no more than 0.05 (total variation,
//     mean over states);
//   - "refine" otherwise.
//
// The limits are conventions. They were set with the errors against ValueWalk of 24 fits on 8×8 worlds of the paper
// that no reported result uses (seeds 1020–1027): the drift was within 10 % of the true error, except where training
// was cut short and the refinement had not come to rest; there it was a quarter too small, and the verdict is "do not
// use". k̂ is reported but does not decide, because it answers another question, whether importance weights could
// repair the joint density (k̂ below min(1 − 1/log₁₀ n, 0.7), ibid.): in tens of dimensions they cannot even where all
// marginals are accurate, and in few dimensions they can where the marginals are not.
func Diagnose(refined *Refined, seed uint64) (*Diagnosis, error) {
	approximation, r := refined.Start(), refined.diagnostics
	if approximation == nil {
		return nil, fmt.Errorf("valuewalk: diagnosis: the refined posterior was loaded without the approximation " +
			"that it started from")
	}
	if r.StepSize == 0 {
		return nil, fmt.Errorf("valuewalk: diagnosis: the refined posterior has made no transition, and says nothing " +
			"about the approximation")
	}
	logs, err := LogRatios(approximation, mcmc.Stream(seed, mcmc.Fingerprint(refined.Problem()), streamRatios),
		diagnosisDraws)
	if err != nil {
		return nil, err
	}
	smoothed, err := mcmc.Smooth(logs)
	if err != nil {
		return nil, err
	}
	d := &Diagnosis{KHat: smoothed.KHat, Threshold: smoothed.Threshold, ESS: smoothed.ESS, Draws: len(logs),
		Drift: r.Drift, PolicyDrift: r.PolicyDrift, Settling: r.Settling, Noise: r.Noise, Stuck: r.Stuck}
	d.judge()
	return d, nil
}

// LogRatios draws from an approximation and returns the logs of the ratios of the exact posterior's density to its own
// at the draws, each up to a constant. The prior and the approximation must have a density. Over rewards, the exact one
// is prior times likelihood; over values, the change of variables adds its determinant.
func LogRatios(a Approximation, rng *rand.Rand, draws int) ([]float64, error) {
	t, err := newTarget(a.Problem())
	if err != nil {
		return nil, err
	}
	x, err := a.SampleValues(rng, draws)
	if err != nil {
		return nil, err
	}
	exact, grad := make([]float64, draws), make([]float64, t.dim)
	var logs []float64
	switch a := a.(type) {
	case Density:
		for i := range exact {
			exact[i] = t.eval(x.RawRowView(i), grad) + t.logDet()
		}
		logs, err = a.ValueLogProbs(x)
	case RewardDensity:
		rewards := mat.DenseCopyOf(x) // with log β, if there is one, in its place
		for i := range exact {
			exact[i] = t.eval(x.RawRowView(i), grad)
			copy(rewards.RawRowView(i), t.reward)
		}
		logs, err = a.RewardLogProbs(rewards)
	default:
		err = fmt.Errorf("valuewalk: a posterior of type %T has no density over values or rewards to compare", a)
	}
	if err != nil {
		return nil, err
	}
	floats.SubTo(logs, exact, logs)
	return logs, nil
}

// judge finds the verdict by the rule that Diagnose states.
func (d *Diagnosis) judge() {
	noise := math.Sqrt2 * d.Noise // of Settling, which compares half as many samples
	drift, settling := beyond(d.Drift, d.Noise), beyond(d.Settling, noise)
	switch {
	case d.Stuck > maxStuck:
		d.Verdict, d.Reason = DoNotUse, fmt.Sprintf("%.0f %% of the walkers never moved, more than %.0f %%",
			100*d.Stuck, 100*maxStuck)
	case settling > maxSettling && d.Settling > maxUnrest*noise:
		d.Verdict, d.Reason = DoNotUse, fmt.Sprintf("the refinement has not come to rest: between its halves, the "+
			"reward marginals move by %.2f standard deviations, more than %.2f; "+
			"refine for longer, or sample", settling, maxSettling)
	case drift > maxDrift:
		d.Verdict, d.Reason = Improve, fmt.Sprintf("refinement moves the reward marginals by %.2f standard "+
			"deviations, more than %.2f", drift, maxDrift)
	case d.PolicyDrift > maxPolicyDrift:
		d.Verdict, d.Reason = Improve, fmt.Sprintf("refinement moves the policy by %.3f in total variation, more "+
			"than %.2f", d.PolicyDrift, maxPolicyDrift)
	default:
		d.Verdict, d.Reason = Trust, fmt.Sprintf("refinement moves the reward marginals by %.2f standard deviations "+
			"and the policy by %.3f, no more than %.2f and %.2f",
			drift, d.PolicyDrift, maxDrift, maxPolicyDrift)
	}
}

// beyond takes Monte Carlo error off a distance.
func beyond(distance, noise float64) float64 {
	return math.Sqrt(math.Max(distance*distance-noise*noise, 0))
}
