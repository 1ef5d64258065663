// Package visited measures what demonstrations say of the rewards where they went, beyond the paper: whether a
// posterior has the rewards of demonstrated transitions above the prior's mean, so that an apprentice can be planned on
// it, exactly and by QVIRL, in tables and by a network, with auxiliary transitions and without.
package visited

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Name is the experiment's name in result rows.
const Name = "visited"

// The methods beside those of tables: QVIRL's network on demonstrations alone, and with branches, one step of each
// other action from each demonstrated state, as auxiliary transitions.
const (
	Network  = "qvirl-network"
	Branches = "qvirl-branches"
)

// The metrics, which the registry of package metric explains.
const (
	Gain      = "reward_gain"
	GainOther = "reward_gain_other"
)

// Config determines the rows, up to rounding of the backend.
type Config struct {
	Posteriors worlds.Config // the worlds, and how the methods of Methods are fitted
	Methods    []string      // for tables
	Networks   []string      // of Network and Branches
	Training   neural.Config // of networks
	Objective  variational.Objective
}

// Paper returns the config of the full experiment, in the first worlds of Table 1.
func Paper() Config {
	c := Config{Posteriors: worlds.Paper(), Methods: []string{worlds.ValueWalk, worlds.QVIRL, worlds.QVIRLMatched},
		Networks: []string{Network, Branches}, Training: neural.Default()}
	c.Objective = variational.DefaultObjective(c.Posteriors.World.RewardStd)
	c.Objective.PriorMean, c.Training.Folds = c.Posteriors.World.RewardMean, 0
	c.Posteriors.Seeds, c.Posteriors.Chunk = experiment.Seeds(0, 20), 5
	return c
}

// Quick returns the config of a run of a minute: four other worlds.
func Quick() Config {
	c := Paper()
	c.Posteriors.Seeds, c.Posteriors.Chunk, c.Training.Steps = experiment.Seeds(1000, 4), 4, 1000
	c.Posteriors.ValueWalk.Samples, c.Posteriors.ValueWalk.MinESS = 2000, 400
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	err := check.First(c.Posteriors.Validate(), c.Training.Validate(), c.Objective.Validate(),
		check.All("visited", check.Distinct("Methods", c.Methods), check.Distinct("Networks", c.Networks)))
	for _, name := range c.Networks {
		err = check.First(err, check.OneOf("visited: Networks", name, Network, Branches))
	}
	return err
}

// Units returns the units of the experiment: each method on each chunk of worlds.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	fitter := c.Posteriors.NewFitter(backendName)
	training := c.Training
	training.Backend = backendName
	learner, err := variational.New(training, c.Objective)
	if err != nil {
		return nil, err
	}
	var units []experiment.Unit
	for _, chunk := range experiment.Chunks("worlds", c.Posteriors.Seeds, c.Posteriors.Chunk) {
		add := func(name string, on any, code []string,
			fit func(context.Context, []*worlds.World, irl.Progress) (gains, error)) {
			u := chunk.Unit(name, on,
				func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
					grids, err := c.Posteriors.Worlds(chunk.Seeds)
					if err != nil {
						return nil, err
					}
					of, err := experiment.Stage(t, "", name, func(progress irl.Progress) (gains, error) {
						return fit(ctx, grids, progress)
					})
					if err != nil {
						return nil, err
					}
					return c.result(name, grids, of)
				})
			u.Code = code
			units = append(units, u)
		}
		on, code, err := c.Posteriors.On(chunk.Seeds)
		if err != nil {
			return nil, err
		}
		for _, name := range c.Methods {
			on, code, err := c.Posteriors.On(chunk.Seeds, name)
			if err != nil {
				return nil, err
			}
			add(name, on, code, func(ctx context.Context, grids []*worlds.World, progress irl.Progress) (gains, error) {
				posts, err := fitter.Fit(ctx, name, grids, progress)
				prior := c.Posteriors.World
				return func(i int, at []mdp.Step) ([]float64, error) {
					out := make([]float64, len(at))
					for k, step := range at {
						out[k] = (posts[i].Reward(step.State).Mean() - prior.RewardMean) / prior.RewardStd
					}
					return out, nil
				}, err
			})
		}
		for _, name := range c.Networks {
			add(name, []any{on, c.Training, c.Objective}, code,
				func(ctx context.Context, grids []*worlds.World, progress irl.Progress) (gains, error) {
					return c.network(ctx, learner, grids, name == Branches, progress)
				})
		}
	}
	return units, nil
}

// gains returns (E r − μ)/σ of the rewards of steps in world i, with the prior's mean μ and standard deviation σ.
type gains func(i int, at []mdp.Step) ([]float64, error)

// result returns the rows of a method's gains.
func (c Config) result(name string, grids []*worlds.World, of gains) (*experiment.Result, error) {
	result := &experiment.Result{}
	for i, w := range grids {
		row := experiment.RowOf(name, c.Posteriors.World.Name(), c.Posteriors.Trajectories, w.Seed)
		demonstrated, _, _ := w.Problem.Demonstrated()
		var there, other []mdp.Step
		for _, step := range w.Problem.Demos {
			if !w.Grid.MDP.Terminal(step.State) {
				there = append(there, step)
			}
		}
		for s := range w.Grid.MDP.States() {
			if slices.Contains(demonstrated, s) || w.Grid.MDP.Terminal(s) {
				continue
			}
			for a := range w.Grid.MDP.Actions() {
				other = append(other, mdp.Step{State: s, Action: a})
			}
		}
		for _, part := range []struct {
			metric string
			at     []mdp.Step
		}{{Gain, there}, {GainOther, other}} {
			if len(part.at) == 0 {
				continue
			}
			values, err := of(i, part.at)
			if err != nil {
				return nil, err
			}
			result.Rows = append(result.Rows, row.With(part.metric, stat.Mean(values, nil)))
		}
	}
	return result, nil
}

// Report makes the table of gains.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	table, err := experiment.Tabulate(rows, []string{worlds.ValueWalk, worlds.QVIRLMatched, worlds.QVIRL,
		Branches, Network}, exhibit.Table{Name: "gains",
		Title:   "Posterior mean of a reward above the prior's, in the prior's standard deviations",
		Columns: metric.Columns(2, Gain, GainOther)})
	if err != nil {
		return nil, err
	}
	return &exhibit.Report{Title: "What demonstrations say of the rewards where they went",
		Tables: []exhibit.Table{*table}}, nil
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Rewards of demonstrated transitions, exact and by QVIRL (beyond the paper)", Quick,
		Paper, Report)
}
