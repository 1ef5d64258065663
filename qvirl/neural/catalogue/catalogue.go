// Package catalogue lists the methods that learn in continuous spaces by name.
package catalogue

import (
	"fmt"
	"slices"
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

// lay lays JSON objects over the fields, one after the other.
func (c *Config[O]) lay(overrides [][]byte) error {
	for _, o := range overrides {
		if err := overlay.JSON(c, o); err != nil {
			return err
		}
	}
	return nil
}

// Method is an entry of the catalogue.
type Method struct {
	Name string
	// Short is one line that says what it is.
	Short string
	// Aux tells whether the method has a use for auxiliary transitions, and Beta whether it makes a difference to it
	// how rational the expert is.
	Aux, Beta bool

	// Default is the Config that train starts from, to be shown as JSON.
	Default any

	build func(training neural.Config, overrides [][]byte) (neural.Method, error)
	load  func(dir, backend string) (neural.Model, error)
}

// members is the number of models of an ensemble; the paper's.
const members = 5

// defaultPriorStd is the standard deviation of rewards under QVIRL's prior at the beginning of training.
const defaultPriorStd = 1

// methods are all methods.
var methods = []Method{
	single(variational.Name, "Q-based variational IRL, with a Gaussian-process prior over rewards", true, true,
		variational.DefaultObjective(defaultPriorStd)),
	ensemble(variational.NameEnsemble, variational.Name, "an ensemble of QVIRL's models", true,
		variational.DefaultObjective(defaultPriorStd)),
	single(cloning.Name, "behaviour cloning", false, false, cloning.Objective{}),
	single(iqlearn.Name, "IQ-Learn (Garg et al. 2021), offline", false, true, iqlearn.DefaultObjective()),
	ensemble(iqlearn.NameEnsemble, iqlearn.Name, "an ensemble of IQ-Learn's models", false,
		iqlearn.DefaultObjective()),
	single(avril.Name, "AVRIL (Chan and van der Schaar 2021), on demonstrations alone", false, true,
		avril.DefaultObjective()),
}

// single returns the method of one model with a default objective.
func single[O neural.Objective](name, short string, aux, beta bool, objective O) Method {
	return Method{Name: name, Short: short, Aux: aux, Beta: beta, load: load[O],
		Default: Config[O]{Training: neural.Default(), Objective: objective},
		build: func(training neural.Config, overrides [][]byte) (neural.Method, error) {
			c := Config[O]{Training: training, Objective: objective}
			if err := c.lay(overrides); err != nil {
				return nil, err
			}
			if c.Members != 0 {
				return nil, fmt.Errorf("%w: Members = %d, but %s is no ensemble", overlay.Err, c.Members, name)
			}
			return neural.NewLearner(name, c.Training, c.Objective)
		}}
}

// ensemble returns the ensemble of models of the method of another name. They are not calibrated by default: the
// average of its members is what holds back their confidence, and to calibrate each would take six times as long.
func ensemble[O neural.Objective](name, of, short string, aux bool, objective O) Method {
	load := func(dir, backend string) (neural.Model, error) {
		return neural.LoadEnsemble(dir, func(dir string) (neural.Model, error) { return load[O](dir, backend) })
	}
	standard := func(training neural.Config) Config[O] {
		training.Folds = 0
		return Config[O]{Training: training, Objective: objective, Members: members}
	}
	return Method{Name: name, Short: short, Aux: aux, Beta: true, load: load, Default: standard(neural.Default()),
		build: func(training neural.Config, overrides [][]byte) (neural.Method, error) {
			c := standard(training)
			if err := c.lay(overrides); err != nil {
				return nil, err
			}
			member, err := neural.NewLearner(of, c.Training, c.Objective)
			if err != nil {
				return nil, err
			}
			return neural.NewEnsembleLearner(name, member, c.Members)
		}}
}

// load reads a model of an objective of type O.
func load[O neural.Objective](dir, backend string) (neural.Model, error) {
	return neural.Load[O](dir, backend)
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

// New returns the method with the given training and its default objective. overrides, which may be nil, are JSON
// objects with fields of Config that replace those, the last one's before all others'.
func (m *Method) New(training neural.Config, overrides ...[]byte) (neural.Method, error) {
	method, err := m.build(training, overrides)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, overlay.Invalid(err))
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
	if slices.Contains(planning.Names(), name) {
		return planning.Load(dir, func(dir string) (neural.Model, error) { return Load(dir, backend) })
	}
	m, err := Find(name)
	if err != nil {
		return nil, fmt.Errorf("the model in %s: %w", dir, err)
	}
	return m.load(dir, backend)
}
