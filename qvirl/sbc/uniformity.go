package sbc

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// replicates of the ranks under the hypothesis that the method is right, with which the observed ones are compared.
const replicates = 1999

// rank returns the rank of each number among all, from 0; those that are equal but for rounding stand in random order.
func rank(x []float64, rng *rand.Rand) []uint8 {
	order := rng.Perm(len(x))
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	near := slack * floats.Norm(x, math.Inf(1))
	out := make([]uint8, len(x))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[j]]-x[order[j-1]] <= near {
			j++
		}
		equal := order[i:j]
		rng.Shuffle(len(equal), func(a, b int) { equal[a], equal[b] = equal[b], equal[a] })
		for ; i < j; i++ {
			out[order[i]] = uint8(i)
		}
	}
	return out
}

// event is a set of ranks: those below a bound, or those among the outermost.
type event struct {
	below int // ranks 0 … below−1, or
	outer int // the lowest and the highest this many ranks
}

// events are where the distribution functions of ranks, and of their distances from the middle, are looked at.
var events = func() (out []event) {
	const ranks = Draws + 1
	for _, n := range []int{1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45} {
		out = append(out, event{below: n}, event{below: ranks - n}, event{outer: n})
	}
	return append(out, event{below: ranks / 2})
}()

func (e event) probability() float64 { return float64(e.below+2*e.outer) / (Draws + 1) }

// count returns how many ranks are in the event, given the numbers of those below each, [Draws + 2].
func (e event) count(below []int) int {
	if e.outer > 0 {
		return below[e.outer] + below[Draws+1] - below[Draws+1-e.outer]
	}
	return below[e.below]
}

// The statistics of one quantity, over all simulated problems, are the numbers of ranks in the events, and behind them
// the sums of normal scores z = Φ⁻¹((rank + ½)/(1 + Draws)) and of z²/E z², which notice first that posteriors are
// shifted, and that they are too narrow or too wide.
var (
	location   = len(events)
	spread     = len(events) + 1
	statistics = len(events) + 2
)

// scores are the normal scores of all ranks, and meanSquare is the mean of their squares.
var scores, meanSquare = func() (z []float64, meanSquare float64) {
	for r := range Draws + 1 {
		z = append(z, distuv.UnitNormal.Quantile((float64(r)+.5)/(Draws+1)))
		meanSquare += z[r] * z[r] / (Draws + 1)
	}
	return z, meanSquare
}()

// expectation returns what a statistic is on average over the given number of problems.
func expectation(statistic, problems int) float64 {
	switch statistic {
	case location:
		return 0
	case spread:
		return float64(problems)
	}
	return float64(problems) * events[statistic].probability()
}

// test tests the uniformity of all ranks at once. ranks are [1 + Draws, quantities] of each simulated problem, of the
// truth first.
//
// For each quantity, the smallest two-sided tail probability over its statistics is taken, binomial for numbers of
// ranks, which is the statistic of the simultaneous bands of Säilynoja, Bürkner & Vehtari (2022, "Graphical test for
// discrete uniformity and its applications in goodness-of-fit evaluation and multiple sample comparison"); and the
// smallest over quantities. For each group of quantities, whose errors have much in common, the means of the sums Σ z
// and Σ z²/E z² are compared with their expectation in units of their standard deviation, and the largest difference
// is taken. Both have exact p-values by exchangeability: were the method right, any of the Draws could change places
// with the truth in each problem, and all quantities with it, however these depend on each other. The result is the
// smaller of the two p-values, times two.
func test(q *quantities, ranks [][]uint8, rng *rand.Rand) *Report {
	problems, size := len(ranks), len(q.names)
	tail := newTails(problems)
	// −log of the smallest tail probability, of the observed ranks first
	single := make([]float64, 1+replicates)
	means := mat.NewDense(2*len(q.groups), 1+replicates, nil) // location and spread of each group
	var observed []float64                                    // [quantities · statistics]
	worst := 0                                                // quantity · statistics + statistic
	for b := range single {
		histogram := make([]int, size*(Draws+1))
		for _, r := range ranks {
			j := 0
			if b > 0 {
				j = rng.IntN(1 + Draws)
			}
			for k, place := range r[j*size : (j+1)*size] {
				histogram[k*(Draws+1)+int(place)]++
			}
		}
		all := summarise(histogram)
		for i, x := range all {
			if t := tail.minusLog(i%statistics, x); t > single[b] {
				if single[b] = t; b == 0 {
					worst = i
				}
			}
		}
		for g, group := range q.groups {
			for k := group.from; k < group.to; k++ {
				for j := range 2 {
					means.Set(2*g+j, b, means.At(2*g+j, b)+all[k*statistics+location+j]/float64(group.to-group.from))
				}
			}
		}
		if b == 0 {
			observed = all
		}
	}
	together, worstGroup := farthest(means, problems)
	p, pGroup := pValue(single), pValue(together)
	report := &Report{Problems: problems, PValue: min(1, 2*min(p, pGroup))}
	report.OK = report.PValue >= Level
	if pGroup < p {
		report.WorstQuantity = q.groups[worstGroup/2].name
		report.Reason = describe(report, "were", location+worstGroup%2, means.At(worstGroup, 0))
	} else {
		report.WorstQuantity = q.names[worst/statistics]
		of := observed[worst-worst%statistics:]
		at := tail.plainest(of, worst%statistics)
		report.Reason = describe(report, "was", at, of[at])
	}
	return report
}

