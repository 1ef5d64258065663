// Package zoostudy judges methods by the zoo, small problems with exact answers: how far off each method is on each
// problem, and whether it says so.
package zoostudy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/tabular"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/valuewalk"
	"github.com/go-birl/birl/qvirl/verdict"
	"github.com/go-birl/birl/qvirl/zoo"
)

// Name is the experiment's name in result rows. Environments are the names of the problems.
const Name = "zoo"

// The methods, by their names in result rows.
const (
	Fit       = method.Fit       // Matched, judged on the problem, and left for samples where it is not trusted
	Reference = method.Reference // the sampler that judges
	Matched   = method.Matched   // skewed marginals, matched to a short walk
	Paper     = method.QVIRL     // the paper's objective
	ValueWalk = method.ValueWalk
)

// The metrics, which the registry of package metric explains. Errors are those of zoo.Errors; of an answer with numbers
// that are not finite they are +Inf, and of a method that gives none there are none.
const (
	MeanError      = "mean_error"
	StdError       = "std_error"
	ValueMeanError = "value_mean_error"
	ValueStdError  = "value_std_error"
	BetaMeanError  = "beta_mean_error"
	BetaStdError   = "beta_std_error"
	PolicyTV       = "policy_tv"
	Right          = "right"
	Claims         = "claims"
	Failed         = "failed"
	Seconds        = "seconds"
)

// Config determines the rows of the experiment but for the times, up to rounding of the backend.
type Config struct {
	Problems []string // names of cases of the zoo
	Methods  []string
	Draws    int // of a posterior, for what it does not know in closed form

	Verdict   verdict.Config // of Fit, whose method is Matched
	Reference reference.Config
	ValueWalk valuewalk.Config
	Paper     tabular.Config
	Start     tabular.Config         // of the posterior from which Matched's walk starts
	Match     valuewalk.RefineConfig // of that walk
}

// Full returns the config of the full experiment: all problems, and the methods as the command fit has them by default.
func Full() Config {
	c := Config{
		Methods: slices.Clone(methodNames), Draws: 20_000,
		Verdict: verdict.Default(1), Reference: reference.Default(), ValueWalk: valuewalk.Default(),
		Paper: tabular.Default(),
		Start: tabular.StartConfig(), Match: matched.Default(),
	}
	c.Reference.Seed, c.ValueWalk.Seed, c.Paper.Seed, c.Start.Seed, c.Match.Seed = 1, 1, 1, 1, 1
	c.Paper.Name = Paper
	if cases, err := zoo.All(); err == nil { // Validate reports the error
		for _, z := range cases {
			if z.Exact != nil {
				c.Problems = append(c.Problems, z.Name)
			}
		}
	}
	return c
}

// Quick returns the config of a run of a minute or two: a problem of each of ten families, and shorter walks.
func Quick() Config {
	c := Full()
	c.Problems = []string{"corridor", "corridor-ones", "discount-0.9999-corridor", "scales-reversed", "offset-negative",
		"contradictory", "two-states", "pairs-ring", "known-end", "beta-corridor"}
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 2000, 400, 5000
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	_, err := c.cases()
	return check.First(err, check.All("zoostudy", check.That(len(c.Problems) > 0 && len(c.Methods) > 0 && c.Draws >= 2,
		"%d problems, %d methods, Draws = %d: want at least one, one and 2", len(c.Problems), len(c.Methods), c.Draws),
		check.Distinct("Problems", c.Problems),
		check.Each("Methods", c.Methods, func(name string) bool { return slices.Contains(methodNames, name) },
			"different ones of "+strings.Join(methodNames, ", "))), c.Reference.Validate(),
		c.Verdict.Reference.Validate(), c.ValueWalk.Validate(), c.Match.Validate(), c.Start.Validate(),
		c.Paper.Validate())
}

// cases returns the cases of the problems.
func (c Config) cases() ([]zoo.Case, error) {
	all, err := zoo.All()
	if err != nil {
		return nil, err
	}
	out := make([]zoo.Case, len(c.Problems))
	for i, name := range c.Problems {
		j := slices.IndexFunc(all, func(z zoo.Case) bool { return z.Name == name })
		if j < 0 {
			return nil, fmt.Errorf("zoostudy: Problems[%d]: the zoo has no %q", i, name)
		}
		if out[i] = all[j]; out[i].Exact == nil {
			return nil, fmt.Errorf("zoostudy: Problems[%d]: %q has no exact answer", i, name)
		}
	}
	return out, nil
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Small problems with exact answers: which methods are right, and know it (beyond "+
		"the paper)", Quick, Full, Report)
}
