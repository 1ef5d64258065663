package main

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/qvirl/experiment"
)

// estimate is a mean over seeds.
type estimate struct {
	mean, stdErr float64            // stdErr is NaN where there is one value only
	bySeed       map[uint64]float64 // nil where the value is not a mean over seeds
}

// results are the stored rows and records, read when they are first asked for.
type results struct {
	root    string
	rows    map[string][]experiment.Row
	records map[string]*experiment.Record
}

func newResults(root string) *results {
	return &results{root: root, rows: map[string][]experiment.Row{}, records: map[string]*experiment.Record{}}
}

// read returns the stored rows and the record of an experiment; name is its folder in results.
func (r *results) read(name string) ([]experiment.Row, *experiment.Record, error) {
	if r.records[name] == nil {
		rows, record, err := experiment.ReadResults(filepath.Join(r.root, "results", name))
		if err != nil {
			return nil, nil, err
		}
		r.rows[name], r.records[name] = rows, record
	}
	return r.rows[name], r.records[name], nil
}

// choice says which rows make an estimate. It is written as
//
//	EXPERIMENT METHOD METRIC [environment=E] [demos=N] [seeds=A-B] [take=T] [from=X] [times=F]
//
// METRIC and E are regular expressions for the whole name. T is mean (the default: of one value a seed), spread (their
// standard deviation), average, min, max or maxabs (of all values that fit). from=X takes the distance
// |estimate − X| instead; times=F multiplies all values by F.
// Of demonstrations, demos.json in a folder as expert-lunarlander or another file as expert-lunarlander/demos-greedy,
// METHOD is demonstrator and METRIC return, beta, trajectories or a statistic such as log_likelihood. Of the expert
// itself, expert.json in that folder, METHOD is evaluation and METRIC return or episodes: what its Boltzmann policy at
// the demonstrations' β came to in other episodes.
type choice struct {
	experiment, method  string
	metric, environment *regexp.Regexp
	demos               int // -1 for any
	seeds               [2]uint64
	take                string
	from                float64 // NaN for none
	times               float64 // 1 for none
}

func parseChoice(text string) (choice, error) {
	fields := strings.Fields(text)
	if len(fields) < 3 {
		return choice{}, fmt.Errorf("%q: want EXPERIMENT METHOD METRIC and options", text)
	}
	c := choice{experiment: fields[0], method: fields[1], demos: -1, take: "mean", from: math.NaN(), times: 1,
		seeds: [2]uint64{0, math.MaxUint64}}
	whole := func(pattern string) (*regexp.Regexp, error) { return regexp.Compile("^(?:" + pattern + ")$") }
	var err error
	if c.metric, err = whole(fields[2]); err != nil {
		return c, fmt.Errorf("%q: %w", text, err)
	}
	for _, option := range fields[3:] {
		key, value, _ := strings.Cut(option, "=")
		switch key {
		case "environment":
			c.environment, err = whole(value)
		case "demos":
			c.demos, err = strconv.Atoi(value)
		case "seeds":
			_, err = fmt.Sscanf(value, "%d-%d", &c.seeds[0], &c.seeds[1])
		case "from":
			c.from, err = strconv.ParseFloat(value, 64)
		case "times":
			c.times, err = strconv.ParseFloat(value, 64)
		case "take":
			c.take = value
			if !slices.Contains([]string{"mean", "spread", "average", "min", "max", "maxabs"}, value) {
				err = fmt.Errorf("take=%s: want mean, spread, average, min, max or maxabs", value)
			}
		default:
			err = fmt.Errorf("unknown option %q", key)
		}
		if err != nil {
			return c, fmt.Errorf("%q: %w", text, err)
		}
	}
	return c, nil
}

// fits reports whether a row is among those chosen.
func (c choice) fits(r experiment.Row) bool {
	return r.Name() == c.method && c.metric.MatchString(r.Metric) && (c.demos < 0 || r.Demos == c.demos) &&
		(c.environment == nil || c.environment.MatchString(r.Environment)) &&
		r.Seed >= c.seeds[0] && r.Seed <= c.seeds[1]
}

// estimate computes what a choice describes.
func (r *results) estimate(text string) (*estimate, error) {
	c, err := parseChoice(text)
	if err != nil {
		return nil, err
	}
	read := r.ofRows
	switch c.method {
	case "demonstrator":
		read = r.demonstrator
	case "evaluation":
		read = r.evaluation
	}
	e, err := read(c)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return e, nil
}

// ofRows computes an estimate from stored rows.
func (r *results) ofRows(c choice) (*estimate, error) {
	rows, _, err := r.read(c.experiment)
	if err != nil {
		return nil, err
	}
	bySeed := map[uint64]float64{}
	var values []float64
	for _, row := range rows {
		if !c.fits(row) {
			continue
		}
		if _, twice := bySeed[row.Seed]; twice && (c.take == "mean" || c.take == "spread") {
			return nil, fmt.Errorf("more than one row of seed %d; choose an environment, demos or a metric", row.Seed)
		}
		bySeed[row.Seed] = c.times * row.Value
		values = append(values, c.times*row.Value)
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("no row of results/%s fits", c.experiment)
	}
	e := &estimate{stdErr: math.NaN()}
	switch c.take {
	case "mean":
		e.mean, e.bySeed = stat.Mean(values, nil), bySeed
		if n := len(values); n > 1 {
			e.stdErr = stat.StdErr(stat.StdDev(values, nil), float64(n))
		}
	case "spread":
		e.mean = stat.StdDev(values, nil)
	case "average":
		e.mean = stat.Mean(values, nil)
	case "min":
		e.mean = slices.Min(values)
	case "max":
		e.mean = slices.Max(values)
	case "maxabs":
		e.mean = math.Max(slices.Max(values), -slices.Min(values))
	}
	if !math.IsNaN(c.from) {
		e.mean, e.bySeed = math.Abs(e.mean-c.from), nil
	}
	return e, nil
}

