// Package activelearning is the paper's experiment on active learning in gridworlds (Figure 5a): which
// posterior chooses the demonstrations that teach an apprentice fastest.
package activelearning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Name is the experiment's name in result rows.
const Name = "active-gridworld"

// The methods, by their names in result rows: a posterior (valuewalk, qvirl, qvirl-svi, qvirl-matched, qvirl-refined,
// or avril- and the number λ), which is asked by RewardEIG unless a suffix says otherwise.
const (
	ValueWalk = "valuewalk"
	QVIRL     = "qvirl"
	QVIRLSVI  = worlds.QVIRLSVI // trained on draws through the exact maximum and likelihood
	// warped marginals, matched to a short walk from the paper's objective, trained briefly
	QVIRLMatched = worlds.QVIRLMatched
	// the paper's objective, trained briefly, and refined by Hamiltonian transitions
	QVIRLRefined   = worlds.QVIRLRefined
	QVIRLActiveVaR = QVIRL + varSuffix
	QVIRLRandom    = QVIRL + randomSuffix
	varSuffix      = "-activevar"
	randomSuffix   = "-random"
)

// The metrics, which the registry of package metric explains. The column demos of their rows is the number of queries
// that have been answered.
const (
	ReturnTrue    = "return_true"
	RewardEntropy = "reward_entropy"
	W1            = "w1"
	PolicyTV      = "policy_tv"
	Query         = "query"
	QueryScore    = "query_score"
)

// courseMetric is the return of one of several courses in a world, course ≥ 1; ReturnTrue is their mean.
func courseMetric(course int) string { return fmt.Sprintf("%s_course_%d", ReturnTrue, course) }

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	World    gridworld.Config // of the random worlds; the prior over rewards is the distribution they are drawn from
	Initial  int              // demonstrations to start from, from drawn initial states
	Queries  int              // demonstrations to ask for; every state may be asked for
	Length   int              // steps of each demonstration, at most
	Beta     float64          // rationality of the expert
	Discount float64
	Seeds    []uint64 // of the runs, each in a world of its own
	Chunk    int      // runs to a unit; QVIRL trains the runs of a unit as one batch
	Methods  []string
	// Courses is how often a method goes through all queries in each world, with random numbers of its own each time;
	// once if it is not listed (a --config adds to the list, and null empties it). The chance in the samples of a
	// posterior decides between questions that promise nearly the same, and so what is learnt: return and entropy of a
	// world are means over its courses. All else is of the first.
	Courses map[string]int

	Samples           int     // posterior samples by which queries are chosen
	Trajectories      int     // that RewardEIG simulates from each candidate
	Finalists         int     // candidates that it scores again
	FinalTrajectories int     // and by how many simulations
	Level             float64 // of ActiveVaR
	QuerySeed         uint64  // added to each run's seed, for these samples and simulations

	QVIRL    tabular.Config // trained on after each query, until it has converged again
	QVIRLSVI tabular.Config // likewise
	// of the posterior from which the walks of QVIRLMatched and QVIRLRefined start, afresh after each query
	QVIRLStart tabular.Config
	Match      valuewalk.RefineConfig // of QVIRLMatched's walk
	Refine     valuewalk.RefineConfig // of QVIRLRefined's
	AVRIL      avril.Config
	ValueWalk  valuewalk.Config

	ReferenceAt []int            // numbers of queries after which W1 and PolicyTV are taken
	Reference   valuewalk.Config // of the posterior that they are taken to
}

