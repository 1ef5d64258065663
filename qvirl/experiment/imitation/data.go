package imitation

import (
	"fmt"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural"
)

// Data are an experiment's demonstrations, as they are split.
type Data struct {
	Set              *demo.Set // description of all
	Subsets          [][]demo.Trajectory
	Validation, Test []demo.Trajectory
}

// Open reads the demonstrations and splits them.
func (c Config) Open() (*Data, error) {
	set, err := experiment.Demonstrations(c.Demos, c.Environment)
	if err != nil {
		return nil, err
	}
	subsets, parts, err := demo.Deal(set.Trajectories, c.SplitSeed, c.Train, c.Subsets, c.Validation, c.Test)
	if err != nil {
		return nil, fmt.Errorf("imitation: dealing %s: %w", c.Demos, err)
	}
	return &Data{Set: set, Subsets: subsets, Validation: parts[0], Test: parts[1]}, nil
}

// Task returns what the runs learn from n trajectories each. The validation set is watched, and changes nothing unless
// the learners stop early.
func (c Config) Task(d *Data, n int) (*neural.Task, error) {
	t := &neural.Task{Environment: c.Environment, Observation: d.Set.ObservationSize(), Actions: d.Set.Actions,
		Discount: c.Discount, Beta: c.Beta, HeldOut: d.Validation}
	for _, k := range c.Runs {
		demos, err := demo.Sample(d.Subsets[k], n, c.SplitSeed)
		if err != nil {
			return nil, fmt.Errorf("imitation: run %d: %w", k, err)
		}
		t.Runs = append(t.Runs, neural.Run{Demos: demos, Seed: k})
	}
	return t, nil
}

// thin returns one transition in every so many of each trajectory, the first of them first, as trajectories of one step
// each. What the demonstrator did next is lost, which matters to AVRIL.
func thin(trajectories []demo.Trajectory, every int) []demo.Trajectory {
	var out []demo.Trajectory
	for i := range trajectories {
		t := &trajectories[i]
		for k := 0; k < t.Len(); k += every {
			out = append(out, t.Slice(k, k+1))
		}
	}
	return out
}
