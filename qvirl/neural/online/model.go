package online

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
)

// Model is an apprentice with its soft policy.
type Model struct {
	spec   neural.Spec
	config Config
	expert *expert.Expert
}

// Learn trains a model for a run of a task, as Train does, with the run's seed added to the learner's.
func Learn(ctx context.Context, on compute.Backend, pool *gym.Pool, task *neural.Task, run neural.Run, c Config,
	o expert.Options) (*Model, error) {
	if task.Image != (neural.Image{}) {
		return nil, fmt.Errorf("online: observations are images, %s learns from vectors of numbers alone", c.Method)
	}
	m := &Model{config: c, spec: neural.Spec{Environment: task.Environment, Observation: task.Observation,
		Actions: task.Actions, Discount: task.Discount, Beta: task.Beta, Demos: len(run.Demos),
		Transitions: demo.Transitions(run.Demos), Seed: run.Seed}}
	trained := c
	trained.Learner.Seed += run.Seed
	var err error
	if m.expert, err = Train(ctx, on, pool, run.Demos, trained, o); err != nil {
		return nil, err
	}
	return m, nil
}

// Name is that of the method.
func (m *Model) Name() string { return m.config.Method }

// Spec says what the model was learnt for.
func (m *Model) Spec() neural.Spec { return m.spec }

// EnvironmentSteps is how many steps of the environment training took. The episodes of the curve decide nothing.
func (m *Model) EnvironmentSteps() int { return m.config.Learner.Steps }

// Predict returns the soft policy and the Q-values.
func (m *Model) Predict(observations []float32) (*neural.Prediction, error) {
	q, err := m.expert.Values(observations)
	if err != nil {
		return nil, err
	}
	logProbs, err := m.expert.LogProbs(observations, 1/m.config.Temperature)
	if err != nil {
		return nil, err
	}
	own := npz.Narrow[float32](logProbs)
	return &neural.Prediction{LogProbs: own, Own: own, Values: npz.Narrow[float32](q)}, nil
}

// Seconds is the wall-clock time of the training.
func (m *Model) Seconds() float64 { return m.expert.Seconds }

// Calibration returns nil: the probabilities are the soft policy's.
func (m *Model) Calibration() *neural.Calibration { return nil }

// Curve returns nil; the learner's is of returns (see Apprentice).
func (m *Model) Curve() []neural.CurvePoint { return nil }

// Apprentice returns what was trained, with its learning curve.
func (m *Model) Apprentice() *expert.Expert { return m.expert }

// The files of a model's folder beside its description.
const (
	expertFile = "expert.npz"
	configFile = "online.json"
)

// Save writes the model to a folder, which is made if need be.
func (m *Model) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("online: %w", err)
	}
	if err := m.expert.Write(filepath.Join(dir, expertFile)); err != nil {
		return fmt.Errorf("online: %w", err)
	}
	if err := atomicfile.WriteJSON(filepath.Join(dir, configFile), stored{m.spec, m.config}); err != nil {
		return fmt.Errorf("online: %w", err)
	}
	return neural.Describe(dir, m, demo.DescriptionPath(expertFile), configFile) // the first has the weights' digest
}

// stored is what a folder holds beside the network.
type stored struct {
	Spec   neural.Spec `json:"spec"`
	Config Config      `json:"config"`
}

// Load reads a model that Save wrote.
func Load(dir string) (*Model, error) {
	if _, err := neural.StoredMethod(dir); err != nil { // which checks that the files belong together
		return nil, err
	}
	path := filepath.Join(dir, configFile)
	var s stored
	err := atomicfile.ReadJSON(path, &s)
	if err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	if err := s.Config.Validate(); err != nil {
		return nil, fmt.Errorf("%w, in %s", err, path)
	}
	m := &Model{spec: s.Spec, config: s.Config}
	if m.expert, err = expert.Open(filepath.Join(dir, expertFile)); err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	size := m.expert.ObservationSize()
	if size != s.Spec.Observation || m.expert.Actions != s.Spec.Actions {
		return nil, fmt.Errorf("online: the network in %s is for observations of %d numbers and %d actions, the model "+
			"for %d and %d", dir, size, m.expert.Actions, s.Spec.Observation, s.Spec.Actions)
	}
	return m, nil
}
