package posteriorquality

import (
	"cmp"
	"context"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// heldOutUnit is the group of the units that give the curve over λ. Their seconds are not those of the methods in the
// table.
const heldOutUnit = "heldout"

// Units returns the units of the experiment: each method on each chunk of worlds, and AVRIL at each λ on the held-out
// worlds.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	fitter := c.NewFitter(backendName)
	var units []experiment.Unit
	add := func(r runner, chunk experiment.Chunk, seeds []uint64, name string) error {
		on, code, err := c.On(chunk.Seeds, worlds.ValueWalk, worlds.ValueWalkNoDet, name)
		if err != nil {
			return err
		}
		u := chunk.Unit(name, []any{on, seeds}, func(ctx context.Context,
			t *experiment.Stages) (*experiment.Result, error) {
			return r.run(ctx, name, chunk.Seeds, len(seeds), t)
		})
		u.Owns = func(row experiment.Row) bool {
			return row.Environment == r.environment && row.Name() == name && chunk.Owns(row)
		}
		u.Code = code
		units = append(units, u)
		return nil
	}
	if len(c.HeldOut) > 0 {
		r := runner{c, fitter, c.World.Name() + heldOutSuffix, heldOutUnit}
		for _, lambda := range c.Lambdas {
			if err := add(r, experiment.Chunk{Name: heldOutUnit, Seeds: c.HeldOut}, c.HeldOut,
				worlds.AVRILName(lambda)); err != nil {
				return nil, err
			}
		}
	}
	r := runner{c, fitter, c.World.Name(), ""}
	again := c.Again
	for _, chunk := range experiment.Chunks("worlds", c.Seeds, c.Chunk) {
		for _, name := range append([]string{worlds.ValueWalk, worlds.ValueWalkNoDet, worlds.ValueWalkAgain},
			c.Methods...) {
			seeds := chunk.Seeds
			if name == worlds.ValueWalkAgain {
				seeds = seeds[:min(again, len(seeds))]
				again -= len(seeds)
			}
			if len(seeds) > 0 {
				if err := add(r, chunk, seeds, name); err != nil {
					return nil, err
				}
			}
		}
	}
	return units, nil
}

// runner runs units on worlds that are the environment of the rows. If key is not empty, all time counts as its.
type runner struct {
	config           Config
	fitter           *worlds.Fitter
	environment, key string
}

// known are worlds with their exact posteriors, which all methods are compared with.
type known struct {
	grids []*worlds.World
	posts map[string][]irl.Posterior // ValueWalk's with and without the determinant
	refs  []metric.References
}

// references fits ValueWalk with and without the determinant. Its time is that of the method that needs it first.
func (r runner) references(ctx context.Context, of string, seeds []uint64, t *experiment.Stages) (*known, error) {
	grids, err := r.config.Worlds(seeds)
	if err != nil {
		return nil, err
	}
	k := &known{grids: grids, posts: map[string][]irl.Posterior{}, refs: make([]metric.References, len(grids))}
	for _, name := range []string{worlds.ValueWalk, worlds.ValueWalkNoDet} {
		key := name
		if of != worlds.ValueWalk { // which is computed first unless it is stored
			key = "references"
		}
		if k.posts[name], err = r.fitter.Stage(ctx, t, cmp.Or(r.key, key), name, grids); err != nil {
			return nil, err
		}
		for i, w := range grids {
			ref := &k.refs[i].Exact
			if name == worlds.ValueWalkNoDet {
				ref = &k.refs[i].NoDet
			}
			samples := k.posts[name][i].(*valuewalk.Posterior).Samples()
			if *ref, err = metric.NewReference(w.Problem, samples); err != nil {
				return nil, err
			}
		}
	}
	return k, nil
}

// run is the unit of a method on the first n worlds of a chunk.
func (r runner) run(ctx context.Context, name string, seeds []uint64, n int,
	t *experiment.Stages) (*experiment.Result, error) {
	k, err := experiment.Share(ctx, "references", func() (*known, error) { return r.references(ctx, name, seeds, t) })
	if err != nil {
		return nil, err
	}
	posts := k.posts[name]
	if posts == nil {
		if posts, err = r.fitter.Stage(ctx, t, cmp.Or(r.key, name), name, k.grids[:n]); err != nil {
			return nil, err
		}
	}
	result := &experiment.Result{}
	return result, r.evaluate(ctx, result, name, k.grids[:n], posts, k.refs, t)
}

// told are the numbers about a method's computation that become rows.
var told = []string{metric.RHatMax, metric.ESSBulkMin, metric.Divergences, metric.Converged, metric.ELBO,
	metric.Collapsed, metric.Drift, metric.Settling}

// evaluate adds the rows of a method: its metrics, and the diagnostics of its computation.
func (r runner) evaluate(ctx context.Context, result *experiment.Result, name string, grids []*worlds.World,
	posts []irl.Posterior, refs []metric.References, t *experiment.Stages) error {
	found, err := experiment.Stage(t, cmp.Or(r.key, "metrics"), "metrics of "+name,
		func(progress irl.Progress) ([][]experiment.Row, error) {
			return r.config.Measure(ctx, r.environment, name, grids, posts, refs, progress)
		})
	if err != nil {
		return err
	}
	for i, w := range grids {
		result.Rows = append(result.Rows, found[i]...)
		row := experiment.RowOf(name, r.environment, r.config.Trajectories, w.Seed)
		diagnostics := irl.Computation(posts[i], told...)
		result.Rows = append(result.Rows, row.WithAll(diagnostics)...)
		if _, said := diagnostics[metric.Converged]; !said {
			result.Doubt(posts[i], "%s, world %d", name, w.Seed)
		}
	}
	return nil
}
