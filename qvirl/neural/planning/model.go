package planning

import (
	"fmt"
	"path/filepath"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
)

// The methods' names in result rows.
const (
	Name       = "qvirl-planned"
	NameAverse = "qvirl-planned-averse"
	// NameEnsemble is that of plans on an ensemble, and NameVisits that of plans with Config.Visits, whatever the risk.
	NameEnsemble = "qvirl-ensemble-planned"
	NameVisits   = "gp-planned"
)

// Names lists them.
func Names() []string { return []string{Name, NameAverse, NameEnsemble, NameVisits} }

// Model is a model whose apprentice was planned. What the demonstrator does, and how sure that is, says the model that
// it was planned on.
type Model struct {
	base
	name string
	plan *expert.Expert
	details
}

// base is the model that was planned on, whose spec, calibration and curve are the planned model's too.
type base = neural.Model

// details are stored beside the two.
type details struct {
	Config Config `json:"config"`
	Rolled int    `json:"rolled"` // steps of the rollouts
	Worth  Worth  `json:"worth,omitzero"`
}

// Worth are mean discounted returns by the rewards that were planned for, in the unit of expert.Point's Objective: of
// the best network, and of others, which nothing was chosen by. Where other demonstrations are worth less than the
// plan, it is the rewards that do not carry over from the demonstrated transitions, and no longer training helps.
type Worth struct {
	Plan          float64 `json:"plan"`
	Demonstrated  float64 `json:"demonstrated"`  // the demonstrations
	Rollouts      float64 `json:"rollouts"`      // of the model's apprentice; 0 without any
	Others        float64 `json:"others"`        // Options.Others; 0 without any
	OthersSpread  float64 `json:"others_spread"` // standard deviation
	RankOfReturns float64 `json:"rank"`          // Spearman's correlation of objective and return along the curve
}

// Name is that of the method.
func (m *Model) Name() string { return m.name }

// Base returns the model that was planned on.
func (m *Model) Base() neural.Model { return m.base }

// Apprentice returns what was planned, with the curve of the planning objective.
func (m *Model) Apprentice() *expert.Expert { return m.plan }

// EnvironmentSteps is how many steps of the environment planning took: those of rollouts, of training, and of the
// episodes by which the best network was chosen, and not those in which the model that it planned on explored before.
func (m *Model) EnvironmentSteps() int {
	last := m.plan.Curve[len(m.plan.Curve)-1]
	return m.Rolled + last.Steps + last.Played
}

// Worth says how far the rewards that were planned for carry.
func (m *Model) Worth() Worth { return m.details.Worth }

// Predict returns the action probabilities of the model that was planned on, and the plan's values, in units of the
// demonstrated rewards' mean above the prior's.
func (m *Model) Predict(observations []float32) (*neural.Prediction, error) {
	p, err := m.base.Predict(observations)
	if err != nil {
		return nil, err
	}
	values, err := m.plan.Values(observations)
	if err != nil {
		return nil, err
	}
	p.Values = npz.Narrow[float32](values)
	return p, nil
}

// Seconds is the wall-clock time of the model's training, of all runs that were trained with it, and of planning.
func (m *Model) Seconds() float64 { return m.base.Seconds() + m.plan.Seconds }

// The files of a planned model's folder beside its description.
const (
	baseDir     = "model"
	planFile    = "plan.npz"
	detailsFile = "planning.json"
)

// Save writes the model that was planned on and the plan to a folder, which is made if need be.
func (m *Model) Save(dir string) error {
	if err := m.base.Save(filepath.Join(dir, baseDir)); err != nil {
		return err
	}
	if err := m.plan.Write(filepath.Join(dir, planFile)); err != nil {
		return fmt.Errorf("planning: %w", err)
	}
	if err := atomicfile.WriteJSON(filepath.Join(dir, detailsFile), m.details); err != nil {
		return fmt.Errorf("planning: %w", err)
	}
	// The first two have digests of the weights.
	return neural.Describe(dir, m, filepath.Join(baseDir, neural.DescriptionFile), demo.DescriptionPath(planFile),
		detailsFile)
}

// Load reads a model that Save wrote; load reads the model that was planned on from its folder.
func Load(dir string, load func(dir string) (neural.Model, error)) (*Model, error) {
	name, err := neural.StoredMethod(dir)
	if err != nil {
		return nil, err
	}
	m := &Model{name: name}
	if m.base, err = load(filepath.Join(dir, baseDir)); err != nil {
		return nil, err
	}
	if m.plan, err = expert.Open(filepath.Join(dir, planFile)); err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	if err := atomicfile.ReadJSON(filepath.Join(dir, detailsFile), &m.details); err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	spec, size := m.Spec(), m.plan.ObservationSize()
	if size != spec.Observation || m.plan.Actions != spec.Actions || len(m.plan.Curve) == 0 {
		return nil, fmt.Errorf("planning: the plan in %s is for observations of %d numbers and %d actions with %d "+
			"points "+
			"of its curve, the model is for %d and %d", dir, size, m.plan.Actions, len(m.plan.Curve), spec.Observation,
			spec.Actions)
	}
	return m, nil
}