// Paper returns the config of the full experiment: 16 runs, seeds 0–15. They were committed before anything was tuned;
// tuning used seeds from 1000 on.
func Paper() Config {
	c := Config{
		World: gridworld.Paper(), Initial: 1, Queries: 30, Length: 5, Beta: 2, Discount: 0.9, Chunk: 16,
		Methods: []string{QVIRL, QVIRLActiveVaR, QVIRLRandom, QVIRLSVI, QVIRLRefined, "avril-0.02", "avril-0.17",
			ValueWalk},
		// Three of each are what the hour that all experiments on gridworlds may take has room for.
		Courses: map[string]int{QVIRLRefined: 3, ValueWalk: 3},
		// two runs of ValueWalk mostly choose the same state (worlds with seeds from 1000)
		Samples: 1000, Trajectories: 50, Finalists: 8, FinalTrajectories: 500, Level: 0.95,
		QVIRL: tabular.Default(), QVIRLSVI: tabular.MonteCarloConfig(), QVIRLStart: tabular.StartConfig(),
		Match: matched.Default(), Refine: valuewalk.DefaultRefine(),
		AVRIL: avril.Default(), ValueWalk: valuewalk.Default(),
		ReferenceAt: []int{1, 10, 30},
	}
	c.Seeds = experiment.Seeds(0, 16)
	// short rounds: most refits have a short way to go
	c.QVIRL.Steps, c.QVIRL.LearningRate, c.QVIRL.Rounds = 400, 0.02, 12
	// refits that start warm are about as good in a quarter of the time (worlds with seeds from 1000)
	c.QVIRLSVI.Steps, c.QVIRLSVI.Tolerance = 600, 0.5
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxRHat = 1000, 400, 1.02
	c.Reference = c.ValueWalk
	c.Reference.Samples, c.Reference.Seed = 2000, 1 // another seed: ValueWalk's own distance is Monte Carlo error
	// two samplers choose the same state as often as with twice the effective samples (worlds with seeds from 1000)
	c.ValueWalk.MinESS, c.ValueWalk.Warmup, c.ValueWalk.Trajectory = 200, 300, 1.5
	c.Match.Samples = 3000
	c.Refine.Samples, c.Refine.Kept = 2500, 25
	return c
}

// Quick returns the config of a run of a minute or two: four runs in smaller worlds, ten queries.
func Quick() Config {
	c := Paper()
	c.World.Width, c.World.Height = 5, 5
	c.Seeds, c.Chunk, c.Queries, c.ReferenceAt = []uint64{1000, 1001, 1002, 1003}, 4, 10, []int{0, 10}
	c.Methods, c.Courses = []string{QVIRL, QVIRLRandom, "avril-0.17", ValueWalk}, nil
	c.QVIRL.Steps, c.QVIRL.Rounds = 200, 4
	c.ValueWalk.Samples = 500
	c.Samples, c.Trajectories, c.FinalTrajectories = 500, 20, 100
	c.Reference.Samples = 1000
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	rewards := c.World.Width * c.World.Height
	err := check.All("activelearning", check.AtLeast(0, "Initial Queries", c.Initial, c.Queries),
		check.AtLeast(1, "Length", c.Length), check.That(len(c.Seeds) > 0 && c.Chunk >= 1, "%d seeds in chunks of %d: "+
			"want at least 1 of each", len(c.Seeds), c.Chunk), check.That(len(c.Methods) > 0, "no methods"),
		check.That(c.Samples > rewards, "Samples = %d, want more than the %d rewards, whose entropy is taken from them",
			c.Samples, rewards), check.Distinct("Seeds", c.Seeds), check.Distinct("Methods", c.Methods),
		check.Distinct("ReferenceAt", c.ReferenceAt))
	for _, k := range c.ReferenceAt {
		err = check.First(err, check.All("activelearning", check.That(k >= 0 && k <= c.Queries, "ReferenceAt %d: want "+
			"numbers of queries in 0..%d", c.ReferenceAt, c.Queries)))
	}
	if err = check.First(err, c.World.Validate(), c.Reference.Validate()); err != nil {
		return err
	}
	for method, n := range c.Courses {
		err := check.That(n >= 1, "Courses[%q] = %d, want at least 1", method, n)
		if err == nil {
			_, err = c.Fitter(method, "")
		}
		if err != nil {
			return fmt.Errorf("activelearning: Courses: %w", err)
		}
	}
	if _, err := c.NewWorld(c.Seeds[0]); err != nil {
		return err
	}
	for _, name := range c.Methods {
		fit, err := c.Fitter(name, "")
		if err != nil {
			return err
		}
		if err := c.Loop(name, fit).Validate(); err != nil {
			return err
		}
	}
	return nil
}

