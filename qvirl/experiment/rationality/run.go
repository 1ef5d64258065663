package rationality

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// policyDraws is the number of draws that a learner's policy is averaged over.
const policyDraws = 1000

// Units returns the units of the experiment: each method on each chunk of draws, and each learner on each chunk of
// worlds.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	r := &runner{config: c}
	walk := worlds.WalkFrom{Start: c.Start, Walk: c.Match}
	var err error
	if r.matched, err = worlds.NewMethod(QVIRL, walk, backendName); err != nil {
		return nil, err
	}
	if r.sampled, err = valuewalk.New(c.DrawSampling); err != nil {
		return nil, err
	}
	var units []experiment.Unit
	add := func(name string, chunk experiment.Chunk, run func(ctx context.Context, name string, seeds []uint64,
		t *experiment.Stages) (*experiment.Result, error), on ...any) {
		u := chunk.Unit(name, append(on, name, c.Discount, c.Length, c.LogStd, chunk.Seeds),
			func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				return run(ctx, name, chunk.Seeds, t)
			})
		if name != ValueWalk {
			u.Code = []string{QVIRL, worlds.QVIRL, ValueWalk} // a brief training, a walk, and the match
		}
		units = append(units, u)
	}
	for _, chunk := range experiment.Chunks("draws", c.Draws, c.DrawChunk) {
		add(ValueWalk, chunk, r.calibrate, c.DrawWorld, c.DrawMedian, c.DrawDemos, c.DrawSampling)
		add(QVIRL, chunk, r.calibrate, c.DrawWorld, c.DrawMedian, c.DrawDemos, c.Start, c.Match)
	}
	for _, chunk := range experiment.Chunks("worlds", c.Seeds, c.Chunk) {
		for _, name := range learners {
			add(name, chunk, r.compare, c.World, c.Demos, c.Experts, c.Wrong, c.Median, c.Start, c.Match)
		}
	}
	return units, nil
}

// runner runs units.
type runner struct {
	config           Config
	matched, sampled irl.Method
}

// calibrate is the unit of a method on draws from the prior.
func (r *runner) calibrate(ctx context.Context, name string, seeds []uint64,
	t *experiment.Stages) (*experiment.Result, error) {
	c, stream := r.config, worlds.DrawnAs(Name, Name)
	problems, truth := make([]*irl.Problem, len(seeds)), make([]float64, len(seeds))
	for i, seed := range seeds {
		truth[i] = c.DrawMedian * math.Exp(c.LogStd*worlds.Stream(seed, stream).NormFloat64())
		w, err := c.world(c.DrawWorld, c.DrawDemos, truth[i], seed)
		if err != nil {
			return nil, err
		}
		problems[i] = w.Problem
		problems[i].Beta, problems[i].BetaLogStd = c.DrawMedian, c.LogStd
	}
	method := r.matched
	if name == ValueWalk {
		method = r.sampled
	}
	posts, err := experiment.FitStage(ctx, t, name, name, method, problems)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for i, seed := range seeds {
		row := experiment.Row{Environment: c.DrawWorld.Name(), Method: name, Demos: c.DrawDemos, Seed: seed}
		result.Rows = append(result.Rows, interval(row, posts[i], truth[i])...)
		result.Doubt(posts[i], "%s, draw %d", name, seed)
	}
	return result, nil
}

// world returns a world in which an expert of the given β demonstrates; its problem takes that β as known.
func (c Config) world(of gridworld.Config, demos int, beta float64, seed uint64) (*worlds.World, error) {
	return worlds.Config{World: of, Trajectories: demos, Length: c.Length, Beta: beta,
		Discount: c.Discount}.NewWorld(seed)
}

// interval returns the rows of a posterior of β.
func interval(row experiment.Row, post irl.Posterior, truth float64) []experiment.Row {
	beta := post.(irl.BetaPosterior).Beta()
	low, high := beta.Interval(Level)
	return row.WithAll(map[string]float64{True: truth, Median: beta.Quantile(0.5), Low: low, High: high,
		Covered: experiment.Indicator(low <= truth && truth <= high)})
}

// compare is the unit of a learner on worlds in which experts of several β demonstrate.
func (r *runner) compare(ctx context.Context, name string, seeds []uint64,
	t *experiment.Stages) (*experiment.Result, error) {
	c := r.config
	type oneCase struct {
		row    experiment.Row
		expert float64
		truth  *metric.Truth
	}
	var cases []oneCase
	var problems []*irl.Problem
	for _, seed := range seeds {
		for _, expert := range c.Experts {
			w, err := c.world(c.World, c.Demos, expert, seed)
			if err != nil {
				return nil, err
			}
			p := w.Problem
			switch name {
			case Wrong:
				p.Beta = c.Wrong
			case Inferred:
				p.Beta, p.BetaLogStd = c.Median, c.LogStd
			case Misled:
				p.Beta, p.BetaLogStd = c.Wrong, c.LogStd
			}
			cases = append(cases, oneCase{experiment.Row{Environment: worlds.WithExpert(c.World, expert), Method: name,
				Demos: c.Demos, Seed: seed}, expert, w.Truth})
			problems = append(problems, p)
		}
	}
	posts, err := experiment.FitStage(ctx, t, name, name, r.matched, problems)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for i, at := range cases {
		gap, err := logProbGap(posts[i], at.truth, at.row)
		if err != nil {
			return nil, fmt.Errorf("%s, world %d: %w", name, at.row.Seed, err)
		}
		if !math.IsNaN(gap) {
			result.Rows = append(result.Rows, at.row.With(LogProbGap, gap))
		}
		if problems[i].InfersBeta() {
			result.Rows = append(result.Rows, interval(at.row, posts[i], at.expert)...)
		}
	}
	return result, nil
}

// learners are the learners of the comparison.
var learners = []string{Known, Wrong, Inferred, Misled}

// logProbGap returns the metric of that name; NaN where every state is visited or terminal.
func logProbGap(post irl.Posterior, truth *metric.Truth, row experiment.Row) (float64, error) {
	p := post.Problem()
	samples, err := worlds.Samples(post, policyDraws, row.Seed, row.Method)
	if err != nil {
		return 0, err
	}
	probs := irl.ColumnMeans(samples.Policies(p.MDP.Actions(), p.Beta))
	visited, _, _ := p.Demonstrated()
	sum, n := 0.0, 0.0
	for s, a := range truth.Best {
		if i := s*p.MDP.Actions() + a; !slices.Contains(visited, s) && !p.MDP.Terminal(s) {
			sum += math.Log(truth.Policy[i]) - math.Log(probs[i])
			n++
		}
	}
	return sum / n, nil
}
