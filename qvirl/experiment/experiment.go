package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/overlay"
)

// Definition is an experiment as the command lists it.
type Definition struct {
	Name   string   // as in result rows, for instance "posterior-quality"
	Short  string   // one line that says what it computes
	Scales []string // names of the committed configs, quickest first
	// Plan makes the plan of a scale.
	Plan func(Settings) (*Plan, error)
	// Report makes the tables and figures from stored rows and the record of their run. It leaves out what the rows are
	// not enough for.
	Report func(rows []Row, record *Record) (*exhibit.Report, error)
}

// Config determines the rows of an experiment, up to rounding of the backend.
type Config interface {
	// Plan returns the plan of the experiment at a scale; backendName is what it computes on, as backend.Get takes it.
	Plan(scale, backendName string) (*Plan, error)
}

// Define returns the definition of an experiment of two scales, whose configs quick and paper return.
func Define[C Config](name, short string, quick, paper func() C,
	report func([]Row, *Record) (*exhibit.Report, error)) Definition {
	return Definition{Name: name, Short: short, Scales: []string{"quick", "paper"}, Report: report,
		Plan: func(s Settings) (*Plan, error) {
			c, err := Configure(s, quick, paper)
			if err != nil {
				return nil, err
			}
			return c.Plan(s.Scale, s.Backend)
		}}
}

// Seeds returns the n seeds from first on.
func Seeds(first uint64, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = first + uint64(i)
	}
	return out
}

// Settings are what a plan is made from.
type Settings struct {
	Scale    string
	Override []byte // JSON object whose fields replace those of the scale's config; nil for none
	Backend  string // what GoMLX computes on, as backend.Get takes it; not part of the config
}

// Plan is an experiment that is ready to run. Its rows depend on nothing but the config, up to rounding of the backend.
type Plan struct {
	Experiment string
	Scale      string
	Config     any    // marshals to JSON; identifies the rows
	Units      []Unit // determined by the config, never by how the work is shared out
	// Part returns what of a config the rows of the unit of that name depend on, as JSON, and an error if the config
	// has no such unit. With it, units that were computed under another config, of more methods for instance, can be
	// kept by a run that resumes. Without it they depend on the whole config.
	Part func(config json.RawMessage, unit string) (json.RawMessage, error)
	// Run computes one unit. It returns ctx's error soon after ctx ends.
	Run func(ctx context.Context, unit int, progress irl.Progress) (*Result, error)
}

// Unit is the smallest piece of work that is kept on disk, for instance twenty worlds.
type Unit struct {
	Name string  // a file name
	Cost float64 // expected duration in relation to the other units, for the estimate of the time left
}

// Result is what a unit of work produced.
type Result struct {
	Rows  []Row // Experiment may be left empty
	Times Times
	Notes []string // what a reader of the numbers should know, such as chains that did not converge
}

// validate refuses plans that cannot be kept on disk.
func (p *Plan) validate() error {
	if !namePattern.MatchString(p.Experiment) || len(p.Units) == 0 || p.Run == nil {
		return fmt.Errorf("experiment: the plan of %q needs a name, units and a function to run them", p.Experiment)
	}
	seen := map[string]bool{}
	for i, u := range p.Units {
		if !namePattern.MatchString(u.Name) || seen[u.Name] || !(u.Cost > 0) {
			return fmt.Errorf("experiment: %s: unit %d: %q with cost %g: want a file name of its own and a positive "+
				"cost", p.Experiment, i, u.Name, u.Cost)
		}
		seen[u.Name] = true
	}
	return nil
}

// Find returns the definition of that name.
func Find(definitions []Definition, name string) (*Definition, error) {
	name = presentName(name)
	names := make([]string, len(definitions))
	for i := range definitions {
		if names[i] = definitions[i].Name; names[i] == name {
			return &definitions[i], nil
		}
	}
	return nil, fmt.Errorf("there is no experiment %q; there is %s", name, strings.Join(names, ", "))
}

// CheckScale refuses a scale that the definition does not have.
func (d *Definition) CheckScale(scale string) error {
	if !slices.Contains(d.Scales, scale) {
		return fmt.Errorf("experiment %s has no scale %q; it has %s", d.Name, scale, strings.Join(d.Scales, ", "))
	}
	return nil
}

// Configure returns the config of the scale that s names, "quick" or "paper", with the fields that s overrides.
func Configure[C any](s Settings, quick, paper func() C) (c C, err error) {
	switch s.Scale {
	case "quick":
		c = quick()
	case "paper":
		c = paper()
	default:
		return c, fmt.Errorf("experiment: there is no scale %q; want quick or paper", s.Scale)
	}
	return c, overlay.JSON(&c, s.Override)
}
