package apprenticeship

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// About how many seconds a fit of ValueWalk, a fit of another method, and the policies of a method take for a world,
// for the estimate of the time left.
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
	fitter := c.Posteriors.NewFitter(backendName)
	var jobs experiment.Jobs
	jobs.AddChunks("worlds", c.Posteriors.Seeds, c.Posteriors.Chunk, c.cost(1), func(ctx context.Context,
		seeds []uint64, t *experiment.Stages) (*experiment.Result, error) {
		worlds, notes, err := c.worlds(ctx, seeds, fitter, t)
		if err != nil {
			return nil, err
		}
		return &experiment.Result{Rows: c.Rows(worlds), Notes: notes}, nil
	})
	return jobs.Plan(Name, scale, c), nil
}

// Fit fits all methods to the worlds of the given seeds, finds their policies and evaluates them. It is what the
// pictures of single worlds are drawn from. progress may be nil.
func (c Config) Fit(ctx context.Context, seeds []uint64, backendName string, progress irl.Progress) ([]*World, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	worlds, _, err := c.worlds(ctx, seeds, c.Posteriors.NewFitter(backendName), experiment.NewStages(c.cost(len(seeds)),
		"", progress))
	return worlds, err
}

// fits returns the methods whose posteriors are needed, ValueWalk first.
func (c Config) fits() []string {
	out := []string{worlds.ValueWalk}
	if c.HeldOut {
		out = append(out, worlds.ValueWalkAgain)
	}
	return append(out, c.Posteriors.Methods...)
}

func costOf(method string) float64 {
	if method == worlds.ValueWalk || method == worlds.ValueWalkAgain {
		return referenceCost
	}
	return fitCost
}

func (c Config) policiesCost() float64 { return policyCost * float64(1+len(c.Posteriors.Methods)) }

// cost is the cost of a number of worlds.
func (c Config) cost(worlds int) float64 {
	each := c.policiesCost()
	for _, name := range c.fits() {
		each += costOf(name)
	}
	return float64(worlds) * each
}

// worlds fits and evaluates worlds. The notes are about chains that did not converge.
func (c Config) worlds(ctx context.Context, seeds []uint64, fitter *worlds.Fitter,
	t *experiment.Stages) (found []*World, notes []string, err error) {
	worlds, err := c.Posteriors.Worlds(seeds)
	if err != nil {
		return nil, nil, err
	}
	posts := make([]map[string]irl.Posterior, len(worlds))
	for i := range posts {
		posts[i] = map[string]irl.Posterior{}
	}
	for _, name := range c.fits() {
		err := t.Run(name, name, float64(len(worlds))*costOf(name), func(progress irl.Progress) error {
			all, err := fitter.Fit(ctx, name, worlds, progress)
			for i, post := range all {
				posts[i][name] = post
			}
			return err
		})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, w := range worlds {
			if p, ok := posts[i][name].(*valuewalk.Posterior); ok {
				d := p.Diagnostics()
				if err := d.Clean(); err != nil {
					notes = append(notes, fmt.Sprintf("%s, world %d: %v", name, w.Seed, err))
				}
			}
		}
	}
	found = make([]*World, len(worlds))
	err = t.Run("policies", "policies", float64(len(worlds))*c.policiesCost(), func(progress irl.Progress) error {
		return experiment.Parallel(ctx, len(worlds), progress, func(i int) (err error) {
			if found[i], err = c.Evaluate(worlds[i], posts[i]); err != nil {
				return fmt.Errorf("world %d: %w", worlds[i].Seed, err)
			}
			return nil
		})
	})
	return found, notes, err
}
