package widgets

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/progress"
)

// Traces shows the draws of several Markov chains, one panel a quantity: chains that have mixed lie over one another.
type Traces struct {
	Title  string
	Panels []TracePanel
}

// TracePanel is one quantity of Traces.
type TracePanel struct {
	Title  string
	Chains [][]float64 // draws of each chain in order
}

const tracePoints = 600 // most points drawn for a chain; longer chains are thinned

// Figure implements Drawing.
func (m Traces) Figure() (*Figure, error) {
	if len(m.Panels) == 0 {
		return nil, fmt.Errorf("widgets: Traces has no panels")
	}
	plots := make([]*plot.Plot, len(m.Panels))
	chains := 0
	for i, panel := range m.Panels {
		if err := checkChains(fmt.Sprintf("Traces.Panels[%d].Chains", i), panel.Chains); err != nil {
			return nil, err
		}
		chains = max(chains, len(panel.Chains))
		p := newPanel("", "", panel.Title)
		p.Y.Tick.Marker = niceTicks{3}
		if i == len(m.Panels)-1 {
			p.X.Label.Text = "draw"
		}
		xs, ys := emptySpan(), emptySpan()
		for _, chain := range panel.Chains {
			xs.include(0, float64(len(chain)))
			ys.include(chain...)
		}
		setRange(&p.X, xs, 0, 0)
		setRange(&p.Y, ys, 0, 0.03)
		p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
			for k, chain := range panel.Chains {
				step := (len(chain) + tracePoints - 1) / tracePoints
				var points []vg.Point
				for t := 0; t < len(chain); t += step {
					points = append(points, vg.Point{X: x(float64(t) + 0.5), Y: y(chain[t])})
				}
				c.StrokeLines(draw.LineStyle{Color: fade(chainColor(k), 0.75), Width: 0.6}, points)
			}
		}))
		plots[i] = p
	}
	var legend []legendEntry
	for k := range chains {
		legend = append(legend, lineEntry(fmt.Sprintf("chain %d", k+1), draw.LineStyle{Color: chainColor(k),
			Width: lineWidth}))
	}
	return card{
		title: m.Title, legend: legend,
		description: fmt.Sprintf("Draws of %s, %s.", progress.Count(chains, "chain", "chains"),
			progress.Count(len(plots), "quantity", "quantities")),
		bodyHeight: vg.Length(len(plots))*95 + 20,
		body:       func(c draw.Canvas) { drawPanels(c, plots, 1) }, records: m.records,
	}.figure(), nil
}

func chainColor(k int) color.NRGBA { return others[k%len(others)] }

func checkChains(field string, chains [][]float64) error {
	return check.First(refuse(len(chains) == 0, "%s is empty", field), forEach(field, chains,
		func(field string, chain []float64) error {
			return check.First(refuse(len(chain) == 0, "%s has no draws", field), checkFinite(field, chain))
		}))
}

func (m Traces) records() [][]string {
	out := csvLines{{"panel", "chain", "draw", "value"}}
	for _, p := range m.Panels {
		for k, chain := range p.Chains {
			for i, v := range chain {
				out.add(p.Title, k+1, i+1, v)
			}
		}
	}
	return out
}

// Mixing returns the traces of chains, and beneath them the ranks of their draws among those of all chains: both look
// alike for all chains if these have the same distribution (Vehtari et al. 2021).
func Mixing(title, quantity string, chains [][]float64) (Stack, error) {
	ranks, err := ChainRanks("", chains)
	if err != nil {
		return Stack{}, err
	}
	return Stack{Title: title, Rows: [][]Drawing{{Traces{Panels: []TracePanel{{quantity, chains}}}}, {ranks}}}, nil
}
