// Package catalogue lists the methods that learn in continuous spaces by name.
package catalogue

import (
	"fmt"
	"strings"

	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/avril"
	"github.com/go-birl/birl/qvirl/neural/cloning"
	"github.com/go-birl/birl/qvirl/neural/iqlearn"
	"github.com/go-birl/birl/qvirl/neural/online"
	"github.com/go-birl/birl/qvirl/neural/planning"
	"github.com/go-birl/birl/qvirl/neural/variational"
	"github.com/go-birl/birl/qvirl/overlay"
)

// Config is the configuration of a method: how it trains, and its objective.
type Config[O any] struct {
	Training  neural.Config
	Objective O
	// Members is the number of models of an ensemble, and 0 otherwise.
	Members int `json:",omitempty"`
}

// Method is an entry of the catalogue.
type Method struct {
	Name string
	// Short is one line that says what it is.
	Short string
	// Aux tells whether the method has a use for auxiliary transitions.
	Aux bool
	// Members is the number of models of an ensemble by default, and 0 for a method of one model.
	Members int

	build func(training neural.Config, override []byte) (neural.Method, error)
	load  func(dir, backend string) (neural.Model, error)
}

// members is the number of models of an ensemble; the paper's.
const members = 5

// ofEnsembles are the fields of an ensemble's default config that are not those of all methods: the average of its
// members is what holds back their confidence, and to calibrate each would take six times as long.
const ofEnsembles = `{"Training": {"Folds": 0}}`

// defaultPriorStd is the standard deviation of rewards under QVIRL's prior at the beginning of training.
const defaultPriorStd = 1

// methods are all methods.
var methods = []Method{
	{
		Name: variational.Name, Short: "Q-based variational IRL, with a Gaussian-process prior over rewards", Aux: true,
		build: builder(variational.DefaultObjective(defaultPriorStd), 0, "",
			func(c Config[variational.Objective]) (neural.Method, error) {
				return variational.New(c.Training, c.Objective)
			}),
		load: load[variational.Objective],
	},
	{
		Name: variational.NameEnsemble, Short: "an ensemble of QVIRL's models", Aux: true, Members: members,
		build: builder(variational.DefaultObjective(defaultPriorStd), members, ofEnsembles,
			func(c Config[variational.Objective]) (neural.Method, error) {
				return variational.NewEnsemble(c.Training, c.Objective, c.Members)
			}),
		load: loadEnsemble[variational.Objective],
	},
	{
		Name: cloning.Name, Short: "behaviour cloning",
		build: builder(cloning.Objective{}, 0, "", func(c Config[cloning.Objective]) (neural.Method,
			error) {
			return cloning.New(c.Training)
		}),
		load: load[cloning.Objective],
	},
	{
		Name: iqlearn.Name, Short: "IQ-Learn (Garg et al. 2021), offline",
		build: builder(iqlearn.DefaultObjective(), 0, "", func(c Config[iqlearn.Objective]) (neural.Method, error) {
			return iqlearn.New(c.Training, c.Objective)
		}),
		load: load[iqlearn.Objective],
	},
	{
		Name: iqlearn.NameEnsemble, Short: "an ensemble of IQ-Learn's models", Members: members,
		build: builder(iqlearn.DefaultObjective(), members, ofEnsembles,
			func(c Config[iqlearn.Objective]) (neural.Method, error) {
				return iqlearn.NewEnsemble(c.Training, c.Objective, c.Members)
			}),
		load: loadEnsemble[iqlearn.Objective],
	},
	{
		Name: avril.Name, Short: "AVRIL (Chan and van der Schaar 2021), on demonstrations alone",
		build: builder(avril.DefaultObjective(), 0, "", func(c Config[avril.Objective]) (neural.Method, error) {
			return avril.New(c.Training, c.Objective)
		}),
		load: load[avril.Objective],
	},
}

// builder returns what builds a method from its default config, with the fields that the JSON objects own, the
// method's, and then override replace.
func builder[O any](objective O, members int, own string, build func(Config[O]) (neural.Method,
	error)) func(neural.Config, []byte) (neural.Method, error) {
	return func(training neural.Config, override []byte) (neural.Method, error) {
		c := Config[O]{Training: training, Objective: objective, Members: members}
		for _, fields := range [][]byte{[]byte(own), override} {
			if err := overlay.JSON(&c, fields); err != nil {
				return nil, err
			}
		}
		return build(c)
	}
}

// load reads a model of an objective of type O.
func load[O neural.Objective](dir, backend string) (neural.Model, error) {
	return neural.Load[O](dir, backend)
}

// loadEnsemble reads an ensemble of such models.
func loadEnsemble[O neural.Objective](dir, backend string) (neural.Model, error) {
	return neural.LoadEnsemble(dir, func(dir string) (neural.Model, error) { return load[O](dir, backend) })
}

// Names lists the methods.
func Names() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.Name
	}
	return names
}

// Find returns the method of the given name.
func Find(name string) (*Method, error) {
	for i := range methods {
		if methods[i].Name == name {
			return &methods[i], nil
		}
	}
	return nil, fmt.Errorf("there is no method %q; there are %s", name, strings.Join(Names(), ", "))
}

// New returns the method with the given training and its default objective. override, if not nil, is a JSON object with
// fields of Config that replace those.
func (m *Method) New(training neural.Config, override []byte) (neural.Method, error) {
	method, err := m.build(training, override)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	return method, nil
}

// Load reads a model of any method from its folder. backend is what predictions are computed on, as backend.Get takes
// it.
func Load(dir, backend string) (neural.Model, error) {
	name, err := neural.StoredMethod(dir)
	if err != nil {
		return nil, err
	}
	if name == online.NameIQLearn || name == online.NameSQIL {
		return online.Load(dir)
	}
	if name == planning.Name || name == planning.NameAverse || name == planning.NameVisits {
		return planning.Load(dir, func(dir string) (neural.Model, error) { return Load(dir, backend) })
	}
	m, err := Find(name)
	if err != nil {
		return nil, fmt.Errorf("the model in %s: %w", dir, err)
	}
	return m.load(dir, backend)
}
