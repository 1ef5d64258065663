// Package problemfile reads IRL problems from NumPy archives (.npz), and writes problems and the answers to them, so
// that any finite MDP can be solved from any language.
//
// A problem on S states and A actions consists of the arrays
//
//	transitions  [S,A,S]  probabilities of the successors; all-zero rows where the episode ends; or, where most are
//	                      zero, the arrays of the next table
//	prior_mean   [S]      prior mean of state-only rewards, or [S,A] of state-action rewards
//	prior_std             standard deviations of independent rewards, of the shape of prior_mean, or one for all; or another
//	                      form of the prior's covariance, from the table below
//	demos        [n,2]    integers: state and action of each demonstrated decision; n may be 0
//	discount     []       γ in [0, 1)
//	beta         []       rationality coefficient β > 0 of the Boltzmann-rational expert
//	beta_log_std []       standard deviation of a log-normal prior over β, whose median beta then is; optional, 0 by default: β
//	                      is known
//	initial      [S]      distribution of the first state; optional, uniform by default
//	state_names  [S]      texts: what tables and netCDF files call the states; optional, their numbers by default
//	action_names [A]      likewise the actions
//
// Transitions of which few are possible are given by those, S being the length of prior_mean, in one of two layouts:
//
//	transitions_probs    [k]      probabilities, in any order; where the episode ends there are none
//	transitions_indices  [k,3]    integers: state, action and successor of each; A is that of prior_mean [S,A], or one
//	                              more than the largest action
//
//	transitions_probs    [k]      data, indices and indptr of a matrix [S·A, S] in SciPy's CSR format, of
//	transitions_indices  [k]      which row s·A + a has the successors of action a in state s
//	transitions_indptr   [S·A+1]
//
// A problem is written with transitions as long as these are at most 2²² numbers (S = 915 with five actions), and in
// CSR format beyond.
//
// The prior's covariance is one of
//
//	prior_std                      independent rewards
//	prior_cov         [S,S]        any covariance, singular or not; [S·A,S·A] or [S,A,S,A] for state-action rewards
//	prior_low_rank    [S,k]        W of the covariance W Wᵀ + diag(prior_std²); [S,A,k] for state-action rewards; prior_std is
//	                               optional here, and may have zeros
//	prior_kernel      []           a text: rbf, matern12, matern32, matern52 or linear (see irl.Kernel), with
//	prior_lengthscale [] or [d]    its lengthscale, one for all features or one for each,
//	state_features    [S,d]        the features of the states, or for state-action rewards
//	reward_features   [S,A,d]      those of the rewards,
//	prior_std                      the output standard deviation, one for all rewards or one for each,
//	prior_nugget      []           and a variance of each reward that it shares with no other; optional, 0 by default
//
// Such a kernel is written as the covariance, or for linear the low-rank factor, that it stands for.
//
// Arrays of other names are ignored. No array may have more than 2²⁷ numbers (1 GiB). See Answer for the arrays that
// come back.
package problemfile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// Names of the arrays of a problem.
const (
	transitions = "transitions"
	probs       = transitions + "_probs"
	indices     = transitions + "_indices"
	rowStarts   = transitions + "_indptr"
	priorMean   = "prior_mean"
	priorStd    = "prior_std"
	priorCov    = "prior_cov"
	lowRank     = "prior_low_rank"
	kernelName  = "prior_kernel"
	lengthscale = "prior_lengthscale"
	nugget      = "prior_nugget"
	stateFeats  = "state_features"
	rewardFeats = "reward_features"
	demos       = "demos"
	discount    = "discount"
	beta        = "beta"
	betaLogStd  = "beta_log_std"
	initial     = "initial"
	stateNames  = "state_names"
	actionNames = "action_names"
)

// maxNumbers bounds an array, and with it the memory that reading takes: a file of zeros deflates a thousandfold.
const maxNumbers = 1 << 27

// largestDense is the number of transition probabilities up to which they are written with their zeros.
const largestDense = 1 << 22

