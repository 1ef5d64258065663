package widgets

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/qvirl/method"
)

// Estimate is a mean with its standard error.
type Estimate struct {
	Mean   float64
	StdErr float64 // NaN if it is not known
}

// Value returns an estimate; stdErr is NaN if it is not known.
func Value(mean, stdErr float64) *Estimate { return &Estimate{mean, stdErr} }

// Difference returns e − other in standard errors of the difference, taking the two as independent; an unknown standard
// error counts as 0. It is NaN if neither is known or both are 0.
func (e Estimate) Difference(other Estimate) float64 {
	variance := 0.0
	for _, se := range []float64{e.StdErr, other.StdErr} {
		if !math.IsNaN(se) {
			variance += se * se
		}
	}
	if variance == 0 {
		return math.NaN()
	}
	return (e.Mean - other.Mean) / math.Sqrt(variance)
}

func (e *Estimate) validate(field string) error {
	if e == nil {
		return nil
	}
	if math.IsNaN(e.Mean) || math.IsInf(e.Mean, 0) || math.IsInf(e.StdErr, 0) || e.StdErr < 0 {
		return fmt.Errorf("widgets: %s = %g ± %g: want a finite mean, and a standard error that is finite and not "+
			"negative, or NaN",
			field, e.Mean, e.StdErr)
	}
	return nil
}

// Table is a table of results: a row for each method, a column for each metric, and under each estimate the published
// ones with the difference in standard errors.
type Table struct {
	Title      string
	Columns    []Column
	References []string // where the reference values come from, such as "paper"
	Rows       []Row
	Notes      []string // sentences below the table
}

// Column is a metric.
type Column struct {
	Name     string
	Decimals int
	Better   Direction // the best of such a column is bold
	Unit     string    // for instance "s"; empty where there is none
}

// Direction says which of two numbers is the better one.
type Direction int

// The directions.
const (
	Neither Direction = iota
	Higher
	Lower
)

// arrow stands behind the name of what has a direction.
func (d Direction) arrow() string { return []string{"", " ↑", " ↓"}[d] }

// Row is a method.
type Row struct {
	Method string // name as in result rows, or any other title
	Cells  []Cell // one for each column
}

// Cell is the estimate of one metric for one method.
type Cell struct {
	Estimate   *Estimate   // nil where there is none
	References []*Estimate // one for each of Table.References, or nil for none
}

