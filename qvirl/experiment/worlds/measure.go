package worlds

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/tabular"
)

// Measure returns the rows of a method's metrics in each world, [worlds][metrics]. progress counts worlds and may be
// nil.
func (c Config) Measure(ctx context.Context, environment, method string, worlds []*World, posts []irl.Posterior,
	refs []metric.References, progress irl.Progress) ([][]experiment.Row, error) {
	out := make([][]experiment.Row, len(worlds))
	err := experiment.Parallel(ctx, len(worlds), progress, func(i int) error {
		samples, err := Samples(posts[i], c.Draws, worlds[i].Seed, method)
		if err != nil {
			return err
		}
		found, err := metric.Evaluate(posts[i], samples, worlds[i].Truth, refs[i])
		if err != nil {
			return err
		}
		row := experiment.RowOf(method, environment, c.Trajectories, worlds[i].Seed)
		for _, name := range metric.Names {
			if value, ok := found[name]; ok {
				out[i] = append(out[i], row.With(name, value))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return out, nil
}

// Samples returns the joint samples by which a posterior is judged: all of its own if it consists of samples, and n
// draws otherwise (tabular.ImpliedSamples: rewards that belong exactly to draws of values), which depend on the seed of
// the world and the name of the method.
func Samples(post irl.Posterior, n int, seed uint64, method string) (*irl.Samples, error) {
	if p, ok := post.(interface{ Samples() *irl.Samples }); ok {
		return p.Samples(), nil
	}
	return tabular.ImpliedSamples(post, Stream(seed, method), n)
}
