package neural

import (
	"context"

	"github.com/go-birl/birl/qvirl/irl"
)

// Method learns from demonstrations. It is safe for concurrent use.
type Method interface {
	// Name is the method's name in result rows.
	Name() string
	// Config is how the method trains, or the members of an ensemble do.
	Config() Config
	// MemoryNeed estimates how many bytes Fit takes for a task with runs.
	MemoryNeed(t *Task) float64
	// Fit returns a model for each run of the task. progress may be nil.
	Fit(ctx context.Context, t *Task, progress irl.Progress) ([]Model, error)
}

// Model is what a method learnt in one run. It is safe for concurrent use.
type Model interface {
	// Name is that of the method.
	Name() string
	// Spec says what the model was learnt for.
	Spec() Spec
	// Predict returns the model's opinion on n observations, in the environment's units [n, observation].
	Predict(observations []float32) (*Prediction, error)
	// Seconds is the wall-clock time of the training, of all runs that were trained with this one.
	Seconds() float64
	// Calibration is what the action probabilities were calibrated by; nil if they were not.
	Calibration() *Calibration
	// Curve is the course of the training; nil where it is not known.
	Curve() []CurvePoint
	// Save writes the model to a folder, which is made if need be.
	Save(dir string) error
}

// Spec says what a model was learnt for.
type Spec struct {
	Environment string  `json:"environment,omitempty"`
	Observation int     `json:"observation"` // how many numbers an observation has
	Image       Image   `json:"image,omitzero"`
	Actions     int     `json:"actions"`
	Discount    float64 `json:"discount"`
	Beta        float64 `json:"beta"`
	Demos       int     `json:"demonstrations"` // trajectories
	Transitions int     `json:"transitions"`
	Seed        uint64  `json:"seed"`
}

// Prediction is a model's opinion on n states.
type Prediction struct {
	LogProbs []float32 // [n, actions], log-probabilities of the demonstrator's actions
	// Own are the same before calibration; of a model that is not calibrated they are LogProbs.
	Own    []float32
	Values []float32 // [n, actions], whose greatest is the apprentice's action
}
