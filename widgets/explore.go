package widgets

import (
	"fmt"
	"math"
	"slices"
)

// Explore is an interactive view of posteriors over a gridworld: a map, and the marginals of the state that is clicked.
// States are numbered row by row from the top left.
type Explore struct {
	Title         string
	XLabel        string // of the quantity, with its unit if it has one
	Width, Height int    // in cells
	Methods       []string
	Distributions [][]Distribution // [methods][Width·Height]; the first method is what the others are compared with
	Truth         []float64        // true values, [Width·Height] or nil
	Terminal      []bool           // states that get a thick frame, [Width·Height] or nil
}

// quantity is what the map may show.
type quantity struct {
	label    string
	values   []float64 // [Width·Height]
	diverges bool
}

// Figure implements Drawing: the maps of means and standard deviations, which stand for the view where it is not shown.
func (m Explore) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	mean, std := HeatRow{Label: "mean", Diverges: true, Decimals: 1}, HeatRow{Label: "standard deviation", Decimals: 1}
	for _, of := range m.Distributions {
		mean.Values = append(mean.Values, m.each(of, Distribution.Mean))
		std.Values = append(std.Values, m.each(of, Distribution.StdDev))
	}
	return HeatMaps{Title: m.Title, Width: m.Width, Height: m.Height, Columns: m.Methods, Rows: []HeatRow{mean, std},
		Terminal: m.Terminal}.Figure()
}

func (m Explore) each(of []Distribution, f func(Distribution) float64) []float64 {
	out := make([]float64, len(of))
	for s, d := range of {
		out[s] = f(d)
	}
	return out
}

func (m Explore) validate() error {
	states := m.Width * m.Height
	switch {
	case m.Width < 1 || m.Height < 1:
		return fmt.Errorf("widgets: Explore is %d × %d cells, want at least 1 × 1", m.Width, m.Height)
	case states > maxExplored:
		return fmt.Errorf("widgets: Explore has %d states, want at most %d: choose a part of the world", states,
			maxExplored)
	case len(m.Methods) == 0 || len(m.Distributions) != len(m.Methods):
		return fmt.Errorf("widgets: Explore has %d methods and distributions of %d, want as many, and at least 1",
			len(m.Methods), len(m.Distributions))
	case m.Truth != nil && len(m.Truth) != states || m.Terminal != nil && len(m.Terminal) != states:
		return fmt.Errorf("widgets: Explore has %d true values and %d terminal states, want %d or none", len(m.Truth),
			len(m.Terminal), states)
	}
	for j, of := range m.Distributions {
		if len(of) != states {
			return fmt.Errorf("widgets: Explore.Distributions[%d] has %d states, want %d", j, len(of), states)
		}
		for s, d := range of {
			if d == nil || !finite(d.Mean(), d.StdDev()) {
				return fmt.Errorf("widgets: Explore.Distributions[%d][%d] has no finite mean and standard deviation",
					j, s)
			}
		}
	}
	return nil
}

// maxExplored is the largest number of states: the marginals of all of them are stored in the notebook.
const maxExplored = 400

