// Package obstacle is the paper's 3×3 gridworld with an obstacle (App. "3x3 Gridworld and a Comparison to AVRIL"): its
// demonstrations, the methods that are compared on it, and how their Markov chains are judged.
package obstacle

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Environment is the name of the gridworld in result rows.
const Environment = "gridworld-3x3-obstacle"

// The methods, by their names in result rows. AVRIL at a given λ, and perhaps at another learning rate than the
// experiment's, is its variant.
const (
	ValueWalk  = "valuewalk"
	PolicyWalk = policywalk.Name
	QVIRL      = "qvirl"
)

// States are the names of the cells, row by row.
var States = []string{"top left", "top", "goal", "left", "centre", "right", "bottom left", "bottom", "bottom right"}

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	Drawing      string  // map, as gridworld.Parse reads it
	Slip         float64 // probability that a random action is executed; 0.1
	PriorMean    float64 // 0
	PriorStd     float64 // 66
	Discount     float64 // 0.9
	Beta         float64 // 2
	Trajectories []Path  // the demonstrations
	Lambdas      []float64
	Sweep        []float64 `json:",omitempty"` // more values of λ, for the curve of standard deviations over λ
	Rates        []float64 `json:",omitempty"` // other learning rates of AVRIL, at the last two of Lambdas
	Seed         uint64

	ValueWalk  valuewalk.Config
	PolicyWalk policywalk.Config
	QVIRL      tabular.Config
	AVRIL      avril.Config
}

// Path is a trajectory: the states visited, and the actions intended there.
type Path struct{ States, Actions []int }

// Paper returns the config of the paper's experiment. Read as the standard deviation, the 66 of the prior "N(0,
// 66)" fits the standard deviations of 40 to 64 that the paper reports for the posterior. The discount and β are those
// of its other gridworlds. The demonstrations are the figure's: five ways along left, centre and right to the goal, on
// one of which the expert slips from the right cell to the bottom right one. What is done in the goal changes nothing
// and is left out.
func Paper() Config {
	direct := Path{[]int{0, 3, 4, 5}, []int{gridworld.Down, gridworld.Right, gridworld.Right, gridworld.Up}}
	slipped := Path{[]int{0, 3, 4, 5, 8, 5}, []int{gridworld.Down, gridworld.Right, gridworld.Right, gridworld.Up,
		gridworld.Up, gridworld.Up}}
	c := Config{
		Drawing: "0S -30 100T\n0 0 0\n0 0 0", Slip: 0.1, PriorStd: 66, Discount: 0.9, Beta: 2,
		Trajectories: []Path{direct, direct, direct, direct, slipped},
		Lambdas:      []float64{0.1, 0.2, 0.5},
		Sweep:        []float64{0.01, 0.05, 0.13, 0.15, 0.17, 0.18, 0.19, 0.195, 0.21, 0.25, 0.3},
		Rates:        []float64{0.01, 0.001, 0.0003},
		ValueWalk:    valuewalk.Default(), PolicyWalk: policywalk.Default(), QVIRL: tabular.Default(),
		AVRIL: avril.Default(),
	}
	c.ValueWalk.Samples, c.PolicyWalk.Samples = 2000, 2000
	// λ = 0.2 is one over the number of actions, where a collapse has no bound but takes for ever: small steps, and
	// many.
	c.AVRIL.LearningRate, c.AVRIL.Steps, c.AVRIL.Tolerance = 1e-4, 200_000, 0
	return c
}

// Quick returns the same experiment with shorter computations.
func Quick() Config {
	c := Paper()
	c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 400, 10_000
	c.PolicyWalk.MinESS, c.PolicyWalk.MaxIterations = 400, 20_000
	return c
}

// World returns the gridworld.
func (c Config) World() (*gridworld.World, error) { return gridworld.Parse(c.Drawing, c.Slip) }

