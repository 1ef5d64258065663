package mcmc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// Diagnostics says how well a posterior was sampled. What concerns convergence is measured on the kept samples.
type Diagnostics struct {
	Reward, Value Convergence // of each reward, [RewardDim]; of each V*(s), [S]
	Beta          Convergence // of β, [1]; empty where it is known

	Acceptance float64 // mean acceptance probability after the warm-up
	Iterations int     // of each chain after the warm-up
	Seconds    float64 // of work by the clock, summed over the chains; more than on an idle core where they share one

	// StdError is the largest Monte Carlo error of the standard deviation of a reward or log β, relative to it; 0 where
	// MaxStdError is.
	StdError float64
	// ValueStdError is that of an optimal value, which convergence does not depend on: a reward that is hardly ever
	// the best one makes few draws of values stand far out. 0 where MaxStdError is.
	ValueStdError float64
	// BetaStdError is that of β, which convergence does not depend on either: under a wide log-normal prior its
	// standard deviation may rest on the few largest draws. BetaTail is then large, the shape k̂ of the tail of β's
	// draws (see Smoothed): above ½ they show no variance, and close to it one that is too small. Both are 0 where β is
	// known.
	BetaStdError, BetaTail float64

	// PolicyError is the largest Monte Carlo error of an action's probability, averaged over the samples; 0 where
	// MaxPolicyError is.
	PolicyError float64

	MinESS, MaxRHat float64 // the targets, from the configuration
	MaxStdError     float64 // likewise; 0 where there is none
	MaxPolicyError  float64 // likewise
}

// Convergence holds the diagnostics of several quantities: split-R̂, and the numbers of independent samples that would
// give their means and their 5 % and 95 % quantiles as exactly.
type Convergence struct{ RHat, BulkESS, TailESS []float64 }

// measure diagnoses the samples, by what the targets ask for; with all set the errors too of samples whose chains
// disagree or are too short, which are not Clean whatever the errors are.
func (d *Diagnostics) measure(p *Posterior, all bool) {
	of := []*Convergence{&d.Reward, &d.Value, &d.Beta}
	quantities := p.quantities()
	for k, q := range quantities {
		*of[k] = q.convergence()
	}
	if rhat, ess := d.Worst(); !all && !(rhat <= d.MaxRHat && ess >= d.MinESS) {
		return
	}
	if d.MaxStdError > 0 {
		widest := []*float64{&d.StdError, &d.ValueStdError, &d.StdError}
		for k, q := range quantities {
			err := worst(q.n, func(i int) float64 { return stdError(q.chains(i), q.unit) })
			*widest[k] = math.Max(*widest[k], err)
		}
	}
	if p.beta != nil {
		d.BetaStdError, d.BetaTail = StdError(p.ByChain(p.beta)), tailOf(p.beta)
	}
	if d.MaxPolicyError > 0 {
		d.PolicyError = p.worstPolicyError(d.MaxPolicyError)
	}
}

// Worst returns the index with the largest R̂ and that with the smallest bulk ESS. NaN is worse than any number.
func (c Convergence) Worst() (rhat, ess int) {
	for i := range c.RHat {
		if worse(c.RHat[i], c.RHat[rhat]) {
			rhat = i
		}
		if worse(-c.BulkESS[i], -c.BulkESS[ess]) {
			ess = i
		}
	}
	return rhat, ess
}

func worse(a, b float64) bool { return a > b || math.IsNaN(a) && !math.IsNaN(b) }

// Worst returns the largest split-R̂ and the smallest bulk effective sample size of all rewards and values, and of β;
// NaN if the diagnostics of any of them do not exist.
func (d *Diagnostics) Worst() (rhat, bulkESS float64) {
	rhat, bulkESS = math.Inf(-1), math.Inf(1)
	for _, c := range []Convergence{d.Reward, d.Value, d.Beta} {
		if len(c.RHat) == 0 {
			continue
		}
		i, j := c.Worst()
		rhat, bulkESS = math.Max(rhat, c.RHat[i]), math.Min(bulkESS, c.BulkESS[j])
	}
	return rhat, bulkESS
}

// Sampled is a posterior that Markov chains have sampled, and that knows how well.
type Sampled interface {
	irl.ValuePosterior
	Sampling() *Diagnostics
}

