// Package lowrank compares QVIRL's covariance of low rank with the full one that it stands for in large worlds, beyond
// the paper: by the posteriors, the objective, and how often that is evaluated.
package lowrank

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/tabular"
)

// Name is the experiment's name in result rows.
const Name = "low-rank"

// LowRank is the method beside worlds.QVIRL.
const LowRank = "qvirl-low-rank"

// Size is a number of worlds of one size, with the seeds from 0 on.
type Size struct{ Side, Worlds int }

// Config determines the rows.
type Config struct {
	Posteriors worlds.Config // the worlds but for their sizes and seeds, and the full covariance
	LowRank    tabular.Config
	Sizes      []Size
}

// Paper returns the config of the full experiment: the worlds of Table 1, and larger ones.
func Paper() Config {
	c := Config{Posteriors: worlds.Paper(), LowRank: tabular.Default(), Sizes: []Size{{8, 100}, {16, 10}, {24, 3}}}
	c.LowRank.Name, c.LowRank.Covariance = LowRank, tabular.LowRankCovariance
	return c
}

// Quick returns the config of a run of seconds.
func Quick() Config {
	c := Paper()
	c.Posteriors.Draws, c.Sizes = 1000, []Size{{8, 4}, {12, 2}}
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	err := check.First(c.Posteriors.Validate(), c.LowRank.Validate(),
		check.That(len(c.Sizes) > 0, "lowrank: Sizes is empty, want at least one"))
	var sides []int
	for i, s := range c.Sizes {
		err = check.First(err, check.All(fmt.Sprintf("lowrank: Sizes[%d]", i),
			check.AtLeast(1, "Side Worlds", s.Side, s.Worlds)))
		sides = append(sides, s.Side)
	}
	return check.First(err, check.All("lowrank: the sides of Sizes", check.Distinct("Side", sides)))
}

// Units returns the units of the experiment, chunks of worlds of one size; they compute in Go.
func (c Config) Units(string) ([]experiment.Unit, error) {
	full, err := tabular.New(c.Posteriors.QVIRL)
	if err != nil {
		return nil, err
	}
	low, err := tabular.New(c.LowRank)
	if err != nil {
		return nil, err
	}
	var units []experiment.Unit
	for _, size := range c.Sizes {
		of := c.Posteriors
		of.World.Width, of.World.Height = size.Side, size.Side
		seeds := experiment.Seeds(0, size.Worlds)
		for _, chunk := range experiment.Chunks(of.World.Name(), seeds, of.Chunk) {
			on, code, err := of.On(chunk.Seeds, worlds.QVIRL)
			if err != nil {
				return nil, err
			}
			u := chunk.Unit(LowRank, []any{on, c.LowRank},
				func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
					result := &experiment.Result{}
					return result, t.Run("", LowRank, func(progress irl.Progress) (err error) {
						result.Rows, err = compare(ctx, of, chunk.Seeds, full, low, progress)
						return err
					})
				})
			u.Owns = func(r experiment.Row) bool { return r.Environment == of.World.Name() && chunk.Owns(r) }
			u.Code = code
			units = append(units, u)
		}
	}
	return units, nil
}

// compare returns the rows of the worlds of some seeds.
func compare(ctx context.Context, of worlds.Config, seeds []uint64, full, low irl.Method,
	progress irl.Progress) (rows []experiment.Row, err error) {
	grids, err := of.Worlds(seeds)
	if err != nil {
		return nil, err
	}
	fulls, err := full.Fit(ctx, worlds.Problems(grids), nil)
	if err != nil {
		return nil, err
	}
	lows, err := low.Fit(ctx, worlds.Problems(grids), progress)
	if err != nil {
		return nil, err
	}
	refs := make([]metric.References, len(grids))
	for i, post := range fulls {
		samples, err := post.Sample(worlds.Stream(grids[i].Seed, worlds.QVIRL), of.Draws)
		if err != nil {
			return nil, err
		}
		if refs[i].Exact, err = metric.NewReference(grids[i].Problem, samples); err != nil {
			return nil, err
		}
		rows = append(rows, computation(of, worlds.QVIRL, grids[i].Seed, post)...)
		rows = append(rows, computation(of, LowRank, grids[i].Seed, lows[i])...)
	}
	measured, err := of.Measure(ctx, of.World.Name(), LowRank, grids, lows, refs, nil)
	for _, r := range slices.Concat(measured...) {
		if r.Metric == metric.W1 || r.Metric == metric.PolicyTV {
			rows = append(rows, r)
		}
	}
	return rows, err
}

// computation returns the rows of how a posterior's computation went.
func computation(of worlds.Config, name string, seed uint64, post irl.Posterior) []experiment.Row {
	row := experiment.RowOf(name, of.World.Name(), of.Trajectories, seed)
	return row.WithAll(irl.Computation(post, metric.Converged, metric.ELBO, metric.Evaluations))
}

// Report makes a table for each size.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "A covariance of low rank against the full one"}
	for _, environment := range experiment.Distinct(rows, func(r experiment.Row) (string, bool) {
		return r.Environment, true
	}) {
		here := experiment.Where(rows, func(r experiment.Row) bool { return r.Environment == environment })
		t, err := experiment.Tabulate(here, []string{worlds.QVIRL, LowRank}, exhibit.Table{Name: environment,
			Title:   environment,
			Columns: metric.Columns(3, metric.W1, metric.PolicyTV, metric.ELBO, metric.Evaluations)})
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, *t)
	}
	return r, nil
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "QVIRL's covariance of low rank against the full one (beyond the paper)", Quick,
		Paper, Report)
}
