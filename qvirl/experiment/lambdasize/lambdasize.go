// Package lambdasize measures AVRIL's λ against the size of the world, beyond the paper: whether one λ serves worlds of
// all sizes, or has to be chosen anew for each.
package lambdasize

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// Name is the experiment's name in result rows.
const Name = "lambda-size"

// Config determines the rows.
type Config struct {
	Posteriors worlds.Config // the worlds but for their size, and how ValueWalk and AVRIL are fitted
	Sides      []int         // of square worlds
	Lambdas    []float64
}

// Paper returns the config of the full experiment.
func Paper() Config {
	c := Config{Posteriors: worlds.Paper(), Sides: []int{3, 4, 6, 8, 11},
		Lambdas: []float64{0, 0.01, 0.02, 0.05, 0.1, 0.13, 0.17, 0.2, 0.3}}
	c.Posteriors.Seeds, c.Posteriors.Chunk = experiment.Seeds(0, 40), 20
	c.Posteriors.ValueWalk.Samples, c.Posteriors.ValueWalk.MinESS = 2000, 400
	return c
}

// Quick returns the config of a run of a minute: other worlds, fewer and smaller.
func Quick() Config {
	c := Paper()
	c.Posteriors.Seeds, c.Sides = experiment.Seeds(1000, 8), []int{3, 4, 6}
	c.Lambdas = []float64{0, 0.02, 0.1, 0.17, 0.3}
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.First(check.All("lambdasize", check.That(len(c.Sides) > 0 && len(c.Lambdas) > 0, "%d sizes and %d "+
		"values of λ: want some of each", len(c.Sides), len(c.Lambdas)), check.Distinct("Sides", c.Sides),
		check.Distinct("Lambdas", c.Lambdas)), c.Posteriors.Validate())
}

// Units returns the units of the experiment: AVRIL at each λ on each chunk of worlds of each size.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	var units []experiment.Unit
	for _, side := range c.Sides {
		of := c.Posteriors
		of.World.Width, of.World.Height = side, side
		environment := of.World.Name()
		fitter := of.NewFitter(backendName)
		for _, chunk := range experiment.Chunks(fmt.Sprintf("side-%d", side), of.Seeds, of.Chunk) {
			for _, lambda := range c.Lambdas {
				name := worlds.AVRILName(lambda)
				on, code, err := of.On(chunk.Seeds, worlds.ValueWalk, name)
				if err != nil {
					return nil, err
				}
				u := chunk.Unit(name, on, func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
					k, err := of.Known(ctx, fitter, chunk.Seeds, t)
					if err != nil {
						return nil, err
					}
					result := &experiment.Result{}
					return result, t.Run("", name, func(progress irl.Progress) error {
						posts, err := fitter.Fit(ctx, name, k.Grids, progress)
						if err != nil {
							return err
						}
						rows, err := of.Measure(ctx, environment, name, k.Grids, posts, k.Refs, nil)
						result.Rows = slices.Concat(rows...)
						return err
					})
				})
				u.Owns = func(r experiment.Row) bool { return r.Environment == environment && chunk.OwnsOf(name)(r) }
				u.Code = code
				units = append(units, u)
			}
		}
	}
	return units, nil
}

// Report draws the distance to the exact posterior over λ, for each size.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	environments := experiment.Distinct(rows, func(r experiment.Row) (string, bool) {
		_, ok := r.Setting("lambda")
		return r.Environment, ok && r.Metric == metric.W1
	})
	slices.SortStableFunc(environments, func(a, b string) int { return len(a) - len(b) }) // 11×11 after 3×3
	var curves []exhibit.Curve
	text := "The λ with the smallest mean W₁ to the exact posterior:"
	for _, environment := range environments {
		here := experiment.Where(rows, func(r experiment.Row) bool {
			return r.Environment == environment && r.Metric == metric.W1
		})
		curve, best, least := exhibit.Curve{Name: environment}, 0.0, math.Inf(1)
		for _, lambda := range worlds.Lambdas(here) {
			e := experiment.Average(here, worlds.AVRILName(lambda), metric.W1)
			curve.Add(lambda, e)
			if e.Mean < least {
				best, least = lambda, e.Mean
			}
		}
		curves, text = append(curves, curve), text+fmt.Sprintf(" %g in %s (%.3f);", best, environment, least)
	}
	return &exhibit.Report{Title: "AVRIL's λ against the size of the world", Text: []string{text[:len(text)-1] + "."},
		Charts: []exhibit.Chart{{Name: "lambda", Title: "AVRIL over λ", Panels: []exhibit.Panel{{XLabel: "λ",
			YLabel: metric.Label(metric.W1), Curves: curves}}}}}, nil
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "AVRIL's λ against the size of the world (beyond the paper)", Quick, Paper, Report)
}
