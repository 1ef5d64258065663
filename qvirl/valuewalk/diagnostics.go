package valuewalk

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/qvirl/mcmc"
)

// Diagnostics says how well a posterior was sampled. What concerns convergence is measured on the kept samples.
type Diagnostics struct {
	Reward, Value Convergence // of each reward, [RewardDim]; of each V*(s), [S]

	Acceptance    float64 // mean acceptance probability after the warm-up
	Divergences   int     // trajectories after the warm-up whose energy error exceeded 1000 nats
	StepSize      float64
	LeapfrogSteps float64 // mean number in a trajectory
	Iterations    int     // of each chain after the warm-up
	Seconds       float64 // of work by the clock, summed over the chains; more than on an idle core where they share one

	MinESS, MaxRHat float64 // the targets, from the configuration
}

// Convergence holds the diagnostics of package mcmc for several quantities.
type Convergence struct{ RHat, BulkESS, TailESS []float64 }

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

// Clean returns nil if the chains agree and are long enough by the targets, and otherwise an error that names the worst
// reward or state.
func (d *Diagnostics) Clean() error {
	for _, q := range []struct {
		name string
		Convergence
	}{{"reward", d.Reward}, {"value of state", d.Value}} {
		r, e := q.Worst()
		if !(q.RHat[r] <= d.MaxRHat) {
			return fmt.Errorf("valuewalk: the chains disagree: split-R̂ of %s %d is %.4f, above %g, after %d iterations; "+
				"raise MaxIterations or Warmup", q.name, r, q.RHat[r], d.MaxRHat, d.Iterations)
		}
		if !(q.BulkESS[e] >= d.MinESS) {
			return fmt.Errorf("valuewalk: too few effective samples: %.0f of %s %d, below %g, after %d iterations; "+
				"raise MaxIterations or Samples", q.BulkESS[e], q.name, e, d.MinESS, d.Iterations)
		}
	}
	return nil
}

// diagnose measures the convergence of every reward and state value.
func (p *Posterior) diagnose(c Config) {
	d := &p.diagnostics
	d.MinESS, d.MaxRHat = c.MinESS, c.MaxRHat
	d.Reward = convergence(p.problem.RewardDim(), func(i int) [][]float64 { return p.byChain(p.rewardColumn(i)) })
	d.Value = convergence(p.problem.MDP.States(), func(s int) [][]float64 { return p.byChain(p.valueColumn(s)) })
}

func convergence(n int, chains func(i int) [][]float64) Convergence {
	c := Convergence{make([]float64, n), make([]float64, n), make([]float64, n)}
	for i := range c.RHat {
		x := chains(i)
		c.RHat[i], c.BulkESS[i], c.TailESS[i] = mcmc.RHat(x), mcmc.BulkESS(x), mcmc.TailESS(x)
	}
	return c
}

// smallestMeanESS returns the smallest effective sample size of a reward's or a state value's mean.
func (p *Posterior) smallestMeanESS() float64 {
	smallest := math.Inf(1)
	for i := 0; i < p.problem.RewardDim(); i++ {
		smallest = math.Min(smallest, mcmc.ESS(p.byChain(p.rewardColumn(i))))
	}
	for s := 0; s < p.problem.MDP.States(); s++ {
		smallest = math.Min(smallest, mcmc.ESS(p.byChain(p.valueColumn(s))))
	}
	return smallest
}

// byChain cuts a column of samples into the chains that they come from.
func (p *Posterior) byChain(column []float64) [][]float64 {
	out := make([][]float64, p.chains)
	per := len(column) / p.chains
	for j := range out {
		out[j] = column[j*per : (j+1)*per]
	}
	return out
}
