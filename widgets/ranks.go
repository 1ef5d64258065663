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
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Ranks shows rank histograms with the band in which all but one in a hundred bars lie if the ranks are uniform. It
// serves simulation-based calibration (Talts et al. 2018: ranks of true values among posterior draws) and, through
// ChainRanks, the rank plots of Vehtari et al. (2021).
type Ranks struct {
	Title   string
	Panels  []RankPanel
	Bins    int // 0 means as many as give about 20 ranks a bar, at most 20 bars
	Columns int // panels to a row; 0 means up to 4
}

// RankPanel is one histogram of Ranks.
type RankPanel = exhibit.RankPanel

// rankPanel checks and draws one.
type rankPanel exhibit.RankPanel

func (p rankPanel) validate(name string) error {
	err := check.First(
		refuse(len(p.Ranks) == 0 || p.Max < 1, "%s has %d ranks of at most %d, want some of at least 1", name,
			len(p.Ranks), p.Max), forEach(name+".Ranks", p.Ranks, func(field string, r int) error {
			return checkState(field, r, p.Max+1)
		}))
	if p.Method != "" {
		err = check.First(err, checkMethods(p.Method))
	}
	return err
}

// look is that of the panel's method, if it has one.
func (p rankPanel) look() appearance {
	if p.Method == "" {
		return appearance{color: skyBlue}
	}
	look, _ := lookup(p.Method)
	return look
}

// ChainRanks returns the rank plot of several chains: the ranks of each chain's draws among the draws of all chains.
// All histograms are flat if the chains have the same distribution.
func ChainRanks(title string, chains [][]float64) (Ranks, error) {
	if err := checkChains("chains", chains); err != nil {
		return Ranks{}, err
	}
	type draw struct {
		value float64
		chain int
	}
	var all []draw
	for k, chain := range chains {
		for _, v := range chain {
			all = append(all, draw{v, k})
		}
	}
	slices.SortStableFunc(all, func(a, b draw) int { return cmp.Compare(a.value, b.value) })
	out := Ranks{Title: title, Bins: 20}
	for k := range chains {
		out.Panels = append(out.Panels, RankPanel{Title: fmt.Sprintf("chain %d", k+1), Max: len(all) - 1})
	}
	for rank, d := range all {
		out.Panels[d.chain].Ranks = append(out.Panels[d.chain].Ranks, rank)
	}
	return out, nil
}

// Figure implements Drawing.
func (m Ranks) Figure() (*Figure, error) {
	if len(m.Panels) == 0 {
		return nil, fmt.Errorf("widgets: Ranks has no panels")
	}
	if m.Bins < 0 || m.Columns < 0 {
		return nil, fmt.Errorf("widgets: Ranks: Bins = %d, Columns = %d: want 0 (automatic) or positive numbers",
			m.Bins, m.Columns)
	}
	columns := min(cmp.Or(m.Columns, 4), len(m.Panels))
	plots := make([]*plot.Plot, len(m.Panels))
	for i, panel := range m.Panels {
		if err := rankPanel(panel).validate(fmt.Sprintf("Ranks.Panels[%d]", i)); err != nil {
			return nil, err
		}
		plots[i] = m.plot(panel, i%columns == 0, i+columns >= len(m.Panels))
	}
	band := legendEntry{"99 % band of uniform ranks", func(c draw.Canvas) {
		fillPath(c, bandGrey, draw.Crop(c, 0, 0, 3, -3).Rectangle.Path())
		c.StrokeLine2(levelLine, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}}
	return card{
		title: m.Title, legend: []legendEntry{band}, description: fmt.Sprintf("Rank histograms in %d panels.",
			len(plots)),
		bodyHeight: panelRows(len(plots), columns, 140+panelGap) + 12,
		body:       func(c draw.Canvas) { drawPanels(c, plots, columns) }, records: m.records,
	}.figure(), nil
}

var bandGrey = rgb(0xDDDDDD)

func (m Ranks) plot(panel RankPanel, first, last bool) *plot.Plot {
	n := len(panel.Ranks)
	bins := min(cmp.Or(m.Bins, min(max(n/20, 5), 20)), panel.Max+1)
	counts := make([]float64, bins)
	for _, r := range panel.Ranks {
		counts[r*bins/(panel.Max+1)]++
	}
	expected := float64(n) / float64(bins)
	spread := 2.576 * math.Sqrt(expected*(1-1/float64(bins))) // binomial; 99 % of the normal
	p := newPanel(panel.Title, "", "")
	if first {
		p.Y.Label.Text = "count"
	}
	if last {
		p.X.Label.Text = "rank"
	}
	ys := emptySpan()
	ys.include(0, expected+spread)
	ys.include(counts...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(panel.Max+1), 0, 1.08*ys.high
	p.X.Tick.Marker = niceTicks{3}
	look := rankPanel(panel).look()
	p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
		fillPath(c, bandGrey, rect(c.Min.X, y(math.Max(0, expected-spread)), c.Max.X, y(expected+spread)).Path())
		for i, count := range counts {
			low, high := float64(i)/float64(bins)*p.X.Max, float64(i+1)/float64(bins)*p.X.Max
			fillPath(c, fade(look.color, 0.75), rect(x(low)+0.6, c.Min.Y, x(high)-0.6, y(count)).Path())
		}
		c.StrokeLine2(levelLine, c.Min.X, y(expected), c.Max.X, y(expected))
	}))
	return p
}

func (m Ranks) records() [][]string {
	out := csvLines{{"panel", "rank", "largest"}}
	for _, p := range m.Panels {
		for _, r := range p.Ranks {
			out.add(p.Title, r, p.Max)
		}
	}
	return out
}