// demonstrated is the description of stored demonstrations.
type demonstrated struct {
	Trajectories float64
	Beta         float64
	Returns      summary
	Statistics   map[string]float64
}

type summary struct{ Mean, Std float64 }

// of returns the mean of n returns.
func (s summary) of(n float64) *estimate {
	return &estimate{mean: s.Mean, stdErr: s.Std / math.Sqrt(n)}
}

// demonstrations reads the description of stored demonstrations.
func (r *results) demonstrations(c choice) (d demonstrated, name string, err error) {
	name = filepath.Join(c.experiment, "demos")
	if strings.Contains(c.experiment, "/") {
		name = c.experiment
	}
	name += ".json"
	return d, name, atomicfile.ReadJSON(filepath.Join(r.root, "results", name), &d)
}

// demonstrator returns what the description of stored demonstrations says.
func (r *results) demonstrator(c choice) (*estimate, error) {
	d, name, err := r.demonstrations(c)
	if err != nil {
		return nil, err
	}
	exactly := func(v float64) (*estimate, error) { return &estimate{mean: v, stdErr: math.NaN()}, nil }
	switch {
	case c.metric.MatchString("return") && d.Trajectories > 0:
		return d.Returns.of(d.Trajectories), nil
	case c.metric.MatchString("beta") && d.Beta > 0:
		return exactly(d.Beta)
	case c.metric.MatchString("trajectories") && d.Trajectories > 0:
		return exactly(d.Trajectories)
	}
	for _, statistic := range sortedKeys(d.Statistics) {
		if c.metric.MatchString(statistic) {
			return exactly(d.Statistics[statistic])
		}
	}
	return nil, fmt.Errorf("%s does not say it", name)
}

// evaluation returns what an expert's Boltzmann policy, at the β of its demonstrations, came to in other episodes.
func (r *results) evaluation(c choice) (*estimate, error) {
	d, _, err := r.demonstrations(c)
	if err != nil {
		return nil, err
	}
	var expert struct {
		Evaluations []struct {
			Policy   string
			Episodes float64
			Returns  summary
		}
	}
	name := filepath.Join(c.experiment, "expert.json")
	if err := atomicfile.ReadJSON(filepath.Join(r.root, "results", name), &expert); err != nil {
		return nil, err
	}
	for _, e := range expert.Evaluations {
		if e.Policy != fmt.Sprintf("Boltzmann, β = %g", d.Beta) || e.Episodes < 1 {
			continue
		}
		if c.metric.MatchString("episodes") {
			return &estimate{mean: e.Episodes, stdErr: math.NaN()}, nil
		}
		return e.Returns.of(e.Episodes), nil
	}
	return nil, fmt.Errorf("%s has no evaluation at β = %g", name, d.Beta)
}

// difference returns a − b with its standard error: of the paired differences where both are means over the same seeds,
// else √(se(a)² + se(b)²), an unknown one counting as 0. The error is 0 where none is known.
func difference(a, b *estimate) *estimate {
	d := &estimate{mean: a.mean - b.mean, stdErr: math.Hypot(known(a.stdErr), known(b.stdErr))}
	if len(a.bySeed) > 1 && len(a.bySeed) == len(b.bySeed) {
		var paired []float64
		for _, seed := range sortedKeys(a.bySeed) {
			if v, ok := b.bySeed[seed]; ok {
				paired = append(paired, a.bySeed[seed]-v)
			}
		}
		if n := len(paired); n == len(a.bySeed) {
			d.stdErr = stat.StdErr(stat.StdDev(paired, nil), float64(n))
		}
	}
	return d
}

func known(stdErr float64) float64 {
	if math.IsNaN(stdErr) {
		return 0
	}
	return stdErr
}

// decimals returns how many decimals a number is written with: one or two digits of its standard error, such that they
// are at most 29, or three of itself.
func (e *estimate) decimals() int {
	digits, size := 2.0, known(e.stdErr)
	if size == 0 {
		digits, size = 3, math.Abs(e.mean)
	}
	if size == 0 {
		return 0
	}
	exponent := math.Floor(math.Log10(size))
	if digits == 2 && size/math.Pow(10, exponent) >= 2.95 {
		digits = 1
	}
	return int(min(max(digits-1-exponent, 0), 6))
}

// text writes an estimate with so many decimals, with its standard error if that is known and not 0. One that would
// look like 0 is written as less than the last decimal, as in the tables of widgets.
func (e *estimate) text(decimals int) string {
	if known(e.stdErr) == 0 {
		return number(e.mean, decimals)
	}
	stdErr := number(e.stdErr, decimals)
	if least := math.Pow(10, -float64(decimals)); e.stdErr < least/2 {
		stdErr = "<" + number(least, decimals)
	}
	return number(e.mean, decimals) + " ± " + stdErr
}

// number writes a number with a minus sign, and without one if all digits are zero.
func number(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		if strings.Trim(rest, "0.") == "" {
			return rest
		}
		return "−" + rest
	}
	return s
}

func signed(v float64, decimals int) string {
	s := number(v, decimals)
	if v > 0 && strings.Trim(s, "0.") != "" {
		return "+" + s
	}
	return s
}