// asymmetry is how far a covariance may be from symmetric, relative to its largest entry. Files written in float32 stay
// within it.
const asymmetry = 1e-6

// Read reads a problem and validates it. Errors name the file, and the array with index and value where one is to
// blame.
func Read(path string) (*irl.Problem, error) {
	archive, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("problem file: %w", err)
	}
	defer archive.Close()
	return read(archive)
}

// bytesOfTransition is the most that reading takes for a transition: the array while it grows, and a place among the
// successors. bytesOfNumber is that for any other number.
const bytesOfTransition, bytesOfNumber = 40, 24

// MemoryNeed estimates how many bytes Read takes at most, by the shapes that the headers of the arrays declare.
func MemoryNeed(path string) (float64, error) {
	archive, err := npz.Open(path)
	if err != nil {
		return 0, fmt.Errorf("problem file: %w", err)
	}
	defer archive.Close()
	need := 0.
	for _, name := range archive.Names() {
		shape, err := archive.Shape(name)
		if err != nil {
			return 0, fmt.Errorf("problem file: %w", err)
		}
		bytes := float64(bytesOfNumber)
		if name == transitions || name == probs {
			bytes = bytesOfTransition
		}
		for _, d := range shape {
			bytes *= float64(d)
		}
		need += bytes
	}
	return need, nil
}

// read reads the problem from an archive.
func read(archive *npz.Archive) (*irl.Problem, error) {
	archive.Limit = maxNumbers
	return ReadArchive(archive)
}

// ReadArchive is Read from an archive that is open, wherever it comes from.
func ReadArchive(archive *npz.Archive) (*irl.Problem, error) {
	p, err := (&reader{archive: archive}).problem()
	if err != nil {
		return nil, fmt.Errorf("problem file %s: %w", archive.Path(), err)
	}
	return p, nil
}

// reader reads the arrays of a problem, whose size the first ones set; after the first error it reads nothing more.
type reader struct {
	archive         *npz.Archive
	states, actions int
	err             error
}

func (r *reader) problem() (*irl.Problem, error) {
	if err := r.checkNames(); err != nil {
		return nil, err
	}
	p := &irl.Problem{
		MDP:      r.mdp(),
		Discount: r.scalar(discount),
		Beta:     r.scalar(beta),
		Demos:    r.demos(),
	}
	if r.archive.Has(betaLogStd) {
		p.BetaLogStd = r.scalar(betaLogStd)
	}
	p.Prior = r.prior()
	p.StateNames, p.ActionNames = r.texts(stateNames), r.texts(actionNames)
	if r.err == nil {
		r.err = p.Validate()
	}
	return p, r.err
}

