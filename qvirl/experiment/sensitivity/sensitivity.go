// Package sensitivity measures what a wrong rationality coefficient costs QVIRL (App. "Sensitivity of QVIRL to
// Rationality Coefficient β"): experts of several β demonstrate in random gridworlds, and learners assume each of them.
package sensitivity

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/tabular"
)

// Name is the experiment's name in result rows.
const Name = "sensitivity"

// Expert is the demonstrator itself among the methods in result rows. The others are QVIRL in the variant that assumes
// some β. The environment says what the expert's β is (worlds.ExpertOf).
const Expert = "expert"

// The metrics, which the registry of package metric explains.
const (
	ProbGap       = "prob_gap"
	LogProbGap    = "log_prob_gap"
	ProbGapAll    = "prob_gap_all"
	LogProbGapAll = "log_prob_gap_all"
	OptimalProb   = "optimal_prob"
	Converged     = "converged"
)

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	World    gridworld.Config
	Discount float64
	Length   int       // steps of each demonstration, at most
	Demos    []int     // numbers of demonstrations
	Betas    []float64 // of experts and of learners
	Seeds    []uint64  // of the worlds
	Chunk    int       // worlds to a unit; a unit trains Chunk·len(Betas) problems as one batch

	QVIRL tabular.Config
}

// Paper returns the config of the paper's experiment: 30 worlds; 1, 7 and 15 demonstrations. The paper does not give
// its four β "that produced distinct behaviours, ranging from random actions to optimal experts". With ours, the
// expert's probability of the optimal action is 0.28, 0.55, 0.84 and 0.95 (over states of worlds that are not among the
// 30; random is 0.2).
//
// Training stops earlier than by default: what is measured are probabilities, averaged over states and worlds, which a
// tenth of a nat does not move visibly.
func Paper() Config {
	c := Config{
		World: gridworld.Paper(), Discount: 0.9, Length: 5, Demos: []int{1, 7, 15}, Betas: []float64{0.1, 0.5, 2, 10},
		Seeds: experiment.Seeds(0, 30), Chunk: 15, QVIRL: tabular.Default(),
	}
	c.QVIRL.Tolerance = 0.1
	return c
}

// Quick returns the config of a run of a minute: three other worlds of size 5×5.
func Quick() Config {
	c := Paper()
	c.World.Width, c.World.Height = 5, 5
	c.Seeds = experiment.Seeds(1000, 3)
	c.QVIRL.Steps, c.QVIRL.Rounds = 500, 2
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.First(
		check.All("sensitivity", check.That(len(c.Seeds) > 0 && c.Chunk >= 1, "%d seeds in chunks of %d: "+
			"want at least 1 of each", len(c.Seeds), c.Chunk), check.AtLeast(1, "Length", c.Length),
			check.That(len(c.Betas) > 0 && len(c.Demos) > 0, "%d values of β, %d numbers of demonstrations: want at "+
				"least 1 of each", len(c.Betas), len(c.Demos)),
			check.Each("Betas", c.Betas, func(x float64) bool { return x > 0 && !math.IsInf(x, 0) },
				"different positive numbers"),
			check.Each("Demos", c.Demos, func(n int) bool { return n >= 1 }, "different positive numbers"),
			check.Distinct("Seeds", c.Seeds)),
		mdp.CheckDiscount(c.Discount), c.World.Validate(), c.QVIRL.Validate())
}

// Learner returns the name of QVIRL that assumes β.
func Learner(beta float64) string {
	return method.Name(method.QVIRL, fmt.Sprintf("beta=%g", beta))
}

// Units returns the units of the experiment: each learner with each number of demonstrations, on each chunk of worlds.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	m, err := tabular.New(c.QVIRL.On(backendName)) // compiles one program for all units but perhaps the last chunk's
	if err != nil {
		return nil, err
	}
	var units []experiment.Unit
	for _, demos := range c.Demos {
		for _, chunk := range experiment.Chunks(fmt.Sprintf("demos-%02d-worlds", demos), c.Seeds, c.Chunk) {
			for i, learner := range c.Betas {
				units = append(units, experiment.Unit{Name: Learner(learner) + "-" + chunk.Name, Group: chunk.Name,
					Method: method.QVIRL,
					On:     []any{c.World, c.Discount, c.Length, demos, c.Betas, learner, chunk.Seeds, c.QVIRL},
					Owns: func(r experiment.Row) bool {
						return (r.Name() == Learner(learner) || i == 0 && r.Method == Expert) && r.Demos == demos &&
							chunk.Owns(r)
					},
					Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
						return c.unit(ctx, m, demos, chunk.Seeds, learner, t)
					}})
			}
		}
	}
	return units, nil
}

// unit trains a learner on a chunk of worlds with experts of all β. The first learner's rows are those of the experts
// too.
func (c Config) unit(ctx context.Context, m irl.Method, demos int, seeds []uint64, learner float64,
	t *experiment.Stages) (*experiment.Result, error) {
	var experts []float64 // β of each world's
	var grids []*worlds.World
	for _, seed := range seeds {
		for _, expert := range c.Betas {
			w, err := worlds.Config{World: c.World, Trajectories: demos, Length: c.Length, Beta: expert,
				Discount: c.Discount}.NewWorld(seed)
			if err != nil {
				return nil, err
			}
			w.Problem.Beta = learner
			experts, grids = append(experts, expert), append(grids, w)
		}
	}
	posts, err := experiment.FitStage(ctx, t, "qvirl", Learner(learner), m, worlds.Problems(grids))
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for k, post := range posts {
		row := experiment.Row{Environment: worlds.WithExpert(c.World, experts[k]), Demos: demos, Seed: grids[k].Seed}
		result.Rows = append(result.Rows, measure(row, grids[k], learner, post.(*tabular.Gaussian),
			learner == c.Betas[0])...)
	}
	return result, nil
}

// measure returns the rows of a learner's posterior in a world, with those of the expert if they are wanted.
func measure(row experiment.Row, w *worlds.World, learner float64, post *tabular.Gaussian,
	withExpert bool) []experiment.Row {
	var out []experiment.Row
	add := func(name, metric string, value float64) {
		row.Method, row.Variant = method.Split(name)
		out = append(out, row.With(metric, value))
	}
	m := w.Problem.MDP
	visited, _, _ := w.Problem.Demonstrated()
	probs := post.ActionProbs()
	var all, heldOut, allLog, heldOutLog, expert []float64
	for s, a := range w.Truth.Best {
		if m.Terminal(s) {
			continue
		}
		at := s*m.Actions() + a
		gap, logGap := w.Truth.Policy[at]-probs[at], math.Log(w.Truth.Policy[at])-math.Log(probs[at])
		all, allLog, expert = append(all, gap), append(allLog, logGap), append(expert, w.Truth.Policy[at])
		if !slices.Contains(visited, s) {
			heldOut, heldOutLog = append(heldOut, gap), append(heldOutLog, logGap)
		}
	}
	for _, v := range []struct {
		metric string
		values []float64
	}{{ProbGap, heldOut}, {LogProbGap, heldOutLog}, {ProbGapAll, all}, {LogProbGapAll, allLog}} {
		if len(v.values) > 0 {
			add(Learner(learner), v.metric, mean(v.values))
		}
	}
	add(Learner(learner), Converged, experiment.Indicator(post.Converged()))
	if withExpert && len(expert) > 0 {
		add(Expert, OptimalProb, mean(expert))
	}
	return out
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
