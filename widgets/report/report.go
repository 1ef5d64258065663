// Package report draws the reports of experiments: their plain tables and charts become widgets, and files.
package report

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/widgets"
)

// Table returns the table as a widget: with the directions of its metrics, and infinite estimates as notes.
func Table(t exhibit.Table) widgets.Table {
	out := widgets.Table(t)
	out.Columns, out.Rows, out.Notes = slices.Clone(t.Columns), slices.Clone(t.Rows), slices.Clone(t.Notes)
	for i := range out.Columns {
		out.Columns[i].Better = cmp.Or(out.Columns[i].Better, metric.Better(out.Columns[i].Metric))
	}
	for k, r := range out.Rows {
		out.Rows[k].Cells = slices.Clone(r.Cells)
		for i, c := range r.Cells {
			out.Rows[k].Cells[i].Estimate = finite(c.Estimate)
			if c.Estimate != nil && finite(c.Estimate) == nil {
				sign := map[bool]string{true: "−"}[c.Estimate.Mean < 0]
				out.Notes = append(out.Notes, fmt.Sprintf("The %s of %s is %s∞.", t.Columns[i].Name,
					widgets.Label(r.Method), sign))
			}
		}
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
		panel := widgets.DotPanel{Title: c.Name}
		for _, r := range t.Rows {
			panel.Estimates = append(panel.Estimates, finite(r.Cells[i].Estimate))
			if len(t.References) > 0 {
				panel.Published = append(panel.Published, finite(r.Cells[i].References[0]))
			}
		}
		out.Panels = append(out.Panels, panel)
	}
	return out
}

// finite returns nil where there is no estimate, or no finite one.
func finite(e *exhibit.Estimate) *exhibit.Estimate {
	if e == nil || math.IsInf(e.Mean, 0) {
		return nil
	}
	return e
}

// mostPoints is how many points of a curve get a dot; the dots of more would cover the curve.
const mostPoints = 40

// Chart returns the chart as a widget.
func Chart(c exhibit.Chart) widgets.Curves {
	out := widgets.Curves{Title: c.Title, Panels: slices.Clone(c.Panels), Notes: c.Notes}
	if len(c.Panels) == 4 { // two rows of two, not three and one
		out.Columns = 2
	}
	for i, p := range c.Panels {
		curves := slices.Clone(p.Curves)
		for k := range curves {
			curves[k].Points = len(curves[k].X) <= mostPoints
		}
		out.Panels[i].Curves = curves
	}
	return out
}

// Ranks returns the rank histograms as a widget, all in one row.
func Ranks(c exhibit.RankChart) widgets.Ranks {
	out := widgets.Ranks{Title: c.Title, Bins: c.Bins, Columns: len(c.Panels), Panels: slices.Clone(c.Panels)}
	for i, p := range c.Panels {
		out.Panels[i].Title = cmp.Or(p.Title, widgets.Label(p.Method))
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
		return atomicfile.WriteBytes(filepath.Join(dir, name), []byte(text))
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
		if err := widgets.Save(d, filepath.Join(dir, name+".svg")); err != nil {
			return fmt.Errorf("report: figure %s: %w", name, err)
		}
		page += fmt.Sprintf("![%s](%s.svg)\n\n", title, name)
		files = append(files, name+".svg")
		return nil
	}
	for _, c := range r.Verdicts {
		if err := draw(c.Name, c.Title, widgets.Verdicts(c)); err != nil {
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
