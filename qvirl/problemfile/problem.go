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
//	demos        [n,2]    integers (or floats that are whole): state and action of each demonstrated decision; n may be 0
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
//	prior_std                      independent rewards; one of zero is known
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
// Arrays of other names are ignored (see Ignored). No array may have more than 2²⁷ numbers (1 GiB). See Answer for the
// arrays that come back.
package problemfile

import (
	"fmt"
	"slices"
	"strings"

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

// Read reads a problem and validates it. Errors name the file, and the array with index and value where one is to
// blame.
func Read(path string) (*irl.Problem, error) {
	archive, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("problemfile: %w", err)
	}
	defer archive.Close()
	return ReadArchive(archive)
}

// Ignored returns the names of the arrays of a problem file that Read makes nothing of, sorted: misspelt ones, and
// those of a kernel or of a layout of transitions that the file does not have. An answer is a problem file, too, whose
// other arrays are not among them.
func Ignored(path string) ([]string, error) {
	archive, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("problemfile: %w", err)
	}
	defer archive.Close()
	known := []string{transitions, probs, priorMean, priorStd, priorCov, lowRank, kernelName, demos, discount, beta,
		betaLogStd, initial, stateNames, actionNames}
	if archive.Has(probs) {
		known = append(known, indices, rowStarts)
	}
	if archive.Has(kernelName) {
		known = append(known, lengthscale, nugget, stateFeats, rewardFeats)
	}
	answer := archive.Has(posteriorKind)
	return slices.DeleteFunc(archive.Names(), func(name string) bool {
		return slices.Contains(known, name) ||
			answer && (ofAnswers[name] != nil || strings.HasPrefix(name, posteriorPrefix))
	}), nil
}

// bytesOfTransition is the most that reading takes for a transition: the array while it grows, and a place among the
// successors. bytesOfNumber is that for any other number.
const bytesOfTransition, bytesOfNumber = 40, 24

// MemoryNeed estimates how many bytes Read takes at most, by the shapes that the headers of the arrays declare, and by
// that of a kernel's covariance.
func MemoryNeed(path string) (float64, error) {
	archive, err := npz.Open(path)
	if err != nil {
		return 0, fmt.Errorf("problemfile: %w", err)
	}
	defer archive.Close()
	archive.Limit = maxNumbers
	kernel, _ := archive.Text(kernelName) // Read says what is wrong with it
	need := 0.
	for _, name := range archive.Names() {
		shape, err := archive.Shape(name)
		if err != nil {
			return 0, fmt.Errorf("problemfile: %w", err)
		}
		count, bytes := 1., float64(bytesOfNumber)
		if name == transitions || name == probs {
			bytes = bytesOfTransition
		}
		for _, d := range shape {
			count *= float64(d)
		}
		need += count * bytes
		if name == priorMean && kernel != "" && kernel != irl.LinearKernel {
			need += count * count * bytesOfNumber
		}
	}
	return need, nil
}

// ReadArchive is Read from an archive that is open, wherever it comes from.
func ReadArchive(archive *npz.Archive) (*irl.Problem, error) {
	archive.Limit = maxNumbers
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
		hint := ""
		if r.archive.Has("data") && r.archive.Has("indices") && r.archive.Has("indptr") {
			hint = fmt.Sprintf("; of transitions that SciPy's save_npz stored, np.savez takes data, indices and "+
				"indptr of the CSR matrix as %s, %s and %s, with the other arrays", probs, indices, rowStarts)
		}
		return fmt.Errorf("missing %s; it holds %s%s", strings.Join(missing, ", "),
			strings.Join(r.archive.Names(), ", "), hint)
	}
	if r.archive.Has(transitions) && r.archive.Has(probs) {
		return fmt.Errorf("it holds both %s and %s; want one of them", transitions, probs)
	}
	if len(forms) > 1 {
		return fmt.Errorf("it holds both %s; want one of them", strings.Join(forms, " and "))
	}
	return nil
}

// array reads an array and checks that its numbers are finite. It is not nil, whatever happens.
func (r *reader) array(name string) *npz.Array {
	var a *npz.Array
	if r.err == nil {
		a, r.err = r.archive.Array(name)
	}
	if r.err == nil {
		r.err = a.CheckFinite(name)
	}
	if r.err != nil {
		return &npz.Array{}
	}
	return a
}

// integers reads an array of whole numbers, be they integers or floats.
func (r *reader) integers(name string) *npz.Array {
	a := r.array(name)
	if r.err == nil {
		r.err = a.CheckWhole(name)
	}
	return a
}

// wantShape says of an array which shape it should have, unless its own fits.
func (r *reader) wantShape(fits bool, name string, a *npz.Array, want string, args ...any) {
	if r.err == nil && !fits {
		r.err = fmt.Errorf("%s has the shape %v, want %s", name, a.Shape, fmt.Sprintf(want, args...))
	}
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

// scalar reads a number that is stored as an array of no dimensions, or of one element.
func (r *reader) scalar(name string) float64 {
	a := r.array(name)
	r.wantShape(isNumber(a), name, a, "a single number")
	if r.err != nil {
		return 0
	}
	return a.Data[0]
}

func isNumber(a *npz.Array) bool { return len(a.Data) == 1 && len(a.Shape) <= 1 }

func is(shape []int, want ...int) bool { return slices.Equal(shape, want) }
