package neural

import (
	"context"
	"fmt"
	"math"
	"path/filepath"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/irl"
)

// Calibration says how far a model's action probabilities are to be trusted where it was shown nothing. What it
// predicts is
//
//	π(a|s) = τ p(a|s) + (1 − τ) f(a)
//
// with p the model's own probabilities and f how often each action was demonstrated. τ is the weight by which models
// that learnt from a part of the demonstrations predict the rest best: stacking of predictive distributions (Yao,
// Vehtari, Simpson and Gelman 2018) with the parts of Config.Folds. The apprentice acts by the model's values, which
// this leaves alone.
type Calibration struct {
	Trust       float64   `json:"trust"`       // τ
	Frequencies []float64 `json:"frequencies"` // f [|A|]
	// Foreseen is the mean log π(a|s) of the parts by the models that learnt without them; 0 if it is not known.
	Foreseen float64 `json:"foreseen,omitempty"`
}

const (
	// foldSeeds keeps the seeds of the models of parts apart from those of runs and of an ensemble's members.
	foldSeeds = 0xD1B54A32D192ED03
	// frequencyPrior is the number of times that each action counts as demonstrated beforehand. It is more than the
	// usual one, as successive actions are alike: a trajectory says less of their frequencies than as many independent
	// actions would.
	frequencyPrior = 5
)

// apply writes the calibrated log-probabilities of a model's own [n, |A|] to dst.
func (c *Calibration) apply(dst, own []float32) {
	for i, l := range own {
		dst[i] = float32(math.Log(c.Trust*math.Exp(float64(l)) + (1-c.Trust)*c.Frequencies[i%len(c.Frequencies)]))
	}
}

// validate refuses a calibration of other actions, or one that is none.
func (c *Calibration) validate(actions int) error {
	for a, f := range c.Frequencies {
		if !(f > 0 && f <= 1) {
			return fmt.Errorf("neural: calibration: frequency[%d] is %g, want more than 0 and at most 1", a, f)
		}
	}
	sum := floats.Sum(c.Frequencies)
	return check.That(c.Trust >= 0 && c.Trust <= 1 && len(c.Frequencies) == actions && math.Abs(sum-1) <= 1e-6,
		"neural: calibration: trust %g, and frequencies of %d actions that sum to %g: want 0 to 1, %d actions and 1",
		c.Trust, len(c.Frequencies), sum, actions)
}

// frequencies returns how often each action was demonstrated.
func frequencies(demos []demo.Trajectory, actions int) []float64 {
	out := make([]float64, actions)
	n := float64(frequencyPrior*actions + demo.Transitions(demos))
	for i := range demos {
		for _, a := range demos[i].Actions {
			out[a]++
		}
	}
	for a := range out {
		out[a] = (out[a] + frequencyPrior) / n
	}
	return out
}

// stack returns the weight τ of the first of two models that gave the actions taken these probabilities: the greatest
// posterior density of τ, with a prior of one action predicted by each alone. The logarithm of the density is concave,
// and its slope falls from ∞ to −∞.
func stack(first, second []float64) float64 {
	low, high := 0.0, 1.0
	for range 50 { // to the precision of float64
		t := (low + high) / 2
		slope := 1/t - 1/(1-t)
		for i, p := range first {
			slope += (p - second[i]) / (t*p + (1-t)*second[i])
		}
		if slope > 0 {
			low = t
		} else {
			high = t
		}
	}
	return (low + high) / 2
}

// part is a part of the demonstrations of a run, to predict.
type part struct {
	run     int
	foresee []demo.Trajectory
}

// calibrate trains a model on all but a part of the demonstrations, for each part of each run, and calibrates the
// models of the runs by how well these predict the parts. aux are what the runs of a task that explores have explored.
// A run of which nothing is left without one of its parts stays as it is.
func (l *Learner) calibrate(ctx context.Context, t *Task, models []*Fitted, aux []explored, clock *clock,
	progress irl.Progress) error {
	var parts []part // that the runs of the task learn without
	task := *t
	task.Runs, task.Explore, task.Watch = nil, nil, nil
	if l.config.Patience == 0 {
		task.HeldOut = nil
	}
	if t.Checkpoint != "" {
		task.Checkpoint = filepath.Join(t.Checkpoint, "parts")
	}
	for r, run := range t.Runs {
		if t.Explore != nil {
			run.Aux, run.AuxSuccessors = aux[r].Trajectories, aux[r].Successors
		}
		for k := range l.config.Folds {
			rest, p := run, part{run: r}
			rest.Seed += uint64(k+1) * foldSeeds
			rest.Demos, rest.Successors, p.foresee = without(run, k, l.config.Folds)
			if len(rest.Demos) > 0 && len(p.foresee) > 0 {
				parts, task.Runs = append(parts, p), append(task.Runs, rest)
			}
		}
	}
	if len(parts) == 0 {
		return nil
	}
	judges, _, err := l.train(ctx, &task, clock, progress)
	if err != nil {
		return fmt.Errorf("the models of parts, to calibrate by (Config.Folds): %w", err)
	}
	own, frequent := make([][]float64, len(models)), make([][]float64, len(models)) // probabilities of actions taken
	for i, p := range parts {
		often := frequencies(task.Runs[i].Demos, t.Actions)
		for _, d := range p.foresee {
			prediction := survey{model: judges[i]}
			for k := range d.Actions {
				if err := prediction.add(d.Observation(k)); err != nil {
					return err
				}
			}
			if err := prediction.flush(); err != nil {
				return err
			}
			for k, a := range d.Actions {
				own[p.run] = append(own[p.run], math.Exp(float64(prediction.Own[k*t.Actions+a])))
				frequent[p.run] = append(frequent[p.run], often[a])
			}
		}
	}
	for r, m := range models {
		if len(own[r]) > 0 {
			c := &Calibration{Trust: stack(own[r], frequent[r]), Frequencies: frequencies(t.Runs[r].Demos, t.Actions)}
			for i, p := range own[r] {
				c.Foreseen += math.Log(c.Trust*p+(1-c.Trust)*frequent[r][i]) / float64(len(own[r]))
			}
			m.calibration = c
		}
	}
	return nil
}

// without takes part k of folds out of a run's demonstrations. With at least as many trajectories the parts are whole
// ones; with fewer, each trajectory is cut into as many stretches, which the parts take in turns, so that what comes at
// one time of an episode is not missing from all.
func without(run Run, k, folds int) (rest []demo.Trajectory, successors []Successors, foresee []demo.Trajectory) {
	for i := range run.Demos {
		d := &run.Demos[i]
		n := d.Len()
		from, to := 0, 0 // what is taken out
		switch {
		case len(run.Demos) < folds:
			stretch := (k + i) % folds
			from, to = n*stretch/folds, n*(stretch+1)/folds
		case i%folds == k:
			to = n
		}
		if from < to {
			foresee = append(foresee, d.Slice(from, to))
		}
		for _, keep := range [][2]int{{0, from}, {to, n}} {
			if keep[0] == keep[1] {
				continue
			}
			rest = append(rest, d.Slice(keep[0], keep[1]))
			if run.Successors != nil {
				successors = append(successors, run.Successors[i].slice(keep[0], keep[1], n))
			}
		}
	}
	return rest, successors, foresee
}

// slice returns the successors of the transitions from, …, to−1 of n.
func (s *Successors) slice(from, to, n int) Successors {
	numbers, flags := len(s.Observations)/n, len(s.Terminated)/n
	return Successors{Observations: s.Observations[from*numbers : to*numbers],
		Terminated: s.Terminated[from*flags : to*flags]}
}