// checkNames reports all arrays that are missing at once.
func (r *reader) checkNames() error {
	var missing []string
	layout := []string{transitions}
	if !r.archive.Has(transitions) && (r.archive.Has(probs) || r.archive.Has(indices)) {
		layout = []string{probs, indices}
	}
	for _, name := range append(layout, priorMean, demos, discount, beta) {
		if !r.archive.Has(name) {
			missing = append(missing, name)
		}
	}
	var forms []string
	for _, name := range []string{priorCov, lowRank, kernelName} {
		if r.archive.Has(name) {
			forms = append(forms, name)
		}
	}
	switch std := r.archive.Has(priorStd); {
	case len(forms) == 0 && !std:
		missing = append(missing, fmt.Sprintf("%s (or %s, %s, or %s)", priorStd, priorCov, lowRank, kernelName))
	case r.archive.Has(kernelName):
		for _, name := range []string{lengthscale, priorStd} {
			if !r.archive.Has(name) {
				missing = append(missing, name+" (of "+kernelName+")")
			}
		}
	case std && r.archive.Has(priorCov):
		forms = append([]string{priorStd}, forms...)
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing %s; it holds %s", strings.Join(missing, ", "), strings.Join(r.archive.Names(), ", "))
	}
	if r.archive.Has(transitions) && r.archive.Has(probs) {
		return fmt.Errorf("it holds both %s and %s; want one of them", transitions, probs)
	}
	if len(forms) > 1 {
		return fmt.Errorf("it holds both %s; want one of them", strings.Join(forms, " and "))
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

// texts reads an array of texts, nil where there is none.
func (r *reader) texts(name string) []string {
	if r.err != nil || !r.archive.Has(name) {
		return nil
	}
	var out []string
	out, r.err = r.archive.Texts(name)
	return out
}

func (r *reader) mdp() *mdp.MDP {
	var m *mdp.MDP
	if r.archive.Has(probs) {
		rows := r.successors()
		if first := r.initial(); r.err == nil {
			m, r.err = mdp.New(r.states, r.actions, rows, first)
		}
	} else if a := r.array(transitions); a != nil {
		if len(a.Shape) != 3 || a.Shape[0] != a.Shape[2] || len(a.Data) == 0 {
			r.err = fmt.Errorf("%s has the shape %v, want [states, actions, states]", transitions, a.Shape)
			return nil
		}
		r.states, r.actions = a.Shape[0], a.Shape[1]
		if first := r.initial(); r.err == nil {
			m, r.err = mdp.FromDense(r.states, r.actions, a.Data, first)
		}
	}
	return m
}

// initial reads the distribution of the first state, nil where there is none.
func (r *reader) initial() []float64 {
	if !r.archive.Has(initial) {
		return nil
	}
	first := r.array(initial)
	if first == nil {
		return nil
	}
	if !is(first.Shape, r.states) {
		r.err = fmt.Errorf("%s has the shape %v, want [%d]", initial, first.Shape, r.states)
		return nil
	}
	return first.Data
}

// successors reads the transitions that are given without their zeros, and the numbers of states and actions.
func (r *reader) successors() [][]mdp.Transition {
	p, at := r.array(probs), r.integers(indices)
	if r.err != nil {
		return nil
	}
	mean, err := r.archive.Shape(priorMean)
	if err != nil || len(mean) == 0 || mean[0] == 0 {
		r.err = errors.Join(err, fmt.Errorf("%s has the shape %v, want [states] or [states, actions]", priorMean, mean))
		return nil
	}
	r.states = mean[0]
	if r.archive.Has(rowStarts) {
		return r.compressed(p, at)
	}
	k := len(p.Data)
	if !is(p.Shape, k) || !is(at.Shape, k, 3) {
		r.err = fmt.Errorf("%s and %s have the shapes %v and %v, want [k] and [k, 3]: a state, an action and a "+
			"successor in each row; or [k] and [k], with %s", probs, indices, p.Shape, at.Shape, rowStarts)
		return nil
	}
	for i := range k {
		r.actions = max(r.actions, 1+int(at.Data[3*i+1]))
	}
	if len(mean) == 2 {
		r.actions = mean[1]
	}
	if r.actions > maxNumbers/r.states {
		r.err = fmt.Errorf("%s name %d actions in %d states; want at most %d pairs", indices, r.actions, r.states,
			maxNumbers)
		return nil
	}
	rows := make([][]mdp.Transition, r.states*r.actions)
	for i, v := range p.Data {
		s, a, next := int(at.Data[3*i]), int(at.Data[3*i+1]), int(at.Data[3*i+2])
		if s < 0 || s >= r.states || a < 0 || a >= r.actions {
			r.err = fmt.Errorf("%s[%d] names action %d in state %d, of %d actions in %d states (the length of %s)",
				indices, i, a, s, r.actions, r.states, priorMean)
			return nil
		}
		rows[s*r.actions+a] = append(rows[s*r.actions+a], mdp.Transition{Next: next, Prob: v})
	}
	return rows
}

// compressed is successors in CSR format.
func (r *reader) compressed(p, at *npz.Array) [][]mdp.Transition {
	starts := r.integers(rowStarts)
	if r.err != nil {
		return nil
	}
	k, count := len(p.Data), len(starts.Data)-1
	if !is(p.Shape, k) || !is(at.Shape, k) || len(starts.Shape) != 1 || count < 1 || count%r.states != 0 {
		r.err = fmt.Errorf("%s, %s and %s have the shapes %v, %v and %v, want [k], [k] and [states·actions + 1] with "+
			"%d states (the length of %s)", probs, indices, rowStarts, p.Shape, at.Shape, starts.Shape, r.states,
			priorMean)
		return nil
	}
	r.actions = count / r.states
	rows := make([][]mdp.Transition, count)
	for i := range rows {
		from, to := int(starts.Data[i]), int(starts.Data[i+1])
		if from < 0 || to < from || to > k || i == 0 && from != 0 || i == count-1 && to != k {
			r.err = fmt.Errorf("%s[%d:%d] = %d, %d: want numbers that grow from 0 to %d, the length of %s", rowStarts,
				i, i+2, from, to, k, probs)
			return nil
		}
		for j := from; j < to; j++ {
			rows[i] = append(rows[i], mdp.Transition{Next: int(at.Data[j]), Prob: p.Data[j]})
		}
	}
	return rows
}

// integers reads an array of integers.
func (r *reader) integers(name string) *npz.Array {
	a := r.array(name)
	if a != nil && a.Type != npz.Int64 && len(a.Data) > 0 {
		r.err = fmt.Errorf("%s holds floats, want integers", name)
		return nil
	}
	return a
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

func (r *reader) prior() irl.Prior {
	mean := r.array(priorMean)
	if mean == nil {
		return irl.Prior{}
	}
	if !is(mean.Shape, r.states) && !is(mean.Shape, r.states, r.actions) {
		r.err = fmt.Errorf("%s has the shape %v, want [%d] for state-only rewards or [%d %d] for state-action rewards",
			priorMean, mean.Shape, r.states, r.states, r.actions)
		return irl.Prior{}
	}
	prior := irl.Prior{Mean: mean.Data}
	if r.archive.Has(priorStd) {
		prior.Std = r.std(mean.Shape)
	}
	switch {
	case r.archive.Has(priorCov):
		prior.Cov = r.covariance(len(mean.Data), len(mean.Shape) == 2)
	case r.archive.Has(lowRank):
		prior.LowRank = r.rows(lowRank, mean.Shape)
	case r.archive.Has(kernelName):
		return r.kernel(mean, prior.Std)
	}
	return prior
}

// std reads prior_std, [n], which one number may stand for.
func (r *reader) std(shape []int) []float64 {
	a := r.array(priorStd)
	if a == nil {
		return nil
	}
	if len(a.Shape) == 0 {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return slices.Repeat(a.Data, n)
	}
	if !slices.Equal(a.Shape, shape) {
		r.err = fmt.Errorf("%s has the shape %v, want %v as %s, or a single number", priorStd, a.Shape, shape,
			priorMean)
		return nil
	}
	return a.Data
}

// rows reads an array with a row for each reward, [n, k].
func (r *reader) rows(name string, shape []int) *mat.Dense {
	a := r.array(name)
	if a == nil {
		return nil
	}
	last := len(a.Shape) - 1
	if last < 0 || !slices.Equal(a.Shape[:last], shape) || len(a.Data) == 0 {
		r.err = fmt.Errorf("%s has the shape %v, want %v as %s and one more axis", name, a.Shape, shape, priorMean)
		return nil
	}
	return mat.NewDense(len(a.Data)/a.Shape[last], a.Shape[last], a.Data)
}

// kernel reads the prior of a Gaussian process.
func (r *reader) kernel(mean *npz.Array, std []float64) irl.Prior {
	k := irl.Kernel{Std: std}
	features := stateFeats
	if len(mean.Shape) == 2 {
		features = rewardFeats
	}
	x := r.rows(features, mean.Shape)
	if a := r.array(lengthscale); a != nil {
		if k.Lengthscale = a.Data; len(a.Shape) > 1 {
			r.err = fmt.Errorf("%s has the shape %v, want a single number, or one for each feature", lengthscale,
				a.Shape)
		}
	}
	if r.archive.Has(nugget) {
		k.Nugget = r.scalar(nugget)
	}
	if r.err != nil {
		return irl.Prior{}
	}
	if k.Name, r.err = r.archive.Text(kernelName); r.err != nil {
		return irl.Prior{}
	}
	prior, err := irl.KernelPrior(k, x, mean.Data)
	if err != nil {
		r.err = fmt.Errorf("%s, %s and what belongs to them: %w", kernelName, features, err)
	}
	return prior
}

// covariance reads the prior covariance [n, n].
func (r *reader) covariance(n int, pairs bool) *mat.SymDense {
	a := r.array(priorCov)
	if a == nil {
		return nil
	}
	if !is(a.Shape, n, n) && !(pairs && is(a.Shape, r.states, r.actions, r.states, r.actions)) {
		r.err = fmt.Errorf("%s has the shape %v, want [%d %d], since %s holds %d numbers", priorCov, a.Shape, n, n,
			priorMean, n)
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
				r.err = fmt.Errorf("%s is not symmetric: %g at [%d %d], %g at [%d %d]", priorCov, above, i, j, below, j,
					i)
				return nil
			}
			out.SetSym(i, j, (above+below)/2)
		}
	}
	return out
}

// Write writes a problem, atomically. The folder must exist.
func Write(path string, p *irl.Problem) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("problem file %s: %w", path, err)
	}
	if err := npz.Write(path, arraysOf(p)); err != nil {
		return fmt.Errorf("problem file: %w", err)
	}
	return nil
}

