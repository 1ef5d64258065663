package metric

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/qvirl/irl"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// RewardCurve returns, for each level in [0, 1], the fraction of the true rewards [RewardDim] that lie in the central
// credible interval of that probability: the calibration curve of a posterior, on the diagonal where it is calibrated.
func RewardCurve(post irl.Posterior, reward, levels []float64) []float64 {
	out := make([]float64, len(levels))
	for i, r := range reward {
		m := post.Reward(i)
		for l, level := range levels {
			if low, high := m.Interval(level); low <= r && r <= high {
				out[l]++
			}
		}
	}
	floats.Scale(1/float64(len(reward)), out)
	return out
}

// policyCovered reports for each of the expert's action probabilities, [S·A], whether it lies in the central credible
// interval, of a level in [0, 1], of that probability of the sampled policies [n, S·A].
func policyCovered(policies *mat.Dense, expert []float64, level float64) ([]bool, error) {
	n, m := policies.Dims()
	// The interval may miss the truth by slack on either side.
	above, below := make([]rank, m), make([]rank, m)
	for i, truth := range expert {
		above[i], below[i] = newRank(truth+slack), newRank(truth-slack)
	}
	for k := range n {
		for i, x := range policies.RawRowView(k) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("metric: sampled policy %d: action probability %d is %g", k, i, x)
			}
			above[i].add(x)
			below[i].add(x)
		}
	}
	out := make([]bool, m)
	for i := range out {
		out[i] = above[i].reaches((1-level)/2, n) && !below[i].reaches((1+level)/2, n)
	}
	return out, nil
}

// rank is where a number x stands among samples. It compares x with their quantiles, as irl.Empirical defines them,
// without sorting, which would take most of the time of all metrics.
type rank struct {
	x              float64
	count          int     // of the samples ≤ x
	floor, ceiling float64 // largest sample ≤ x, smallest sample > x
}

func newRank(x float64) rank { return rank{x: x, floor: math.Inf(-1), ceiling: math.Inf(1)} }

func (r *rank) add(sample float64) {
	if sample <= r.x {
		r.count++
		r.floor = max(r.floor, sample)
	} else {
		r.ceiling = min(r.ceiling, sample)
	}
}

// reaches reports whether x is at least the quantile at p of the n samples that were added.
func (r *rank) reaches(p float64, n int) bool {
	i, t := irl.QuantilePosition(p, n)
	if r.count != i+1 {
		return r.count > i+1
	}
	return r.floor+t*(r.ceiling-r.floor) <= r.x
}

// fraction returns the fraction of covered pairs [S·A] among the states that count; NaN if none does.
func fraction(covered, counts []bool, actions int) float64 {
	hits, total := 0.0, 0.0
	for i, c := range covered {
		if !counts[i/actions] {
			continue
		}
		total++
		if c {
			hits++
		}
	}
	return hits / total
}
