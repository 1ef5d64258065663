package apprenticeship

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/posteriorquality"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// About how many seconds a fit of ValueWalk, a fit of another method, and the policies of a method take for a world, for
// the estimate of the time left.
const (
	referenceCost = 3.0
	fitCost       = 1.0
	policyCost    = 0.6
)

// Plan returns the plan of the experiment: a unit for each chunk of worlds.
func (c Config) Plan(scale, backendName string) (*experiment.Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	p := &experiment.Plan{Experiment: Name, Scale: scale, Config: c}
	fitted := map[string]qvirl.Method{} // some compile a program once
	seeds, chunk := c.Posteriors.Seeds, c.Posteriors.Chunk
	var chunks [][]uint64
	for first := 0; first < len(seeds); first += chunk {
		part := seeds[first:min(first+chunk, len(seeds))]
		chunks = append(chunks, part)
		cost := 0.0
		for _, name := range c.fits() {
			cost += float64(len(part)) * costOf(name)
		}
		cost += float64(len(part)) * c.policiesCost()
		p.Units = append(p.Units, experiment.Unit{Name: fmt.Sprintf("worlds-%04d", first), Cost: cost})
	}
	p.Run = func(ctx context.Context, unit int, progress qvirl.Progress) (*experiment.Result, error) {
		return c.worlds(ctx, chunks[unit], fitted, backendName, experiment.NewStages(p.Units[unit].Cost, "", progress))
	}
	return p, nil
}

// fits returns the methods whose posteriors are needed, ValueWalk first.
func (c Config) fits() []string {
	out := []string{posteriorquality.ValueWalk}
	if c.HeldOut {
		out = append(out, posteriorquality.ValueWalkAgain)
	}
	return append(out, c.Posteriors.Methods...)
}

func costOf(method string) float64 {
	if method == posteriorquality.ValueWalk || method == posteriorquality.ValueWalkAgain {
		return referenceCost
	}
	return fitCost
}

func (c Config) policiesCost() float64 { return policyCost * float64(1+len(c.Posteriors.Methods)) }

// worlds is the unit of a chunk of worlds.
func (c Config) worlds(ctx context.Context, seeds []uint64, methods map[string]qvirl.Method, backendName string, t *experiment.Stages) (*experiment.Result, error) {
	worlds, err := c.Posteriors.Worlds(seeds)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	posts := make([]map[string]qvirl.Posterior, len(worlds))
	for i := range posts {
		posts[i] = map[string]qvirl.Posterior{}
	}
	for _, name := range c.fits() {
		if methods[name] == nil {
			if methods[name], err = c.Posteriors.Method(name, backendName); err != nil {
				return nil, err
			}
		}
		err := t.Run(name, name, float64(len(worlds))*costOf(name), func(progress qvirl.Progress) error {
			all, err := methods[name].Fit(ctx, posteriorquality.Problems(worlds), progress)
			for i, post := range all {
				posts[i][name] = post
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, w := range worlds {
			if p, ok := posts[i][name].(*valuewalk.Posterior); ok {
				d := p.Diagnostics()
				if err := d.Clean(); err != nil {
					result.Notes = append(result.Notes, fmt.Sprintf("%s, world %d: %v", name, w.Seed, err))
				}
			}
		}
	}
	rows := make([][]experiment.Row, len(worlds))
	err = t.Run("policies", "policies", float64(len(worlds))*c.policiesCost(), func(progress qvirl.Progress) error {
		return experiment.Parallel(ctx, len(worlds), progress, func(i int) error {
			found, err := c.Evaluate(worlds[i], posts[i])
			if err != nil {
				return fmt.Errorf("world %d: %w", worlds[i].Seed, err)
			}
			rows[i] = found.Rows(c.Posteriors.Environment(), c.Posteriors.Trajectories)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		result.Rows = append(result.Rows, r...)
	}
	result.Seconds = t.Seconds()
	return result, nil
}
