package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
)

// Where returns the rows that are wanted.
func Where(rows []Row, wanted func(Row) bool) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !wanted(r) })
}

// of returns the rows of a metric of a method.
func of(rows []Row, name, metric string) []Row {
	return Where(rows, func(r Row) bool { return r.Name() == name && r.Metric == metric })
}

// Distinct returns what is found in rows, each value once, ascending.
func Distinct[T cmp.Ordered](rows []Row, find func(Row) (value T, found bool)) []T {
	var out []T
	for _, r := range rows {
		if v, ok := find(r); ok {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Series are the values of one metric of one method, by seed.
func Series(rows []Row, name, metric string) map[uint64]float64 {
	out := map[uint64]float64{}
	for _, r := range of(rows, name, metric) {
		out[r.Seed] = r.Value
	}
	return out
}

// Values returns the values of a metric of a method, in the order of the rows, so that equal rows give equal sums.
func Values(rows []Row, name, metric string) []float64 {
	var out []float64
	for _, r := range of(rows, name, metric) {
		out = append(out, r.Value)
	}
	return out
}

// Average returns the mean over seeds of a metric of a method, or nil if no row holds it.
func Average(rows []Row, name, metric string) *exhibit.Estimate {
	return Mean(Values(rows, name, metric))
}

// Paired returns the mean of the differences of two series in the seeds that both have, or nil if there are none.
func Paired(a, b map[uint64]float64) *exhibit.Estimate {
	var differences []float64
	for _, seed := range slices.Sorted(maps.Keys(a)) { // in one order, for equal sums
		if x, ok := b[seed]; ok {
			differences = append(differences, a[seed]-x)
		}
	}
	return Mean(differences)
}

// Mean returns the mean of values, one a seed, with its standard error, which is not known of one value alone; nil for
// no values.
func Mean(values []float64) *exhibit.Estimate {
	if len(values) == 0 {
		return nil
	}
	e := metric.Summarise(values)
	if e.N == 1 {
		e.StdErr = math.NaN()
	}
	return &e
}

// Tabulate fills the rows of a table that has its columns: means over seeds, with published values beside them. Methods
// without rows are left out; names of no method are an error.
func Tabulate(rows []Row, methods []string, t exhibit.Table, references ...exhibit.Reference) (*exhibit.Table, error) {
	if err := method.Check(methods...); err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	for _, ref := range references {
		t.References = append(t.References, ref.Name)
	}
	for _, name := range methods {
		row := exhibit.Row{Method: name}
		some := false
		for _, c := range t.Columns {
			cell := exhibit.Cell{Estimate: Average(rows, name, c.Metric)}
			for _, ref := range references {
				var known *exhibit.Estimate
				if e, ok := ref.Values[name][c.Metric]; ok {
					known = &e
				}
				cell.References = append(cell.References, known)
			}
			some = some || cell.Estimate != nil
			row.Cells = append(row.Cells, cell)
		}
		if some {
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return nil, fmt.Errorf("experiment: no row is of one of the methods %q and has a metric of a column", methods)
	}
	return &t, nil
}

// Tables are tables of the same rows and methods, one after another, until one has no rows.
type Tables struct {
	Rows    []Row
	Methods []string
	Made    []exhibit.Table // so far
	Err     error           // the first; no table is added after it
}

// Add is Tabulate.
func (t *Tables) Add(table exhibit.Table, references ...exhibit.Reference) {
	if t.Err != nil {
		return
	}
	made, err := Tabulate(t.Rows, t.Methods, table, references...)
	if err != nil {
		t.Err = err
		return
	}
	t.Made = append(t.Made, *made)
}

// ByDemos returns the values of a metric of a method over runs, by the number of demonstrations.
func ByDemos(rows []Row, name, metric string) map[int][]float64 {
	out := map[int][]float64{}
	for _, r := range of(rows, name, metric) {
		out[r.Demos] = append(out[r.Demos], r.Value)
	}
	return out
}

// DemosOf lists the numbers of demonstrations that there are rows of a metric for.
func DemosOf(rows []Row, metric string) []int {
	return Distinct(rows, func(r Row) (int, bool) { return r.Demos, r.Metric == metric })
}

// Learning returns the curve of the means of a metric of a method over the number of demonstrations.
func Learning(rows []Row, name, metric string) exhibit.Curve {
	c := exhibit.Curve{Name: name}
	values := ByDemos(rows, name, metric)
	for _, n := range slices.Sorted(maps.Keys(values)) {
		c.Add(float64(n), Mean(values[n]))
	}
	return c
}

// Methods returns the methods of the rows, sorted.
func Methods(rows []Row) []string {
	return Distinct(rows, func(r Row) (string, bool) { return r.Name(), true })
}

// Ordered returns the methods of the rows: those that are among first in its order, then the others, sorted.
func Ordered(rows []Row, first []string) []string {
	have := Methods(rows)
	listed := slices.DeleteFunc(slices.Clone(first), func(name string) bool { return !slices.Contains(have, name) })
	return append(listed, slices.DeleteFunc(have, func(name string) bool { return slices.Contains(first, name) })...)
}

// SecondsText lists in words how long each method took: the processor time if the record has it, else the time by the
// clock. It is one paragraph; none if that is not known, or there is no record.
func (r *Record) SecondsText() []string {
	if r == nil || len(r.Seconds) == 0 {
		return nil
	}
	text, seconds := "Seconds of processor time", r.Processor
	if len(seconds) == 0 {
		text, seconds = "Seconds by the clock", r.Seconds
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(seconds)) {
		parts = append(parts, fmt.Sprintf("%s %.1f", name, seconds[name]))
	}
	return []string{text + ", summed over units: " + strings.Join(parts, ", ") + "."}
}
