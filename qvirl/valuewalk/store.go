package valuewalk

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Save writes the posterior to an .npz file, whole or not at all. The samples are stored as float32, reward [kept,
// RewardDim] and value [kept, S] or [kept, S·A], chain by chain; the diagnostics go with them. The problem itself is not
// stored, only a hash of it that Load compares.
func (p *Posterior) Save(path string) error {
	hash, err := hashOf(p.Problem())
	if err != nil {
		return err
	}
	d := p.diagnostics
	arrays := map[string]npz.Array{
		"reward":      single(p.Rewards()),
		"value":       single(p.Values()),
		"chains":      npz.Ints([]int{p.Chains()}),
		"determinant": npz.Ints([]int{0}),
		"problem":     npz.Ints(hash, len(hash)),
	}
	if p.determinant {
		arrays["determinant"] = npz.Ints([]int{1})
	}
	for name, v := range d.scalars() {
		arrays[name] = npz.Scalar(*v)
	}
	arrays["divergences"], arrays["iterations"] = npz.Ints([]int{d.Divergences}), npz.Ints([]int{d.Iterations})
	for name, v := range d.vectors() {
		arrays[name] = npz.Floats(*v, len(*v))
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

func (d *Diagnostics) vectors() map[string]*[]float64 {
	return map[string]*[]float64{
		"reward_rhat": &d.Reward.RHat, "reward_ess_bulk": &d.Reward.BulkESS, "reward_ess_tail": &d.Reward.TailESS,
		"value_rhat": &d.Value.RHat, "value_ess_bulk": &d.Value.BulkESS, "value_ess_tail": &d.Value.TailESS,
	}
}

func single(x *mat.Dense) npz.Array {
	rows, columns := x.Dims()
	return npz.Array{Shape: []int{rows, columns}, Data: x.RawMatrix().Data, Type: npz.Float32}
}

// hashOf returns the problem's fingerprint in halves, which a float64 holds without rounding.
func hashOf(p *qvirl.Problem) ([]int, error) {
	h, err := mcmc.Fingerprint(p)
	if err != nil {
		return nil, err
	}
	return []int{int(h >> 32), int(h & math.MaxUint32)}, nil
}

// Load reads a posterior that Save wrote for the same problem. It refuses files of other problems, damaged files, and
// samples that are not finite.
func Load(path string, problem *qvirl.Problem) (*Posterior, error) {
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	archive, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("valuewalk: cannot load a posterior: %w", err)
	}
	defer archive.Close()
	l := loader{archive: archive, path: path}
	want, err := hashOf(problem)
	if err != nil {
		return nil, err
	}
	if hash := l.array("problem", len(want)); l.err == nil && (int(hash[0]) != want[0] || int(hash[1]) != want[1]) {
		return nil, fmt.Errorf("valuewalk: %s holds the posterior of another problem", path)
	}
	chains, determinant := l.integer("chains"), l.integer("determinant")
	reward, kept := l.samples("reward", problem.RewardDim())
	if l.err == nil && (chains < 1 || kept < mcmc.MinPerChain*chains || kept%chains != 0) {
		return nil, fmt.Errorf("valuewalk: %s: %d samples do not make %d chains of at least %d each", path, kept, chains, mcmc.MinPerChain)
	}
	n := problem.RewardDim()
	value := l.array("value", kept, n)
	var d Diagnostics
	for name, v := range d.scalars() {
		if x := l.array(name); l.err == nil {
			*v = x[0]
		}
	}
	d.Divergences, d.Iterations = l.integer("divergences"), l.integer("iterations")
	for name, v := range d.vectors() {
		length := n
		if v == &d.Value.RHat || v == &d.Value.BulkESS || v == &d.Value.TailESS {
			length = problem.MDP.States()
		}
		*v = l.array(name, length)
	}
	if l.err != nil {
		return nil, l.err
	}
	p := &Posterior{Posterior: mcmc.NewPosterior(problem, chains, kept/chains), determinant: determinant != 0, diagnostics: d}
	for i, samples := range [][]float64{reward, value} {
		for j, v := range samples {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("valuewalk: %s: %s[%d,%d] = %g is not finite", path, []string{"reward", "value"}[i], j/n, j%n, v)
			}
		}
	}
	for i := 0; i < kept; i++ {
		p.Set(i, reward[i*n:(i+1)*n], value[i*n:(i+1)*n])
	}
	return p, nil
}

// loader reads arrays until the first error.
type loader struct {
	archive *npz.Archive
	path    string
	err     error
}

// array returns the numbers of an array of the given shape.
func (l *loader) array(name string, shape ...int) []float64 {
	if l.err != nil {
		return nil
	}
	a, err := l.archive.Array(name)
	if err != nil {
		l.err = fmt.Errorf("valuewalk: cannot load a posterior: %w", err)
		return nil
	}
	same := len(a.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = a.Shape[i] == shape[i]
	}
	if !same {
		l.err = fmt.Errorf("valuewalk: %s: array %q has the shape %v, want %v", l.path, name, a.Shape, shape)
		return nil
	}
	return a.Data
}

func (l *loader) integer(name string) int {
	x := l.array(name)
	if l.err == nil && (x[0] != math.Trunc(x[0]) || math.Abs(x[0]) > math.MaxInt32) {
		l.err = fmt.Errorf("valuewalk: %s: %s = %g is not a count", l.path, name, x[0])
	}
	if l.err != nil {
		return 0
	}
	return int(x[0])
}

// samples returns the numbers of a matrix of samples with the given number of columns, and the number of its rows.
func (l *loader) samples(name string, columns int) (data []float64, rows int) {
	if l.err != nil {
		return nil, 0
	}
	a, err := l.archive.Array(name)
	switch {
	case err != nil:
		l.err = fmt.Errorf("valuewalk: cannot load a posterior: %w", err)
	case len(a.Shape) != 2 || a.Shape[1] != columns:
		l.err = fmt.Errorf("valuewalk: %s: array %q has the shape %v, want samples of %d numbers", l.path, name, a.Shape, columns)
	default:
		return a.Data, a.Shape[0]
	}
	return nil, 0
}
