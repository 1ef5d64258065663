package calibration

import (
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
)

// Bins is the number of bars of rank histograms, of ten ranks each.
const Bins = 10

func binOf(rank int) int { return rank * Bins / (Samples + 1) }

// ChiSquare returns Pearson's test of the uniformity of independent ranks, one a draw: the statistic over Bins bins,
// and the probability of a larger one if they are uniform.
func ChiSquare(ranks []int) (statistic, p float64) {
	counts, expected := make([]float64, Bins), slices.Repeat([]float64{float64(len(ranks)) / Bins}, Bins)
	for _, r := range ranks {
		counts[binOf(r)]++
	}
	statistic = stat.ChiSquare(counts, expected)
	return statistic, distuv.ChiSquared{K: Bins - 1}.Survival(statistic)
}

// Ranks returns the ranks of one Quantity of a method, by seed of the draw.
func Ranks(rows []experiment.Row, method string, q Quantity) []int {
	var out []int
	for _, rank := range experiment.Values(rows, method, q.Metric) {
		out = append(out, int(rank))
	}
	return out
}

// StateRanks are the ranks of all states of one kind under one method: in each draw of several states, which depend on
// each other. What is said of them counts draws, not states.
type StateRanks [][]int // [draws][states]

// NewStateRanks collects the ranks of a method's states, terminal or not. Draws without such states are left out.
func NewStateRanks(rows []experiment.Row, method string, terminal bool) StateRanks {
	prefix := RankState + "_"
	if terminal {
		prefix = RankTerminal + "_"
	}
	var out StateRanks
	at := map[uint64]int{}
	for _, r := range rows {
		if r.Name() != method || !strings.HasPrefix(r.Metric, prefix) {
			continue
		}
		i, known := at[r.Seed]
		if !known {
			i = len(out)
			at[r.Seed] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], int(r.Value))
	}
	return out
}

// mean returns the mean over draws of the mean over states of f, and its standard error, which is that of the draws.
func (s StateRanks) mean(f func(rank int) float64) (mean, stdErr float64) {
	each := make([]float64, len(s))
	for i, ranks := range s {
		for _, r := range ranks {
			each[i] += f(r) / float64(len(ranks))
		}
	}
	summary := metric.Summarise(each)
	return summary.Mean, summary.StdErr
}

// Histogram returns the middles of the bins in units of the largest rank, and the density of the ranks there, which is
// 1 if they are uniform, with its standard error.
func (s StateRanks) Histogram() (x, density, stdErr []float64) {
	for bin := range Bins {
		mean, se := s.mean(func(r int) float64 { return Bins * experiment.Indicator(binOf(r) == bin) })
		x, density, stdErr = append(x, (float64(bin)+0.5)/Bins), append(density, mean), append(stdErr, se)
	}
	return x, density, stdErr
}

// Coverage returns the share of states whose rank is among the middle ones that make up each level, with its standard
// error.
func (s StateRanks) Coverage(levels []float64) (share, stdErr []float64) {
	for _, level := range levels {
		mean, se := s.mean(func(r int) float64 { return experiment.Indicator(inMiddle(r, level)) })
		share, stdErr = append(share, mean), append(stdErr, se)
	}
	return share, stdErr
}

// Hotelling tests the uniformity of the ranks of all states together: a draw counts as one observation, the shares of
// its states in the bins, whose mean is compared with the uniform distribution in units of their covariance over draws
// (Hotelling's T²). However the states of a draw depend on each other, p is then uniform for the true posterior, for
// many draws; NaN if there are too few.
func (s StateRanks) Hotelling() (p float64) {
	const k = Bins - 1 // the shares sum to one
	n := len(s)
	if n <= 2*k {
		return math.NaN()
	}
	shares := mat.NewDense(n, k, nil)
	for i, ranks := range s {
		for _, r := range ranks {
			if b := binOf(r); b < k {
				shares.Set(i, b, shares.At(i, b)+1/float64(len(ranks)))
			}
		}
	}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, shares, nil)
	off := mat.NewVecDense(k, nil)
	for b := range k {
		off.SetVec(b, stat.Mean(mat.Col(nil, b, shares), nil)-1.0/Bins)
	}
	var chol mat.Cholesky
	var solved mat.VecDense
	if !chol.Factorize(&cov) || chol.SolveVecTo(&solved, off) != nil {
		return math.NaN()
	}
	t2 := float64(n) * mat.Dot(off, &solved)
	return distuv.F{D1: k, D2: float64(n - k)}.Survival(float64(n-k) / float64(k*(n-1)) * t2)
}