func finite(x ...float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// quantities are the means and standard deviations of each method, and how they differ from the first one's.
func (m Explore) quantities() (out []quantity) {
	mean, std := m.each(m.Distributions[0], Distribution.Mean), m.each(m.Distributions[0], Distribution.StdDev)
	for j, name := range m.Methods {
		of, label := m.Distributions[j], Label(name)
		out = append(out, quantity{label + ": mean", m.each(of, Distribution.Mean), true},
			quantity{label + ": standard deviation", m.each(of, Distribution.StdDev), false})
		if j == 0 {
			continue
		}
		off, ratio := make([]float64, len(of)), make([]float64, len(of))
		for s, d := range of {
			off[s], ratio[s] = (d.Mean()-mean[s])/std[s], d.StdDev()/std[s]
			if !finite(off[s], ratio[s]) { // of a point
				off[s], ratio[s] = 0, 1
			}
		}
		first := Label(m.Methods[0])
		out = append(out, quantity{fmt.Sprintf("%s: mean less that of %s, in its deviations", label, first), off, true},
			quantity{fmt.Sprintf("%s: standard deviation over that of %s", label, first), ratio, false})
	}
	return out
}

// VegaLite returns the Vega-Lite 5 specification of the view, which begins with the given state.
func (m Explore) VegaLite(state int) (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	if state < 0 || state >= m.Width*m.Height {
		return nil, fmt.Errorf("widgets: Explore begins with state %d, which is outside 0..%d", state,
			m.Width*m.Height-1)
	}
	marginals := Marginals{Title: m.Title, XLabel: m.XLabel, Methods: m.Methods}
	for s := range m.Width * m.Height {
		panel := MarginalPanel{Title: fmt.Sprintf("state %d", s), Truth: math.NaN()}
		if m.Truth != nil {
			panel.Truth = m.Truth[s]
		}
		for _, of := range m.Distributions {
			panel.Distributions = append(panel.Distributions, of[s])
		}
		marginals.Panels = append(marginals.Panels, panel)
	}
	spec, err := marginals.VegaLite()
	if err != nil {
		return nil, err
	}
	// Of the parameters, the first is the slider that chooses a panel: the click does that here.
	params := spec["params"].([]any)
	params[0] = map[string]any{"name": "panel", "expr": fmt.Sprintf("cell.p ? cell.p[0] : %d", state)}
	view := map[string]any{"width": 420, "height": 260}
	for _, key := range []string{"data", "layer", "title"} {
		view[key] = spec[key]
		delete(spec, key)
	}
	delete(spec, "width")
	delete(spec, "height")
	var choices, labels, diverging, lows, highs []any
	for k, q := range m.quantities() {
		low, high := slices.Min(q.values), slices.Max(q.values)
		if q.diverges { // about 0
			high = max(-low, high)
			low = -high
		}
		choices, labels, diverging = append(choices, k), append(labels, q.label), append(diverging, q.diverges)
		lows, highs = append(lows, rounded(low)), append(highs, rounded(high))
	}
	spec["params"] = append(params, map[string]any{"name": "quantity", "value": 0, "bind": map[string]any{
		"input": "select", "options": choices, "labels": labels, "name": "map: "}},
		map[string]any{"name": "diverging", "value": diverging}, map[string]any{"name": "lows", "value": lows},
		map[string]any{"name": "highs", "value": highs})
	independent := map[string]any{"color": "independent", "strokeDash": "independent"}
	spec["resolve"] = map[string]any{"scale": independent, "legend": independent}
	spec["hconcat"] = []any{m.mapView(state), view}
	return spec, nil
}

// mapView is the map, whose selection is called cell.
func (m Explore) mapView(state int) map[string]any {
	all := m.quantities()
	var rows, tooltip []any
	for s := range m.Width * m.Height {
		row := map[string]any{"p": s, "x": s % m.Width, "y": s / m.Width}
		var values []any
		for _, q := range all {
			values = append(values, rounded(q.values[s]))
		}
		row["q"] = values
		for j := range m.Methods {
			d := m.Distributions[j][s]
			row[curveField(j)] = fmt.Sprintf("%.2f ± %.2f, 90 %% in %.2f … %.2f", d.Mean(), d.StdDev(),
				d.Quantile(0.05), d.Quantile(0.95))
		}
		if m.Terminal != nil && m.Terminal[s] {
			row["end"] = true
		}
		rows = append(rows, row)
	}
	tooltip = append(tooltip, map[string]any{"field": "p", "title": "state"})
	for j, name := range m.Methods {
		tooltip = append(tooltip, map[string]any{"field": curveField(j), "title": Label(name)})
	}
	axis := func(field string) map[string]any {
		return map[string]any{"field": field, "type": "ordinal", "axis": nil}
	}
	size := min(40, 420/m.Width)
	cell := map[string]any{"mark": map[string]any{"type": "rect", "cursor": "pointer", "strokeWidth": 2},
		"params": []any{map[string]any{"name": "cell", "value": []any{map[string]any{"p": state}},
			"select": map[string]any{"type": "point", "fields": []any{"p"}, "toggle": false, "clear": false}}},
		"encoding": map[string]any{"x": axis("x"), "y": axis("y"), "tooltip": tooltip,
			"color": map[string]any{"field": "v", "type": "quantitative", "title": nil,
				"scale": map[string]any{
					"scheme":    map[string]any{"expr": "diverging[quantity] ? 'blueorange' : 'blues'"},
					"reverse":   map[string]any{"expr": "diverging[quantity]"},
					"domainMin": map[string]any{"expr": "lows[quantity]"},
					"domainMax": map[string]any{"expr": "highs[quantity]"}},
				"legend": map[string]any{"gradientLength": 140}}}}
	frame := func(filter, color string, width float64) map[string]any {
		return map[string]any{"transform": []any{map[string]any{"filter": filter}},
			"mark":     map[string]any{"type": "rect", "fill": nil, "stroke": color, "strokeWidth": width},
			"encoding": map[string]any{"x": axis("x"), "y": axis("y")}}
	}
	return map[string]any{"data": map[string]any{"values": rows}, "width": size * m.Width, "height": size * m.Height,
		"transform": []any{map[string]any{"calculate": "datum.q[quantity]", "as": "v"}},
		"layer": []any{cell, frame("datum.end", hex(black), 2),
			frame("datum.p === panel", hex(vermillion), 3)}}
}

// ShowExplore displays the interactive view of m, which begins with the given state. JupyterLab draws it, also in a
// saved notebook and without a kernel; elsewhere stand maps of means and standard deviations.
func ShowExplore(m Explore, state int) error {
	spec, err := m.VegaLite(state)
	if err != nil {
		return err
	}
	return ShowVegaLite(spec, m)
}
