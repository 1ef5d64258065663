package expert

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/npz"
)

// DemonstrateOptions say what to demonstrate.
type DemonstrateOptions struct {
	// Beta is the rationality coefficient.
	Beta float64
	// Episodes is their number. They begin with the seeds 0, 1, …, which training did not see.
	Episodes int
	// Seed is that of the policy.
	Seed uint64
	// Progress is told how many episodes have ended, if it is not nil.
	Progress func(done int)
}

// Statistics by name of a set that Demonstrate has made, beside quantiles of the return (return_q05, …).
const (
	// ActionEntropy is the mean of the policy's entropy in the states visited, in nats.
	ActionEntropy = "action_entropy"
	// LogLikelihood is the mean log-probability that the policy gave the actions taken: the most that a model of it can
	// reach on average.
	LogLikelihood = "log_likelihood"
	// GreedyActions is the part of the actions that were the best ones.
	GreedyActions = "greedy_actions"
	// GreedyAlike is the part of the actions that do what the best one does, by Config.Alike.
	GreedyAlike = "greedy_alike"
)

// Demonstrate collects episodes of the expert's Boltzmann policy. The pool has to be opened as Config.Gym says. With an
// error come the episodes that had ended until then.
func Demonstrate(ctx context.Context, pool *gym.Pool, e *Expert, o DemonstrateOptions) (*demo.Set, error) {
	if spec := pool.Spec(); spec.ID != e.Config.Environment || spec.Actions != e.Actions ||
		!slices.Equal(spec.Shape, e.ObservationShape) {
		return nil, fmt.Errorf("expert: the pool is of %s with observations %v and %d actions, the expert of %s with "+
			"%v and %d", spec.ID, spec.Shape, spec.Actions, e.Config.Environment, e.ObservationShape, e.Actions)
	}
	if !(o.Beta >= 0) {
		return nil, fmt.Errorf("expert: DemonstrateOptions.Beta is %g, want a number that is not negative", o.Beta)
	}
	set := &demo.Set{Description: pool.Describe()}
	set.Expert, set.Beta, set.Seed = "QR-DQN", &o.Beta, o.Seed
	var collected error
	set.Trajectories, collected = gym.Collect(ctx, pool, e.Boltzmann(o.Beta), gym.CollectOptions{
		Episodes: o.Episodes, PolicySeed: o.Seed, Progress: o.Progress,
	})
	if collected != nil {
		collected = fmt.Errorf("expert: demonstrating: %w", collected)
	}
	// What an error cut short is no episode: its return would be too small.
	set.Trajectories = slices.DeleteFunc(set.Trajectories, func(t demo.Trajectory) bool {
		return !t.Terminated && !t.Truncated
	})
	if len(set.Trajectories) == 0 {
		return nil, collected
	}
	if err := e.annotate(set, o.Beta); err != nil {
		return nil, err
	}
	return set, collected
}

// annotate adds the policy's log-probabilities and the statistics.
func (e *Expert) annotate(set *demo.Set, beta float64) error {
	var returns []float64
	var disorder, logLikelihood, greedy, alike float64
	same := e.Config.Alike
	for i := range set.Trajectories {
		t := &set.Trajectories[i]
		returns = append(returns, t.Return())
		logProbs, err := e.LogProbs(t.Observations[:t.Len()*set.ObservationSize()], beta)
		if err != nil {
			return err
		}
		t.LogProbs = npz.Narrow[float32](logProbs)
		for k, a := range t.Actions {
			row := logProbs[k*e.Actions : (k+1)*e.Actions]
			disorder += entropy(row)
			logLikelihood += row[a]
			best := floats.MaxIdx(row)
			if a == best {
				greedy++
			}
			if same != nil && same[a] == same[best] {
				alike++
			}
		}
	}
	n := float64(set.Transitions())
	set.Statistics = map[string]float64{ActionEntropy: disorder / n, LogLikelihood: logLikelihood / n,
		GreedyActions: greedy / n}
	if same != nil {
		set.Statistics[GreedyAlike] = alike / n
	}
	slices.Sort(returns)
	for _, q := range []float64{0.05, 0.25, 0.5, 0.75, 0.95} {
		set.Statistics[fmt.Sprintf("return_q%02.0f", 100*q)] = stat.Quantile(q, stat.LinInterp, returns, nil)
	}
	return nil
}