// validate refuses a table whose parts do not fit, and numbers that are not finite.
func (t Table) validate() error {
	if len(t.Columns) == 0 || len(t.Rows) == 0 {
		return fmt.Errorf("widgets: Table needs columns and rows, got %d and %d", len(t.Columns), len(t.Rows))
	}
	for _, row := range t.Rows {
		if err := checkMethods(row.Method); err != nil {
			return err
		}
	}
	for i, column := range t.Columns {
		if column.Decimals < 0 {
			return fmt.Errorf("widgets: Table.Columns[%d].Decimals = %d, want at least 0", i, column.Decimals)
		}
	}
	for i, row := range t.Rows {
		field := fmt.Sprintf("Table.Rows[%d].Cells", i)
		if err := checkLength(field, len(row.Cells), len(t.Columns), "one for each column"); err != nil {
			return err
		}
		for j, cell := range row.Cells {
			field := fmt.Sprintf("%s[%d]", field, j)
			if err := cell.Estimate.validate(field + ".Estimate"); err != nil {
				return err
			}
			if cell.References == nil {
				continue
			}
			if err := checkLength(field+".References", len(cell.References), len(t.References),
				"as in Table.References"); err != nil {
				return err
			}
			for k, ref := range cell.References {
				if err := ref.validate(fmt.Sprintf("%s.References[%d]", field, k)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// reference returns the k-th reference of a cell, nil if there is none.
func (c Cell) reference(k int) *Estimate {
	if c.References == nil {
		return nil
	}
	return c.References[k]
}

// hasReference reports whether a row has the k-th reference in any cell.
func (r Row) hasReference(k int) bool {
	for _, cell := range r.Cells {
		if cell.reference(k) != nil {
			return true
		}
	}
	return false
}

// entry is a cell in the making: its parts are set below one another in a column.
type entry struct {
	mean, err, difference string
	best                  bool
}

// write formats as number does, but large numbers as −8.19 × 10⁸, which text has letters for.
func (c Column) write(v float64) string {
	if math.Abs(v) < 1e7 {
		return number(v, c.Decimals)
	}
	digits, power := mantissa(v)
	superscript := strings.NewReplacer("0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
		"8", "⁸", "9", "⁹").Replace(strconv.Itoa(power))
	return strings.Replace(digits, "-", "−", 1) + " × 10" + superscript
}

// entry writes an estimate with a column's decimals.
func (c Column) entry(e *Estimate) entry {
	switch {
	case e == nil:
		return entry{mean: "–"}
	case math.IsNaN(e.StdErr):
		return entry{mean: c.write(e.Mean)}
	case e.StdErr == 0:
		return entry{mean: c.write(e.Mean), err: "0"}
	}
	err := c.write(e.StdErr)
	if least := math.Pow(10, -float64(c.Decimals)); e.StdErr < least/2 {
		err = "<" + c.write(least)
	}
	return entry{mean: c.write(e.Mean), err: err}
}

// reference writes a reference with the difference of the estimate to it.
func (c Column) reference(cell Cell, k int) entry {
	ref := cell.reference(k)
	if ref == nil {
		return entry{}
	}
	out := c.entry(ref)
	if cell.Estimate != nil {
		if d := cell.Estimate.Difference(*ref); !math.IsNaN(d) {
			out.difference = " (" + signed(d) + ")"
		}
	}
	return out
}

// competes reports whether the estimate of a row in column j can be the best. What knows the truth or nothing cannot,
// nor what is exactly 0 ± 0, as the distance of a reference to itself.
func (r Row) competes(j int) bool {
	if _, m := lookup(r.Method); m != nil && (m.Family == method.Demonstrator || m.Family == method.Baseline) {
		return false
	}
	e := r.Cells[j].Estimate
	return e != nil && *e != (Estimate{})
}

// best reports whether the estimate of a row in column j is the best, to the decimals that are shown.
func (t Table) best(j int, r Row) bool {
	column := t.Columns[j]
	if column.Better == Neither || len(t.Rows) < 2 || !r.competes(j) {
		return false
	}
	e := r.Cells[j].Estimate
	for _, row := range t.Rows {
		other := row.Cells[j].Estimate
		if !row.competes(j) || number(other.Mean, column.Decimals) == number(e.Mean, column.Decimals) {
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
	for _, c := range t.Columns {
		if c.Better != t.Columns[0].Better {
			return Neither
		}
	}
	return t.Columns[0].Better
}

// title is the table's title; an arrow that all columns have in common stands there once.
func (t Table) title() string {
	if t.Title == "" {
		return ""
	}
	return t.Title + t.common().arrow()
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
	return name + c.Better.arrow()
}

func signed(v float64) string {
	s := number(v, 1)
	if v > 0 && s != "0.0" {
		return "+" + s
	}
	return s
}

// notes are the sentences below the table. The first explain its reading: standard errors where there are some, and
// what is bold.
func (t Table) notes() []string {
	var reading []string
	if len(t.References) > 0 {
		reading = append(reading, "Mean ± standard error; in parentheses, our value minus the reference in standard "+
			"errors of the difference.")
	} else if slices.ContainsFunc(t.Rows, func(r Row) bool {
		return slices.ContainsFunc(r.Cells, func(c Cell) bool {
			return c.Estimate != nil && !math.IsNaN(c.Estimate.StdErr)
		})
	}) {
		reading = append(reading, "Mean ± standard error.")
	}
	if len(t.Rows) > 1 && slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Better != Neither }) {
		reading = append(reading, "Best in bold: ↑ the more, ↓ the less the better.")
	}
	return append(reading, t.Notes...)
}
