// Package report draws the reports of experiments: their plain tables and charts become widgets, and files.
package report

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/widgets"
)

// Table returns the table as a widget.
func Table(t exhibit.Table) widgets.Table {
	out := widgets.Table{Title: t.Title, References: t.References, Notes: append([]string(nil), t.Notes...)}
	for _, c := range t.Columns {
		column := widgets.Column{Name: c.Title, Decimals: c.Decimals}
		switch metric.Better(c.Metric) {
		case 1:
			column.Better = widgets.Higher
		case -1:
			column.Better = widgets.Lower
		}
		out.Columns = append(out.Columns, column)
	}
	for _, r := range t.Rows {
		row := widgets.Row{Method: r.Method}
		for i, c := range r.Cells {
			cell := widgets.Cell{Estimate: estimate(c.Estimate)}
			if c.Estimate != nil && cell.Estimate == nil {
				sign := map[bool]string{true: "−"}[c.Estimate.Mean < 0]
				out.Notes = append(out.Notes, fmt.Sprintf("The %s of %s is %s∞.", t.Columns[i].Title,
					widgets.Label(r.Method), sign))
			}
			for _, ref := range c.References {
				cell.References = append(cell.References, estimate(ref))
			}
			row.Cells = append(row.Cells, cell)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// Dots returns the table as a figure: a panel for each column, with the values of the first reference beside ours.
func Dots(t exhibit.Table) widgets.Dots {
	out := widgets.Dots{Title: t.Title}
	for _, r := range t.Rows {
		out.Methods = append(out.Methods, r.Method)
	}
	for i, c := range t.Columns {
		panel := widgets.DotPanel{Title: c.Title, Target: math.NaN()}
		for _, r := range t.Rows {
			panel.Estimates = append(panel.Estimates, estimate(r.Cells[i].Estimate))
			if len(t.References) > 0 {
				panel.Published = append(panel.Published, estimate(r.Cells[i].References[0]))
			}
		}
		out.Panels = append(out.Panels, panel)
	}
	return out
}

// estimate returns nil where there is none, or no finite one.
func estimate(e *exhibit.Estimate) *widgets.Estimate {
	if e == nil || math.IsInf(e.Mean, 0) {
		return nil
	}
	return widgets.Value(e.Mean, e.StdErr)
}

// mostPoints is how many points of a curve get a dot; the dots of more would cover the curve.
const mostPoints = 40

// Chart returns the chart as a widget.
func Chart(c exhibit.Chart) widgets.Curves {
	out := widgets.Curves{Title: c.Title}
	if len(c.Panels) == 4 { // two rows of two, not three and one
		out.Columns = 2
	}
	for _, p := range c.Panels {
		panel := widgets.CurvePanel{Title: p.Title, XLabel: p.XLabel, YLabel: p.YLabel, LogX: p.LogX, LogY: p.LogY,
			Bars: p.Bars, Levels: p.Levels, Marks: p.Marks}
		for _, curve := range p.Curves {
			panel.Curves = append(panel.Curves, widgets.Curve{Name: curve.Name, X: curve.X, Y: curve.Y,
				StdErr: curve.StdErr,
				Points: len(curve.X) <= mostPoints})
		}
		out.Panels = append(out.Panels, panel)
	}
	return out
}

// Ranks returns the rank histograms as a widget, all in one row.
func Ranks(c exhibit.RankChart) widgets.Ranks {
	out := widgets.Ranks{Title: c.Title, Bins: c.Bins, Columns: len(c.Panels)}
	for _, p := range c.Panels {
		out.Panels = append(out.Panels, widgets.RankPanel{Title: widgets.Label(p.Method), Method: p.Method,
			Ranks: p.Ranks, Max: p.Max})
	}
	return out
}

// Text returns the tables of a report as aligned plain text.
func Text(r *exhibit.Report) (string, error) {
	var b strings.Builder
	for _, t := range r.Tables {
		text, err := Table(t).Text()
		if err != nil {
			return "", err
		}
		b.WriteString(text + "\n")
	}
	return b.String(), nil
}

// Write writes the report to a folder, which it makes if it is missing: report.md with the tables and links to the
// figures, a CSV file of each table and an SVG file of each figure. It returns the names of the files.
func Write(r *exhibit.Report, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("report: cannot write to %s: %w", dir, err)
	}
	var files []string
	write := func(name, text string) error {
		files = append(files, name)
		return atomicfile.Write(filepath.Join(dir, name),
			func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	}
	page := "# " + r.Title + "\n\n"
	for _, paragraph := range r.Text {
		page += paragraph + "\n\n"
	}
	for _, t := range r.Tables {
		table := Table(t)
		markdown, err := table.Markdown()
		if err != nil {
			return nil, fmt.Errorf("report: table %s: %w", t.Name, err)
		}
		csv, err := table.CSV()
		if err != nil {
			return nil, fmt.Errorf("report: table %s: %w", t.Name, err)
		}
		if err := write(t.Name+".csv", string(csv)); err != nil {
			return nil, err
		}
		page += markdown + "\n"
	}
	draw := func(name, title string, d widgets.Drawing) error {
		figure, err := d.Figure()
		if err != nil {
			return fmt.Errorf("report: figure %s: %w", name, err)
		}
		svg, err := figure.SVG()
		if err != nil {
			return fmt.Errorf("report: figure %s: %w", name, err)
		}
		page += fmt.Sprintf("![%s](%s.svg)\n\n", title, name)
		return write(name+".svg", string(svg))
	}
	for _, c := range r.Verdicts {
		if err := draw(c.Name, c.Title, widgets.Verdicts{Title: c.Title, Methods: c.Methods,
			Families: c.Families}); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Ranks {
		if err := draw(c.Name, c.Title, Ranks(c)); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Charts {
		if err := draw(c.Name, c.Title, Chart(c)); err != nil {
			return nil, err
		}
	}
	return files, write("report.md", page)
}
