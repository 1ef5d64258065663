package valuewalk

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Save writes the posterior to an .npz file, whole or not at all. The samples are stored as float32, reward [kept,
// RewardDim] and value [kept, S] or [kept, S·A] and, where it is inferred, beta [kept], chain by chain; the diagnostics go
// with them. The problem itself is not stored, only a hash of it that Load compares.
func (p *Posterior) Save(path string) error {
	arrays, err := arraysOf(p.Posterior)
	if err != nil {
		return err
	}
	d := p.diagnostics
	arrays["determinant"] = npz.Ints([]int{0})
	if p.determinant {
		arrays["determinant"] = npz.Ints([]int{1})
	}
	for name, v := range d.scalars() {
		arrays[name] = npz.Scalar(*v)
	}
	arrays["divergences"], arrays["iterations"] = npz.Ints([]int{d.Divergences}), npz.Ints([]int{d.Iterations})
	for name, v := range d.vectors(p.Problem()) {
		arrays[name] = npz.Floats(*v.data, v.length)
	}
	if err := npz.Write(path, arrays); err != nil {
		return fmt.Errorf("valuewalk: cannot save the posterior: %w", err)
	}
	return nil
}

// scalars and vectors name the diagnostics as they are stored.
func (d *Diagnostics) scalars() map[string]*float64 {
	return map[string]*float64{"acceptance": &d.Acceptance, "step_size": &d.StepSize, "leapfrog_steps": &d.LeapfrogSteps,
		"seconds": &d.Seconds, "min_ess": &d.MinESS, "max_rhat": &d.MaxRHat}
}

func (d *Diagnostics) vectors(p *irl.Problem) map[string]vector {
	out := map[string]vector{}
	add := func(of string, c *mcmc.Convergence, length int) {
		out[of+"_rhat"], out[of+"_ess_bulk"], out[of+"_ess_tail"] = vector{&c.RHat, length}, vector{&c.BulkESS, length}, vector{&c.TailESS, length}
	}
	add("reward", &d.Reward, p.RewardDim())
	add("value", &d.Value, p.MDP.States())
	if p.InfersBeta() {
		add("beta", &d.Beta, 1)
	}
	return out
}

type vector struct {
	data   *[]float64
	length int
}

// arraysOf returns the arrays that all posteriors of samples are stored as.
func arraysOf(p *mcmc.Posterior) (map[string]npz.Array, error) {
	hash, err := hashOf(p.Problem())
	if err != nil {
		return nil, err
	}
	arrays := map[string]npz.Array{
		"reward":  single(p.Rewards()),
		"value":   single(p.Values()),
		"chains":  npz.Ints([]int{p.Chains()}),
		"problem": npz.Ints(hash, len(hash)),
	}
	if betas := p.Betas(); betas != nil {
		arrays["beta"] = npz.Floats(betas, len(betas))
	}
	return arrays, nil
}

func single(x *mat.Dense) npz.Array {
	rows, columns := x.Dims()
	return npz.Array{Shape: []int{rows, columns}, Data: x.RawMatrix().Data, Type: npz.Float32}
}

// hashOf returns the problem's fingerprint in halves, which a float64 holds without rounding.
func hashOf(p *irl.Problem) ([]int, error) {
	h, err := mcmc.Fingerprint(p)
	if err != nil {
		return nil, err
	}
	return []int{int(h >> 32), int(h & math.MaxUint32)}, nil
}

// Load reads a posterior that Save wrote for the same problem. It refuses files of other problems, damaged files, and
// samples that are not finite.
func Load(path string, problem *irl.Problem) (*Posterior, error) {
	l, err := open(path, problem)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	determinant := l.Int("determinant")
	samples := l.posterior(problem, mcmc.MinPerChain)
	var d Diagnostics
	l.scalars(d.scalars())
	d.Divergences, d.Iterations = l.Int("divergences"), l.Int("iterations")
	for name, v := range d.vectors(problem) {
		*v.data = l.Numbers(name, v.length)
	}
	if err := l.Err(); err != nil {
		return nil, fmt.Errorf("valuewalk: cannot load a posterior: %w", err)
	}
	return &Posterior{Posterior: samples, determinant: determinant != 0, diagnostics: d}, nil
}

// open opens a file for a problem.
func open(path string, problem *irl.Problem) (*loader, error) {
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	r, err := npz.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("valuewalk: cannot load a posterior: %w", err)
	}
	return &loader{r}, nil
}

// loader reads a stored posterior.
type loader struct{ *npz.Reader }

// posterior returns the samples of a problem, at least so many a chain.
func (l *loader) posterior(problem *irl.Problem, minPerChain int) *mcmc.Posterior {
	want, err := hashOf(problem)
	if err != nil {
		l.Fail("%v", err)
	}
	if hash := l.Numbers("problem", len(want)); l.Err() == nil && (int(hash[0]) != want[0] || int(hash[1]) != want[1]) {
		l.Fail("it holds the posterior of another problem")
	}
	chains, n := l.Int("chains"), problem.RewardDim()
	reward := l.Finite("reward", -1, n)
	kept := len(reward) / n
	if l.Err() == nil && (chains < 1 || kept < minPerChain*chains || kept%chains != 0) {
		l.Fail("%d samples do not make %d chains of at least %d each", kept, chains, minPerChain)
	}
	value := l.Finite("value", kept, n)
	var beta []float64
	if problem.InfersBeta() {
		beta = l.Finite("beta", kept)
	}
	if l.Err() != nil {
		return nil
	}
	p := mcmc.NewPosterior(problem, chains, kept/chains)
	for i := range kept {
		p.Set(i, reward[i*n:(i+1)*n], value[i*n:(i+1)*n])
	}
	copy(p.Betas(), beta)
	return p
}

// scalars reads diagnostics, which may be infinite, or no numbers.
func (l *loader) scalars(into map[string]*float64) {
	for name, v := range into {
		if x := l.Numbers(name); x != nil {
			*v = x[0]
		}
	}
}