// Computation returns what irl.Computed does.
func (d *Diagnostics) Computation() map[string]float64 {
	out := map[string]float64{metric.Acceptance: d.Acceptance, metric.Iterations: float64(d.Iterations)}
	rhat, bulk := d.Worst()
	tail := math.Inf(1)
	for _, ess := range slices.Concat(d.Reward.TailESS, d.Value.TailESS, d.Beta.TailESS) {
		tail = math.Min(tail, ess)
	}
	for name, v := range map[string]float64{metric.RHatMax: rhat, metric.ESSBulkMin: bulk, metric.ESSTailMin: tail} {
		if !math.IsNaN(v) {
			out[name] = v
		}
	}
	return out
}

// ErrHeavyTails is that of chains that agree and are long, but whose standard deviations rest on few samples far out.
var ErrHeavyTails = errors.New("heavy tails")

// shortfall is the error of chains that miss a target.
type shortfall struct {
	what       string
	iterations int    // of each chain
	fields     string // of the config that can be raised
	kind       error  // ErrHeavyTails, or nil
}

func (e *shortfall) Error() string {
	return fmt.Sprintf("mcmc: %s, after %d iterations; raise %s in its config", e.what, e.iterations, e.fields)
}

func (e *shortfall) Unwrap() error { return e.kind }

// Clean returns nil if the chains agree and are long enough by the targets, and otherwise an error that names the worst
// reward or state.
func (d *Diagnostics) Clean() error {
	short := func(fields string, kind error, format string, args ...any) error {
		return &shortfall{fmt.Sprintf(format, args...), d.Iterations, fields, kind}
	}
	for _, q := range []struct {
		name func(i int) string
		Convergence
	}{
		{func(i int) string { return fmt.Sprintf("reward %d", i) }, d.Reward},
		{func(i int) string { return fmt.Sprintf("value of state %d", i) }, d.Value},
		{func(int) string { return "log β" }, d.Beta},
	} {
		if len(q.RHat) == 0 {
			continue
		}
		r, e := q.Worst()
		if !(q.RHat[r] <= d.MaxRHat) {
			return short("MaxIterations or Warmup", nil, "the chains disagree: split-R̂ of %s is %.4f, above %g",
				q.name(r), q.RHat[r], d.MaxRHat)
		}
		if !(q.BulkESS[e] >= d.MinESS) {
			return short("MaxIterations or Samples", nil, "too few effective samples: %.0f of %s, below %g",
				q.BulkESS[e], q.name(e), d.MinESS)
		}
	}
	if d.MaxPolicyError > 0 && !(d.PolicyError <= d.MaxPolicyError) {
		return short("MaxIterations or Samples", nil, "the probability of an action is known within %.3f only, "+
			"above %.3f", d.PolicyError, d.MaxPolicyError)
	}
	if d.MaxStdError > 0 && !(d.StdError <= d.MaxStdError) {
		return short("Samples", ErrHeavyTails, "heavy tails: a standard deviation is known within %.0f %% only, "+
			"above %.0f %%", 100*d.StdError, 100*d.MaxStdError)
	}
	return nil
}

// Converged reports whether the diagnostics are Clean, and if not, why not.
func (d *Diagnostics) Converged() (ok bool, reason string) {
	if err := d.Clean(); err != nil {
		return false, err.Error()
	}
	rhat, ess := d.Worst()
	reason = fmt.Sprintf("R̂ ≤ %.3f, bulk ESS ≥ %.0f", rhat, ess)
	if d.ValueStdError > d.MaxStdError {
		reason += fmt.Sprintf("; of a value, the standard deviation is known within %.0f %% only", 100*d.ValueStdError)
	}
	if !d.knowsBetaStd() {
		reason += "; of β the quantiles are known, while the mean and the standard deviation rest on few large values"
	}
	return true, reason
}

// The largest BetaStdError and BetaTail with which β's standard deviation counts as known.
const maxBetaStdError, maxBetaTail = 0.1, 0.4

// knowsBetaStd reports whether β is known, or its standard deviation.
func (d *Diagnostics) knowsBetaStd() bool {
	return d.BetaStdError <= maxBetaStdError && d.BetaTail <= maxBetaTail
}

// BetaStd returns the standard deviation of β that a posterior has as answers tell it: NaN where its chains do not know
// it.
func BetaStd(post irl.Posterior, std float64) float64 {
	if s, ok := post.(Sampled); ok && !s.Sampling().knowsBetaStd() {
		return math.NaN()
	}
	return std
}

// tailOf returns the shape of the upper tail of positive draws (see Smoothed).
func tailOf(draws []float64) float64 {
	logs := make([]float64, len(draws))
	for i, x := range draws {
		logs[i] = math.Log(x)
	}
	s, err := Smooth(logs)
	if err != nil { // they are too few
		return math.Inf(1)
	}
	return s.KHat
}

