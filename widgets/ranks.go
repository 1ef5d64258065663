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
// All histograms are flat if the chains have the same distribution. Equal draws get different ranks, chain by chain in
// turn.
func ChainRanks(title string, chains [][]float64) (Ranks, error) {
	if err := checkChains("chains", chains); err != nil {
		return Ranks{}, err
	}
	type draw struct {
		value float64
		chain int
	}
	var all []draw
	most := 0
	for _, chain := range chains {
		most = max(most, len(chain))
	}
	for t := range most { // equal draws, as of what is known, are dealt out to the chains in turn
		for k, chain := range chains {
			if t < len(chain) {
				all = append(all, draw{chain[t], k})
			}
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
	p := newPanel(panel.Title, "", "")
	if first {
		p.Y.Label.Text = "count"
	}
	if last {
		p.X.Label.Text = "rank"
	}
	bars := m.bars(panel)
	var bands []rankBar // of neighbours of as many ranks
	ys := emptySpan()
	for _, b := range bars {
		ys.include(0, b.count, b.expected+b.spread)
		if k := len(bands) - 1; k >= 0 && bands[k].expected == b.expected {
			bands[k].to = b.to
		} else {
			bands = append(bands, b)
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, float64(panel.Max+1), 0, 1.08*ys.high
	p.X.Tick.Marker = niceTicks{3}
	look := rankPanel(panel).look()
	p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
		for _, b := range bands {
			fillPath(c, bandGrey, rect(x(float64(b.from)), y(math.Max(0, b.expected-b.spread)), x(float64(b.to)),
				y(b.expected+b.spread)).Path())
		}
		for _, b := range bars {
			fillPath(c, fade(look.color, 0.75), rect(x(float64(b.from))+0.6, c.Min.Y, x(float64(b.to))-0.6,
				y(b.count)).Path())
		}
		for _, b := range bands {
			c.StrokeLine2(levelLine, x(float64(b.from)), y(b.expected), x(float64(b.to)), y(b.expected))
		}
	}))
	return p
}

// rankBar is a bar of the ranks from … to−1.
type rankBar struct {
	from, to int
	count    float64
	// of the count, if ranks are uniform: binomial, and 99 % of the normal
	expected, spread float64
}

// bars returns those of a panel. Where the number of bars does not divide that of ranks, some are of one rank more.
func (m Ranks) bars(panel RankPanel) []rankBar {
	n, ranks := float64(len(panel.Ranks)), panel.Max+1
	out := make([]rankBar, min(cmp.Or(m.Bins, min(max(len(panel.Ranks)/20, 5), 20)), ranks))
	for i := range out {
		b := &out[i]
		b.from, b.to = (i*ranks+len(out)-1)/len(out), ((i+1)*ranks+len(out)-1)/len(out)
		share := float64(b.to-b.from) / float64(ranks)
		b.expected, b.spread = n*share, 2.576*math.Sqrt(n*share*(1-share))
	}
	for _, r := range panel.Ranks {
		out[r*len(out)/ranks].count++
	}
	return out
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
