package irl

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
)

// Problem is one Bayesian IRL problem on a finite MDP: infer the reward from demonstrations of a Boltzmann-rational
// expert (Eq. boltzmann-likelihood) under a Gaussian prior. A reward R(s) is paid for acting in s, whatever the action,
// and R(s,a) for doing a there; a terminal state pays its own.
type Problem struct {
	MDP      *mdp.MDP // transitions of S states and A actions
	Prior    Prior    // over rewards by state, [S], or by state and action, [S·A], index s·A + a
	Discount float64  // γ in [0, 1)
	Beta     float64  // rationality coefficient β, from 1e-60 to 1e60, or the median of its prior
	// BetaLogStd is the standard deviation of log β under a log-normal prior, with which β is inferred too; 0: β is
	// known. Not every method can infer it; those that cannot say so.
	BetaLogStd float64
	Demos      []mdp.Step // demonstrated decisions; none is legal, and then the posterior is the prior
	// StateNames [S] and ActionNames [A] are what tables and files call states and actions; nil: by their numbers.
	StateNames, ActionNames []string
}

// StateName returns the name of a state, or its number.
func (p *Problem) StateName(s int) string { return nameOf(p.StateNames, s) }

// ActionName returns the name of an action, or its number.
func (p *Problem) ActionName(a int) string { return nameOf(p.ActionNames, a) }

func nameOf(names []string, i int) string {
	if names == nil {
		return strconv.Itoa(i)
	}
	return names[i]
}

// CheckThere refuses a problem that is nil or has no MDP, on behalf of a package.
func (p *Problem) CheckThere(of string) error {
	return check.That(p != nil && p.MDP != nil, "%s: the problem is nil or has no MDP, want one with an MDP", of)
}

// checkNames refuses names that are not as many as what they name, empty, or given twice.
func checkNames(what string, names []string, n int) error {
	if names == nil {
		return nil
	}
	if len(names) != n {
		return fmt.Errorf("irl: got %d names of %s, want %d, or none", len(names), what, n)
	}
	first := map[string]int{}
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("irl: name %d of the %s is empty", i, what)
		}
		if j, ok := first[name]; ok {
			return fmt.Errorf("irl: name %d of the %s is %q, which is that of number %d too", i, what, name, j)
		}
		if strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("irl: name %d of the %s is %q, which a table cannot hold in a line", i, what, name)
		}
		first[name] = i
	}
	return nil
}

// ErrBadProblem is the error of a problem that Validate refuses, or that nothing could answer.
var ErrBadProblem = errors.New("irl: bad problem")

// badProblem is an ErrBadProblem that says what is wrong.
type badProblem struct{ error }

func (badProblem) Is(target error) bool { return target == ErrBadProblem }

func (b badProblem) Unwrap() error { return b.error }

// BadProblem returns an error as an ErrBadProblem, with the same text.
func BadProblem(err error) error { return badProblem{err} }

// Validate reports the first thing that is wrong with the problem, by argument, index and value, as an ErrBadProblem.
func (p *Problem) Validate() error {
	if err := p.check(); err != nil {
		return BadProblem(err)
	}
	return nil
}

func (p *Problem) check() error {
	if p == nil || p.MDP == nil {
		return fmt.Errorf("irl: the problem has no MDP")
	}
	if err := mdp.CheckDiscount(p.Discount); err != nil {
		return err
	}
	if err := checkScale("β", p.Beta); err != nil {
		return err
	}
	if !(p.BetaLogStd >= 0 && p.BetaLogStd <= maxBetaLogStd) {
		return fmt.Errorf("irl: standard deviation of log β = %g, want a number from 0 to %g: one above says that "+
			"β may be anything", p.BetaLogStd, float64(maxBetaLogStd))
	}
	if err := p.Prior.validate(p.MDP.States(), p.MDP.Actions()); err != nil {
		return err
	}
	if err := errors.Join(checkNames("states", p.StateNames, p.MDP.States()),
		checkNames("actions", p.ActionNames, p.MDP.Actions())); err != nil {
		return err
	}
	return p.MDP.CheckSteps(p.Demos)
}

// ValidateAll validates a batch of problems and says which one is wrong. An empty batch is an error.
func ValidateAll(problems []*Problem) error {
	if len(problems) == 0 {
		return fmt.Errorf("irl: no problems: a batch needs at least one")
	}
	for i, p := range problems {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("%s%w", Which(i, len(problems)), err)
		}
	}
	return nil
}

// Which begins a message about one of n problems with its number, unless there is no other.
func Which(i, n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf("problem %d: ", i)
}

// InfersBeta reports whether β has a prior and is inferred with the reward.
func (p *Problem) InfersBeta() bool { return p.BetaLogStd > 0 }

// ErrUnsupported is that of a method for problems of another kind.
var ErrUnsupported = errors.New("the method is not for such problems")

// CheckBetaKnown refuses problems in which β is to be inferred, on behalf of a method that takes it as known.
func CheckBetaKnown(method string, problems []*Problem) error {
	for i, p := range problems {
		if p.InfersBeta() {
			return fmt.Errorf("%s%w: β has a prior (standard deviation of log β = %g), but %s takes β as known; "+
				"reference, valuewalk and qvirl-matched infer it, of up to a few thousand states",
				Which(i, len(problems)), ErrUnsupported, p.BetaLogStd, method)
		}
	}
	return nil
}

// StateOnly reports whether the reward depends on the state alone.
func (p *Problem) StateOnly() bool { return len(p.Prior.Mean) == p.MDP.States() }

// RewardDim returns the length n of the reward vector.
func (p *Problem) RewardDim() int { return len(p.Prior.Mean) }

// ValueDim returns the length of the vectors that posteriors over values are over: n optimal values, V*(s) or Q*(s,a),
// and log β after them if it is inferred.
func (p *Problem) ValueDim() int {
	if p.InfersBeta() {
		return p.RewardDim() + 1
	}
	return p.RewardDim()
}

// DemoCounts returns how often each action was demonstrated in each state, [S·A]: the sufficient statistic of the
// demonstrations.
func (p *Problem) DemoCounts() []float64 {
	counts := make([]float64, p.MDP.States()*p.MDP.Actions())
	for _, d := range p.Demos {
		counts[d.State*p.MDP.Actions()+d.Action]++
	}
	return counts
}

// Demonstrated returns the states with demonstrations in ascending order, how often each action was demonstrated in
// each of them, [len(states)·A], and how often any was, [len(states)].
func (p *Problem) Demonstrated() (states []int, counts, totals []float64) {
	actions, all := p.MDP.Actions(), p.DemoCounts()
	for s := range p.MDP.States() {
		row := all[s*actions : (s+1)*actions]
		if total := floats.Sum(row); total > 0 {
			states, counts, totals = append(states, s), append(counts, row...), append(totals, total)
		}
	}
	return states, counts, totals
}

// LogLikelihood returns the log probability of the demonstrated actions given optimal Q-values [S·A]
// (Eq. boltzmann-likelihood). counts are DemoCounts, given so that they are not counted anew for each of many Q.
func (p *Problem) LogLikelihood(q, counts []float64) float64 {
	actions, sum := p.MDP.Actions(), 0.0
	for i := 0; i < len(q); i += actions {
		demos := floats.Sum(counts[i : i+actions])
		if demos == 0 {
			continue
		}
		top, partition := floats.Max(q[i:i+actions]), 0.0
		for a := i; a < i+actions; a++ {
			partition += math.Exp(p.Beta * (q[a] - top))
			sum += counts[a] * p.Beta * (q[a] - top)
		}
		sum -= demos * math.Log(partition)
	}
	return sum
}
