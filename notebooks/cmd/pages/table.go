package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/registry"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/widgets"
	"github.com/go-birl/birl/widgets/report"
)

// tableOf describes a table of stored rows: a row for each method, and columns of metrics, or of numbers of
// demonstrations, or of environments.
type tableOf struct {
	Experiment string              `yaml:"experiment"`
	Rows       []rowOf             `yaml:"rows"`
	Columns    []column            `yaml:"columns"`
	Published  map[string][]string `yaml:"published"` // by method, one for each column, of others than the paper
	Head       string              `yaml:"head"`      // of the first column; "method" by default
	Flip       bool                `yaml:"flip"`      // columns become rows
	Against    string              `yaml:"against"`   // a method that is subtracted from all, seed by seed
}

// rowOf is a method; Title, if it is not empty, is what it is called.
type rowOf struct {
	Method string `yaml:"method"`
	Title  string `yaml:"title"`
	// Choose are options of the choice of rows, as in "environment=E"; Metric, if it is not empty, replaces the
	// column's.
	Choose     string `yaml:"choose"`
	Metric     string `yaml:"metric"`
	Experiment string `yaml:"experiment"` // other than the table's
}

type column struct {
	Title    string   `yaml:"title"`
	Metric   string   `yaml:"metric"`
	Less     string   `yaml:"less"` // a metric that is subtracted, seed by seed
	Choose   string   `yaml:"choose"`
	Decimals int      `yaml:"decimals"`
	Target   *float64 `yaml:"target"` // of a figure; by default the best value, if the metric has a certain one
	Arrow    bool     `yaml:"arrow"`  // whether the head says which values are better
}

// head returns the head of a column.
func (t tableOf) head(c column) (string, error) {
	if !c.Arrow {
		return c.Title, nil
	}
	m, err := metric.Lookup(t.Experiment, c.Metric)
	if err == nil && m.Better == exhibit.Neither {
		err = fmt.Errorf("column %s: neither high nor low values of %s are better", c.Title, c.Metric)
	}
	return c.Title + map[exhibit.Direction]string{exhibit.Higher: " ↑", exhibit.Lower: " ↓"}[m.Better], err
}

// choice returns what a cell of the table is.
func (t tableOf) choice(r rowOf, c column) string {
	words := []string{cmp.Or(r.Experiment, t.Experiment), r.Method, cmp.Or(r.Metric, c.Metric), r.Choose, c.Choose}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func (r rowOf) title() string { return cmp.Or(r.Title, widgets.Label(r.Method)) }

// paperOf returns what the paper has for a choice of rows, by the ledger; nil where it has nothing.
func (s *site) paperOf(choice string) *estimate {
	for _, c := range s.ledger.Claims {
		for _, o := range c.outcomes {
			if o.paper != nil && o.Than == "" && strings.Join(strings.Fields(o.Ours), " ") == choice {
				return o.paper
			}
		}
	}
	return nil
}

// table writes a table in Markdown. In parentheses stands what the paper has, or others have published.
func (s *site) table(name string) (string, error) {
	t, ok := s.layout.Tables[name]
	if !ok {
		return "", fmt.Errorf("pages.yaml: there is no table %q", name)
	}
	s.used[name] = true
	head := []string{cmp.Or(t.Head, "method")}
	for _, c := range t.Columns {
		title, err := t.head(c)
		if err != nil {
			return "", fmt.Errorf("table %s: %w", name, err)
		}
		head = append(head, title)
	}
	grid := [][]string{head}
	for _, r := range t.Rows {
		line := []string{r.title()}
		for i, c := range t.Columns {
			choice := t.choice(r, c)
			e, err := s.results.estimate(choice)
			if err != nil && strings.Contains(err.Error(), "no row of") {
				line = append(line, "–")
				continue
			}
			if err != nil {
				return "", fmt.Errorf("table %s: %w", name, err)
			}
			other := ""
			switch {
			case t.Against != "":
				other = t.choice(rowOf{Method: t.Against}, c)
			case c.Less != "":
				other = t.choice(r, column{Metric: c.Less, Choose: c.Choose})
			}
			if other != "" {
				o, err := s.results.estimate(other)
				if err != nil {
					return "", fmt.Errorf("table %s: %w", name, err)
				}
				e = difference(e, o)
			}
			cell := e.text(c.Decimals)
			if p := s.paperOf(choice); p != nil {
				cell += " (" + number(p.mean, c.Decimals) + ")"
			}
			if p := t.Published[r.Method]; p != nil {
				if len(p) != len(t.Columns) {
					return "", fmt.Errorf("table %s: published: %s has %d numbers, want %d", name, r.Method, len(p),
						len(t.Columns))
				}
				cell += " (" + p[i] + ")"
			}
			line = append(line, cell)
		}
		grid = append(grid, line)
	}
	for method := range t.Published {
		if !slices.ContainsFunc(t.Rows, func(r rowOf) bool { return r.Method == method }) {
			return "", fmt.Errorf("table %s: published: no row is of %s", name, method)
		}
	}
	if t.Flip {
		grid = transposed(grid)
	}
	return strings.TrimSpace(markdown(grid, "|--:")), nil
}

func transposed(grid [][]string) [][]string {
	out := make([][]string, len(grid[0]))
	for i := range out {
		for _, line := range grid {
			out[i] = append(out[i], line[i])
		}
	}
	return out
}

// markdown writes a table, whose first column is aligned to the left and the others as align says in Markdown.
func markdown(grid [][]string, align string) string {
	var b strings.Builder
	for i, line := range grid {
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|:--" + strings.Repeat(align, len(line)-1) + "|\n")
		}
	}
	return b.String()
}

