package neural

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
)

// Task is what a method learns from: one set of demonstrations, or several, each of which is learnt from on its own.
type Task struct {
	Environment string // id, for the models' descriptions
	Observation int    // how many numbers an observation has
	Image       Image  // their shape if they are images, which trajectories then have as Frames
	Actions     int    // |A|
	Discount    float64
	Beta        float64 // rationality coefficient β of the demonstrator
	Runs        []Run
	// HeldOut are demonstrations to watch the log-likelihood on, and to stop early by, if the configuration asks for
	// it. They are the same for all runs and change nothing else.
	HeldOut []demo.Trajectory
	// Explore, if not nil, gathers auxiliary transitions for all runs; these then have none in Run.Aux.
	Explore *Explore
	// Checkpoint is a folder in which training keeps its state, and from which it goes on; empty for none.
	Checkpoint string
	// Resumed, if not nil, is told when training goes on from Checkpoint, by each of the programs that share the runs.
	// Calls may come at the same time.
	Resumed func()
	// Watch, if not nil, is told about each point of the curves. Calls come one at a time.
	Watch func(Point)
}

// Run is one training within a task.
type Run struct {
	Demos []demo.Trajectory
	// Aux are trajectories of anybody, whose transitions say where the environment leads. Of the runs of a task all
	// have some or none has. Methods that have no use for them leave them.
	Aux []demo.Trajectory
	// Successors are further successors of the transitions of each of Demos, AuxSuccessors of each of Aux, the same
	// number for every transition of all runs; nil where the successor that a transition led to is all there is.
	// Methods that have no use for them leave them.
	Successors, AuxSuccessors []Successors
	// From, if not nil, is a model of the same method whose training goes on with these demonstrations: from its
	// parameters, and with states in its units. Its seed should be another, or the order of the data is the same again.
	From *Fitted
	// Seed of all that is drawn at random for the run: initial weights, order of the data, noise.
	Seed uint64
}

// Point is a point of the training curves.
type Point struct {
	Step           int          // steps done
	StepsPerSecond float64      // since the last point; each step is one of every run
	Runs           []CurvePoint // of those that are trained together
}

// CurvePoint is a point of one run's training curve.
type CurvePoint struct {
	Step int `json:"step"`
	// Loss and Terms are averages over the steps since the last point.
	Loss  float64            `json:"loss"`
	Terms map[string]float64 `json:"terms,omitempty"`
	// HeldOut is the mean log-likelihood of the task's held-out actions, of at most 2,048 of them evenly spaced, by
	// probabilities that are not calibrated; nil if it has none. Score gives that of a model.
	HeldOut *float64 `json:"held_out_log_likelihood,omitempty"`
}

// there refuses a task that is nil.
func (t *Task) there() error { return check.NotNil("neural: the task", t, "one with demonstrations") }

// Validate reports the first thing that cannot be learnt from.
func (t *Task) Validate() error {
	if err := t.there(); err != nil {
		return err
	}
	if err := (Spec{Observation: t.Observation, Image: t.Image, Actions: t.Actions, Discount: t.Discount,
		Beta: t.Beta}).validate(); err != nil {
		return err
	}
	if len(t.Runs) == 0 {
		return fmt.Errorf("neural: Task.Runs is empty")
	}
	for i, r := range t.Runs {
		if len(r.Demos) == 0 {
			return fmt.Errorf("neural: run %d has no demonstrations", i)
		}
		if (len(r.Aux) > 0) != (len(t.Runs[0].Aux) > 0) {
			return fmt.Errorf("neural: of runs 0 and %d, one has auxiliary trajectories and the other has none", i)
		}
		if f := r.From; f != nil && (f.spec.Observation != t.Observation || f.spec.Actions != t.Actions) {
			return fmt.Errorf("neural: run %d: Run.From is a model for observations of %d numbers and %d actions, "+
				"want %d and %d", i, f.spec.Observation, f.spec.Actions, t.Observation, t.Actions)
		}
		if f := r.From; f != nil && f.spec.Image != t.Image {
			return fmt.Errorf("neural: run %d: Run.From is a model for images of %+v, want one for %+v, as the task "+
				"has", i, f.spec.Image, t.Image)
		}
		if t.Explore != nil && len(r.Aux) > 0 {
			return fmt.Errorf("neural: run %d has auxiliary trajectories, and Task.Explore gathers others: want one "+
				"of them", i)
		}
		if err := t.check(r.Demos); err != nil {
			return fmt.Errorf("neural: run %d: demonstration %w", i, err)
		}
		if err := t.check(r.Aux); err != nil {
			return fmt.Errorf("neural: run %d: auxiliary trajectory %w", i, err)
		}
		if t.Image != (Image{}) && (r.Successors != nil || r.AuxSuccessors != nil) {
			return fmt.Errorf("neural: run %d has further successors, which transitions between images have not", i)
		}
		if err := t.checkSuccessors(r.Demos, r.Successors); err != nil {
			return fmt.Errorf("neural: run %d: demonstrations: %w", i, err)
		}
		if err := t.checkSuccessors(r.Aux, r.AuxSuccessors); err != nil {
			return fmt.Errorf("neural: run %d: auxiliary trajectories: %w", i, err)
		}
	}
	if t.Explore != nil && (t.Explore.Successors != nil) != (t.successors() > 1) {
		return fmt.Errorf("neural: of the demonstrations and Task.Explore, one has further successors and the other " +
			"has none")
	}
	if err := t.check(t.HeldOut); err != nil {
		return fmt.Errorf("neural: held-out trajectory %w", err)
	}
	return nil
}

// check refuses trajectories of another environment, or with numbers that are not finite.
func (t *Task) check(trajectories []demo.Trajectory) error {
	for i := range trajectories {
		if err := checkTrajectory(&trajectories[i], t.Observation, t.Image, t.Actions); err != nil {
			return fmt.Errorf("%d: %w", i, err)
		}
	}
	return nil
}

func checkTrajectory(t *demo.Trajectory, observation int, image Image, actions int) error {
	if (t.Frames != nil) != (image != (Image{})) {
		return fmt.Errorf("%w: of observations that are pictures and others, want one kind", demo.ErrFrames)
	}
	if t.Frames != nil {
		shape := []int{image.Frames, image.Height, image.Width}
		if err := t.Frames.Check(t.Len(), &demo.Description{ObservationShape: shape}); err != nil {
			return err
		}
		observation = 0 // there are no others
	}
	if t.Len() == 0 || len(t.Observations) != (t.Len()+1)*observation {
		return fmt.Errorf("%d actions and %d numbers of observations, want at least one action and observations of "+
			"%d numbers", t.Len(), len(t.Observations), observation)
	}
	for k, a := range t.Actions {
		if a < 0 || a >= actions {
			return fmt.Errorf("action[%d] is %d, want 0 to %d", k, a, actions-1)
		}
	}
	for k, x := range t.Observations {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("observation[%d][%d] is %g, want a finite number", k/observation, k%observation, x)
		}
	}
	return nil
}