// Demos returns the demonstrations.
func (c Config) Demos() []mdp.Trajectory {
	out := make([]mdp.Trajectory, len(c.Trajectories))
	for i, path := range c.Trajectories {
		for k, s := range path.States {
			out[i] = append(out[i], mdp.Step{State: s, Action: path.Actions[k]})
		}
	}
	return out
}

// Problem returns what a method sees.
func (c Config) Problem(w *gridworld.World) *irl.Problem {
	return &irl.Problem{
		MDP: w.MDP, Prior: irl.IndependentPrior(len(w.Reward), c.PriorMean, c.PriorStd), Discount: c.Discount,
		Beta:  c.Beta,
		Demos: mdp.Flatten(c.Demos()),
	}
}

// Fit returns a method's posterior of the problem.
func (c Config) Fit(ctx context.Context, m irl.Method, progress irl.Progress) (irl.Posterior, error) {
	w, err := c.World()
	if err != nil {
		return nil, err
	}
	posts, err := m.Fit(ctx, []*irl.Problem{c.Problem(w)}, progress)
	if err != nil {
		return nil, err
	}
	return posts[0], nil
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	w, err := c.World()
	if err != nil {
		return err
	}
	err = check.All("obstacle", check.That(len(w.Reward) == len(States), "Drawing has %d cells, want %d",
		len(w.Reward), len(States)), check.Distinct("Lambdas", c.Lambdas))
	for i, path := range c.Trajectories {
		err = check.First(err, check.All("obstacle", check.That(len(path.States) == len(path.Actions),
			"Trajectories[%d] has %d states and %d actions", i, len(path.States), len(path.Actions))))
	}
	if err != nil {
		return err
	}
	for _, a := range c.AVRILs() {
		err = check.First(err, a.Config.Validate())
	}
	return check.First(
		c.Problem(w).Validate(), err, c.ValueWalk.Validate(), c.PolicyWalk.Validate(), c.QVIRL.Validate())
}

// setting is AVRIL with one λ and learning rate.
type setting struct {
	Config avril.Config
	Brief  bool // only its rewards' means and standard deviations make rows
}

// AVRILs returns AVRIL's settings: those of Lambdas, of Sweep and of Rates, each once.
func (c Config) AVRILs() []setting {
	var out []setting
	add := func(lambda, rate float64, name string, brief bool) {
		if slices.ContainsFunc(out, func(s setting) bool {
			return s.Config.Lambda == lambda && s.Config.LearningRate == rate
		}) {
			return
		}
		config := c.AVRIL
		config.Lambda, config.LearningRate, config.Label = lambda, rate, name
		out = append(out, setting{config, brief})
	}
	for _, lambda := range c.Lambdas {
		add(lambda, c.AVRIL.LearningRate, AVRIL(lambda), false)
	}
	for _, lambda := range c.Sweep {
		add(lambda, c.AVRIL.LearningRate, AVRIL(lambda), true)
	}
	for _, lambda := range c.Lambdas[max(0, len(c.Lambdas)-2):] {
		for _, rate := range c.Rates {
			add(lambda, rate, AtRate(lambda, rate), true)
		}
	}
	return out
}

// AVRIL returns the name of AVRIL at the given λ.
func AVRIL(lambda float64) string { return method.Name(method.AVRIL, fmt.Sprintf("lambda=%g", lambda)) }

// AtRate returns the name of AVRIL at the given λ and learning rate.
func AtRate(lambda, rate float64) string {
	return method.Name(method.AVRIL, fmt.Sprintf("lambda=%g,rate=%g", lambda, rate))
}

// SettingOf returns the λ of AVRIL's variant of a name, and the learning rate if it sets one, or else 0.
func SettingOf(name string) (lambda, rate float64, ok bool) {
	row := experiment.RowOf(name, "", 0, 0)
	lambda, ok = row.Setting("lambda")
	rate, _ = row.Setting("rate")
	return lambda, rate, ok && row.Method == method.AVRIL
}
