package experiment

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/method"
)

// Row is one number of a result: the value of a metric for a method on one seed of an environment.
type Row struct {
	Experiment  string
	Environment string
	Method      string  // as the registry has it
	Variant     string  // of the method: "setting=value" of what differs from its default, joined by commas
	Demos       int     // number of demonstrations (trajectories), or of queries
	Seed        uint64  // of the world, its demonstrations and all that was computed from them
	Metric      string  // as the registry has it
	Value       float64 // not NaN: a metric that does not exist has no row
	Commit      string  // of the program that computed it, with a + if its files were changed; empty if not known
}

// RowOf returns a row without metric and value, of the method or variant with the given name.
func RowOf(name, environment string, demos int, seed uint64) Row {
	r := Row{Environment: environment, Demos: demos, Seed: seed}
	r.Method, r.Variant = method.Split(name)
	return r
}

// With returns the row with a metric and its value.
func (r Row) With(metric string, value float64) Row {
	r.Metric, r.Value = metric, value
	return r
}

// WithAll returns the row with each of several metrics, in no order.
func (r Row) WithAll(metrics map[string]float64) (rows []Row) {
	for metric, value := range metrics {
		rows = append(rows, r.With(metric, value))
	}
	return rows
}

// OfState returns the name of a metric of one state.
func OfState(metric string, s int) string { return fmt.Sprintf("%s_%d", metric, s) }

// Indicator returns 1 for what is true, and 0 otherwise, as the value of a row.
func Indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Name returns the name of the method or variant in tables and legends, as method.Lookup takes it.
func (r Row) Name() string { return method.Name(r.Method, r.Variant) }

var header = []string{"experiment", "environment", "method", "variant", "demos", "seed", "metric", "value", "commit"}

// names of experiments, methods and metrics, and of environments, whose ids may have a namespace.
var (
	namePattern        = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]*$`)
	variantPattern     = regexp.MustCompile(`^([a-z]+=[A-Za-z0-9.+-]+(,[a-z]+=[A-Za-z0-9.+-]+)*)?$`)
	commitPattern      = regexp.MustCompile(`^([0-9a-f]+\+?)?$`)
	environmentPattern = regexp.MustCompile(`^([A-Za-z0-9]+/)?[A-Za-z0-9][A-Za-z0-9._+-]*$`)
)

// Setting returns the number that the variant sets for a key, such as lambda.
func (r Row) Setting(key string) (float64, bool) {
	text, ok := method.Setting(r.Variant, key)
	value, err := strconv.ParseFloat(text, 64)
	return value, ok && err == nil
}

// Validate reports the first field that cannot stand in a result file.
func (r Row) Validate() error {
	named := func(what, name string, pattern *regexp.Regexp) error {
		return check.That(pattern.MatchString(name), "%s %q is not a name of letters, digits and . _ + -", what, name)
	}
	return check.First(named("experiment", r.Experiment, namePattern),
		named("environment", r.Environment, environmentPattern), named("method", r.Method, namePattern),
		named("metric", r.Metric, namePattern),
		check.That(variantPattern.MatchString(r.Variant) && commitPattern.MatchString(r.Commit), "variant %q, commit "+
			"%q: want settings such as lambda=0.17,rate=0.01, and hexadecimal digits", r.Variant, r.Commit),
		check.That(r.Demos >= 0, "demos = %d is negative", r.Demos),
		check.That(!math.IsNaN(r.Value), "value of %s for %s, seed %d, is not a number", r.Metric, r.Method, r.Seed))
}

// Sort brings rows into canonical order: by experiment, environment, method and variant as Name puts them together,
// demos, seed and metric, which together identify a row. It refuses two rows for the same thing.
func Sort(rows []Row) error {
	type named struct {
		Row
		name string
	}
	all := make([]named, len(rows))
	for i, r := range rows {
		all[i] = named{r, r.Name()}
	}
	compare := func(a, b named) int {
		return cmp.Or(cmp.Compare(a.Experiment, b.Experiment), cmp.Compare(a.Environment, b.Environment),
			cmp.Compare(a.name, b.name), cmp.Compare(a.Demos, b.Demos), cmp.Compare(a.Seed, b.Seed),
			cmp.Compare(a.Metric, b.Metric))
	}
	slices.SortFunc(all, compare)
	for i, r := range all {
		if i > 0 && compare(all[i-1], r) == 0 {
			return fmt.Errorf("experiment: two rows for %s, %s, %s, %d demos, seed %d, %s: %g and %g",
				r.Experiment, r.Environment, r.name, r.Demos, r.Seed, r.Metric, all[i-1].Value, r.Value)
		}
		rows[i] = r.Row
	}
	return nil
}

// WriteRows writes rows as CSV, values with as many digits as give the same number back.
func WriteRows(w io.Writer, rows []Row) error {
	c := csv.NewWriter(w)
	if err := c.Write(header); err != nil {
		return err
	}
	for i, r := range rows {
		if err := r.Validate(); err != nil {
			return fmt.Errorf("experiment: row %d: %w", i, err)
		}
		err := c.Write([]string{r.Experiment, r.Environment, r.Method, r.Variant, strconv.Itoa(r.Demos),
			strconv.FormatUint(r.Seed, 10), r.Metric, strconv.FormatFloat(r.Value, 'g', -1, 64), r.Commit})
		if err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// ReadRowsFile reads the rows of a CSV file.
func ReadRowsFile(path string) ([]Row, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	return ParseRows(text, path)
}

// ParseRows reads rows from CSV text. Errors name the file and the line.
func ParseRows(text []byte, file string) ([]Row, error) {
	c := csv.NewReader(bytes.NewReader(text))
	c.ReuseRecord = true
	first, err := c.Read()
	if err != nil || !slices.Equal(first, header) {
		return nil, fmt.Errorf("experiment: %s, line 1: the header is %q, not %q", file, strings.Join(first, ","),
			strings.Join(header, ","))
	}
	if text[len(text)-1] != '\n' { // a number that was cut off would look like another one
		return nil, fmt.Errorf("experiment: %s, line %d: the last line is cut off", file,
			bytes.Count(text, []byte{'\n'})+1)
	}
	var rows []Row
	for {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: %w", file, err)
		}
		row, err := parseRow(fields)
		if err != nil {
			line, _ := c.FieldPos(0)
			return nil, fmt.Errorf("experiment: %s, line %d: %w", file, line, err)
		}
		rows = append(rows, row)
	}
}

func parseRow(fields []string) (Row, error) {
	r := Row{Experiment: fields[0], Environment: fields[1], Method: fields[2], Variant: fields[3],
		Metric: fields[6], Commit: fields[8]}
	var err error
	if r.Demos, err = strconv.Atoi(fields[4]); err != nil {
		return r, fmt.Errorf("demos %q is not a whole number", fields[4])
	}
	if r.Seed, err = strconv.ParseUint(fields[5], 10, 64); err != nil {
		return r, fmt.Errorf("seed %q is not a whole number", fields[5])
	}
	if r.Value, err = strconv.ParseFloat(fields[7], 64); err != nil {
		return r, fmt.Errorf("value %q is not a number", fields[7])
	}
	return r, r.Validate()
}
