// Package worlds holds what several experiments share: the paper's random gridworlds with their demonstrations
// ([World]), the methods that are compared on them by name ([Fitter]), and how their posteriors are measured.
package worlds

import (
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// The methods, by their names. AVRIL at a given λ is its variant (see AVRILName).
const (
	ValueWalk      = method.ValueWalk    // the reference, exact up to Monte Carlo error
	ValueWalkNoDet = "valuewalk-nodet"   // without the log-determinant of the change of variables
	ValueWalkAgain = "valuewalk-again"   // an independent second run of ValueWalk: its distances are Monte Carlo error
	QVIRL          = method.QVIRL        // the paper's objective, run to convergence
	QVIRL20k       = "qvirl-20k"         // the paper's training, 20,000 steps
	QVIRLMaxMean   = "qvirl-maxmean"     // the same with the max-mean approximation
	QVIRLSVI       = "qvirl-svi"         // trained on draws through the exact maximum and likelihood
	QVIRLSVILogEP  = "qvirl-svi-log-e-p" // the same with the log of the expected likelihood, as in the closed form
	QVIRLLogEP     = "qvirl-log-e-p"     // the paper's divergence with the likelihood of QVIRLSVILogEP, from draws
	QVIRLELogP     = "qvirl-e-log-p"     // the paper's divergence with the likelihood of QVIRLSVI, from draws
	// warped marginals, matched to a short walk from the paper's objective, trained briefly
	QVIRLMatched = method.Matched
	// the paper's objective, trained briefly, and refined by Hamiltonian transitions
	QVIRLRefined = method.Refined
	AVRIL        = method.AVRIL // with the λ that is best on held-out worlds
)

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	// of the random worlds; the prior over rewards is the distribution they are drawn from
	World        gridworld.Config
	Trajectories int     // demonstrations in each world
	Length       int     // steps of each, at most
	Beta         float64 // rationality of the expert
	Discount     float64
	Seeds        []uint64 // of the worlds
	Chunk        int      // worlds to a unit; QVIRL trains the worlds of a unit as one batch
	Methods      []string // beside the two references, ValueWalk and ValueWalkNoDet
	Again        int      // number of worlds, the first ones, on which ValueWalkAgain is run
	Draws        int      // samples of each posterior that does not consist of samples

	HeldOut []uint64  // seeds of the worlds on which λ is chosen
	Lambdas []float64 // the values that it is chosen from
	Lambda  float64   // the one with the smallest W1 on the held-out worlds; the report says if that is not so

	ValueWalk    valuewalk.Config
	QVIRL        tabular.Config
	QVIRL20k     tabular.Config
	QVIRLMaxMean tabular.Config
	// of QVIRLSVILogEP, QVIRLLogEP and QVIRLELogP, too, but for what their names say
	QVIRLSVI   tabular.Config
	QVIRLStart tabular.Config         // of the posterior from which the walks of QVIRLMatched and QVIRLRefined start
	Match      valuewalk.RefineConfig // of QVIRLMatched's walk
	Refine     valuewalk.RefineConfig // of QVIRLRefined's
	AVRIL      avril.Config
}

// Paper returns the config of the full experiment: 100 worlds, seeds 0–99. They were committed before anything
// was tuned; tuning used seeds from 1000 on.
func Paper() Config {
	maxMean := tabular.PaperConfig()
	maxMean.Name, maxMean.Maximum = QVIRLMaxMean, graphs.MaxMean
	return Config{
		World: gridworld.Paper(), Trajectories: 5, Length: 5, Beta: 2, Discount: 0.9,
		Seeds: experiment.Seeds(0, 100), Chunk: 20, Again: 20, Draws: 5000,
		Methods: []string{QVIRL, QVIRL20k, QVIRLMaxMean, QVIRLMatched, QVIRLRefined, AVRIL, "avril-0.17"},
		HeldOut: experiment.Seeds(1000, 10), Lambdas: avril.Lambdas, Lambda: 0.02,
		ValueWalk: valuewalk.Default(), QVIRL: tabular.Default(), QVIRL20k: tabular.PaperConfig(),
		QVIRLMaxMean: maxMean,
		QVIRLSVI:     tabular.MonteCarloConfig(), QVIRLStart: tabular.StartConfig(), Match: matched.Default(),
		Refine: valuewalk.DefaultRefine(),
		AVRIL:  avril.Default(),
	}
}

// Quick returns the config of a run of minutes: four worlds, fewer samples.
func Quick() Config {
	c := Paper()
	c.Seeds, c.Chunk, c.Again, c.Draws = experiment.Seeds(1000, 4), 4, 2, 1000
	c.HeldOut, c.Lambdas = experiment.Seeds(1004, 2), []float64{0, 0.02, 0.1, 0.17, 0.3}
	c.Methods = []string{QVIRL, AVRIL, "avril-0.17"} // in three minutes, on pure Go too
	c.ValueWalk.Samples, c.ValueWalk.MinESS = 2000, 400
	c.Match.Samples, c.Refine.Samples = 3000, 4000
	return c
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	err := check.First(
		check.All("worlds", check.AtLeast(0, "Trajectories Length Again", c.Trajectories, c.Length, c.Again),
			check.That(len(c.Seeds) > 0 && c.Chunk >= 1, "%d seeds in chunks of %d: want at least 1 of each",
				len(c.Seeds), c.Chunk), check.AtLeast(2, "Draws", c.Draws), check.Distinct("Seeds", c.Seeds),
			check.That(len(c.HeldOut) == 0 || len(c.Lambdas) > 0, "held-out worlds without Lambdas to choose from"),
			check.Distinct("HeldOut", c.HeldOut), check.Distinct("Lambdas", c.Lambdas),
			check.Distinct("Methods", c.Methods)), c.World.Validate())
	for _, name := range append([]string{ValueWalk, ValueWalkNoDet, ValueWalkAgain}, c.Methods...) {
		if err == nil {
			_, err = c.Method(name, "")
		}
	}
	return err
}