// convergence diagnoses each quantity.
func (q quantities) convergence() (c Convergence) {
	for _, d := range each(q.n, func(i int) [3]float64 {
		x := q.chains(i)
		if known(x, q.unit) {
			draws := float64(len(x) * len(x[0]))
			return [3]float64{1, draws, draws}
		}
		rHat, bulkESS, tailESS := Diagnose(x)
		return [3]float64{rHat, bulkESS, tailESS}
	}) {
		c.RHat, c.BulkESS, c.TailESS = append(c.RHat, d[0]), append(c.BulkESS, d[1]), append(c.TailESS, d[2])
	}
	return c
}

// each returns f of each of n quantities, as many at a time as there are processors.
func each[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	_ = parallel.Each(context.Background(), n, func(_ context.Context, i int) error { // there are no errors
		out[i] = f(i)
		return nil
	})
	return out
}

// worst returns the largest of n errors; NaN if any is.
func worst(n int, err func(i int) float64) float64 {
	largest := 0.0
	for _, e := range each(n, err) {
		largest = math.Max(largest, e)
	}
	return largest
}

// StdError returns the Monte Carlo error of the draws' standard deviation relative to it, sd((x − μ)²) / (2 σ² √n) with
// n the effective sample size of (x − μ)². It is large where tails are heavy. What all but few draws agree on, and the
// few hardly change, has none.
func StdError(chains [][]float64) float64 { return stdError(chains, 0) }

// stdError is StdError for a quantity of a problem whose unit (see same) is given.
func stdError(chains [][]float64, unit float64) float64 {
	if !usable(chains) || known(chains, unit) || hardlyVaries(chains, unit) {
		return 0
	}
	mean, std := stat.MeanStdDev(slices.Concat(chains...), nil)
	squares := mapDraws(chains, func(x float64) float64 { return (x - mean) * (x - mean) })
	return stat.StdDev(slices.Concat(squares...), nil) / (2 * std * std * math.Sqrt(ESS(squares)))
}

// policyError returns the Monte Carlo error of the mean of π(a|s) = exp(β Q(s,a)) / Σ_b exp(β Q(s,b)) for the action
// that varies most in state s. One that varies by no more than negligible has none.
func (p *Posterior) policyError(s int, negligible float64) float64 {
	most, worst := negligible, -1
	probs := p.policyColumns(s)
	for a, x := range probs {
		if std := stat.StdDev(x, nil); std > most {
			most, worst = std, a
		}
	}
	if worst < 0 {
		return 0
	}
	return most / math.Sqrt(ESS(p.ByChain(probs[worst])))
}

// worstPolicyError returns the largest policyError of all states, for errors that are to be at most limit.
func (p *Posterior) worstPolicyError(limit float64) float64 {
	return worst(p.problem.MDP.States(), func(s int) float64 { return p.policyError(s, limit) })
}

// How far draws of a known quantity may be apart: relative to the largest of them, and to what rewards are unsure by.
const rounding, negligible = 1e-11, 1e-3

// known reports whether all draws of several chains are the same but for rounding: those of a reward that the prior
// knows, or of a value that depends on such rewards alone. Chains that start apart and are stuck differ from each
// other. unit is that of same.
func known(chains [][]float64, unit float64) bool {
	low, high := math.Inf(1), math.Inf(-1)
	for _, c := range chains {
		low, high = math.Min(low, floats.Min(c)), math.Max(high, floats.Max(c))
	}
	return same(low, high, unit)
}

// same reports whether two numbers, the lower one first, are the same but for rounding. The unit is the largest
// standard deviation of a reward under the prior: numbers so large that it is lost in their rounding are not the same
// if they differ by that; 0 where nothing is unknown, or the unit is.
func same(low, high, unit float64) bool {
	apart := high - low
	return apart <= rounding*math.Max(math.Abs(low), math.Abs(high)) && (unit == 0 || apart <= negligible*unit)
}

const (
	few    = 0.05 // share of the draws
	hardly = 0.05 // standard deviation, relative to the largest draw
)

// hardlyVaries reports whether all but few draws are the same but for rounding, and the standard deviation of all is a
// small part of the largest: the value of a state from which a known reward is nearly always the best to be had.
func hardlyVaries(chains [][]float64, unit float64) bool {
	sorted := slices.Concat(chains...)
	if stat.StdDev(sorted, nil) > hardly*floats.Norm(sorted, math.Inf(1)) {
		return false
	}
	slices.Sort(sorted)
	some := int(few * float64(len(sorted)))
	for left := range some + 1 { // of the few, so many are low
		if same(sorted[left], sorted[len(sorted)-1-some+left], unit) {
			return true
		}
	}
	return false
}
