package widgets

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/progress"
)

// RankECDF shows, for ranks of true values among posterior draws, by how much their cumulative distribution function
// differs from that of uniform ranks, with a band that the whole curve stays in with the probability 0.95 if they are
// uniform (Säilynoja, Bürkner & Vehtari 2022, "Graphical test for discrete uniformity and its applications in goodness
// of fit evaluation and multiple sample comparison"). Where it leaves the band, the posterior is not calibrated: above
// it on the left and below on the right, it is too narrow; the other way round, too wide.
type RankECDF struct {
	Title   string
	Panels  []RankPanel
	Columns int // panels to a row; 0 means up to 4
}

const (
	ecdfLevel  = 0.95   // of the band
	ecdfPoints = 50     // at which a curve is judged, at most
	ecdfRanks  = 20_000 // of a panel, at most
)

// Figure implements Drawing.
func (m RankECDF) Figure() (*Figure, error) {
	columns := min(cmp.Or(m.Columns, 4), len(m.Panels))
	if err := check.First(refuse(len(m.Panels) == 0, "RankECDF has no panels"),
		checkColumns("RankECDF", m.Columns)); err != nil {
		return nil, err
	}
	plots := make([]*plot.Plot, len(m.Panels))
	highest := 0.0
	for i, panel := range m.Panels {
		if err := rankPanel(panel).validate(fmt.Sprintf("RankECDF.Panels[%d]", i)); err != nil {
			return nil, err
		}
		if len(panel.Ranks) > ecdfRanks {
			return nil, fmt.Errorf("widgets: RankECDF.Panels[%d] has %d ranks, want at most %d", i, len(panel.Ranks),
				ecdfRanks)
		}
		plots[i] = newPanel(panel.Title, "share of the draws below", "")
		if i%columns == 0 {
			plots[i].Y.Label.Text = "ECDF − uniform"
		}
		highest = math.Max(highest, rankPanel(panel).plotECDF(plots[i]))
	}
	for _, p := range plots { // one range for all
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, -1.1*highest, 1.1*highest
		p.X.Tick.Marker = niceTicks{4}
	}
	band := legendEntry{fmt.Sprintf("%g %% of curves of uniform ranks lie in the band", 100*ecdfLevel),
		func(c draw.Canvas) { fillPath(c, bandGrey, draw.Crop(c, 0, 0, 3, -3).Rectangle.Path()) }}
	return card{title: m.Title, legend: []legendEntry{band},
		description: "Cumulative distribution functions of ranks in " +
			progress.Count(len(plots), "panel", "panels") + ".",
		bodyHeight: panelRows(len(plots), columns, 165+panelGap) + 12, records: Ranks{Panels: m.Panels}.records,
		body: func(c draw.Canvas) { drawPanels(c, plots, columns) }}.figure(), nil
}

// plotECDF adds the curve and its band, and returns the highest point of either.
func (p rankPanel) plotECDF(to *plot.Plot) (highest float64) {
	at, n := ecdfAt(p.Max), float64(len(p.Ranks))
	z := make([]float64, len(at))
	for k, r := range at {
		z[k] = float64(r+1) / float64(p.Max+1)
	}
	low, high := simultaneousBand(len(p.Ranks), z, ecdfLevel)
	sorted := slices.Sorted(slices.Values(p.Ranks))
	curve, bottom, top := make([]float64, len(z)), make([]float64, len(z)), make([]float64, len(z))
	for k, r := range at {
		count, _ := slices.BinarySearch(sorted, r+1)
		curve[k], bottom[k], top[k] = float64(count)/n-z[k], float64(low[k])/n-z[k], float64(high[k])/n-z[k]
		highest = max(highest, math.Abs(curve[k]), top[k], -bottom[k])
	}
	look := p.look()
	to.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
		along := func(heights []float64) []vg.Point {
			return append([]vg.Point{{X: x(0), Y: y(0)}}, pointsAt(x, y, z, heights)...)
		}
		below := along(bottom)[1:]
		slices.Reverse(below)
		fillPath(c, bandGrey, polygon(append(along(top), below...)...))
		c.StrokeLine2(levelLine, c.Min.X, y(0), c.Max.X, y(0))
		c.StrokeLines(draw.LineStyle{Color: look.color, Width: lineWidth}, along(curve))
	}))
	return highest
}

// ecdfAt returns the ranks at which the curve of ranks 0..most is judged, the last of which is most.
func ecdfAt(most int) (out []int) {
	points := min(most+1, ecdfPoints)
	for k := 1; k <= points; k++ {
		out = append(out, k*(most+1)/points-1)
	}
	return out
}

// simultaneousBand returns bounds of how many of n uniform numbers are at most z₁ < … < z_K = 1, all of which hold at
// once with the probability level at least,
//
//	L_k = Bin⁻¹(γ/2; n, z_k),  U_k = Bin⁻¹(1 − γ/2; n, z_k),
//
// for the largest γ that allows it, which is found by bisection. The probability is exact: the numbers X_k at most z_k
// are a Markov chain, X_k − X_{k−1} | X_{k−1} ~ Bin(n − X_{k−1}, (z_k − z_{k−1})/(1 − z_{k−1})).
func simultaneousBand(n int, z []float64, level float64) (low, high []int) {
	logs := make([]float64, n+1) // log i!
	for i := 1; i <= n; i++ {
		logs[i] = logs[i-1] + math.Log(float64(i))
	}
	lowest, most := 0.0, 1-level // γ: the band is wide enough, and perhaps too narrow
	for range 30 {
		gamma := (lowest + most) / 2
		if gamma == 0 {
			break
		}
		low, high = pointwiseBand(n, z, gamma, logs)
		if insideBand(n, z, low, high, logs) >= level {
			lowest = gamma
		} else {
			most = gamma
		}
	}
	return pointwiseBand(n, z, lowest, logs)
}

// binomial is the probability of k successes in n.
func binomial(k, n int, p float64, logs []float64) float64 {
	switch {
	case p <= 0:
		return map[bool]float64{true: 1}[k == 0]
	case p >= 1:
		return map[bool]float64{true: 1}[k == n]
	}
	return math.Exp(logs[n] - logs[k] - logs[n-k] + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// pointwiseBand returns the quantiles γ/2 and 1 − γ/2 of each binomial distribution.
func pointwiseBand(n int, z []float64, gamma float64, logs []float64) (low, high []int) {
	low, high = make([]int, len(z)), make([]int, len(z))
	for k, p := range z {
		sum := 0.0
		low[k], high[k] = n, n
		for i := 0; i <= n; i++ {
			sum += binomial(i, n, p, logs)
			if sum >= gamma/2 {
				low[k] = min(low[k], i)
			}
			if sum >= 1-gamma/2 {
				high[k] = i
				break
			}
		}
	}
	return low, high
}

// insideBand is the probability that all numbers lie within their bounds.
func insideBand(n int, z []float64, low, high []int, logs []float64) float64 {
	chain := map[int]float64{0: 1} // of X_{k−1}
	past := 0.0
	for k, p := range z {
		next := make(map[int]float64, high[k]-low[k]+1)
		step := 1.0
		if past < 1 {
			step = (p - past) / (1 - past)
		}
		for x, mass := range chain {
			if mass < 1e-14 { // too little to matter
				continue
			}
			for y := max(x, low[k]); y <= high[k]; y++ {
				next[y] += mass * binomial(y-x, n-x, step, logs)
			}
		}
		chain, past = next, p
	}
	sum := 0.0
	for _, mass := range chain {
		sum += mass
	}
	return sum
}
