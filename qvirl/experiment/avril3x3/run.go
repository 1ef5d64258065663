package avril3x3

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds/obstacle"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// The metrics. Those of single states are the name, an underscore and the number of the state.
const (
	RewardMean = "reward_mean"
	RewardStd  = "reward_std"
	ValueMean  = "value_mean" // AVRIL's is its point estimate
	ValueStd   = "value_std"
	W1         = metric.W1
	StdMin     = "reward_std_min"  // smallest standard deviation of a reward
	StdMax     = "reward_std_max"  // and largest
	Below02    = "std_below_0.2"   // number of rewards whose standard deviation is below 0.2
	Below0001  = "std_below_0.001" // and below 0.001
	MeanAbs    = "mean_abs"        // mean absolute posterior mean of the rewards
)

// Plan returns the plan of the experiment, of a single unit.
func (c Config) Plan(scale, backendName string) (*experiment.Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &experiment.Plan{
		Experiment: Name, Scale: scale, Config: c, Units: []experiment.Unit{{Name: "all", Cost: 1}},
		Run: func(ctx context.Context, _ int, progress irl.Progress) (*experiment.Result, error) {
			methods, err := c.methods(backendName)
			if err != nil {
				return nil, err
			}
			stages := experiment.NewStages(float64(len(methods)), "", progress)
			if err := c.fit(ctx, methods, stages); err != nil {
				return nil, err
			}
			result := c.rows(methods)
			result.Times = stages.Times()
			return result, nil
		},
	}, nil
}

// fitted is a method and, once it is known, its posterior.
type fitted struct {
	name   string
	method irl.Method
	brief  bool // only the rewards make rows
	post   irl.Posterior
}

// methods returns the methods in the order in which they are fitted, ValueWalk first.
func (c Config) methods(backendName string) ([]fitted, error) {
	valueWalk, err := valuewalk.New(c.ValueWalk)
	if err != nil {
		return nil, err
	}
	policyWalk, err := policywalk.New(c.PolicyWalk)
	if err != nil {
		return nil, err
	}
	config := c.QVIRL
	config.Backend = backendName
	variational, err := tabular.New(config)
	if err != nil {
		return nil, err
	}
	out := []fitted{{name: obstacle.ValueWalk, method: valueWalk}, {name: obstacle.PolicyWalk, method: policyWalk},
		{name: obstacle.QVIRL, method: variational}}
	for _, a := range c.AVRILs() {
		method, err := avril.New(a.Config)
		if err != nil {
			return nil, err
		}
		out = append(out, fitted{name: a.Config.Label, method: method, brief: a.Brief})
	}
	return out, nil
}

// fit finds the posteriors of the methods. Seconds of each go to stages, which count a method as 1.
func (c Config) fit(ctx context.Context, methods []fitted, stages *experiment.Stages) error {
	w, err := c.World()
	if err != nil {
		return err
	}
	problems := []*irl.Problem{c.Problem(w)}
	for i := range methods {
		m := &methods[i]
		err := stages.Run(m.name, m.name, 1, func(progress irl.Progress) error {
			posts, err := m.method.Fit(ctx, problems, progress)
			if err == nil {
				m.post = posts[0]
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// Value returns the posterior of the optimal value of a state; AVRIL's is a point.
func Value(post irl.Posterior, s int) irl.Marginal {
	if p, ok := post.(*avril.Posterior); ok {
		actions := post.Problem().MDP.Actions()
		return distuv.Normal{Mu: floats.Max(p.PointQ()[s*actions : (s+1)*actions])}
	}
	return post.(irl.ValuePosterior).Value(s)
}

// rows measures the posteriors of the methods, the first of which is ValueWalk's.
func (c Config) rows(methods []fitted) *experiment.Result {
	oracle := methods[0].post.(*valuewalk.Posterior)
	result := &experiment.Result{}
	for _, m := range methods {
		row := experiment.Row{Environment: obstacle.Environment, Method: m.name, Demos: len(c.Trajectories),
			Seed: c.Seed}
		add := func(metric string, value float64) {
			row.Metric, row.Value = metric, value
			result.Rows = append(result.Rows, row)
		}
		w1, size, smallest, largest := 0.0, 0.0, math.Inf(1), 0.0
		below := map[string]float64{Below02: 0, Below0001: 0}
		for s := range obstacle.States {
			reward := m.post.Reward(s)
			add(ofState(RewardMean, s), reward.Mean())
			add(ofState(RewardStd, s), reward.StdDev())
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
			value := Value(m.post, s)
			add(ofState(ValueMean, s), value.Mean())
			add(ofState(ValueStd, s), value.StdDev())
			w1 += metric.Wasserstein(oracle.Reward(s).(*irl.Empirical).Sorted(), reward) / float64(len(obstacle.States))
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
		switch p := m.post.(type) {
		case *tabular.Gaussian:
			if !p.Converged() {
				result.Notes = append(result.Notes, m.name+": the training did not converge")
			}
		case obstacle.Sampler:
			for metric, v := range obstacle.ChainMetrics(p) {
				add(metric, v)
			}
			if err := p.Sampling().Clean(); err != nil {
				result.Notes = append(result.Notes, m.name+": "+err.Error())
			}
		}
	}
	return result
}

func ofState(metric string, s int) string { return fmt.Sprintf("%s_%d", metric, s) }
