package zoo

import (
	"fmt"
	"github.com/go-birl/birl/qvirl/summary"
	"math"
)

// Tolerances of an answer that is right. To each come MonteCarloErrors standard errors of the difference: of the exact
// answer's error and the judged one's, their squares added. The judged one's counts at most as that of EffectiveSize
// independent samples, so that a sampler does not get away with few of them.
const (
	MeanTolerance    = 0.1  // of a mean, in exact posterior standard deviations of that very quantity
	StdTolerance     = 0.1  // of a standard deviation, relative
	PolicyTolerance  = 0.02 // of the policy: total variation ½ Σ_a |π(a|s) − π*(a|s)| in the worst state
	MonteCarloErrors = 4
	EffectiveSize    = 400
)

// Errors say how far an answer is from the exact one. Those of β are 0 where it is known. What is not finite in the
// answer has the error +Inf, but for a standard deviation of β of NaN: an answer may say so that it does not know it,
// and has no error there.
type Errors struct {
	Mean, Std           float64 // worst reward: |mean − exact| / exact sd, and |sd / exact sd − 1|
	ValueMean, ValueStd float64 // worst state value, likewise
	BetaMean, BetaStd   float64
	PolicyTV            float64 // total variation in the worst state
	PolicyTVMean        float64 // mean over states
	// Wrong says what is furthest out of tolerance, and by how much; empty if nothing is: then the answer is right.
	Wrong string
}

// Right reports whether all is within tolerance.
func (e *Errors) Right() bool { return e.Wrong == "" }

// judge collects errors and the worst excess over a tolerance.
type judge struct {
	Errors
	worst float64 // error over tolerance
}

// Judge compares an answer with the exact one. An answer with numbers missing is an error of the caller; one with NaN
// or infinite numbers is wrong.
func Judge(c *Case, answer *summary.Summary) (*Errors, error) {
	if c.Exact == nil {
		return nil, fmt.Errorf("zoo: %s has no exact answer", c.Name)
	}
	if err := answer.Check(c.Problem); err != nil {
		return nil, fmt.Errorf("%s: %w", c.Name, err)
	}
	exact := &c.Exact.Summary
	j := &judge{worst: 1}
	j.Mean, j.Std = j.compare("reward", answer, exact, func(s *summary.Summary) (mean,
		std []float64) {
		return s.RewardMean, s.RewardStd
	})
	j.ValueMean, j.ValueStd = j.compare("the value of state", answer, exact,
		func(s *summary.Summary) (mean, std []float64) { return s.ValueMean, s.ValueStd })
	if c.Problem.InfersBeta() {
		told := *answer
		if math.IsNaN(told.BetaStd) {
			told.BetaStd = exact.BetaStd
		}
		j.BetaMean, j.BetaStd = j.compare("β", &told, exact,
			func(s *summary.Summary) (mean, std []float64) { return []float64{s.BetaMean}, []float64{s.BetaStd} })
	}
	mine, its := errorsOf(answer), errorsOf(exact)
	actions := c.Problem.MDP.Actions()
	for s := range c.Problem.MDP.States() {
		tv, tolerance := 0.0, PolicyTolerance
		for i := s * actions; i < (s+1)*actions; i++ {
			tv += distance(answer.Policy[i], exact.Policy[i]) / 2
			p := exact.Policy[i]
			own := atMost(at(mine.Policy, i), math.Sqrt(max(p*(1-p), 0)/EffectiveSize))
			tolerance += slack(own, at(its.Policy, i)) / 2
		}
		j.check(tv, tolerance, fmt.Sprintf("policy in state %d", s))
		j.PolicyTV = max(j.PolicyTV, tv)
		j.PolicyTVMean += tv / float64(c.Problem.MDP.States())
	}
	return &j.Errors, nil
}

// compare judges means and standard deviations, which of picks out of a summary, and returns the worst errors.
func (j *judge) compare(what string, answer, exact *summary.Summary, of func(*summary.Summary) (mean,
	std []float64)) (worstMean, worstStd float64) {
	mean, std := of(answer)
	exactMean, exactStd := of(exact)
	meanErr, stdErr := of(errorsOf(answer))
	exactMeanErr, exactStdErr := of(errorsOf(exact))
	for i, unit := range exactStd {
		place := fmt.Sprintf("%s %d", what, i)
		m, s := distance(mean[i], exactMean[i])/unit, distance(std[i], unit)/unit
		own := atMost(at(meanErr, i), unit/math.Sqrt(EffectiveSize))
		tolerance := MeanTolerance + (slack(own, at(exactMeanErr, i))+rounding*math.Abs(exactMean[i]))/unit
		j.check(m, tolerance, "mean of "+place)
		own = atMost(at(stdErr, i), unit/math.Sqrt(2*EffectiveSize))
		j.check(s, StdTolerance+slack(own, at(exactStdErr, i))/unit, "standard deviation of "+place)
		worstMean, worstStd = max(worstMean, m), max(worstStd, s)
	}
	return worstMean, worstStd
}

// atMost is an error, or the limit if it is more, or no number.
func atMost(err, limit float64) float64 {
	if err <= limit {
		return err
	}
	return limit
}

// check notes an error beyond its tolerance if it is the worst.
func (j *judge) check(err, tolerance float64, what string) {
	if excess := err / tolerance; excess > j.worst {
		j.worst = excess
		j.Wrong = fmt.Sprintf("%s: off by %.3g, tolerance %.3g", what, err, tolerance)
	}
}

// errorsOf returns the Monte Carlo errors of a summary, or one without numbers.
func errorsOf(s *summary.Summary) *summary.Summary {
	if s.Error == nil {
		return &summary.Summary{}
	}
	return s.Error
}

// at is x[i], or 0 where x has no numbers.
func at(x []float64, i int) float64 {
	if i >= len(x) {
		return 0
	}
	return x[i]
}

// slack is the tolerance for two Monte Carlo errors.
func slack(a, b float64) float64 { return MonteCarloErrors * math.Hypot(a, b) }

// distance is |a − b|, and +Inf if a is not finite.
func distance(a, b float64) float64 {
	if math.IsNaN(a) || math.IsInf(a, 0) {
		return math.Inf(1)
	}
	return math.Abs(a - b)
}