// NewWorld returns the world of a seed, with the demonstrations to start from.
func (c Config) NewWorld(seed uint64) (*worlds.World, error) {
	return worlds.Config{
		World: c.World, Trajectories: c.Initial, Length: c.Length, Beta: c.Beta, Discount: c.Discount,
	}.NewWorld(seed)
}

// Loop returns the loop of a method by its name in result rows, with the fitter that Fitter gives for it.
func (c Config) Loop(method string, fit active.Fitter) *active.Loop {
	l := &active.Loop{Fit: fit, Queries: c.Queries, Samples: c.Samples}
	switch {
	case strings.HasSuffix(method, varSuffix):
		l.Acquisition = active.ActiveVaR{Level: c.Level}
	case strings.HasSuffix(method, randomSuffix):
		l.Acquisition = active.Random{}
	default:
		l.Acquisition = active.RewardEIG{Length: c.Length, Trajectories: c.Trajectories, Finalists: c.Finalists,
			FinalTrajectories: c.FinalTrajectories}
	}
	return l
}

// posterior returns a method's name without its suffix. Methods of one posterior share its fitter, so that QVIRL
// compiles its program once.
func posterior(method string) string {
	return strings.TrimSuffix(strings.TrimSuffix(method, varSuffix), randomSuffix)
}

// courses returns how often a method goes through all queries in each world.
func (c Config) courses(method string) int { return max(1, c.Courses[method]) }

// courseStride lies between the seeds of one course and the next.
const courseStride = 1000

// course returns the config with the seeds of a course, from 0 on. The reference and the worlds remain what they are.
func (c Config) course(i int) Config {
	for _, seed := range []*uint64{&c.QVIRL.Seed, &c.QVIRLSVI.Seed, &c.QVIRLStart.Seed, &c.Match.Seed, &c.Refine.Seed,
		&c.AVRIL.Seed, &c.ValueWalk.Seed, &c.QuerySeed} {
		*seed += courseStride * uint64(i)
	}
	return c
}

// posteriors returns the config of the methods of package worlds.
func (c Config) posteriors() worlds.Config {
	return worlds.Config{QVIRL: c.QVIRL, QVIRLSVI: c.QVIRLSVI, QVIRLStart: c.QVIRLStart, Match: c.Match,
		Refine: c.Refine, AVRIL: c.AVRIL, ValueWalk: c.ValueWalk}
}

// settings returns what a method's posterior depends on beside its problem.
func (c Config) settings(of string) (any, error) {
	name, variant := method.Split(posterior(of))
	if !(name == method.AVRIL && variant != "") &&
		!slices.Contains([]string{QVIRL, QVIRLSVI, QVIRLMatched, QVIRLRefined, ValueWalk}, posterior(of)) {
		return nil, fmt.Errorf("activelearning: there is no method %q", of)
	}
	return c.posteriors().Settings(posterior(of))
}

// Fitter returns what fits a method's posteriors. backendName is what QVIRL computes on, as backend.Get takes it.
func (c Config) Fitter(method, backendName string) (active.Fitter, error) {
	if _, err := c.settings(method); err != nil {
		return nil, err
	}
	m, err := c.posteriors().Method(posterior(method), backendName)
	if err != nil {
		return nil, err
	}
	return active.Fit(m), nil
}

// AtScale returns the config of the scale "paper", or else of "quick".
func AtScale(scale string) (Config, error) {
	if scale == "paper" {
		return Paper(), nil
	}
	return Quick(), nil
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Active learning with QVIRL, AVRIL and ValueWalk on random 8×8 gridworlds "+
		"(Figure 5a)", Quick, Paper, Report)
}
