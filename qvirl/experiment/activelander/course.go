package activelander

import (
	"context"
	"fmt"
	"runtime"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/active"
)

// Data are the demonstrations, as they are split, and the one who made them.
type Data struct {
	Set     *demo.Set
	Subsets [][]demo.Trajectory
	Test    []demo.Trajectory
	Expert  *expert.Expert
}

// Open reads the demonstrations and the expert.
func (c Config) Open() (*Data, error) {
	set, err := experiment.Demonstrations(c.Demos, c.Environment)
	if err != nil {
		return nil, err
	}
	path, err := experiment.Locate(c.Expert)
	if err != nil {
		return nil, err
	}
	d := &Data{Set: set}
	if d.Expert, err = expert.Open(path); err != nil {
		return nil, err
	}
	if is := d.Expert.Config.Environment; is != c.Environment {
		return nil, fmt.Errorf("activelander: %s is of %s, want an expert of %s", c.Expert, is, c.Environment)
	}
	subsets, parts, err := demo.Deal(set.Trajectories, c.SplitSeed, c.Train, c.Subsets, c.Validation, c.Test)
	if err != nil {
		return nil, fmt.Errorf("activelander: dealing %s: %w", c.Demos, err)
	}
	d.Subsets, d.Test = subsets, parts[1]
	return d, nil
}

// Pool opens environments in which candidates are brought back and segments predicted, or apprentices measured. To do
// both in one pool takes longer, as the environments then have to be brought back to the candidates again.
func (c Config) Pool(ctx context.Context, d *Data) (*gym.Pool, error) {
	workers := min(runtime.GOMAXPROCS(0), c.Candidates)
	return gym.Open(ctx, gym.Config{ID: c.Environment, Imports: d.Expert.Config.Imports, Autoreset: gym.Disabled,
		Workers: workers, EnvsPerWorker: (c.Candidates + workers - 1) / workers})
}

// Start is what all methods of a run begin with.
type Start struct {
	First      demo.Trajectory
	Candidates []active.Candidate
	Branches   []demo.Trajectory // from the candidates, if Config.Branches is true
}

// Start returns the first trajectory of a run and its candidates.
func (c Config) Start(ctx context.Context, pool *gym.Pool, d *Data, run uint64) (*Start, error) {
	first, others, err := c.deal(d, run)
	if err != nil {
		return nil, fmt.Errorf("activelander: run %d: %w", run, err)
	}
	s := &Start{First: first}
	if s.Candidates, err = active.Candidates(ctx, pool, others, c.Candidates, run); err != nil {
		return nil, fmt.Errorf("activelander: run %d: %w", run, err)
	}
	if c.Branches {
		if s.Branches, err = active.Branches(ctx, pool, s.Candidates, d.Set.Actions); err != nil {
			return nil, fmt.Errorf("activelander: run %d: %w", run, err)
		}
	}
	return s, nil
}

// deal returns the trajectory that a run begins with, and those whose states are its candidates (see Config.Runs).
func (c Config) deal(d *Data, run uint64) (first demo.Trajectory, others []demo.Trajectory, err error) {
	subset, before := d.Subsets[run%uint64(c.Subsets)], int(run)/c.Subsets
	dealt, err := demo.Split(subset, c.SplitSeed, before+1, len(subset)-before-1)
	if err != nil {
		return first, nil, err
	}
	return dealt[0][before], dealt[1], nil
}

// Course returns the course of a method in a run.
func (c Config) Course(pool *gym.Pool, d *Data, s *Start, method string, run uint64, first,
	more *neural.Learner) (*active.Course, error) {
	acquisition, err := c.Acquisition(method)
	if err != nil {
		return nil, err
	}
	return &active.Course{
		Task: neural.Task{Environment: c.Environment, Observation: d.Set.ObservationSize(), Actions: d.Set.Actions,
			Discount: c.Discount, Beta: c.Beta,
			Runs: []neural.Run{{Demos: []demo.Trajectory{s.First}, Aux: s.Branches, Seed: run}}},
		First: first, More: more, Candidates: s.Candidates, Acquisition: acquisition, Simulator: pool, Seed: run,
		Ask: func(ctx context.Context, candidate active.Candidate) (*demo.Trajectory, error) {
			return d.Expert.GoOn(ctx, pool, candidate.Moment, expert.DemonstrateOptions{Beta: c.Beta, Seed: d.Set.Seed},
				c.Length)
		},
	}, nil
}

// Measure returns the mean return of a model's apprentice, and the mean log-likelihood of the held-out actions.
func (c Config) Measure(ctx context.Context, pool *gym.Pool, d *Data, m neural.Model) (mean, heldOut float64,
	err error) {
	episodes, err := neural.Rollout(ctx, pool, m, neural.RolloutOptions{Episodes: c.Episodes, Seed: c.EvaluationSeed})
	if err != nil {
		return 0, 0, err
	}
	for i := range episodes {
		mean += episodes[i].Return() / float64(len(episodes))
	}
	s, err := neural.Score(m, d.Test, nil)
	if err != nil {
		return 0, 0, err
	}
	return mean, s.LogLikelihood, nil
}
