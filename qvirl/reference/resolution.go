package reference

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/irl"
)

const (
	about = 100 // times the rounding: actions that differ by less are about as good
	far   = 20  // prior standard deviations that no reward is expected to be from where demonstrations move it
)

// tied reports whether two actions are about as good, of given values and their rounding.
func tied(q []float64, rounding float64) bool {
	q = slices.Sorted(slices.Values(q))
	for a := range len(q) - 1 {
		if q[a+1]-q[a] < about*rounding {
			return true
		}
	}
	return false
}

// rounding returns what rounding may add to β Q in a demonstrated state where two actions are about as good, at the
// last evaluation.
func (t *Target) rounding() float64 {
	most, actions := 0.0, t.problem.MDP.Actions()
	for _, s := range t.demoed {
		if r := t.solver.Rounding(s); tied(t.solution.Q[s*actions:(s+1)*actions], r) {
			most = math.Max(most, t.beta*r)
		}
	}
	return most
}

// coarse says what is wrong with rewards and values of which rounding may add so much to β Q.
func coarse(rounding float64) string {
	return fmt.Sprintf("rewards and values are so large that rounding may add %.2g to β Q, above %g; subtract what "+
		"all rewards have in common, or choose another unit", rounding, float64(mostRounding))
}

// CheckResolution refuses, as an ErrBadProblem, a valid problem with known β whose samples Convergence would not vouch
// for, before there are any: where, at the prior's means, two actions of a demonstrated state are about as good, their
// values are so large that the next float64 differs in β Q by more than mostRounding, and the prior's standard
// deviations are so small that it is like this at all rewards that are to be expected. Units of reward make no
// difference.
func CheckResolution(p *irl.Problem) error {
	horizon := 1 / (1 - p.Discount)
	largest := floats.Norm(p.Prior.Mean, math.Inf(1))
	if p.InfersBeta() || len(p.Demos) == 0 || !(p.Beta*largest*horizon > 1e9) { // far from where it matters
		return nil
	}
	solver, err := p.MDP.NewSolver(p.Discount)
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	solution, err := solver.Solve(p.Prior.Mean)
	if err != nil {
		return fmt.Errorf("reference: %w", err)
	}
	actions := p.MDP.Actions()
	unlikely := 0.0 // demonstrations that go on moving rewards, however far
	for _, d := range p.Demos {
		q := solution.Q[d.State*actions : (d.State+1)*actions]
		if floats.Max(q)-q[d.Action] > about*solver.Rounding(d.State) {
			unlikely++
		}
	}
	std := math.Sqrt(floats.Max(p.Prior.Variances()))
	reach := std * horizon * (far + 2*unlikely*p.Beta*std*horizon) // of values
	for _, d := range p.Demos {
		q, r := solution.Q[d.State*actions:(d.State+1)*actions], solver.Rounding(d.State)
		size := floats.Norm(q, math.Inf(1))
		if p.Beta*(math.Nextafter(size, math.Inf(1))-size) > mostRounding && reach < about*r/2 && tied(q, r/2) {
			return irl.BadProblem(fmt.Errorf("reference: %s", coarse(p.Beta*r)))
		}
	}
	return nil
}
