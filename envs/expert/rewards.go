package expert

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
)

// Rewards returns r(s, a) [k] of observations [k, …] and actions [k]. It is called by one goroutine at a time.
type Rewards func(observations []float32, actions []int) ([]float64, error)

// Ends returns what an episode that the environment ended pays for ever after each step of time, given the last two
// observations: that which its last action was taken on, and that which this led to.
type Ends func(from, to []float32) (float64, error)

// worth says what transitions and ends pay by rewards of one's own.
type worth struct {
	rewards  Rewards
	ends     Ends // nil for the last state's reward, for ever
	discount float64
	actions  int
}

// returns gives what transitions [k] pay: by the environment, or with other rewards as worth says.
func (t *trainer) returns(now []float32, actions []int, paid []float64, after []float32,
	terminated []bool) ([]float64, error) {
	if t.options.Rewards == nil {
		return paid, nil
	}
	return t.worth().returns(now, actions, after, terminated)
}

// worth is that of Options.Rewards.
func (t *trainer) worth() worth {
	return worth{t.options.Rewards, t.options.Ends, t.config.Discount, t.learner.actions}
}

// returns gives what transitions [k] pay: r(s, a), and where the transition ended the episode
//
//	r(s, a) + γ r_end/(1 − γ),
//
// with Options.Ends, or else r_end = max_b r(s', b). An end that paid nothing, or once, would draw or deter by itself.
func (w worth) returns(now []float32, actions []int, after []float32, terminated []bool) ([]float64, error) {
	out, err := w.of(now, actions)
	if err != nil {
		return nil, err
	}
	size := len(now) / len(actions)
	for i, ended := range terminated {
		if !ended {
			continue
		}
		end, err := w.end(now[i*size:(i+1)*size], after[i*size:(i+1)*size])
		if err != nil {
			return nil, err
		}
		out[i] += w.discount * end
	}
	return out, nil
}

// of returns Options.Rewards, and refuses what is no finite number.
func (w worth) of(observations []float32, actions []int) ([]float64, error) {
	out, err := w.rewards(observations, actions)
	if err != nil {
		return nil, fmt.Errorf("expert: Options.Rewards: %w", err)
	}
	if len(out) != len(actions) {
		return nil, fmt.Errorf("expert: Options.Rewards gave %d rewards of %d transitions", len(out), len(actions))
	}
	return out, check.Finite("expert: Options.Rewards", out)
}

// end returns what the end of an episode is worth.
func (w worth) end(from, to []float32) (float64, error) {
	if w.ends == nil {
		return w.forever(to)
	}
	r, err := w.ends(from, to)
	if err != nil {
		return 0, fmt.Errorf("expert: Options.Ends: %w", err)
	}
	if math.IsNaN(r) || math.IsInf(r, 0) {
		return 0, fmt.Errorf("expert: Options.Ends is %g, want a finite number", r)
	}
	return r / (1 - w.discount), nil
}

// forever returns max_a r(s, a)/(1 − γ), the value of staying in state s for ever.
func (w worth) forever(state []float32) (float64, error) {
	states, actions := make([]float32, 0, w.actions*len(state)), make([]int, w.actions)
	for a := range w.actions {
		states, actions[a] = append(states, state...), a
	}
	out, err := w.of(states, actions)
	if err != nil {
		return 0, err
	}
	return slices.Max(out) / (1 - w.discount), nil
}

// trajectory returns Σ_k γ^k r(s_k, a_k) + γ^T r_end/(1 − γ). One that was cut off after T steps counts as if its last
// state went on: r_end = max_a r(s_T, a).
func (w worth) trajectory(j *demo.Trajectory) (float64, error) {
	n := j.Len()
	out, err := w.of(j.Observations[:len(j.Observations)/(n+1)*n], j.Actions)
	if err != nil {
		return 0, err
	}
	var sum float64
	if j.Terminated {
		sum, err = w.end(j.Observation(n-1), j.Observation(n))
	} else {
		sum, err = w.forever(j.Observation(n))
	}
	if err != nil {
		return 0, err
	}
	for k := n - 1; k >= 0; k-- {
		sum = out[k] + w.discount*sum
	}
	return sum, nil
}

// Objective returns what trajectories [n] of an environment with so many actions are worth by rewards of one's own, and
// ends if they are not nil: each its discounted return, whose mean over those that are played at a point of the curve
// is Point.Objective.
func Objective(r Rewards, ends Ends, discount float64, actions int, trajectories []demo.Trajectory) ([]float64, error) {
	w, out := worth{r, ends, discount, actions}, make([]float64, len(trajectories))
	for i := range trajectories {
		var err error
		if out[i], err = w.trajectory(&trajectories[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// objective returns the mean over trajectories of what they are worth.
func (t *trainer) objective(trajectories []demo.Trajectory) (float64, error) {
	mean := 0.0
	for i := range trajectories {
		sum, err := t.worth().trajectory(&trajectories[i])
		if err != nil {
			return 0, err
		}
		mean += sum / float64(len(trajectories))
	}
	return mean, nil
}

// demonstrate fills the demonstrated transitions.
func (t *trainer) demonstrate() error {
	total := demo.Transitions(t.options.Demonstrations)
	if d := t.config.Demonstrated; d == 0 && total > 0 || d > 0 && total == 0 && t.config.Pilot == "" {
		return fmt.Errorf("expert: demonstrated = %d with %d transitions in Options.Demonstrations and the pilot %q, "+
			"want 0 without either, and more with demonstrations", d, total, t.config.Pilot)
	}
	if t.options.Loss != nil {
		total += t.learner.actions * len(t.options.Demonstrations) // what absorb adds
	}
	t.demonstrated = newReplay(t.replay.size, max(1, total))
	return t.recall(t.demonstrated, t.options.Demonstrations)
}

// recall puts trajectories into a replay.
func (t *trainer) recall(into *replay, trajectories []demo.Trajectory) error {
	for i := range trajectories {
		j := &trajectories[i]
		n, size := j.Len(), t.replay.size
		if len(j.Observations) != (n+1)*size {
			return fmt.Errorf("expert: trajectory %d has %d numbers of %d observations, want %d of each", i,
				len(j.Observations), n+1, size)
		}
		paid := j.Rewards
		if paid == nil && t.options.Loss != nil { // to which it makes no difference
			paid = make([]float64, n)
		}
		if paid == nil && t.options.Rewards == nil {
			return fmt.Errorf("expert: trajectory %d has no rewards, by which values are learnt", i)
		}
		terminated := make([]bool, n)
		terminated[n-1] = j.Terminated
		now, after := j.Observations[:n*size], j.Observations[size:]
		returns, err := t.returns(now, j.Actions, paid, after, terminated)
		if err != nil {
			return err
		}
		var w window
		for k, a := range j.Actions {
			w.push(t.transition(j.Observation(k), j.Observation(k+1), a, returns[k], terminated[k]),
				t.config.ReturnSteps, k == n-1, into)
		}
		t.absorb(j.Observation(n), j.Terminated, into)
	}
	return nil
}
