package widgets

import (
	"fmt"
	"math"
)

// VegaLite returns the Vega-Lite 5 specification of an interactive view: two methods, which the reader chooses, in one
// panel at a time. first and second are those that it begins with, as positions in Methods.
func (m Tails) VegaLite(first, second int) (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	for _, i := range []int{first, second} {
		if i < 0 || i >= len(m.Methods) {
			return nil, fmt.Errorf("widgets: Tails.VegaLite: method %d is outside 0..%d", i, len(m.Methods)-1)
		}
	}
	xs := m.extent()
	looks := appearances(m.Methods)
	var rows, labels, numbers, titles []any
	for i, panel := range m.Panels {
		numbers, titles = append(numbers, i), append(titles, panel.Title)
		for j, samples := range panel.Samples {
			if samples == nil {
				continue
			}
			t := newTail(samples, m.Level, xs)
			peak := t.peak()
			for k, x := range t.x {
				if t.density[k] < invisible*peak {
					continue
				}
				row := object{"p": i, "m": looks[j].label, "x": rounded(x), "y": rounded(t.density[k])}
				if x <= t.quantile {
					row["t"] = 1
				}
				rows = append(rows, row)
			}
			note := fmt.Sprintf("%s: mean %.1f, worst %g %% %.1f", looks[j].label, t.mean, 100*m.Level, t.tail)
			summary := object{"p": i, "m": looks[j].label, "mean": rounded(t.mean), "worst": rounded(t.tail)}
			if truth := entryOrNaN(panel.Truth, j); !math.IsNaN(truth) {
				note += fmt.Sprintf(", true %.1f", truth)
				summary["truth"] = rounded(truth)
			}
			summary["note"] = note
			rows = append(rows, summary)
		}
	}
	for _, a := range looks {
		labels = append(labels, a.label)
	}
	return newView("tails.vl", true, object{"m": m, "ink": hex(paleInk), "numbers": numbers, "titles": titles,
		"labels": labels, "first": first, "second": second, "rows": rows, "extent": xs.ends(),
		"choices": []object{{"name": "first", "color": hex(blue), "note": -40},
			{"name": "second", "color": hex(vermillion), "note": -21}}})
}

// ShowTails displays the interactive view of m, which begins with the methods at the positions first and second.
// JupyterLab draws it, also in a saved notebook and without a kernel; elsewhere stands the figure of all methods in the
// panels at the given positions.
func ShowTails(m Tails, first, second int, static ...int) error {
	return showPanels("ShowTails", func() (map[string]any, error) { return m.VegaLite(first, second) }, m.Panels,
		static, 1, func(some []TailPanel) Drawing {
			m.Panels = some
			return m
		})
}
