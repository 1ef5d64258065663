package avril3x3

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/policywalk"
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

// Metrics of the samplers' chains.
const (
	RHatMax    = "rhat_max"     // largest split-R̂ of all rewards and values
	ESSBulkMin = "ess_bulk_min" // smallest bulk effective sample size of all rewards and values
	ESSTailMin = "ess_tail_min" // smallest tail effective sample size
	Acceptance = "acceptance"   // mean acceptance probability
	Iterations = "iterations"   // of each chain after the warm-up
)

// New returns the plan of a scale, "quick" or "paper".
func New(s experiment.Settings) (*experiment.Plan, error) {
	return experiment.NewPlan(s, Quick, Paper)
}

// Plan returns the plan of the experiment, of a single unit.
func (c Config) Plan(scale, backendName string) (*experiment.Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &experiment.Plan{
		Experiment: Name, Scale: scale, Config: c, Units: []experiment.Unit{{Name: "all", Cost: 1}},
		Run: func(ctx context.Context, _ int, progress qvirl.Progress) (*experiment.Result, error) {
			names, _ := c.methods()
			stages := experiment.NewStages(float64(len(names)), "", progress)
			posteriors, err := c.Fit(ctx, backendName, stages)
			if err != nil {
				return nil, err
			}
			result, err := c.rows(posteriors)
			if err != nil {
				return nil, err
			}
			result.Times = stages.Times()
			return result, nil
		},
	}, nil
}

// Fit returns the posterior of each method by name. Seconds of each go to stages, which count a method as 1.
func (c Config) Fit(ctx context.Context, backendName string, stages *experiment.Stages) (map[string]qvirl.Posterior, error) {
	w, err := c.World()
	if err != nil {
		return nil, err
	}
	problems := []*qvirl.Problem{c.Problem(w)}
	methods := map[string]qvirl.Method{}
	if methods[ValueWalk], err = valuewalk.New(c.ValueWalk); err != nil {
		return nil, err
	}
	if methods[PolicyWalk], err = policywalk.New(c.PolicyWalk); err != nil {
		return nil, err
	}
	config := c.QVIRL
	config.Backend = backendName
	if methods[QVIRL], err = qvirl.New(config); err != nil {
		return nil, err
	}
	names, _ := c.methods()
	for _, a := range c.avrils() {
		if methods[a.config.Label], err = avril.New(a.config); err != nil {
			return nil, err
		}
	}
	out := map[string]qvirl.Posterior{}
	for _, name := range names {
		err := stages.Run(name, name, 1, func(progress qvirl.Progress) error {
			posts, err := methods[name].Fit(ctx, problems, progress)
			if err == nil {
				out[name] = posts[0]
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}

// Value returns the posterior of the optimal value of a state; AVRIL's is a point.
func Value(post qvirl.Posterior, s int) qvirl.Marginal {
	if p, ok := post.(*avril.Posterior); ok {
		actions := post.Problem().MDP.Actions()
		return distuv.Normal{Mu: floats.Max(p.PointQ()[s*actions : (s+1)*actions])}
	}
	return post.(qvirl.ValuePosterior).Value(s)
}

// rows measures the posteriors.
func (c Config) rows(posteriors map[string]qvirl.Posterior) (*experiment.Result, error) {
	oracle := posteriors[ValueWalk].(*valuewalk.Posterior)
	result := &experiment.Result{}
	names, brief := c.methods()
	for _, name := range names {
		post := posteriors[name]
		row := experiment.Row{Environment: Environment, Method: name, Demos: len(c.Trajectories), Seed: c.Seed}
		add := func(metric string, value float64) {
			row.Metric, row.Value = metric, value
			result.Rows = append(result.Rows, row)
		}
		w1, size, smallest, largest := 0.0, 0.0, math.Inf(1), 0.0
		below := map[string]float64{Below02: 0, Below0001: 0}
		for s := range States {
			reward, value := post.Reward(s), Value(post, s)
			add(ofState(RewardMean, s), reward.Mean())
			add(ofState(RewardStd, s), reward.StdDev())
			smallest, largest = min(smallest, reward.StdDev()), max(largest, reward.StdDev())
			if reward.StdDev() < 0.2 {
				below[Below02]++
			}
			if reward.StdDev() < 0.001 {
				below[Below0001]++
			}
			if brief[name] {
				continue
			}
			add(ofState(ValueMean, s), value.Mean())
			add(ofState(ValueStd, s), value.StdDev())
			w1 += metric.Wasserstein(oracle.Reward(s).(*qvirl.Empirical).Sorted(), reward) / float64(len(States))
			size += max(reward.Mean(), -reward.Mean()) / float64(len(States))
		}
		if !brief[name] {
			add(W1, w1)
			add(MeanAbs, size)
		}
		add(StdMin, smallest)
		add(StdMax, largest)
		for _, name := range []string{Below02, Below0001} {
			add(name, below[name])
		}
		switch p := post.(type) {
		case *qvirl.Gaussian:
			if !p.Converged() {
				result.Notes = append(result.Notes, name+": the training did not converge")
			}
		case Sampler:
			for metric, v := range ChainMetrics(p) {
				add(metric, v)
			}
			if err := p.Convergence().Clean(); err != nil {
				result.Notes = append(result.Notes, name+": "+err.Error())
			}
		}
	}
	return result, nil
}

// Sampler is a posterior that a Markov chain has sampled.
type Sampler interface {
	qvirl.ValuePosterior
	Convergence() *mcmc.Diagnostics
}

// ChainMetrics returns the metrics of a sampler's chains by name. Those that do not exist are left out.
func ChainMetrics(s Sampler) map[string]float64 {
	d := s.Convergence()
	out := map[string]float64{Acceptance: d.Acceptance, Iterations: float64(d.Iterations)}
	rhat, bulk := d.Worst()
	for metric, v := range map[string]float64{RHatMax: rhat, ESSBulkMin: bulk, ESSTailMin: min(floats.Min(d.Reward.TailESS), floats.Min(d.Value.TailESS))} {
		if !math.IsNaN(v) {
			out[metric] = v
		}
	}
	return out
}

func ofState(metric string, s int) string { return fmt.Sprintf("%s_%d", metric, s) }
