package widgets

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/method"
)

// A Table shows results: a row for each method, a column for each metric, whose best is bold, and under each estimate
// the published ones with the difference in standard errors.
type Table exhibit.Table

// The parts of a table.
type (
	Estimate  = exhibit.Estimate
	Column    = exhibit.Column
	Row       = exhibit.Row
	Cell      = exhibit.Cell
	Direction = exhibit.Direction
)

// The directions.
const (
	Neither = exhibit.Neither
	Higher  = exhibit.Higher
	Lower   = exhibit.Lower
)

// Value returns an estimate; stdErr is NaN if it is not known.
func Value(mean, stdErr float64) *Estimate { return &Estimate{Mean: mean, StdErr: stdErr} }

// Difference returns a − b in standard errors of the difference, taking the two as independent; an unknown standard
// error counts as 0. It is NaN if neither is known or both are 0.
func Difference(a, b Estimate) float64 {
	variance := 0.0
	for _, se := range []float64{a.StdErr, b.StdErr} {
		if !math.IsNaN(se) {
			variance += se * se
		}
	}
	if variance == 0 {
		return math.NaN()
	}
	return (a.Mean - b.Mean) / math.Sqrt(variance)
}

func checkEstimate(field string, e *Estimate) error {
	if e == nil {
		return nil
	}
	return refuse(!finite(e.Mean) || math.IsInf(e.StdErr, 0) || e.StdErr < 0,
		"%s = %g ± %g: want a finite mean, and a "+
			"standard error that is finite and not negative, or NaN", field, e.Mean, e.StdErr)
}

// arrowOf stands behind the name of what has a direction.
func arrowOf(d Direction) string { return []string{"", " ↑", " ↓"}[d] }

// byMethod heads the names of the rows by default.
const byMethod = "method"

// of returns what the rows are of.
func (t Table) of() string { return cmp.Or(t.Of, byMethod) }

// validate refuses a table whose parts do not fit, and numbers that are not finite.
func (t Table) validate() error {
	return check.First(checkBoth("Table", "columns", len(t.Columns), "rows", len(t.Rows)), forEach("Table.Columns",
		t.Columns, func(field string, c Column) error {
			return refuse(c.Decimals < 0, "%s.Decimals = %d, want at least 0", field, c.Decimals)
		}), forEach("Table.Rows", t.Rows, func(field string, row Row) error {
		field += ".Cells"
		var unknown error
		if t.of() == byMethod {
			unknown = checkMethods(row.Method)
		}
		return check.First(unknown, checkLength(field, len(row.Cells), len(t.Columns),
			"one for each column"),
			forEach(field, row.Cells, func(field string, cell Cell) error {
				return check.First(checkEstimate(field+".Estimate", cell.Estimate),
					checkEach(field+".References", cell.References, len(t.References), "as in Table.References"),
					forEach(field+".References", cell.References, checkEstimate))
			}))
	}))
}

// reference returns the k-th reference of a cell, nil if there is none.
func reference(c Cell, k int) *Estimate {
	if c.References == nil {
		return nil
	}
	return c.References[k]
}

// entry is a cell in the making: its parts are set below one another in a column.
type entry struct {
	mean, err, difference string
	best                  bool
}

// tableColumn writes the numbers of one.
type tableColumn exhibit.Column

// write formats as number does, but large numbers as −8.19 × 10⁸, which text has letters for.
func (c tableColumn) write(v float64) string {
	if math.Abs(v) < 1e7 {
		return number(v, c.Decimals)
	}
	digits, power := mantissa(v)
	superscript := strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
		"8", "⁸", "9", "⁹").Replace(strconv.Itoa(power))
	return strings.Replace(digits, "-", "−", 1) + " × 10" + superscript
}

// entry writes an estimate with a column's decimals.
func (c tableColumn) entry(e *Estimate) entry {
	switch {
	case e == nil:
		return entry{mean: "–"}
	case math.IsNaN(e.StdErr):
		return entry{mean: c.positive(e.Mean)}
	case e.StdErr == 0:
		return entry{mean: c.write(e.Mean), err: "0"}
	}
	return entry{mean: c.write(e.Mean), err: c.positive(e.StdErr)}
}

// positive writes a number; one above 0 that would look like 0 as less than the last decimal.
func (c tableColumn) positive(v float64) string {
	if least := math.Pow(10, -float64(c.Decimals)); v > 0 && v < least/2 {
		return "<" + c.write(least)
	}
	return c.write(v)
}

// reference writes a reference with the difference of the estimate to it.
func (c tableColumn) reference(cell Cell, k int) entry {
	ref := reference(cell, k)
	if ref == nil {
		return entry{}
	}
	out := c.entry(ref)
	if cell.Estimate != nil {
		if d := Difference(*cell.Estimate, *ref); !math.IsNaN(d) {
			out.difference = " (" + signed(d) + ")"
		}
	}
	return out
}

// competes reports whether the estimate of a row in column j can be the best. What knows the truth or nothing cannot,
// nor what is exactly 0 ± 0, as the distance of a reference to itself.
func competes(r Row, j int) bool {
	if _, m := lookup(r.Method); m != nil && m.Kind == method.References {
		return false
	}
	e := r.Cells[j].Estimate
	return e != nil && (e.Mean != 0 || e.StdErr != 0)
}

// best reports whether the estimate of a row in column j is the best, to the decimals that are shown.
func (t Table) best(j int, r Row) bool {
	column := t.Columns[j]
	if column.Better == Neither || len(t.Rows) < 2 || !competes(r, j) {
		return false
	}
	e := r.Cells[j].Estimate
	for _, row := range t.Rows {
		other := row.Cells[j].Estimate
		if !competes(row, j) || number(other.Mean, column.Decimals) == number(e.Mean, column.Decimals) {
			continue
		}
		if (other.Mean > e.Mean) == (column.Better == Higher) {
			return false
		}
	}
	return true
}

// common returns the direction that all columns have, if they have one.
func (t Table) common() Direction {
	first := t.Columns[0].Better
	if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Better != first }) {
		return Neither
	}
	return first
}

// title is the table's title; an arrow that all columns have in common stands there once.
func (t Table) title() string {
	if t.Title == "" {
		return ""
	}
	return t.Title + arrowOf(t.common())
}

// head is what stands above column j.
func (t Table) head(j int) string {
	c := t.Columns[j]
	name := c.Name
	if c.Unit != "" {
		name += " (" + c.Unit + ")"
	}
	if t.Title != "" && t.common() != Neither {
		return name
	}
	return name + arrowOf(c.Better)
}

// notes are the sentences below the table. The first explain its reading: standard errors and differences where there
// are some, and arrows, with what is bold where something is.
func (t Table) notes(bold bool) []string {
	var reading []string
	errors, differences := false, false
	for _, r := range t.Rows {
		for j, c := range r.Cells {
			errors = errors || tableColumn(t.Columns[j]).entry(c.Estimate).err != ""
			for k := range t.References {
				e := tableColumn(t.Columns[j]).reference(c, k)
				errors, differences = errors || e.err != "", differences || e.difference != ""
			}
		}
	}
	switch {
	case differences:
		reading = append(reading, "Mean ± standard error; in parentheses, our value minus the reference in standard "+
			"errors of the difference.")
	case errors:
		reading = append(reading, "Mean ± standard error.")
	}
	if len(t.Rows) > 1 && slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Better != Neither }) {
		arrows := "↑ the more, ↓ the less the better."
		if bold {
			arrows = "Best in bold: " + arrows
		}
		reading = append(reading, arrows)
	}
	for _, note := range t.Notes {
		reading = append(reading, minus(note))
	}
	return reading
}
