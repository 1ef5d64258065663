package worlds

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/reference"
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

// Return returns the return of a policy [S·A] under the true reward.
func (w *World) Return(policy []float64) (float64, error) {
	return w.Grid.MDP.Return(policy, w.Grid.Reward, w.Problem.Discount)
}

// Scale is what returns in a world are normalised by: those of the random and of the optimal policy under the true
// reward.
type Scale struct{ Random, Optimal float64 }

// Scale returns the world's scale; value computes the return of a policy [S·A] under the true reward, as Return does.
func (w *World) Scale(value func(policy []float64) (float64, error)) (s Scale, err error) {
	optimal, err := apprentice.OptimalPolicy(w.Problem, w.Grid.Reward)
	if err != nil {
		return s, err
	}
	if s.Random, err = value(w.Grid.MDP.Uniform()); err != nil {
		return s, err
	}
	rounding := 1e-12 * math.Abs(s.Random)
	if s.Optimal, err = value(optimal); err == nil && !(s.Optimal-s.Random > rounding) {
		err = fmt.Errorf("worlds: the optimal return %g is not above the random policy's, so that returns cannot be "+
			"normalised", s.Optimal)
	}
	return s, err
}

// Problems returns what a method sees of the worlds.
func Problems(worlds []*World) []*irl.Problem {
	out := make([]*irl.Problem, len(worlds))
	for i, w := range worlds {
		out[i] = w.Problem
	}
	return out
}

// Settings returns what a method's posteriors depend on beside the problem: its config, or those of its parts.
func (c Config) Settings(name string) (any, error) {
	switch name {
	case ValueWalk, ValueWalkNoDet, ValueWalkAgain:
		config := c.ValueWalk
		config.NoDeterminant = name == ValueWalkNoDet
		if name == ValueWalkAgain {
			config.Seed++
		}
		return config, nil
	case QVIRL, QVIRL20k, QVIRLMaxMean, QVIRLLogEP, QVIRLELogP, QVIRLSVILogEP, QVIRLSVI:
		config := c.variational(name)
		config.Name = name
		return config, nil
	case QVIRLMatched:
		return WalkFrom{c.QVIRLStart, c.Match}, nil
	case QVIRLRefined:
		return WalkFrom{c.QVIRLStart, c.Refine}, nil
	}
	config := c.AVRIL
	config.Label, config.Lambda = name, c.Lambda
	base, variant := method.Split(name)
	if lambda, ok := method.Setting(variant, "lambda"); ok {
		config.Lambda, _ = strconv.ParseFloat(lambda, 64) // Split has checked it
	}
	if base != AVRIL || variant != "" && AVRILName(config.Lambda) != name {
		return nil, fmt.Errorf("worlds: there is no method %q", name)
	}
	return config, nil
}

// WalkFrom is the config of a posterior, trained briefly, and of the walk that starts from it.
type WalkFrom struct {
	Start tabular.Config
	Walk  valuewalk.RefineConfig
}

// Method returns a method by its name in result rows, as the config has it. backendName is what QVIRL computes on, as
// backend.Get takes it.
func (c Config) Method(name, backendName string) (irl.Method, error) {
	settings, err := c.Settings(name)
	if err != nil {
		return nil, err
	}
	return NewMethod(name, settings, backendName)
}

// NewMethod returns a method of a config, which is a Config of its package, or a WalkFrom: then it is QVIRLRefined if
// that is its name, and QVIRLMatched otherwise. backendName is what QVIRL computes on, as backend.Get takes it.
func NewMethod(name string, config any, backendName string) (irl.Method, error) {
	switch s := config.(type) {
	case valuewalk.Config:
		return valuewalk.New(s)
	case policywalk.Config:
		return policywalk.New(s)
	case reference.Config:
		return reference.New(s)
	case tabular.Config:
		return tabular.New(s.On(backendName))
	case avril.Config:
		return avril.New(s)
	case WalkFrom:
		start, err := tabular.New(s.Start.On(backendName))
		if err != nil {
			return nil, err
		}
		if name == QVIRLRefined {
			return valuewalk.NewRefined(name, start, s.Walk)
		}
		return matched.New(name, start, matched.WarpedRewards, s.Walk)
	}
	panic("worlds: config of no method")
}

// On returns what rows on the worlds of some seeds depend on: the worlds, the number of draws, and the settings of
// methods; and beside it the methods of the registry whose code these are, which are a unit's Code.
func (c Config) On(seeds []uint64, methods ...string) (on any, code []string, err error) {
	var all []any
	for _, name := range methods {
		settings, err := c.Settings(name)
		if err != nil {
			return nil, nil, err
		}
		all, code = append(all, name, settings), append(code, CodeOf(name, settings)...)
	}
	return struct {
		World        gridworld.Config
		Trajectories int
		Length       int
		Beta         float64
		Discount     float64
		Seeds        []uint64
		Draws        int
		Settings     []any
	}{c.World, c.Trajectories, c.Length, c.Beta, c.Discount, seeds, c.Draws, all}, code, nil
}

// CodeOf returns the methods of the registry whose code fits a method of the given name and settings.
func CodeOf(name string, settings any) []string {
	switch settings.(type) {
	case valuewalk.Config:
		return []string{ValueWalk}
	case tabular.Config:
		return []string{QVIRL}
	case WalkFrom:
		return []string{QVIRL, ValueWalk, name}
	}
	return []string{AVRIL}
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

// AVRILName returns the name of AVRIL at the given λ.
func AVRILName(lambda float64) string { return method.Name(AVRIL, fmt.Sprintf("lambda=%g", lambda)) }

// NameLambda returns rows in which AVRIL, where rows do not say at which λ it is, is at the one that was chosen for it.
func NameLambda(rows []experiment.Row) []experiment.Row {
	chosen := fmt.Sprintf("lambda=%g", Paper().Lambda)
	out := slices.Clone(rows)
	for i, r := range out {
		if (r.Method == AVRIL || strings.HasPrefix(r.Method, AVRIL+"-")) && r.Variant == "" {
			out[i].Variant = chosen
		}
	}
	return out
}

// Lambdas returns the values of λ that rows of AVRIL's variants are of, ascending.
func Lambdas(rows []experiment.Row) []float64 {
	return experiment.Distinct(rows, func(r experiment.Row) (float64, bool) { return r.Setting("lambda") })
}
