// Package refinement measures what exactness costs, beyond the paper: which approximate posteriors are how close to the
// exact one, how far Hamiltonian transitions bring them, and whether a diagnosis without the exact posterior says the
// right thing.
package refinement

import (
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/tabular"
)

// Name is the experiment's name in result rows.
const Name = "refinement"

// The approximate posteriors, by their names in result rows.
const (
	Paper       = worlds.QVIRL  // the paper's closed form, run to convergence
	Start       = "qvirl-start" // the same, trained briefly
	SVI         = worlds.QVIRLSVI
	LogExpected = worlds.QVIRLSVILogEP
	Values      = "matched-values"    // a Gaussian over optimal values with the moments of a short walk
	Rewards     = "matched-rewards"   // a Gaussian over rewards with the moments of the same walk
	Matched     = worlds.QVIRLMatched // rewards with sinh-arcsinh marginals, matched to the same walk
	Refined     = worlds.QVIRLRefined

	// What families could reach at best: matched to ValueWalk's samples. They are no methods.
	ExactValues  = "limit-values"  // a Gaussian over optimal values
	ExactRewards = "limit-rewards" // a Gaussian over rewards
	ExactWarped  = "limit-warped"  // rewards with sinh-arcsinh marginals
)

// The metrics beside those of package worlds and the constants of package metric, whose registry says what each is.
const (
	Error        = "error"
	RefinedError = "refined_error"
	RefinedTV    = "refined_tv"
	Verdict      = "verdict"
	Right        = "right"
	KHat         = "khat"
)

// maxTransitions bounds the number of transitions.
const maxTransitions = 1000

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	// Posteriors says which worlds there are, and how methods are fitted. Its other fields are not used.
	Posteriors  worlds.Config
	Families    []string // approximate posteriors to compare
	Transitions []int    // refinements of Paper and of Matched by so many transitions
	Walkers     int      // of each, with one sample of each walker
	Judged      []uint64 // seeds of the worlds on which diagnoses are compared with the truth
	Suspects    []string // the approximate posteriors that are diagnosed
}

// PaperScale returns the config of the full experiment: 8 worlds for the comparison, which choices were made on, and 30
// others for the diagnoses, on which nothing was chosen.
func PaperScale() Config {
	c := Config{
		Posteriors: worlds.Paper(),
		Families: []string{Paper, Start, SVI, LogExpected, Values, Rewards, Matched, Refined, ExactValues,
			ExactRewards, ExactWarped},
		Transitions: []int{0, 1, 2, 4, 8, 16}, Walkers: 1000,
		Judged: experiment.Seeds(2000, 30), Suspects: []string{Paper, Start, Matched},
	}
	c.Posteriors.Seeds, c.Posteriors.Chunk, c.Posteriors.Draws = experiment.Seeds(1000, 8), 4, 1000
	c.Posteriors.HeldOut, c.Posteriors.Lambdas, c.Posteriors.Methods = nil, nil, nil
	return c
}

// Quick returns the config of a run of minutes: two worlds of size 5×5 for everything.
func Quick() Config {
	c := PaperScale()
	c.Posteriors.World.Width, c.Posteriors.World.Height = 5, 5
	c.Posteriors.Seeds, c.Posteriors.Draws = experiment.Seeds(1000, 2), 500
	c.Posteriors.ValueWalk.Samples, c.Posteriors.ValueWalk.MinESS = 2000, 400
	c.Families, c.Suspects = []string{Paper, Start, Values, Matched, Refined, ExactWarped}, []string{Start, Matched}
	c.Transitions, c.Walkers, c.Judged = []int{0, 2, 8}, 500, experiment.Seeds(2000, 2)
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	err := check.All("refinement",
		check.That(c.Walkers >= 2 || len(c.Transitions) == 0, "Walkers = %d, want at least 2", c.Walkers),
		check.Each("Transitions", c.Transitions, func(k int) bool { return k >= 0 && k < maxTransitions },
			fmt.Sprintf("different numbers in 0..%d", maxTransitions-1)),
		check.Distinct("Families", c.Families), check.Distinct("Suspects", c.Suspects),
		check.Distinct("Judged", c.Judged))
	for _, name := range slices.Concat(c.Families, c.Suspects) {
		if err == nil {
			_, err = c.settings(name)
		}
	}
	return check.First(err, c.Posteriors.Validate())
}

// turned returns the name of a posterior that is refined by k transitions.
func turned(name string, k int) string { return method.Name(name, fmt.Sprintf("transitions=%02d", k)) }

// settings returns what an approximate posterior depends on beside the problem; ValueWalk's are those of its samples.
func (c Config) settings(name string) (any, error) {
	switch name {
	case Paper, SVI, LogExpected, Matched, Refined, worlds.ValueWalk:
		return c.Posteriors.Settings(name)
	case Start:
		return c.Posteriors.QVIRLStart, nil
	case Values, Rewards:
		return []any{c.Posteriors.QVIRLStart, c.Posteriors.Match}, nil
	case ExactValues, ExactRewards, ExactWarped:
		return c.Posteriors.Settings(worlds.ValueWalk)
	}
	return nil, fmt.Errorf("refinement: there is no approximate posterior %q", name)
}

// method returns the method that gives a posterior.
func (c Config) method(name, backendName string) (irl.Method, error) {
	if !slices.Contains([]string{Start, Values, Rewards}, name) {
		return c.Posteriors.Method(name, backendName)
	}
	config := c.Posteriors.QVIRLStart
	config.Name, config.Backend = name, backendName
	m, err := tabular.New(config)
	if err != nil {
		return nil, err
	}
	switch name {
	case Values:
		return matched.New(name, m, matched.GaussianValues, c.Posteriors.Match)
	case Rewards:
		return matched.New(name, m, matched.GaussianRewards, c.Posteriors.Match)
	}
	return m, nil
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Families of approximate posteriors, their refinement step by step, and whether "+
		"their diagnosis is right (beyond the paper)", Quick, PaperScale, Report)
}
