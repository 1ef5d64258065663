package singleunknown

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Units returns the single unit of the experiment.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	return []experiment.Unit{{Name: "all", Code: []string{QVIRL, ValueWalk}, On: c,
		Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
			return c.run(ctx, backendName, t)
		}}}, nil
}

// Fits are the posteriors at one standard deviation of the known rewards.
type Fits struct {
	KnownStd   float64
	Problem    *irl.Problem
	Posteriors map[string]irl.Posterior // by method
	Optima     []*tabular.Gaussian      // QVIRL from its usual start, and from each of Config.Starts
}

// Fit fits all methods at each standard deviation of the known rewards. Seconds of each method go to stages.
func (c Config) Fit(ctx context.Context, backendName string, stages *experiment.Stages) ([]*Fits, error) {
	w, err := c.World()
	if err != nil {
		return nil, err
	}
	var fits []*Fits
	var problems []*irl.Problem
	for _, std := range c.KnownStds {
		p := c.Problem(w, std)
		problems = append(problems, p)
		fits = append(fits, &Fits{KnownStd: std, Problem: p, Posteriors: map[string]irl.Posterior{}})
	}
	for _, name := range []string{ValueWalk, ValueWalkNoDet} {
		config := c.ValueWalk
		config.NoDeterminant = name == ValueWalkNoDet
		m, err := valuewalk.New(config)
		if err != nil {
			return nil, err
		}
		posts, err := experiment.FitStage(ctx, stages, name, name, m, problems)
		if err != nil {
			return nil, err
		}
		for i := range posts {
			fits[i].Posteriors[name] = posts[i]
		}
	}
	err = stages.Run(Exact, Exact, func(irl.Progress) error {
		return experiment.Parallel(ctx, len(fits), nil, func(i int) (err error) {
			w, err := NewWeighted(problems[i], c.Draws, c.Seed)
			fits[i].Posteriors[Exact] = w
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return fits, stages.Run(QVIRL, QVIRL, func(progress irl.Progress) error {
		return c.optima(ctx, backendName, fits, progress)
	})
}

// optima trains QVIRL from all starts, as one batch. A start at some r is the posterior under a prior that is narrow
// there.
func (c Config) optima(ctx context.Context, backendName string, fits []*Fits, progress irl.Progress) error {
	m, err := tabular.New(c.QVIRL.On(backendName))
	if err != nil {
		return err
	}
	var problems, narrow []*irl.Problem
	for _, f := range fits {
		problems, narrow = append(problems, f.Problem), append(narrow, f.Problem)
		for _, r := range c.Starts {
			p := *f.Problem
			p.Prior.Mean, p.Prior.Std = slices.Clone(p.Prior.Mean), slices.Clone(p.Prior.Std)
			p.Prior.Mean[c.Tile], p.Prior.Std[c.Tile] = r, c.StartSpread
			problems, narrow = append(problems, f.Problem), append(narrow, &p)
		}
	}
	posts, err := m.Fit(ctx, narrow, progress)
	if err != nil {
		return err
	}
	starts := make([]*tabular.Gaussian, len(posts))
	for i, post := range posts {
		starts[i] = post.(*tabular.Gaussian)
	}
	if posts, err = m.FitFrom(ctx, problems, starts, progress); err != nil {
		return err
	}
	each := 1 + len(c.Starts)
	for i, f := range fits {
		best := math.Inf(-1)
		for k, post := range posts[i*each : (i+1)*each] {
			g := post.(*tabular.Gaussian)
			f.Optima = append(f.Optima, g)
			if elbo := g.ELBO(); elbo > best {
				best = elbo
				f.Posteriors[QVIRLHighest] = g
			}
			if k > 0 && c.Starts[k-1] == c.Between {
				f.Posteriors[QVIRLBetween] = g
			}
		}
		f.Posteriors[QVIRL] = f.Optima[0]
	}
	return nil
}

func (c Config) run(ctx context.Context, backendName string, stages *experiment.Stages) (*experiment.Result, error) {
	fits, err := c.Fit(ctx, backendName, stages)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for _, f := range fits {
		for _, name := range tableMethods {
			post := f.Posteriors[name]
			if post == nil {
				continue
			}
			values, err := c.measure(post)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			result.Doubt(post, "%s, %s", environment(f.KnownStd), name)
			row := experiment.Row{Environment: environment(f.KnownStd), Method: name, Demos: 1, Seed: c.Seed}
			result.Rows = append(result.Rows, row.WithAll(values)...)
		}
	}
	return result, nil
}

// measure returns the metrics of a posterior.
func (c Config) measure(post irl.Posterior) (map[string]float64, error) {
	plain, err := Decide(post, 0)
	if err != nil {
		return nil, err
	}
	cautious, err := Decide(post, c.Caution)
	if err != nil {
		return nil, err
	}
	lowered := slices.Clone(plain.Reward)
	lowered[c.Tile] = cautious.Reward[c.Tile]
	tile, err := decide(post.Problem(), lowered)
	if err != nil {
		return nil, err
	}
	r := post.Reward(c.Tile)
	out := irl.Computation(post, ELBO, ESS)
	maps.Copy(out, map[string]float64{
		RewardMean: r.Mean(), RewardStd: r.StdDev(),
		QThrough: plain.Through(c.Cell), QAround: plain.Around(c.Cell),
		Through:         experiment.Indicator(plain.Through(c.Cell) > plain.Around(c.Cell)),
		CautiousThrough: cautious.Through(c.Cell), CautiousAround: cautious.Around(c.Cell),
		ThroughCautious: experiment.Indicator(cautious.Through(c.Cell) > cautious.Around(c.Cell)),
		OnlyTile:        tile.Through(c.Cell),
	})
	if chains, ok := post.(mcmc.Sampled); ok { // of rewards alone
		d := chains.Sampling().Reward
		if i, _ := d.Worst(); !math.IsNaN(d.RHat[i]) {
			out[RHatMax] = d.RHat[i]
		}
	}
	return out, nil
}
