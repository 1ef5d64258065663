package calibration

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Plan returns the plan of the experiment: a unit for each chunk of draws.
func (c Config) Plan(scale, backendName string) (*experiment.Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	fits := append([]string{worlds.ValueWalk}, c.Posteriors.Methods...)
	fitter := c.Posteriors.NewFitter(backendName)
	p := &experiment.Plan{Experiment: Name, Scale: scale, Config: c}
	seeds, chunk := c.Posteriors.Seeds, c.Posteriors.Chunk
	var chunks [][]uint64
	for first := 0; first < len(seeds); first += chunk {
		part := seeds[first:min(first+chunk, len(seeds))]
		chunks = append(chunks, part)
		p.Units = append(p.Units, experiment.Unit{Name: fmt.Sprintf("draws-%04d", first), Cost: float64(len(part))})
	}
	p.Run = func(ctx context.Context, unit int, progress irl.Progress) (*experiment.Result, error) {
		worlds, err := c.Posteriors.Worlds(chunks[unit])
		if err != nil {
			return nil, err
		}
		stages := experiment.NewStages(float64(len(fits)), "", progress)
		result := &experiment.Result{}
		for _, name := range fits {
			var posts []irl.Posterior
			err := stages.Run(name, name, 1, func(progress irl.Progress) (err error) {
				posts, err = fitter.Fit(ctx, name, worlds, progress)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			for k, w := range worlds {
				rows, err := c.rank(w, name, posts[k])
				if err != nil {
					return nil, fmt.Errorf("%s, draw %d: %w", name, w.Seed, err)
				}
				result.Rows = append(result.Rows, rows...)
				if note := verdict(posts[k]); note != "" {
					result.Notes = append(result.Notes, fmt.Sprintf("%s, draw %d: %s", name, w.Seed, note))
				}
			}
		}
		result.Times = stages.Times()
		return result, nil
	}
	return p, nil
}

// verdict says what went wrong with a computation, or nothing.
func verdict(post irl.Posterior) string {
	switch p := post.(type) {
	case *valuewalk.Posterior:
		if err := p.Sampling().Clean(); err != nil {
			return err.Error()
		}
	case interface{ Converged() bool }:
		if !p.Converged() {
			return "the computation did not converge"
		}
	}
	return ""
}
