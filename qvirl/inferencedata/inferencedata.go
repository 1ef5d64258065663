// Package inferencedata hands posteriors on to ArviZ: as netCDF files in the layout of InferenceData, which
// arviz.from_netcdf opens.
package inferencedata

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/netcdf"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Options say what a file holds.
type Options struct {
	Draws      int               // of a posterior that does not consist of samples, and of the prior
	Seed       uint64            // of these draws
	Attributes map[string]string // of the file, such as the method
}

// maxLikelihoods bounds the log-likelihoods of all draws and decisions, 1 GiB.
const maxLikelihoods = 1 << 27

// Write writes a posterior to a file, atomically; the folder must exist. The file has the groups (S states, A actions)
//
//	posterior        reward [chain, draw, state] or [chain, draw, state, action], value (V*) [chain, draw, state],
//	                 q (Q*) [chain, draw, state, action], and beta [chain, draw] where β is inferred
//	prior            reward, independent draws in one chain; beta likewise
//	sample_stats     lp [chain, draw]: log-likelihood and log prior density, NaN where the prior has none; energy: −lp;
//	                 and of samplers acceptance_rate and diverging, of the transition that led to the draw
//	log_likelihood   demonstrated_action [chain, draw, decision]: log π(a|s) of each demonstrated decision
//	observed_data    demonstrated_action [decision], by its number
//	constant_data    demonstrated_state [decision], by its number
//
// with the names of states and actions as coordinates. The draws of a posterior that does not consist of chains are
// independent, in one chain. Without demonstrations the last three groups are missing; log_likelihood is missing, too,
// where it would hold more than 2²⁷ numbers, and the file's attribute left_out says so.
func Write(path string, post irl.Posterior, o Options) error {
	root, err := New(post, o)
	return write(path, root, err)
}

// write writes the root of a file, unless there is an error already.
func write(path string, root *netcdf.Group, err error) error {
	if err == nil && strings.EqualFold(filepath.Ext(path), ".npz") {
		err = fmt.Errorf("inferencedata: %s: want a name that ends in .nc; qvirl.SaveResult makes an .npz", path)
	}
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { return netcdf.Write(w, root) }); err != nil {
		return fmt.Errorf("inferencedata: %w", err)
	}
	return nil
}

// New returns what Write writes.
func New(post irl.Posterior, o Options) (*netcdf.Group, error) {
	if err := irl.CheckPosterior("inferencedata", post); err != nil {
		return nil, err
	}
	if o.Draws < 2 {
		return nil, fmt.Errorf("inferencedata: %d draws, want at least 2", o.Draws)
	}
	p, rng := post.Problem(), rand.New(rand.NewPCG(o.Seed, 0))
	samples, chains, err := mcmc.Draws(post, rng, o.Draws, 2)
	if err != nil {
		return nil, fmt.Errorf("inferencedata: %w", err)
	}
	b := &builder{problem: p, samples: samples, chains: 1}
	if chains != nil {
		b.chains = chains.Chains()
	}
	n, _ := b.samples.Reward.Dims()
	b.draws = n / b.chains
	root := &netcdf.Group{Attributes: map[string]string{"inference_library": "github.com/go-birl/birl"}}
	maps.Copy(root.Attributes, o.Attributes)
	likelihood := b.samples.LogPolicies(p.MDP.Actions(), p.Beta) // [draws, S·A]
	prior, err := b.prior(rng, o.Draws)
	if err != nil {
		return nil, fmt.Errorf("inferencedata: %w", err)
	}
	stats := b.group("sample_stats", draw, b.stats(likelihood, post)...)
	if s, ok := post.(mcmc.Sampled); ok {
		stats.Attributes = map[string]string{"acceptance": strconv.FormatFloat(s.Sampling().Acceptance, 'g', -1, 64)}
	}
	root.Groups = append(root.Groups, b.posterior(), *prior, stats)
	if len(p.Demos) == 0 {
		return root, nil
	}
	actions, states := make([]int64, len(p.Demos)), make([]int64, len(p.Demos))
	for i, d := range p.Demos {
		actions[i], states[i] = int64(d.Action), int64(d.State)
	}
	if len(p.Demos)*n > maxLikelihoods {
		root.Attributes["left_out"] = fmt.Sprintf("log_likelihood: %d decisions in %d draws", len(p.Demos), n)
	} else {
		each := make([]float64, 0, n*len(p.Demos))
		for i := range n {
			row := likelihood.RawRowView(i)
			for _, d := range p.Demos {
				each = append(each, row[d.State*p.MDP.Actions()+d.Action])
			}
		}
		root.Groups = append(root.Groups, b.group("log_likelihood", append(draw, decision),
			netcdf.Variable{Name: demonstrated, Dims: append(draw, decision), Data: each}))
	}
	root.Groups = append(root.Groups, b.group("observed_data", []string{decision},
		netcdf.Variable{Name: demonstrated, Dims: []string{decision}, Data: actions}),
		b.group("constant_data", []string{decision},
			netcdf.Variable{Name: "demonstrated_state", Dims: []string{decision}, Data: states}))
	return root, nil
}

// The dimensions.
const (
	state    = "state"
	action   = "action"
	decision = "decision"
)

// demonstrated is the variable that is observed.
const demonstrated = "demonstrated_action"

// draw are the dimensions of the draws.
var draw = []string{"chain", "draw"}

// builder makes the groups of a file.
type builder struct {
	problem       *irl.Problem
	samples       *irl.Samples
	chains, draws int
}