// figureOf describes a page's figure: dots of a table, curves over the number of demonstrations, or an experiment's own
// comparison.
type figureOf struct {
	Title  string    `yaml:"title"`
	Table  string    `yaml:"table"` // dots: rows are methods, columns are panels; with the paper's values
	Only   []string  `yaml:"only"`  // the methods of the table that are drawn; all by default
	Axes   []string  `yaml:"axes"`  // labels of the axes of these panels, with units; one for all, or one for each
	Same   bool      `yaml:"same"`  // these panels have the same scale
	Panels []panelOf `yaml:"panels"`
	// the comparison that the report of this experiment draws: the panels of its first chart, or of so many charts
	Comparison string              `yaml:"comparison"`
	Charts     int                 `yaml:"charts"`
	Levels     []map[string]string `yaml:"levels"` // of each of these panels: choices of rows by name, or numbers
	// the numbers of the zoo's answers of each kind
	Verdicts bool `yaml:"verdicts"`
}

type panelOf struct {
	Title      string            `yaml:"title"`
	Experiment string            `yaml:"experiment"`
	Metric     string            `yaml:"metric"`
	Choose     string            `yaml:"choose"`
	Methods    []string          `yaml:"methods"`
	X          []int             `yaml:"x"` // numbers of demonstrations
	XLabel     string            `yaml:"xlabel"`
	YLabel     string            `yaml:"ylabel"` // other than the metric's label
	Levels     map[string]string `yaml:"levels"` // choices of rows by name, or numbers
	Names      map[string]string `yaml:"names"`  // of methods, other than their labels
	// a table with published values of these methods, whose columns are of the same numbers of demonstrations
	Published string `yaml:"published"`
}

// drawing returns the figure that is described.
func (s *site) drawing(f figureOf) (widgets.Drawing, error) {
	if f.Table != "" {
		return s.dots(f)
	}
	if f.Comparison != "" {
		return s.comparison(f)
	}
	if f.Verdicts {
		c, err := s.verdicts()
		c.Title = f.Title
		return widgets.VerdictCounts(c), err
	}
	out := widgets.Curves{Title: f.Title, Columns: len(f.Panels)}
	if len(f.Panels) == 4 { // two rows of two
		out.Columns = 2
	}
	for _, p := range f.Panels {
		panel := widgets.CurvePanel{Title: p.Title, XLabel: p.XLabel,
			YLabel: cmp.Or(p.YLabel, metric.Label(p.Metric))}
		for _, m := range p.Methods {
			curve := widgets.Curve{Name: cmp.Or(p.Names[m], m), Points: len(p.X) < 12}
			for _, x := range p.X {
				choice := fmt.Sprintf("%s %s %s demos=%d %s", p.Experiment, m, p.Metric, x, p.Choose)
				e, err := s.results.estimate(choice)
				if err != nil {
					return nil, err
				}
				curve.X = append(curve.X, float64(x))
				curve.Y, curve.StdErr = append(curve.Y, e.mean), append(curve.StdErr, e.stdErr)
			}
			var err error
			if curve.Published, err = s.published(p, m); err != nil {
				return nil, err
			}
			panel.Curves = append(panel.Curves, curve)
		}
		if err := s.addLevels(&panel, p.Levels); err != nil {
			return nil, err
		}
		out.Panels = append(out.Panels, panel)
	}
	return out, nil
}

