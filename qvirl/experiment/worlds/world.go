package worlds

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// World is one gridworld of the experiment with its demonstrations.
type World struct {
	Seed    uint64
	Grid    *gridworld.World
	Demos   []mdp.Trajectory
	Problem *irl.Problem  // what a method sees
	Truth   *metric.Truth // what it is judged by
}

// NewWorld returns the world of a seed.
func (c Config) NewWorld(seed uint64) (*World, error) {
	grid, err := gridworld.Random(c.World, seed)
	if err != nil {
		return nil, err
	}
	demos, err := grid.Demonstrate(c.Trajectories, c.Length, c.Beta, c.Discount, seed)
	if err != nil {
		return nil, err
	}
	w := &World{Seed: seed, Grid: grid, Demos: demos, Problem: &irl.Problem{
		MDP: grid.MDP, Prior: irl.IndependentPrior(len(grid.Reward), c.World.RewardMean, c.World.RewardStd),
		Discount: c.Discount, Beta: c.Beta, Demos: mdp.Flatten(demos),
	}}
	w.Truth, err = metric.NewTruth(w.Problem, grid.Reward)
	return w, err
}

// Worlds returns the worlds of several seeds.
func (c Config) Worlds(seeds []uint64) ([]*World, error) {
	out := make([]*World, len(seeds))
	for i, seed := range seeds {
		var err error
		if out[i], err = c.NewWorld(seed); err != nil {
			return nil, fmt.Errorf("world %d: %w", seed, err)
		}
	}
	return out, nil
}

// Problems returns what a method sees of the worlds.
func Problems(worlds []*World) []*irl.Problem {
	out := make([]*irl.Problem, len(worlds))
	for i, w := range worlds {
		out[i] = w.Problem
	}
	return out
}

// Method returns a method by its name in result rows, as the config has it. backendName is what QVIRL computes on, as
// backend.Get takes it.
func (c Config) Method(name, backendName string) (irl.Method, error) {
	switch name = method.Canonical(name); name {
	case ValueWalk, ValueWalkNoDet, ValueWalkAgain:
		config := c.ValueWalk
		config.NoDeterminant = name == ValueWalkNoDet
		if name == ValueWalkAgain {
			config.Seed++
		}
		return valuewalk.New(config)
	case QVIRL, QVIRL20k, QVIRLMaxMean, QVIRLLogEP, QVIRLELogP, QVIRLSVILogEP, QVIRLSVI:
		config := c.variational(name)
		config.Name, config.Backend = name, backendName
		return tabular.New(config)
	case QVIRLMatched, QVIRLRefined:
		config := c.QVIRLStart
		config.Backend = backendName
		start, err := tabular.New(config)
		if err != nil {
			return nil, err
		}
		if name == QVIRLRefined {
			return valuewalk.NewRefined(name, start, c.Refine)
		}
		return matched.New(name, start, matched.WarpedRewards, c.Match)
	}
	config := c.AVRIL
	config.Label, config.Lambda = name, c.Lambda
	if digits, ok := strings.CutPrefix(name, AVRILPrefix); ok {
		var err error
		if config.Lambda, err = strconv.ParseFloat(digits, 64); err != nil {
			return nil, fmt.Errorf("worlds: method %q: %q is not a value of λ", name, digits)
		}
	} else if name != AVRIL {
		return nil, fmt.Errorf("worlds: there is no method %q", name)
	}
	return avril.New(config)
}

// variational returns the configuration of a variational method by its name in result rows.
func (c Config) variational(name string) tabular.Config {
	config := c.QVIRLSVI
	switch name {
	case QVIRL:
		return c.QVIRL
	case QVIRL20k:
		return c.QVIRL20k
	case QVIRLMaxMean:
		return c.QVIRLMaxMean
	case QVIRLLogEP:
		config.Objective, config.LogExpected = tabular.ClosedDivergence, true
	case QVIRLELogP:
		config.Objective = tabular.ClosedDivergence
	case QVIRLSVILogEP:
		config.LogExpected = true
	}
	return config
}

// FitWorld fits the methods of the given names to one world, one after the other, and returns their posteriors by name.
// It is what the pictures of a single world are drawn from. progress counts methods and may be nil.
func (c Config) FitWorld(ctx context.Context, w *World, names []string, backendName string,
	progress irl.Progress) (map[string]irl.Posterior, error) {
	out, fitter := map[string]irl.Posterior{}, c.NewFitter(backendName)
	for i, name := range names {
		progress.Report(i, len(names), name)
		posts, err := fitter.Fit(ctx, name, []*World{w}, func(_, _ int, status string) {
			progress.Report(i, len(names), name+": "+status)
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = posts[0]
	}
	progress.Report(len(names), len(names), "")
	return out, nil
}

// avrilName returns the name of AVRIL at the given λ.
func AVRILName(lambda float64) string { return AVRILPrefix + strconv.FormatFloat(lambda, 'g', -1, 64) }