// group returns a group with the coordinates of the dimensions and the variables.
func (b *builder) group(name string, dims []string, variables ...netcdf.Variable) netcdf.Group {
	return group(name, dims, b.coordinate, variables)
}

func group(name string, dims []string, coordinate func(dim string) any, variables []netcdf.Variable) netcdf.Group {
	g := netcdf.Group{Name: name}
	for _, d := range dims {
		g.Variables = append(g.Variables, netcdf.Variable{Name: d, Dims: []string{d}, Data: coordinate(d)})
	}
	g.Variables = append(g.Variables, variables...)
	return g
}

// numbers returns 0, …, n−1.
func numbers(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// coordinate returns the names or numbers of the places of a dimension.
func (b *builder) coordinate(dim string) any {
	p, n := b.problem, 0
	switch dim {
	case "chain":
		n = b.chains
	case "draw":
		n = b.draws
	case decision:
		n = len(p.Demos)
	case state:
		if p.StateNames != nil {
			return p.StateNames
		}
		n = p.MDP.States()
	case action:
		if p.ActionNames != nil {
			return p.ActionNames
		}
		n = p.MDP.Actions()
	}
	return numbers(n)
}

// rewardDims are the dimensions of draws of rewards.
func (b *builder) rewardDims() []string {
	if b.problem.StateOnly() {
		return append(draw, state)
	}
	return append(draw, state, action)
}

func (b *builder) posterior() netcdf.Group {
	variables := []netcdf.Variable{
		{Name: "reward", Dims: b.rewardDims(), Data: flat(b.samples.Reward)},
		{Name: "value", Dims: append(draw, state), Data: flat(b.samples.Values(b.problem.MDP.Actions()))},
		{Name: "q", Dims: append(draw, state, action), Data: flat(b.samples.Q)},
	}
	if b.samples.Beta != nil {
		variables = append(variables, netcdf.Variable{Name: "beta", Dims: draw, Data: b.samples.Beta})
	}
	return b.group("posterior", append(draw, state, action), variables...)
}

// prior returns so many independent draws from the prior.
func (b *builder) prior(rng *rand.Rand, n int) (*netcdf.Group, error) {
	p := b.problem
	factor, err := p.Prior.Factor()
	if err != nil {
		return nil, err
	}
	one := &builder{problem: p, chains: 1, draws: n}
	var rewards, betas []float64
	for range n {
		rewards = append(rewards, p.Prior.Draw(rng, factor)...)
		betas = append(betas, p.Beta*math.Exp(p.BetaLogStd*rng.NormFloat64()))
	}
	variables := []netcdf.Variable{{Name: "reward", Dims: b.rewardDims(), Data: rewards}}
	if p.InfersBeta() {
		variables = append(variables, netcdf.Variable{Name: "beta", Dims: draw, Data: betas})
	}
	g := one.group("prior", b.rewardDims(), variables...)
	return &g, nil
}

// stats returns what is known of each draw beside its position.
func (b *builder) stats(likelihood *mat.Dense, post irl.Posterior) []netcdf.Variable {
	lp := b.lp(likelihood)
	energy := make([]float64, len(lp))
	floats.SubTo(energy, energy, lp)
	out := []netcdf.Variable{{Name: "lp", Dims: draw, Data: lp}, {Name: "energy", Dims: draw, Data: energy,
		Attributes: map[string]string{"description": "negative log density of the draw: no kinetic energy in it"}}}
	sampled, ok := post.(interface{ Transitions() []mcmc.Transition })
	if !ok || sampled.Transitions() == nil {
		return out
	}
	accepted, diverging := make([]float64, len(lp)), make([]int64, len(lp))
	for i, t := range sampled.Transitions() {
		accepted[i], diverging[i] = t.Acceptance, int64(npz.Indicator(t.Divergent))
	}
	return append(out, netcdf.Variable{Name: "acceptance_rate", Dims: draw, Data: accepted},
		netcdf.Variable{Name: "diverging", Dims: draw, Data: diverging,
			Attributes: map[string]string{"dtype": "bool"}}) // so xarray stores truth values
}

// lp returns the log density of each draw up to a constant,
//
//	Σ log π(aᵢ|sᵢ) − ½ (r − m)ᵀ Σ⁻¹ (r − m) − ½ (log β/β₀)²/σ²,
//
// of the rewards (and of log β): NaN where the prior has no density.
func (b *builder) lp(likelihood *mat.Dense) []float64 {
	p := b.problem
	n, dim := b.samples.Reward.Dims()
	out := make([]float64, n)
	precision, _, err := p.Prior.Precision()
	counts := p.DemoCounts()
	deviation := mat.NewVecDense(dim, nil)
	for i := range out {
		if err != nil {
			out[i] = math.NaN()
			continue
		}
		for j, l := range likelihood.RawRowView(i) {
			if counts[j] > 0 {
				out[i] += counts[j] * l
			}
		}
		deviation.SubVec(mat.NewVecDense(dim, b.samples.Reward.RawRowView(i)), mat.NewVecDense(dim, p.Prior.Mean))
		out[i] -= mat.Inner(deviation, precision, deviation) / 2
		if b.samples.Beta != nil {
			z := math.Log(b.samples.Beta[i]/p.Beta) / p.BetaLogStd
			out[i] -= z * z / 2
		}
	}
	return out
}

// flat returns the numbers of a matrix, row by row.
func flat(m *mat.Dense) []float64 { return mat.DenseCopyOf(m).RawMatrix().Data }