// summarise returns the statistics of each quantity, [quantities · statistics], given the numbers of problems with
// each rank, [quantities · (1 + Draws)].
func summarise(histogram []int) (out []float64) {
	below := make([]int, Draws+2)
	for ; len(histogram) > 0; histogram = histogram[Draws+1:] {
		sum, squares := 0.0, 0.0
		for r, n := range histogram[:Draws+1] {
			below[r+1] = below[r] + n
			sum += float64(n) * scores[r]
			squares += float64(n) * scores[r] * scores[r]
		}
		for _, e := range events {
			out = append(out, float64(e.count(below)))
		}
		out = append(out, sum, squares/meanSquare)
	}
	return out
}

// farthest returns the largest |mean statistic − expectation| of each replicate, in units of its standard deviation
// over replicates, and the row in which that of the first is. The rows of means are [groups · (location, spread)].
func farthest(means *mat.Dense, problems int) (largest []float64, row int) {
	rows, n := means.Dims()
	largest = make([]float64, n)
	for i := range rows {
		expected := expectation(location+i%2, problems)
		std := math.Sqrt(stat.MomentAbout(2, means.RawRowView(i), expected, nil))
		for b, x := range means.RawRowView(i) {
			if x := math.Abs(x-expected) / std; x > largest[b] {
				if largest[b] = x; b == 0 {
					row = i
				}
			}
		}
	}
	return largest, row
}

// tails knows how probable statistics are that stray from their expectation as far as given ones.
type tails struct {
	problems int
	// −log of the two-sided tail probability of each number of ranks in each event, [events][problems + 1]
	counts [][]float64
}

func newTails(n int) *tails {
	out := &tails{n, make([][]float64, len(events))}
	for i, e := range events {
		binomial := distuv.Binomial{N: float64(n), P: e.probability()}
		mass := make([]float64, n+1)
		for c := range mass {
			mass[c] = binomial.Prob(float64(c))
		}
		out.counts[i] = make([]float64, n+1)
		for c := range mass {
			out.counts[i][c] = minusLog(min(floats.Sum(mass[:c+1]), floats.Sum(mass[c:])))
		}
	}
	return out
}

// minusLog returns −log of a statistic's two-sided tail probability: Σ z is nearly N(0, n·E z²), and Σ z²/E z² nearly
// chi-squared with n degrees of freedom.
func (t *tails) minusLog(statistic int, x float64) float64 {
	switch statistic {
	case location:
		return minusLog(distuv.UnitNormal.Survival(math.Abs(x) / math.Sqrt(float64(t.problems)*meanSquare)))
	case spread:
		chi := distuv.ChiSquared{K: float64(t.problems)}
		return minusLog(min(chi.CDF(x), chi.Survival(x)))
	}
	return t.counts[statistic][int(x)]
}

// minusLog returns −log of twice a one-sided tail probability.
func minusLog(p float64) float64 { return -math.Log(max(min(1, 2*p), math.SmallestNonzeroFloat64)) }

// pValue returns the share of statistics that are at least the first, which is one of them.
func pValue(statistics []float64) float64 {
	n := 0
	for _, x := range statistics {
		if x >= statistics[0] {
			n++
		}
	}
	return float64(n) / float64(len(statistics))
}

// plainest returns location or spread, whichever strays further, where that explains a good part of what the worst
// statistic shows, and the worst one otherwise.
func (t *tails) plainest(observed []float64, worst int) int {
	plain := location
	if t.minusLog(spread, observed[spread]) > t.minusLog(location, observed[location]) {
		plain = spread
	}
	if t.minusLog(plain, observed[plain]) < t.minusLog(worst, observed[worst])/2 {
		return worst
	}
	return plain
}

// describe says what a statistic of the worst quantity is, and what that means.
func describe(r *Report, were string, statistic int, x float64) string {
	n, expected := float64(r.Problems), expectation(statistic, r.Problems)
	var what, meaning string
	switch {
	case statistic == location && x < 0:
		what, meaning = fmt.Sprintf("on average %.2g standard deviations below the median of the posterior's draws",
			-x/n), "too high"
	case statistic == location:
		what, meaning = fmt.Sprintf("on average %.2g standard deviations above the median of the posterior's draws",
			x/n), "too low"
	case statistic == spread:
		what, meaning = fmt.Sprintf("%.2g times as far from the median of the posterior's draws as for right "+
			"posteriors", math.Sqrt(x/n)), "too wide"
		if x > n {
			meaning = "too narrow"
		}
	default:
		where := "lowest"
		if events[statistic].outer > 0 {
			where = "outer"
		}
		what = fmt.Sprintf("among the %s %.0f %% of the posterior's draws %.0f times, where %.3g are expected", where,
			100*events[statistic].probability(), x, expected)
		meaning = "of another shape"
	}
	verdict := "so the posteriors are " + meaning + " there"
	if r.OK {
		verdict = "which may be chance"
	}
	return fmt.Sprintf("the true %s %s %s, %s", r.WorstQuantity, were, what, verdict)
}