// published returns the published values of a method's curve; nil where there are none.
func (s *site) published(p panelOf, method string) (out []float64, err error) {
	if p.Published == "" {
		return nil, nil
	}
	t, ok := s.layout.Tables[p.Published]
	if !ok || len(t.Columns) != len(p.X) {
		return nil, fmt.Errorf("pages.yaml: there is no table %q with %d columns", p.Published, len(p.X))
	}
	for i, text := range t.Published[method] {
		if want := fmt.Sprintf("demos=%d", p.X[i]); t.Columns[i].Choose != want {
			return nil, fmt.Errorf("pages.yaml: column %d of %s is not %s", i, p.Published, want)
		}
		e, err := parsePaper(strings.Replace(text, "−", "-", 1))
		if err != nil {
			return nil, err
		}
		out = append(out, e.mean)
	}
	return out, nil
}

// comparison draws the first figures of an experiment's report, as its notebook does.
func (s *site) comparison(f figureOf) (widgets.Drawing, error) {
	rows, _, err := s.results.read(f.Comparison)
	if err != nil {
		return nil, err
	}
	d, err := experiment.Find(registry.Definitions(), f.Comparison)
	if err != nil {
		return nil, fmt.Errorf("pages.yaml: %w", err)
	}
	r, err := d.Report(rows, nil)
	if err != nil {
		return nil, err
	}
	out := widgets.Curves{Title: f.Title}
	for _, c := range r.Charts[:max(f.Charts, 1)] {
		out.Panels = append(out.Panels, report.Chart(c).Panels...)
	}
	if len(f.Levels) > len(out.Panels) {
		return nil, fmt.Errorf("pages.yaml: %q has levels of %d panels, and %d panels", f.Title, len(f.Levels),
			len(out.Panels))
	}
	for i, levels := range f.Levels {
		if err := s.addLevels(&out.Panels[i], levels); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// addLevels adds levels by name: of choices of rows, or numbers.
func (s *site) addLevels(to *widgets.CurvePanel, levels map[string]string) error {
	for _, name := range sortedKeys(levels) {
		level, err := parsePaper(levels[name])
		if err != nil {
			level, err = s.results.estimate(levels[name])
		}
		if err != nil {
			return err
		}
		to.Levels = append(to.Levels, widgets.Level{Name: name, Y: level.mean})
	}
	return nil
}

// dots draws a table with the paper's values beside ours.
func (s *site) dots(f figureOf) (widgets.Drawing, error) {
	t, ok := s.layout.Tables[f.Table]
	if !ok {
		return nil, fmt.Errorf("pages.yaml: there is no table %q", f.Table)
	}
	s.used[f.Table] = true
	if n := len(f.Axes); n != 1 && n != len(t.Columns) {
		return nil, fmt.Errorf("pages.yaml: %q has %d axes, want one, or one for each of %d columns", f.Title, n,
			len(t.Columns))
	}
	out := widgets.Dots{Title: f.Title, Same: f.Same}
	rows := slices.DeleteFunc(slices.Clone(t.Rows), func(r rowOf) bool {
		return f.Only != nil && !slices.Contains(f.Only, r.Method)
	})
	for _, r := range rows {
		out.Methods, out.Names = append(out.Methods, r.Method), append(out.Names, r.Title)
	}
	for i, c := range t.Columns {
		known, _ := metric.Lookup(t.Experiment, c.Metric) // a pattern of several is none
		panel := widgets.DotPanel{Title: c.Title, Label: f.Axes[i%len(f.Axes)], Target: cmp.Or(c.Target, known.Best)}
		for _, r := range rows {
			choice := t.choice(r, c)
			e, err := s.results.estimate(choice)
			if err != nil {
				return nil, err
			}
			panel.Estimates = append(panel.Estimates, value(e))
			panel.Published = append(panel.Published, value(s.paperOf(choice)))
		}
		if !slices.ContainsFunc(panel.Published, func(e *widgets.Estimate) bool { return e != nil }) {
			panel.Published = nil
		}
		out.Panels = append(out.Panels, panel)
	}
	return out, nil
}
