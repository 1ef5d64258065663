package experiment

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
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
	// Validate reports the first field that is out of range.
	Validate() error
	// Units returns the pieces that the experiment of a valid config is computed in; backendName is what it computes
	// on, as backend.Get takes it.
	Units(backendName string) ([]Unit, error)
}

// Scale is a committed config.
type Scale[C Config] struct {
	Name   string
	Config func() C
}

// Define returns the definition of an experiment of the scales quick and paper, and others, if there are any.
func Define[C Config](name, short string, quick, paper func() C,
	report func([]Row, *Record) (*exhibit.Report, error), others ...Scale[C]) Definition {
	scales := append([]Scale[C]{{"quick", quick}, {"paper", paper}}, others...)
	d := Definition{Name: name, Short: short, Report: report}
	for _, s := range scales {
		d.Scales = append(d.Scales, s.Name)
	}
	d.Plan = func(s Settings) (*Plan, error) {
		if err := d.CheckScale(s.Scale); err != nil {
			return nil, err
		}
		c := scales[slices.Index(d.Scales, s.Scale)].Config()
		if err := overlay.JSON(&c, s.Override); err != nil {
			return nil, err
		}
		return NewPlan(name, s.Scale, s.Backend, c)
	}
	return d
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
	Config     any // marshals to JSON
	Units      []Unit

	of   func(config json.RawMessage) (*Plan, error) // the plan of another config
	keys []string                                    // of the units, once they are known
}

// NewPlan returns the plan of an experiment with a config.
func NewPlan[C Config](experiment, scale, backendName string, c C) (*Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, overlay.Invalid(err)
	}
	units, err := c.Units(backendName)
	if err != nil {
		return nil, err
	}
	p := &Plan{Experiment: experiment, Scale: scale, Config: c, Units: units,
		of: func(config json.RawMessage) (*Plan, error) {
			var c C
			if err := json.Unmarshal(config, &c); err != nil { // fields that are no more are ignored
				return nil, fmt.Errorf("experiment %s: a stored config: %w", experiment, err)
			}
			return NewPlan(experiment, scale, backendName, c)
		}}
	if err := p.validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// Unit is the smallest piece of work that is computed and kept: a method, or a variant of one, on a chunk of problems.
type Unit struct {
	Name string // a file name
	// Group is that of units which share work (see Share): they are computed one after the other, by one process.
	// Without a group a unit is its own.
	Group string
	// Method is the one whose rows these are, as the registry has it: its version is part of what they depend on, and
	// the unit's time is its. It is empty where a unit is of several.
	Method string
	// Code are methods of the registry whose code the rows depend on, beside Method's: of a reference that they are
	// compared with, or of the parts of a method. Their versions, but for first ones, are part of what rows depend on.
	Code []string
	// Version is raised when a change of the experiment's code changes the rows, which are then computed anew.
	Version int
	// On is all else that the rows depend on, and marshals to JSON: the parts of the config, and the seeds.
	On   any
	Data []string // files that the rows depend on, as Locate takes them
	// Owns tells the unit's rows from those of other units. It may be nil where there are no others.
	Owns func(Row) bool
	// Run computes the unit. It returns ctx's error soon after ctx ends.
	Run func(ctx context.Context, t *Stages) (*Result, error)
}

// Result is what a unit of work produced.
type Result struct {
	Rows  []Row    // Experiment and Commit may be left empty
	Notes []string // what a reader of the numbers should know, such as chains that did not converge
}

// Doubt notes why the computation of a posterior had not converged; nothing if it had. The note begins with what is
// formatted.
func (r *Result) Doubt(post irl.Posterior, format string, args ...any) {
	if ok, reason := irl.Converged(post); !ok {
		r.Notes = append(r.Notes, fmt.Sprintf(format, args...)+": "+reason)
	}
}

// Chunk is a part of an experiment's seeds.
type Chunk struct {
	Name  string
	Seeds []uint64
}

// Chunks cuts seeds into chunks of at most size, each named by kind and the place of its first seed.
func Chunks(kind string, seeds []uint64, size int) []Chunk {
	var out []Chunk
	for first := 0; first < len(seeds); first += size {
		out = append(out, Chunk{fmt.Sprintf("%s-%04d", kind, first), seeds[first:min(first+size, len(seeds))]})
	}
	return out
}

// Owns tells rows of the chunk's seeds.
func (c Chunk) Owns(r Row) bool { return slices.Contains(c.Seeds, r.Seed) }

// OwnsOf tells rows of a method, by the name that Row.Name gives it, and of the chunk's seeds.
func (c Chunk) OwnsOf(name string) func(Row) bool {
	return func(r Row) bool { return r.Name() == name && c.Owns(r) }
}

// Unit returns the unit of a method or variant, by the name that Row.Name gives it, on the chunk. It is in the chunk's
// group, and owns the method's rows of the chunk's seeds.
func (c Chunk) Unit(name string, on any, run func(ctx context.Context, t *Stages) (*Result, error)) Unit {
	base, _ := method.Split(name)
	return Unit{Name: name + "-" + c.Name, Group: c.Name, Method: base, On: on, Owns: c.OwnsOf(name), Run: run}
}

// owns reports whether a row is the unit's.
func (u *Unit) owns(r Row) bool { return u.Owns == nil || u.Owns(r) }

// groups returns the numbers of the plan's units, group by group, in the order in which the groups begin.
func (p *Plan) groups() [][]int {
	var out [][]int
	at := map[string]int{}
	for i := range p.Units {
		name := cmp.Or(p.Units[i].Group, p.Units[i].Name)
		g, ok := at[name]
		if !ok {
			g = len(out)
			at[name], out = g, append(out, nil)
		}
		out[g] = append(out[g], i)
	}
	return out
}

// Groups returns the number of groups of units, the most shards among which they can be shared.
func (p *Plan) Groups() int { return len(p.groups()) }

// validate refuses plans that cannot be kept on disk.
func (p *Plan) validate() error {
	if !namePattern.MatchString(p.Experiment) || len(p.Units) == 0 {
		return fmt.Errorf("experiment: the plan of %q needs a name and units", p.Experiment)
	}
	seen := map[string]bool{}
	for i := range p.Units {
		u := &p.Units[i]
		if seen[u.Name] {
			return fmt.Errorf("experiment: %s: there are two units %s: a list of the config names something twice; "+
				"want each thing once", p.Experiment, u.Name)
		}
		if !namePattern.MatchString(u.Name) || u.Run == nil || u.Owns == nil && len(p.Units) > 1 {
			return fmt.Errorf("experiment: %s: unit %d, %q: want a file name, a function that runs it, and one that "+
				"tells its rows", p.Experiment, i, u.Name)
		}
		seen[u.Name] = true
	}
	return nil
}

// Find returns the definition of that name.
func Find(definitions []Definition, name string) (*Definition, error) {
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
