package widgets

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// textField is a field of a line of the table: text, what stands before it to align it, and whether it is the best.
type textField struct {
	before, text string
	best         bool
}

func (f textField) String() string { return f.before + f.text }

// lines returns the table as rows of text: the header, then for each method its estimates and a line for each
// reference. Means end below one another, and so do standard errors; gaps are filled by the blank. sub reports for each
// line whether it is a reference line.
func (t Table) lines(blank string) (lines [][]textField, sub []bool) {
	header := []textField{{text: t.of()}}
	for j := range t.Columns {
		header = append(header, textField{text: t.head(j)})
	}
	lines, sub = append(lines, header), append(sub, false)
	var entries [][]entry
	add := func(name string, row []entry, reference bool) {
		lines, sub = append(lines, []textField{{text: name}}), append(sub, reference)
		entries = append(entries, row)
	}
	for _, row := range t.Rows {
		var own []entry
		for j, cell := range row.Cells {
			e := tableColumn(t.Columns[j]).entry(cell.Estimate)
			e.best = t.best(j, row)
			own = append(own, e)
		}
		add(Label(row.Method), own, false)
		for k, name := range t.References {
			if !slices.ContainsFunc(row.Cells, func(c Cell) bool { return reference(c, k) != nil }) {
				continue
			}
			var reference []entry
			for j, cell := range row.Cells {
				reference = append(reference, tableColumn(t.Columns[j]).reference(cell, k))
			}
			add(name, reference, true)
		}
	}
	for j := range t.Columns {
		mean, err := 0, 0
		for _, row := range entries {
			mean, err = max(mean, length(row[j].mean)), max(err, length(row[j].err))
		}
		for i, row := range entries {
			e := row[j]
			if e.mean == "" {
				lines[i+1] = append(lines[i+1], textField{})
				continue
			}
			f := textField{before: strings.Repeat(blank, mean-length(e.mean)), text: e.mean, best: e.best}
			switch {
			case e.err == "0": // no need to end where others do
				f.text += " ± 0"
			case e.err != "":
				f.text += " ± " + strings.Repeat(blank, err-length(e.err)) + e.err
			case err > 0 && e.difference != "":
				f.text += strings.Repeat(blank, err+3)
			}
			f.text += e.difference
			lines[i+1] = append(lines[i+1], f)
		}
	}
	return lines, sub
}

func length(s string) int { return utf8.RuneCountInString(s) }

// figureSpace is a blank of the width of a digit.
const figureSpace = "\u2007"

// Text returns the table as aligned plain text.
func (t Table) Text() (string, error) {
	if err := t.validate(); err != nil {
		return "", err
	}
	lines, sub := t.lines(" ")
	var aligned, out strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for i, line := range lines {
		if sub[i] {
			line[0].before = "  "
		}
		for _, cell := range line {
			fmt.Fprint(w, cell, "\t")
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a strings.Builder does not fail
	if t.Title != "" {
		fmt.Fprintf(&out, "%s\n\n", t.title())
	}
	header, rows, _ := strings.Cut(aligned.String(), "\n")
	rule := strings.Repeat("─", length(header)-2)
	for _, line := range append([]string{header, rule}, strings.Split(strings.TrimSuffix(rows, "\n"), "\n")...) {
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for i, note := range t.notes(false) {
		if i == 0 {
			out.WriteString("\n")
		}
		out.WriteString(note + "\n")
	}
	return out.String(), nil
}

// Markdown returns the table in GitHub's Markdown.
func (t Table) Markdown() (string, error) {
	if err := t.validate(); err != nil {
		return "", err
	}
	lines, sub := t.lines(figureSpace)
	escape := strings.NewReplacer("|", "\\|", "\n", " ")
	var out strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&out, "**%s**\n\n", escape.Replace(t.title()))
	}
	for i, line := range lines {
		for _, cell := range line {
			text := escape.Replace(cell.text)
			switch {
			case i == 0 || text == "":
			case sub[i]:
				text = "*" + text + "*"
			case cell.best:
				text = "**" + text + "**"
			}
			out.WriteString("| " + cell.before + text + " ")
		}
		out.WriteString("|\n")
		if i == 0 {
			out.WriteString("|:--" + strings.Repeat("|:--", len(line)-1) + "|\n")
		}
	}
	for _, note := range t.notes(true) {
		out.WriteString("\n" + note + "\n")
	}
	return out.String(), nil
}

// HTML returns the table as an HTML fragment that takes text and background colour from the page it stands in, so that
// it is legible in light and dark themes.
func (t Table) HTML() (string, error) {
	if err := t.validate(); err != nil {
		return "", err
	}
	const (
		left  = `text-align:left;padding:3px 14px 3px 4px;white-space:nowrap;`
		small = `font-size:85%;opacity:0.75;`
		rule  = `border-top:1px solid rgba(128,128,128,0.5);`
	)
	lines, sub := t.lines(figureSpace)
	var out strings.Builder
	out.WriteString(`<table style="border-collapse:collapse;background:none;color:inherit;font-variant-numeric:tabular-nums">` + "\n")
	if t.Title != "" {
		fmt.Fprintf(&out, `<caption style="text-align:left;font-weight:bold;color:inherit;padding:4px">%s</caption>`+"\n", html.EscapeString(t.title()))
	}
	for i, line := range lines {
		out.WriteString(`<tr style="background:none">`)
		for j, cell := range line {
			tag, style := "td", left
			switch {
			case i == 0:
				tag = `th scope="col"`
				style += "border-bottom:2px solid rgba(128,128,128,0.8);"
			case sub[i]:
				style += "opacity:0.75;" // of the size of the others, so that decimal points stand below one another
				if j == 0 {
					style += "padding-left:18px;"
				}
			default:
				style += rule
				if j == 0 {
					tag = `th scope="row"`
					style += "font-weight:normal;"
				}
			}
			name, _, _ := strings.Cut(tag, " ")
			text := html.EscapeString(cell.String())
			if cell.best {
				text = html.EscapeString(cell.before) + "<b>" + html.EscapeString(cell.text) + "</b>"
			}
			fmt.Fprintf(&out, `<%s style="%s">%s</%s>`, tag, style, text, name)
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</table>\n")
	for _, note := range t.notes(true) {
		fmt.Fprintf(&out, `<div style="%s">%s</div>`+"\n", small, html.EscapeString(note))
	}
	return out.String(), nil
}

// CSV returns the table in long format with full precision: a line for each estimate and each reference, with columns
// method, metric, source ("ours" or the reference's name), mean, std_err and difference_se (our value minus the
// reference in standard errors of the difference). Unknown numbers are empty.
func (t Table) CSV() ([]byte, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	records := csvLines{{"method", "metric", "source", "mean", "std_err", "difference_se"}}
	for _, row := range t.Rows {
		for j, cell := range row.Cells {
			if e := cell.Estimate; e != nil {
				records.add(row.Method, t.Columns[j].Name, "ours", e.Mean, e.StdErr, "")
			}
			for k, name := range t.References {
				if ref := reference(cell, k); ref != nil {
					difference := math.NaN()
					if cell.Estimate != nil {
						difference = Difference(*cell.Estimate, *ref)
					}
					records.add(row.Method, t.Columns[j].Name, name, ref.Mean, ref.StdErr, difference)
				}
			}
		}
	}
	return csvText(records), nil
}