// arraysOf returns the arrays of a problem.
func arraysOf(p *irl.Problem) map[string]npz.Array {
	s, a, n := p.MDP.States(), p.MDP.Actions(), p.RewardDim()
	steps := make([]int, 0, 2*len(p.Demos))
	for _, d := range p.Demos {
		steps = append(steps, d.State, d.Action)
	}
	arrays := map[string]npz.Array{
		initial:   npz.Floats(p.MDP.Initial(), s),
		priorMean: npz.Floats(p.Prior.Mean, rewardShape(p)...),
		demos:     npz.Ints(steps, len(p.Demos), 2),
		discount:  npz.Scalar(p.Discount),
		beta:      npz.Scalar(p.Beta),
	}
	if s*a*s <= largestDense {
		arrays[transitions] = npz.Floats(p.MDP.Dense(), s, a, s)
	} else {
		var nonzero []float64
		var successors []int
		starts := make([]int, 1, s*a+1)
		for i := range s * a {
			next, prob := p.MDP.Row(i/a, i%a)
			for _, to := range next {
				successors = append(successors, int(to))
			}
			nonzero = append(nonzero, prob...)
			starts = append(starts, len(nonzero))
		}
		arrays[probs], arrays[indices] = npz.Floats(nonzero, len(nonzero)), npz.Ints(successors, len(successors))
		arrays[rowStarts] = npz.Ints(starts, len(starts))
	}
	for name, texts := range map[string][]string{stateNames: p.StateNames, actionNames: p.ActionNames} {
		if texts != nil {
			arrays[name] = npz.Strings(texts)
		}
	}
	if p.InfersBeta() {
		arrays[betaLogStd] = npz.Scalar(p.BetaLogStd)
	}
	if p.Prior.Cov != nil {
		arrays[priorCov] = npz.Floats(dense(p.Prior.Cov), n, n)
	}
	if p.Prior.LowRank != nil {
		_, k := p.Prior.LowRank.Dims()
		arrays[lowRank] = npz.Floats(dense(p.Prior.LowRank), append(rewardShape(p), k)...)
	}
	if p.Prior.Std != nil {
		arrays[priorStd] = npz.Floats(p.Prior.Std, rewardShape(p)...)
	}
	return arrays
}

// rewardShape returns [S] for state-only and [S,A] for state-action rewards, after the leading dimensions.
func rewardShape(p *irl.Problem, leading ...int) []int {
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
