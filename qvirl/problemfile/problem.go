// Package problemfile reads IRL problems from NumPy archives (.npz), and writes problems and the answers to them, so that
// any finite MDP can be solved from any language.
//
// A problem on S states and A actions consists of the arrays
//
//	transitions  [S,A,S]  probabilities of the successors; all-zero rows where the episode ends
//	prior_mean   [S]      prior mean of state-only rewards, or [S,A] of state-action rewards
//	prior_std             standard deviations of independent rewards, of the shape of prior_mean, or instead
//	prior_cov    [S,S]    covariance; [S·A,S·A] or [S,A,S,A] for state-action rewards
//	demos        [n,2]    integers: state and action of each demonstrated decision; n may be 0
//	discount     []       γ in [0, 1)
//	beta         []       rationality coefficient β > 0 of the Boltzmann-rational expert
//	beta_log_std []       standard deviation of a log-normal prior over β, whose median beta then is; optional, 0 by default: β
//	                      is known
//	initial      [S]      distribution of the first state; optional, uniform by default
//
// Arrays of other names are ignored. See Answer for the arrays that come back.
package problemfile

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl"
)

// Names of the arrays of a problem.
const (
	transitions = "transitions"
	priorMean   = "prior_mean"
	priorStd    = "prior_std"
	priorCov    = "prior_cov"
	demos       = "demos"
	discount    = "discount"
	beta        = "beta"
	betaLogStd  = "beta_log_std"
	initial     = "initial"
)

// asymmetry is how far a covariance may be from symmetric, relative to its largest entry. Files written in float32 stay
// within it.
const asymmetry = 1e-6

// Read reads a problem and validates it. Errors name the file, and the array with index and value where one is to blame.
func Read(path string) (*qvirl.Problem, error) {
	archive, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("problem file: %w", err)
	}
	defer archive.Close()
	return ReadArchive(archive)
}

// ReadArchive is Read from an archive that is open, wherever it comes from.
func ReadArchive(archive *npz.Archive) (*qvirl.Problem, error) {
	p, err := (&reader{archive: archive}).problem()
	if err != nil {
		return nil, fmt.Errorf("problem file %s: %w", archive.Path(), err)
	}
	return p, nil
}

// reader reads the arrays of a problem; after the first error it reads nothing more.
type reader struct {
	archive         *npz.Archive
	states, actions int
	err             error
}

func (r *reader) problem() (*qvirl.Problem, error) {
	if err := r.checkNames(); err != nil {
		return nil, err
	}
	p := &qvirl.Problem{
		MDP:      r.mdp(),
		Discount: r.scalar(discount),
		Beta:     r.scalar(beta),
		Demos:    r.demos(),
	}
	if r.archive.Has(betaLogStd) {
		p.BetaLogStd = r.scalar(betaLogStd)
	}
	p.Prior = r.prior()
	if r.err == nil {
		r.err = p.Validate()
	}
	return p, r.err
}

// checkNames reports all arrays that are missing at once.
func (r *reader) checkNames() error {
	var missing []string
	for _, name := range []string{transitions, priorMean, demos, discount, beta} {
		if !r.archive.Has(name) {
			missing = append(missing, name)
		}
	}
	std, cov := r.archive.Has(priorStd), r.archive.Has(priorCov)
	if !std && !cov {
		missing = append(missing, priorStd+" (or "+priorCov+")")
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing %s; it holds %s", strings.Join(missing, ", "), strings.Join(r.archive.Names(), ", "))
	}
	if std && cov {
		return fmt.Errorf("it holds both %s and %s; want one of them", priorStd, priorCov)
	}
	return nil
}

// array reads an array and checks that its numbers are finite.
func (r *reader) array(name string) *npz.Array {
	if r.err != nil {
		return nil
	}
	a, err := r.archive.Array(name)
	if err == nil {
		err = a.CheckFinite(name)
	}
	if err != nil {
		r.err = err
		return nil
	}
	return a
}

func (r *reader) mdp() *mdp.MDP {
	a := r.array(transitions)
	if a == nil {
		return nil
	}
	if len(a.Shape) != 3 || a.Shape[0] != a.Shape[2] || len(a.Data) == 0 {
		r.err = fmt.Errorf("%s has the shape %v, want [states, actions, states]", transitions, a.Shape)
		return nil
	}
	r.states, r.actions = a.Shape[0], a.Shape[1]
	var start []float64
	if r.archive.Has(initial) {
		first := r.array(initial)
		if first == nil {
			return nil
		}
		if !is(first.Shape, r.states) {
			r.err = fmt.Errorf("%s has the shape %v, want [%d]", initial, first.Shape, r.states)
			return nil
		}
		start = first.Data
	}
	m, err := mdp.FromDense(r.states, r.actions, a.Data, start)
	r.err = err
	return m
}

// scalar reads a number that is stored as an array of no dimensions, or of one element.
func (r *reader) scalar(name string) float64 {
	a := r.array(name)
	if a == nil {
		return 0
	}
	if len(a.Data) != 1 || len(a.Shape) > 1 {
		r.err = fmt.Errorf("%s has the shape %v, want a single number", name, a.Shape)
		return 0
	}
	return a.Data[0]
}

