package apprenticeship

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
)

// Units returns the units of the experiment: the policies of each method on each chunk of worlds.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	fitter := c.Posteriors.NewFitter(backendName)
	var units []experiment.Unit
	for _, chunk := range experiment.Chunks("worlds", c.Posteriors.Seeds, c.Posteriors.Chunk) {
		for _, name := range append([]string{worlds.ValueWalk}, c.Posteriors.Methods...) {
			on, code, err := c.Posteriors.On(chunk.Seeds, append(c.references(), name)...)
			if err != nil {
				return nil, err
			}
			u := chunk.Unit(name, []any{on, c.Level, c.HeldOut}, func(ctx context.Context,
				t *experiment.Stages) (*experiment.Result, error) {
				return c.unit(ctx, name, chunk.Seeds, fitter, t)
			})
			u.Owns = func(r experiment.Row) bool {
				return slices.Contains(policiesOf(name), r.Name()) && chunk.Owns(r)
			}
			u.Code = code
			units = append(units, u)
		}
	}
	return units, nil
}

// policiesOf returns the names of the policies that are computed with those of a method.
func policiesOf(name string) []string {
	out := []string{name + MeanSuffix, name + CVaRSuffix, name + ExactSuffix}
	if name == worlds.ValueWalk {
		out = append(out, Optimal, Random)
	}
	return out
}

// unit finds and evaluates the policies of a method on a chunk of worlds.
func (c Config) unit(ctx context.Context, name string, seeds []uint64, fitter *worlds.Fitter,
	t *experiment.Stages) (*experiment.Result, error) {
	k, err := experiment.Share(ctx, "references", func() (*fitted, error) {
		grids, err := c.Posteriors.Worlds(seeds)
		if err != nil {
			return nil, err
		}
		k := &fitted{grids: grids, posts: map[string][]irl.Posterior{}}
		return k, k.add(ctx, fitter, t, c.references()...)
	})
	if err != nil {
		return nil, err
	}
	if name != worlds.ValueWalk {
		if k, err = k.with(ctx, fitter, t, name); err != nil {
			return nil, err
		}
	}
	found, err := k.evaluate(ctx, c, t, name)
	if err != nil {
		return nil, err
	}
	return &experiment.Result{Rows: c.Rows(found), Notes: k.result.Notes}, nil
}

// Fit fits all methods to the worlds of the given seeds, finds their policies and evaluates them. It is what the
// pictures of single worlds are drawn from. progress may be nil.
func (c Config) Fit(ctx context.Context, seeds []uint64, backendName string, progress irl.Progress) ([]*World, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	grids, err := c.Posteriors.Worlds(seeds)
	if err != nil {
		return nil, err
	}
	k, t := &fitted{grids: grids, posts: map[string][]irl.Posterior{}}, experiment.NewStages(progress)
	if err := k.add(ctx, c.Posteriors.NewFitter(backendName), t, append(c.references(),
		c.Posteriors.Methods...)...); err != nil {
		return nil, err
	}
	return k.evaluate(ctx, c, t, append([]string{worlds.ValueWalk}, c.Posteriors.Methods...)...)
}

// references returns the methods that policies are judged by, ValueWalk first.
func (c Config) references() []string {
	out := []string{worlds.ValueWalk}
	if c.HeldOut {
		out = append(out, worlds.ValueWalkAgain)
	}
	return out
}

// fitted are worlds with the posteriors of methods.
type fitted struct {
	grids  []*worlds.World
	posts  map[string][]irl.Posterior // by method, of each world
	result experiment.Result          // its notes are about computations that did not converge
}

// add fits methods.
func (f *fitted) add(ctx context.Context, fitter *worlds.Fitter, t *experiment.Stages, names ...string) error {
	for _, name := range names {
		posts, err := fitter.Stage(ctx, t, name, name, f.grids)
		if err != nil {
			return err
		}
		f.posts[name] = posts
		for i, post := range posts {
			f.result.Doubt(post, "%s, world %d", name, f.grids[i].Seed)
		}
	}
	return nil
}

// with returns the same worlds with the posteriors of another method too.
func (f *fitted) with(ctx context.Context, fitter *worlds.Fitter, t *experiment.Stages, name string) (*fitted, error) {
	out := &fitted{grids: f.grids, posts: maps.Clone(f.posts)}
	return out, out.add(ctx, fitter, t, name)
}

// evaluate finds and evaluates the policies of methods.
func (f *fitted) evaluate(ctx context.Context, c Config, t *experiment.Stages, names ...string) ([]*World, error) {
	out := make([]*World, len(f.grids))
	return out, t.Run("policies", "policies", func(progress irl.Progress) error {
		return experiment.Parallel(ctx, len(out), progress, func(i int) (err error) {
			posts := map[string]irl.Posterior{}
			for name, all := range f.posts {
				posts[name] = all[i]
			}
			if out[i], err = c.Evaluate(f.grids[i], posts, names...); err != nil {
				return fmt.Errorf("world %d: %w", f.grids[i].Seed, err)
			}
			return nil
		})
	})
}
