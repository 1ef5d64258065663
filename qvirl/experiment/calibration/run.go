package calibration

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
)

// Units returns the units of the experiment: each method on each chunk of draws.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	fitter := c.Posteriors.NewFitter(backendName)
	var units []experiment.Unit
	for _, chunk := range experiment.Chunks("draws", c.Posteriors.Seeds, c.Posteriors.Chunk) {
		for _, name := range append([]string{worlds.ValueWalk}, c.Posteriors.Methods...) {
			on, code, err := c.Posteriors.On(chunk.Seeds, name)
			if err != nil {
				return nil, err
			}
			u := chunk.Unit(name, on, func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				return c.unit(ctx, name, chunk.Seeds, fitter, t)
			})
			u.Owns = func(r experiment.Row) bool {
				return (r.Name() == name || name == worlds.QVIRL && r.Method == ExactMax) && chunk.Owns(r)
			}
			u.Code = code
			units = append(units, u)
		}
	}
	return units, nil
}

// unit fits a method to draws and ranks their truth.
func (c Config) unit(ctx context.Context, name string, seeds []uint64, fitter *worlds.Fitter,
	t *experiment.Stages) (*experiment.Result, error) {
	grids, err := c.Posteriors.Worlds(seeds)
	if err != nil {
		return nil, err
	}
	posts, err := fitter.Stage(ctx, t, name, name, grids)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for k, w := range grids {
		rows, err := c.rank(w, name, posts[k])
		if err != nil {
			return nil, fmt.Errorf("%s, draw %d: %w", name, w.Seed, err)
		}
		result.Rows = append(result.Rows, rows...)
		result.Doubt(posts[k], "%s, draw %d", name, w.Seed)
	}
	return result, nil
}
