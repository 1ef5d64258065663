package neural

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/irl"
)

// EnsembleLearner is the method that learns several models, of different seeds, from the same demonstrations, and
// averages their action probabilities.
type EnsembleLearner struct {
	name    string
	member  *Learner
	members int
}

// NewEnsembleLearner returns the ensemble of a number of models of a learner.
func NewEnsembleLearner(name string, member *Learner, members int) (*EnsembleLearner, error) {
	if members < 1 {
		return nil, fmt.Errorf("neural: an ensemble of %d members, want at least 1", members)
	}
	return &EnsembleLearner{name, member, members}, nil
}

// Name returns the method's name in result rows.
func (l *EnsembleLearner) Name() string { return l.name }

// Config is how the members train.
func (l *EnsembleLearner) Config() Config { return l.member.Config() }

// memberSeeds keeps the seeds of members apart from those of runs.
const memberSeeds = 0x9E3779B97F4A7C15

// Close frees the programs that the members' learner compiled.
func (l *EnsembleLearner) Close() error { return l.member.Close() }

// Fit returns an *Ensemble for each run of the task. All members of all runs train as runs of one task; its Watch, if
// there is one, hears about each of them.
func (l *EnsembleLearner) Fit(ctx context.Context, t *Task, progress irl.Progress) ([]Model, error) {
	if err := t.there(); err != nil {
		return nil, err
	}
	models, err := l.member.Fit(ctx, l.task(t), progress)
	if err != nil {
		return nil, err
	}
	out := make([]Model, len(t.Runs))
	for r := range out {
		out[r] = &Ensemble{name: l.name, members: models[r*l.members : (r+1)*l.members]}
	}
	return out, nil
}

// MemoryNeed estimates how many bytes training the members takes.
func (l *EnsembleLearner) MemoryNeed(t *Task) float64 { return l.member.MemoryNeed(l.task(t)) }

// task returns the task in which each member of each run is a run.
func (l *EnsembleLearner) task(t *Task) *Task {
	all := *t
	all.Runs = nil
	for _, r := range t.Runs {
		for m := range l.members {
			member := r
			member.Seed += uint64(m) * memberSeeds
			all.Runs = append(all.Runs, member)
		}
	}
	return &all
}

// Ensemble is a model that averages the action probabilities of others.
type Ensemble struct {
	name    string
	members []Model
}

// Name is that of the method.
func (e *Ensemble) Name() string { return e.name }

// Spec says what the model was learnt for; the seed is the first member's.
func (e *Ensemble) Spec() Spec { return e.members[0].Spec() }

// Members returns the models.
func (e *Ensemble) Members() []Model { return e.members }

// Seconds is the wall-clock time of the training.
func (e *Ensemble) Seconds() float64 { return e.members[0].Seconds() }

// Calibration is nil: if the members are calibrated, each has its own.
func (e *Ensemble) Calibration() *Calibration { return nil }

// Curve is nil: each member has its own.
func (e *Ensemble) Curve() []CurvePoint { return nil }

// Predict returns the means of the members' action probabilities. The apprentice takes the most probable action before
// calibration.
func (e *Ensemble) Predict(observations []float32) (*Prediction, error) {
	var calibrated, own [][]float32 // by member
	for _, m := range e.members {
		p, err := m.Predict(observations)
		if err != nil {
			return nil, err
		}
		calibrated, own = append(calibrated, p.LogProbs), append(own, p.Own)
	}
	out := &Prediction{LogProbs: logMean(calibrated), Own: logMean(own)}
	out.Values = out.Own
	return out, nil
}

// logMean returns the logarithms of the mean probabilities, given those of several models, which may be too small for a
// number of their own.
func logMean(logProbs [][]float32) []float32 {
	out, each := make([]float32, len(logProbs[0])), make([]float64, len(logProbs))
	for i := range out {
		for k, l := range logProbs {
			each[k] = float64(l[i])
		}
		out[i] = float32(floats.LogSumExp(each) - math.Log(float64(len(each))))
	}
	return out
}

// memberDir is the folder of a member within its ensemble's.
func memberDir(dir string, member int) string {
	return filepath.Join(dir, fmt.Sprintf("member-%d", member))
}

// Save writes the members to folders of their own.
func (e *Ensemble) Save(dir string) error {
	var parts []string
	for i, m := range e.members {
		if err := m.Save(memberDir(dir, i)); err != nil {
			return err
		}
		parts = append(parts, filepath.Join(memberDir("", i), DescriptionFile))
	}
	return writeDescription(dir, &description{Format: modelFormat, Method: e.name, Spec: e.Spec(),
		Members: len(e.members), Seconds: e.Seconds()}, parts...)
}

// Describe writes the description of a model that consists of others, which it has saved in its folder itself. It holds
// the digests of the given files, by their paths in the folder, and a model of which one is exchanged is not loaded.
func Describe(dir string, m Model, parts ...string) error {
	return writeDescription(dir, &description{Format: modelFormat, Method: m.Name(), Spec: m.Spec(),
		Seconds: m.Seconds()}, parts...)
}

// writeDescription writes the description of the model in a folder, with the digests of its parts.
func writeDescription(dir string, d *description, parts ...string) error {
	d.SHA256 = map[string]string{}
	for _, name := range parts {
		sum, err := demo.FileSum(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("neural: %w", err)
		}
		d.SHA256[filepath.ToSlash(name)] = sum
	}
	if err := atomicfile.WriteJSON(filepath.Join(dir, DescriptionFile), d); err != nil {
		return fmt.Errorf("neural: %w", err)
	}
	return nil
}

// LoadEnsemble reads a model that Ensemble.Save wrote; load reads a member from its folder.
func LoadEnsemble(dir string, load func(dir string) (Model, error)) (*Ensemble, error) {
	d, err := readDescription(dir)
	if err != nil {
		return nil, err
	}
	if d.Members < 1 {
		return nil, fmt.Errorf("neural: %s describes no ensemble", filepath.Join(dir, DescriptionFile))
	}
	e := &Ensemble{name: d.Method}
	for i := range d.Members {
		if _, err := os.Stat(memberDir(dir, i)); err != nil {
			return nil, fmt.Errorf("neural: a member of the ensemble: %w", err)
		}
		m, err := load(memberDir(dir, i))
		if err != nil {
			return nil, err
		}
		e.members = append(e.members, m)
	}
	return e, nil
}
