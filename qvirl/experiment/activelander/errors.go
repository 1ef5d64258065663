package activelander

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Leads are, state by state, by how much the demonstrator's best action leads the second best: what the choice between
// them depends on.
type Leads struct {
	Truth     []float64 // the demonstrator's: (log π(a|s) − log π(b|s))/β = Q(s,a) − Q(s,b)
	Mean, Std []float64 // of the posterior over the same difference
	// Certain is a lead beyond which the choice is certain, so that a greater one is not to be told from it: errors
	// count leads up to ±Certain.
	Certain float64
}

// certainOdds is the logarithm of the odds of the best action at which its choice counts as certain: all but 1 in 400.
const certainOdds = 6

// Errors returns |Mean − Truth|, of leads up to ±Certain.
func (l Leads) Errors() []float64 {
	cut := func(x float64) float64 { return max(-l.Certain, min(x, l.Certain)) }
	out := make([]float64, len(l.Mean))
	for i := range out {
		out[i] = math.Abs(cut(l.Mean[i]) - cut(l.Truth[i]))
	}
	return out
}

// RankCorrelation returns Spearman's correlation of the errors and the standard deviations.
func (l Leads) RankCorrelation() float64 {
	return metric.RankCorrelation(l.Errors(), l.Std)
}

// leadsAtATime is the number of states whose values are computed together.
const leadsAtATime = 16

// Leads compares a model with the demonstrator in n held-out states, evenly over all of them.
func (c Config) Leads(d *Data, m *neural.Fitted, n int) (*Leads, error) {
	posterior, err := variational.NewPosterior(m)
	if err != nil {
		return nil, err
	}
	actions := m.Spec().Actions
	var observations, logProbs []float32
	for i := range d.Test {
		t := &d.Test[i]
		if len(t.LogProbs) != actions*t.Len() {
			return nil, fmt.Errorf("activelander: held-out trajectory %d lacks the demonstrator's probabilities", i)
		}
		observations = append(observations, t.Observations[:t.Len()*m.Spec().Observation]...)
		logProbs = append(logProbs, t.LogProbs...)
	}
	total := len(logProbs) / actions
	if n < 1 || n > total {
		return nil, fmt.Errorf("activelander: %d of %d held-out states, want at least 1 and at most all", n, total)
	}
	out, size := &Leads{Certain: certainOdds / c.Beta}, m.Spec().Observation
	for first := 0; first < n; first += leadsAtATime {
		var states []float32
		var at []int
		for k := first; k < min(first+leadsAtATime, n); k++ {
			at = append(at, k*total/n)
			states = append(states, observations[at[k-first]*size:(at[k-first]+1)*size]...)
		}
		values, err := posterior.Values(states)
		if err != nil {
			return nil, err
		}
		for k, i := range at {
			row := logProbs[i*actions : (i+1)*actions]
			best, second := firstTwo(row)
			mean, std := values.Difference(k*actions+best, k*actions+second)
			out.Truth = append(out.Truth, float64(row[best]-row[second])/c.Beta)
			out.Mean, out.Std = append(out.Mean, mean), append(out.Std, std)
		}
	}
	return out, nil
}

// firstTwo returns the indices of the greatest and the second greatest number, the first of equal ones first.
func firstTwo(row []float32) (best, second int) {
	order := make([]int, len(row))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(row[b], row[a]) })
	return order[0], order[1]
}
