package mcmc

import (
	"maps"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// Arrays returns the samples as they are stored: reward [kept, RewardDim] and value [kept, S] or [kept, S·A], in single
// precision where that is enough, and, where they are known, beta [kept] and transitions [kept, 2] (acceptance
// probability, and 1 for a divergence), chain by chain, and chains, their number.
func (p *Posterior) Arrays() map[string]npz.Array {
	kind := npz.Float64
	if p.singleIsEnough() {
		kind = npz.Float32
	}
	arrays := map[string]npz.Array{"reward": arrayOf(p.Rewards(), kind), "value": arrayOf(p.Values(), kind),
		"chains": npz.Ints([]int{p.Chains()})}
	if betas := p.Betas(); betas != nil {
		arrays["beta"] = npz.Floats(betas, len(betas))
	}
	if p.transitions != nil {
		x := mat.NewDense(p.Len(), 2, nil)
		for i, t := range p.transitions {
			x.SetRow(i, []float64{t.Acceptance, npz.Indicator(t.Divergent)})
		}
		arrays[transitions] = arrayOf(x, npz.Float32)
	}
	return arrays
}

// transitions is an array that files of before it was stored lack.
const transitions = "transitions"

func arrayOf(x *mat.Dense, kind npz.Type) npz.Array {
	rows, columns := x.Dims()
	return npz.Array{Shape: []int{rows, columns}, Data: x.RawMatrix().Data, Type: kind}
}

// What single precision may change: β Q, in nats, and a reward or a value, in standard deviations.
const mostNats, mostDeviation = 1e-3, 1e-3

// singleIsEnough reports whether rewards and values in single precision say the same, but for so much.
func (p *Posterior) singleIsEnough() bool {
	beta, unit := p.problem.Beta, p.unit()
	if p.beta != nil {
		beta = floats.Max(p.beta)
	}
	for _, x := range []*mat.Dense{p.reward, p.value} {
		for j := range x.RawMatrix().Cols {
			draws := mat.Col(nil, j, x)
			low, high := floats.Min(draws), floats.Max(draws)
			largest := math.Max(-low, high)
			lost := largest * 0x1p-24
			if largest > math.MaxFloat32 || largest > 0 && largest < 0x1p-100 || lost*beta > mostNats ||
				!same(low, high, unit) && lost > mostDeviation*stat.StdDev(draws, nil) {
				return false
			}
		}
	}
	return true
}

// Restore reads what Arrays returned for a problem, at least so many samples a chain. It returns nil after an error of
// the reader.
func Restore(r *npz.Reader, problem *irl.Problem, minPerChain int) *Posterior {
	chains, n := r.Int("chains"), problem.RewardDim()
	reward := r.Finite("reward", -1, n)
	kept := len(reward) / n
	if r.Err() == nil && (chains < 1 || kept < minPerChain*chains || kept%chains != 0) {
		r.Fail("%d samples do not make %d chains of at least %d each", kept, chains, minPerChain)
	}
	value := r.Finite("value", kept, n)
	var beta []float64
	if problem.InfersBeta() {
		beta = r.Finite("beta", kept)
	}
	var by []float64
	if r.Has(transitions) {
		by = r.Numbers(transitions, kept, 2)
	}
	if r.Err() != nil {
		return nil
	}
	p := NewPosterior(problem, chains, kept/chains)
	for i := range kept {
		p.Set(i, reward[i*n:(i+1)*n], value[i*n:(i+1)*n])
	}
	copy(p.Betas(), beta)
	for i := 0; i < len(by); i += 2 {
		p.transitions = append(p.transitions, Transition{by[i], by[i+1] != 0})
	}
	return p
}

// Arrays returns the diagnostics as they are stored.
func (d *Diagnostics) Arrays(p *irl.Problem) map[string]npz.Array {
	arrays := ArraysOf(d.numbers())
	arrays["iterations"] = npz.Ints([]int{d.Iterations})
	for name, v := range d.vectors(p) {
		arrays[name] = npz.Floats(*v.data, v.length)
	}
	return arrays
}

// Restore reads what Arrays returned.
func (d *Diagnostics) Restore(r *npz.Reader, p *irl.Problem) {
	numbers := d.numbers()
	for _, name := range []string{policyError, maxPolicyError, valueStdError, betaStdError, betaTail} {
		if !r.Has(name) {
			delete(numbers, name)
		}
	}
	RestoreNumbers(r, numbers)
	d.Iterations = r.Int("iterations")
	for name, v := range d.vectors(p) {
		*v.data = r.Numbers(name, v.length)
	}
}

// Numbers that files of before they were stored lack.
const (
	policyError, maxPolicyError           = "policy_error", "max_policy_error"
	valueStdError, betaStdError, betaTail = "value_std_error", "beta_std_error", "beta_tail"
)

func (d *Diagnostics) numbers() map[string]*float64 {
	return map[string]*float64{"acceptance": &d.Acceptance, "seconds": &d.Seconds, "min_ess": &d.MinESS,
		"max_rhat": &d.MaxRHat, "std_error": &d.StdError, "max_std_error": &d.MaxStdError,
		policyError: &d.PolicyError, maxPolicyError: &d.MaxPolicyError, valueStdError: &d.ValueStdError,
		betaStdError: &d.BetaStdError, betaTail: &d.BetaTail}
}

// vector is an array of a known length.
type vector struct {
	data   *[]float64
	length int
}

func (d *Diagnostics) vectors(p *irl.Problem) map[string]vector {
	out := map[string]vector{}
	add := func(of string, c *Convergence, length int) {
		out[of+"_rhat"], out[of+"_ess_bulk"], out[of+"_ess_tail"] = vector{&c.RHat, length}, vector{&c.BulkESS, length},
			vector{&c.TailESS, length}
	}
	add("reward", &d.Reward, p.RewardDim())
	add("value", &d.Value, p.MDP.States())
	if p.InfersBeta() {
		add("beta", &d.Beta, 1)
	}
	return out
}

// ArraysOf returns numbers by name as arrays, and RestoreNumbers reads them. They may be infinite, or no numbers.
func ArraysOf(numbers map[string]*float64) map[string]npz.Array {
	arrays := map[string]npz.Array{}
	for name, v := range numbers {
		arrays[name] = npz.Scalar(*v)
	}
	return arrays
}

// RestoreNumbers reads what ArraysOf returned.
func RestoreNumbers(r *npz.Reader, into map[string]*float64) {
	for name, v := range into {
		if x := r.Numbers(name); x != nil {
			*v = x[0]
		}
	}
}

// Join returns the arrays of several maps together.
func Join(all ...map[string]npz.Array) map[string]npz.Array {
	out := map[string]npz.Array{}
	for _, arrays := range all {
		maps.Copy(out, arrays)
	}
	return out
}