func (r *reader) demos() []mdp.Step {
	a := r.array(demos)
	if a == nil || len(a.Data) == 0 { // NumPy makes an empty list an array of floats of shape (0,)
		return nil
	}
	if len(a.Shape) != 2 || a.Shape[1] != 2 {
		r.err = fmt.Errorf("%s has the shape %v, want [n, 2]: a state and an action in each row", demos, a.Shape)
		return nil
	}
	if a.Type != npz.Int64 {
		r.err = fmt.Errorf("%s holds floats, want integers: a state and an action in each row", demos)
		return nil
	}
	steps := make([]mdp.Step, a.Shape[0])
	for i := range steps {
		steps[i] = mdp.Step{State: int(a.Data[2*i]), Action: int(a.Data[2*i+1])}
	}
	return steps
}

func (r *reader) prior() qvirl.Prior {
	mean := r.array(priorMean)
	if mean == nil {
		return qvirl.Prior{}
	}
	if !is(mean.Shape, r.states) && !is(mean.Shape, r.states, r.actions) {
		r.err = fmt.Errorf("%s has the shape %v, want [%d] for state-only rewards or [%d %d] for state-action rewards",
			priorMean, mean.Shape, r.states, r.states, r.actions)
		return qvirl.Prior{}
	}
	if r.archive.Has(priorCov) {
		return qvirl.Prior{Mean: mean.Data, Cov: r.covariance(len(mean.Data), len(mean.Shape) == 2)}
	}
	std := r.array(priorStd)
	if std == nil {
		return qvirl.Prior{}
	}
	if !is(std.Shape, mean.Shape...) {
		r.err = fmt.Errorf("%s has the shape %v, want %v as %s", priorStd, std.Shape, mean.Shape, priorMean)
		return qvirl.Prior{}
	}
	return qvirl.Prior{Mean: mean.Data, Std: std.Data}
}

// covariance reads the prior covariance [n, n].
func (r *reader) covariance(n int, pairs bool) *mat.SymDense {
	a := r.array(priorCov)
	if a == nil {
		return nil
	}
	if !is(a.Shape, n, n) && !(pairs && is(a.Shape, r.states, r.actions, r.states, r.actions)) {
		r.err = fmt.Errorf("%s has the shape %v, want [%d %d], since %s holds %d numbers", priorCov, a.Shape, n, n, priorMean, n)
		return nil
	}
	largest := 0.0
	for _, v := range a.Data {
		largest = math.Max(largest, math.Abs(v))
	}
	out := mat.NewSymDense(n, nil)
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			above, below := a.Data[i*n+j], a.Data[j*n+i]
			if math.Abs(above-below) > asymmetry*largest {
				r.err = fmt.Errorf("%s is not symmetric: %g at [%d %d], %g at [%d %d]", priorCov, above, i, j, below, j, i)
				return nil
			}
			out.SetSym(i, j, (above+below)/2)
		}
	}
	return out
}

// Write writes a problem, atomically. The folder must exist.
func Write(path string, p *qvirl.Problem) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("problem file %s: %w", path, err)
	}
	s, a, n := p.MDP.States(), p.MDP.Actions(), p.RewardDim()
	steps := make([]int, 0, 2*len(p.Demos))
	for _, d := range p.Demos {
		steps = append(steps, d.State, d.Action)
	}
	arrays := map[string]npz.Array{
		transitions: npz.Floats(p.MDP.Dense(), s, a, s),
		initial:     npz.Floats(p.MDP.Initial(), s),
		priorMean:   npz.Floats(p.Prior.Mean, rewardShape(p)...),
		demos:       npz.Ints(steps, len(p.Demos), 2),
		discount:    npz.Scalar(p.Discount),
		beta:        npz.Scalar(p.Beta),
	}
	if p.InfersBeta() {
		arrays[betaLogStd] = npz.Scalar(p.BetaLogStd)
	}
	if p.Prior.Cov != nil {
		arrays[priorCov] = npz.Floats(dense(p.Prior.Cov), n, n)
	} else {
		arrays[priorStd] = npz.Floats(p.Prior.Std, rewardShape(p)...)
	}
	if err := npz.Write(path, arrays); err != nil {
		return fmt.Errorf("problem file: %w", err)
	}
	return nil
}

// rewardShape returns [S] for state-only and [S,A] for state-action rewards, after the leading dimensions.
func rewardShape(p *qvirl.Problem, leading ...int) []int {
	if p.StateOnly() {
		return append(leading, p.MDP.States())
	}
	return append(leading, p.MDP.States(), p.MDP.Actions())
}

func dense(m mat.Matrix) []float64 { return mat.DenseCopyOf(m).RawMatrix().Data }

func is(shape []int, want ...int) bool {
	if len(shape) != len(want) {
		return false
	}
	for i, d := range shape {
		if d != want[i] {
			return false
		}
	}
	return true
}
