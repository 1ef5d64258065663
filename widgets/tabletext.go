package widgets

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lines returns the table as rows of text: the header, then for each method its estimates and a line for each
// reference. sub reports for each line whether it is a reference line.
func (t Table) lines() (lines [][]string, sub []bool) {
	header := []string{"method"}
	for _, column := range t.Columns {
		header = append(header, column.Name)
	}
	lines, sub = append(lines, header), append(sub, false)
	for _, row := range t.Rows {
		line := []string{Label(row.Method)}
		for j, cell := range row.Cells {
			line = append(line, t.Columns[j].format(cell.Estimate))
		}
		lines, sub = append(lines, line), append(sub, false)
		for k, name := range t.References {
			if !row.hasReference(k) {
				continue
			}
			line := []string{name}
			for j, cell := range row.Cells {
				line = append(line, t.Columns[j].formatReference(cell, k))
			}
			lines, sub = append(lines, line), append(sub, true)
		}
	}
	return lines, sub
}

// Text returns the table as aligned plain text.
func (t Table) Text() (string, error) {
	if err := t.validate(); err != nil {
		return "", err
	}
	lines, sub := t.lines()
	widths := make([]int, len(lines[0]))
	for i, line := range lines {
		if sub[i] {
			line[0] = "  " + line[0]
		}
		for j, cell := range line {
			widths[j] = max(widths[j], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&out, "%s\n\n", t.Title)
	}
	for i, line := range lines {
		text := ""
		for j, cell := range line {
			text += cell + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+2)
		}
		out.WriteString(strings.TrimRight(text, " ") + "\n")
		if i == 0 {
			total := -2
			for _, w := range widths {
				total += w + 2
			}
			out.WriteString(strings.Repeat("─", total) + "\n")
		}
	}
	for i, note := range t.notes() {
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
	lines, sub := t.lines()
	escape := strings.NewReplacer("|", "\\|", "\n", " ")
	var out strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&out, "**%s**\n\n", escape.Replace(t.Title))
	}
	for i, line := range lines {
		for j, cell := range line {
			cell = escape.Replace(cell)
			switch {
			case i == 0 || cell == "":
			case sub[i]:
				cell = "*" + cell + "*"
			case j == 0:
				cell = "**" + cell + "**"
			}
			out.WriteString("| " + cell + " ")
		}
		out.WriteString("|\n")
		if i == 0 {
			out.WriteString("|:--" + strings.Repeat("|:--", len(line)-1) + "|\n")
		}
	}
	for _, note := range t.notes() {
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
	lines, sub := t.lines()
	var out strings.Builder
	out.WriteString(`<table style="border-collapse:collapse;background:none;color:inherit;font-variant-numeric:tabular-nums">` + "\n")
	if t.Title != "" {
		fmt.Fprintf(&out, `<caption style="text-align:left;font-weight:bold;color:inherit;padding:4px">%s</caption>`+"\n", html.EscapeString(t.Title))
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
				style += small
				if j == 0 {
					style += "padding-left:18px;"
				}
			default:
				style += rule
				if j == 0 {
					tag = `th scope="row"`
				}
			}
			name, _, _ := strings.Cut(tag, " ")
			fmt.Fprintf(&out, `<%s style="%s">%s</%s>`, tag, style, html.EscapeString(cell), name)
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</table>\n")
	for _, note := range t.notes() {
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
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	records := [][]string{{"method", "metric", "source", "mean", "std_err", "difference_se"}}
	for _, row := range t.Rows {
		for j, cell := range row.Cells {
			if e := cell.Estimate; e != nil {
				records = append(records, []string{row.Method, t.Columns[j].Name, "ours", exact(e.Mean),
					exact(e.StdErr), ""})
			}
			for k, name := range t.References {
				if ref := cell.reference(k); ref != nil {
					difference := ""
					if cell.Estimate != nil {
						difference = exact(cell.Estimate.Difference(*ref))
					}
					records = append(records, []string{row.Method, t.Columns[j].Name, name, exact(ref.Mean),
						exact(ref.StdErr), difference})
				}
			}
		}
	}
	if err := w.WriteAll(records); err != nil {
		return nil, fmt.Errorf("widgets: Table.CSV: %w", err)
	}
	return out.Bytes(), nil
}

func exact(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
