package metric

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-birl/birl/qvirl/exhibit"
)

// Metric is an entry of the registry: a name in the column metric of result rows, and what it means.
type Metric struct {
	Name     string            // {state}, {steps} or {course} stands for a number
	Of       []string          // the experiments whose rows mean this by the name; nil: all but those of other entries
	Kind     string            // what the metric is about
	Label    string            // in tables and figures
	Unit     string            // of the values, such as "nats"
	Better   exhibit.Direction // which values are the better ones
	Best     *float64          // the best value, where it is a certain one, as of the coverage of an interval
	Sentence string            // what it is, by a formula if there is one
}

//go:embed registry.csv
var table string

// registry lists all metrics, those of a kind one after the other: a line of the table each.
var registry = parse(table)

// parse reads a registry, of the columns name, of, kind, label, unit, better and sentence. It panics where it is not
// right.
func parse(table string) []Metric {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	var out []Metric
	for _, r := range rows[1:] {
		m := Metric{Name: r[0], Of: strings.Fields(r[1]), Kind: r[2], Label: r[3], Unit: r[4], Sentence: r[6]}
		switch r[5] {
		case "":
		case "higher":
			m.Better = exhibit.Higher
		case "lower":
			m.Better = exhibit.Lower
		default:
			best, err := strconv.ParseFloat(r[5], 64)
			if err != nil {
				panic(fmt.Sprintf("metric: of %s %q is better: want higher, lower or a number", m.Name, r[5]))
			}
			m.Best = &best
		}
		out = append(out, m)
	}
	return out
}

// All returns the metrics of the registry.
func All() []Metric { return slices.Clone(registry) }

var (
	placeholder = regexp.MustCompile(`\{[a-z]+\}`)
	number      = regexp.MustCompile(`_[0-9]+$`)
)

// byName are the numbers of the entries of each name, whose placeholder is an N.
var byName = index(registry)

func index(of []Metric) map[string][]int {
	out := map[string][]int{}
	for i, m := range of {
		name := placeholder.ReplaceAllString(m.Name, "N")
		out[name] = append(out[name], i)
	}
	return out
}

// Lookup returns the metric of a name in the rows of an experiment. An unknown name is an error that lists the known.
func Lookup(experiment, name string) (Metric, error) {
	for _, key := range []string{name, number.ReplaceAllString(name, "_N")} {
		found := -1
		for _, i := range byName[key] {
			if of := registry[i].Of; slices.Contains(of, experiment) || len(of) == 0 && found < 0 {
				found = i
				if len(of) > 0 {
					break
				}
			}
		}
		if found >= 0 {
			return registry[found], nil
		}
	}
	var names []string
	for _, m := range registry {
		names = append(names, m.Name)
	}
	return Metric{}, fmt.Errorf("metric: there is no %q in rows of %q; there are %s", name, experiment,
		strings.Join(slices.Compact(names), ", "))
}

// like is how the names of the registry are written.
var like = regexp.MustCompile(`^[a-z][a-z0-9_.]*$`)

// Check refuses names of metrics that the registry does not have: those written in lower-case letters, digits, dots and
// underscores, as its are. Others pass, such as "Regret".
func Check(experiment, name string) error {
	if !like.MatchString(name) {
		return nil
	}
	if _, err := Lookup(experiment, name); err != nil {
		return fmt.Errorf("%q is in no line of qvirl/metric/registry.csv, and one of your own has a capital letter: %w",
			name, err)
	}
	return nil
}

// Better says which values of a metric are the better ones, whatever experiment it is of. Neither are of what is no
// metric.
func Better(name string) exhibit.Direction {
	m, _ := Lookup("", name)
	return m.Better
}

// Label returns what a metric is called in tables and figures, whatever experiment it is of: its name, if it is none.
func Label(name string) string {
	m, err := Lookup("", name)
	if err != nil {
		return name
	}
	return m.Label
}

// Title is Label with a capital letter.
func Title(name string) string {
	label := Label(name)
	first, size := utf8.DecodeRuneInString(label)
	return string(unicode.ToUpper(first)) + label[size:]
}

// Columns returns columns of metrics, under their labels.
func Columns(decimals int, names ...string) []exhibit.Column {
	out := make([]exhibit.Column, len(names))
	for i, name := range names {
		out[i] = exhibit.Column{Metric: name, Name: Label(name), Decimals: decimals}
	}
	return out
}
