package avril3x3

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/experiment/worlds/obstacle"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// The metrics, which the registry of package metric explains. Those of single states are followed by an underscore and
// the number of the state.
const (
	RewardMean = "reward_mean"
	RewardStd  = "reward_std"
	ValueMean  = "value_mean"
	ValueStd   = "value_std"
	W1         = metric.W1
	StdMin     = "reward_std_min"
	StdMax     = "reward_std_max"
	Below02    = "std_below_0.2"
	Below0001  = "std_below_0.001"
	MeanAbs    = "mean_abs"
)

// Units returns the units of the experiment: one of each method.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	all, err := c.methods(backendName)
	if err != nil {
		return nil, err
	}
	world := c.Config
	world.Lambdas, world.Sweep, world.Rates = nil, nil, nil
	world.PolicyWalk, world.QVIRL, world.AVRIL = policywalk.Config{}, tabular.Config{}, avril.Config{}
	var units []experiment.Unit
	for _, m := range all {
		base, _ := method.Split(m.name)
		units = append(units, experiment.Unit{Name: m.name, Group: "all", Method: base,
			Code: []string{obstacle.ValueWalk}, On: []any{world, m.name, m.settings, m.brief},
			Owns: func(r experiment.Row) bool { return r.Name() == m.name },
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				exact, err := c.fit(ctx, all[0], t)
				if err != nil {
					return nil, err
				}
				post, err := c.fit(ctx, m, t)
				if err != nil {
					return nil, err
				}
				return c.measure(m, post, exact.(*valuewalk.Posterior)), nil
			}})
	}
	return units, nil
}

// fitter is a method by its name in result rows.
type fitter struct {
	name     string
	method   irl.Method
	settings any  // what its posterior depends on
	brief    bool // only the rewards make rows
}

// methods returns the methods, ValueWalk first.
func (c Config) methods(backendName string) ([]fitter, error) {
	valueWalk, err := valuewalk.New(c.ValueWalk)
	if err != nil {
		return nil, err
	}
	out := []fitter{{name: obstacle.ValueWalk, method: valueWalk}, // all units depend on its config
		{name: obstacle.PolicyWalk, settings: c.PolicyWalk}, {name: obstacle.QVIRL, settings: c.QVIRL}}
	for _, weight := range c.KLWeights {
		config := c.weighted(weight)
		out = append(out, fitter{name: config.Name, settings: config})
	}
	for _, a := range c.AVRILs() {
		out = append(out, fitter{name: a.Config.Label, settings: a.Config, brief: a.Brief})
	}
	for i := range out[1:] {
		m := &out[1+i]
		if m.method, err = worlds.NewMethod(m.name, m.settings, backendName); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// fit returns the posterior of a method, which is found once.
func (c Config) fit(ctx context.Context, m fitter, t *experiment.Stages) (irl.Posterior, error) {
	return experiment.Share(ctx, m.name, func() (irl.Posterior, error) {
		return experiment.Stage(t, m.name, m.name, func(progress irl.Progress) (irl.Posterior, error) {
			return c.Fit(ctx, m.method, progress)
		})
	})
}

// Value returns the posterior of the optimal value of a state; AVRIL's is a point.
func Value(post irl.Posterior, s int) irl.Distribution {
	if p, ok := post.(*avril.Posterior); ok {
		actions := post.Problem().MDP.Actions()
		return distuv.Normal{Mu: floats.Max(p.PointQ()[s*actions : (s+1)*actions])}
	}
	return post.(irl.ValuePosterior).Value(s)
}

// measure returns the rows of a method's posterior, given ValueWalk's.
func (c Config) measure(m fitter, post irl.Posterior, exact *valuewalk.Posterior) *experiment.Result {
	result := &experiment.Result{}
	row := experiment.RowOf(m.name, obstacle.Environment, len(c.Trajectories), c.Seed)
	add := func(metric string, value float64) {
		result.Rows = append(result.Rows, row.With(metric, value))
	}
	w1, size, smallest, largest := 0.0, 0.0, math.Inf(1), 0.0
	below := map[string]float64{Below02: 0, Below0001: 0}
	for s := range obstacle.States {
		reward := post.Reward(s)
		add(experiment.OfState(RewardMean, s), reward.Mean())
		add(experiment.OfState(RewardStd, s), reward.StdDev())
		smallest, largest = min(smallest, reward.StdDev()), max(largest, reward.StdDev())
		if reward.StdDev() < 0.2 {
			below[Below02]++
		}
		if reward.StdDev() < 0.001 {
			below[Below0001]++
		}
		if m.brief {
			continue
		}
		value := Value(post, s)
		add(experiment.OfState(ValueMean, s), value.Mean())
		add(experiment.OfState(ValueStd, s), value.StdDev())
		w1 += metric.Wasserstein(exact.Reward(s).(*irl.Empirical).Sorted(), reward) / float64(len(obstacle.States))
		size += max(reward.Mean(), -reward.Mean()) / float64(len(obstacle.States))
	}
	if !m.brief {
		add(W1, w1)
		add(MeanAbs, size)
	}
	add(StdMin, smallest)
	add(StdMax, largest)
	for _, name := range []string{Below02, Below0001} {
		add(name, below[name])
	}
	result.Rows = append(result.Rows, row.WithAll(irl.Computation(post, obstacle.Told...))...)
	result.Doubt(post, "%s", m.name)
	return result
}
