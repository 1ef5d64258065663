package neural

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-birl/birl/envs/demo"
)

// Scores say how well a model predicts demonstrated actions.
type Scores struct {
	Transitions int `json:"transitions"`
	// LogLikelihood is the mean log-probability of the demonstrated actions.
	LogLikelihood float64 `json:"log_likelihood"`
	// ECE is the expected calibration error of the action probabilities: those of all actions in all states are sorted
	// into ten bins of equal width, and ECE is the mean, over probabilities, of how far their bin's mean probability is
	// from the fraction of its actions that were demonstrated.
	ECE float64 `json:"ece"`
	// Accuracy is the fraction of the demonstrated actions that the model held for the most probable ones.
	Accuracy float64 `json:"accuracy"`
	// Uncalibrated are the scores of the probabilities that a calibrated model had of its own; nil for other models.
	Uncalibrated *Scores `json:"uncalibrated,omitempty"`
	// ExpertLogLikelihood is what the demonstrator's own probabilities give: the ceiling of LogLikelihood. nil if it is
	// not known.
	ExpertLogLikelihood *float64 `json:"expert_log_likelihood,omitempty"`
}

// calibrationBins is the number of bins of Scores.ECE.
const calibrationBins = 10

// Score compares a model's action probabilities with demonstrated actions. A filter that is not nil chooses the
// transitions to look at by the state that they start from, in the environment's units.
func Score(m Model, trajectories []demo.Trajectory, filter func(observation []float32) bool) (*Scores, error) {
	if err := checkModel(m); err != nil {
		return nil, err
	}
	spec := m.Spec()
	p := survey{model: m}
	var actions []int
	expert, known := 0.0, true
	for i := range trajectories {
		t := &trajectories[i]
		if err := checkTrajectory(t, spec.Observation, spec.Image, spec.Actions); err != nil {
			return nil, fmt.Errorf("neural: a model of %d actions and observations of %d numbers: trajectory %d: %w",
				spec.Actions, spec.Observation, i, err)
		}
		for k, a := range t.Actions {
			if o := t.Observation(k); filter == nil || filter(o) {
				if err := p.add(o); err != nil {
					return nil, err
				}
				actions = append(actions, a)
				if known = known && t.LogProbs != nil && len(t.LogProbs) == spec.Actions*t.Len(); known {
					expert += float64(t.LogProbs[k*spec.Actions+a])
				}
			}
		}
	}
	if len(actions) == 0 {
		return nil, errors.New("neural: there are no transitions to score")
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	s := scores(p.LogProbs, actions, spec.Actions)
	if known {
		expert /= float64(len(actions))
		s.ExpertLogLikelihood = &expert
	}
	if m.Calibration() != nil {
		s.Uncalibrated = scores(p.Own, actions, spec.Actions)
	}
	return s, nil
}

// survey is a model's opinion on many observations, which it is asked for in pieces of surveyPiece numbers: images as
// numbers of four bytes would take gigabytes at once.
type survey struct {
	model   Model
	pending []float32
	Prediction
}

const surveyPiece = 1 << 22

// add adds an observation.
func (s *survey) add(observation []float32) error {
	if s.pending = append(s.pending, observation...); len(s.pending) < surveyPiece {
		return nil
	}
	return s.flush()
}

// flush asks for the opinion on what was added last.
func (s *survey) flush() error {
	p, err := s.model.Predict(s.pending)
	if err != nil {
		return err
	}
	s.LogProbs, s.Own, s.Values = append(s.LogProbs, p.LogProbs...), append(s.Own, p.Own...),
		append(s.Values, p.Values...)
	s.pending = s.pending[:0]
	return nil
}

// scores computes them from log-probabilities [n, |A|] and the demonstrated actions [n].
func scores(logProbs []float32, actions []int, count int) *Scores {
	s := &Scores{Transitions: len(actions)}
	n := float64(len(actions))
	var bins [calibrationBins]struct{ probability, hits float64 }
	for i, a := range actions {
		row := logProbs[i*count : (i+1)*count]
		s.LogLikelihood += float64(row[a]) / n
		best := true
		for b, logProb := range row {
			p := math.Exp(float64(logProb))
			bin := &bins[min(int(p*calibrationBins), calibrationBins-1)]
			bin.probability += p
			if b == a {
				bin.hits++
			}
			best = best && (b == a || logProb < row[a])
		}
		if best {
			s.Accuracy += 1 / n
		}
	}
	for _, b := range bins {
		s.ECE += math.Abs(b.probability-b.hits) / (n * float64(count))
	}
	return s
}
