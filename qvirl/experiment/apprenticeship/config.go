// Package apprenticeship is the paper's comparison of policies that are learnt from reward posteriors on random
// gridworlds (Table 2): for each method the policy that maximises the posterior mean of the return, and the one that
// maximises its CVaR.
package apprenticeship

import (
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/graphs"
)

// Name is the experiment's name in result rows.
const Name = "apprenticeship"

// The methods in result rows are the policies: the name of a posterior's method with one of the suffixes, as in
// "qvirl-cvar", and two policies that need no posterior.
const (
	MeanSuffix = "-mean" // maximises the posterior mean of the return
	CVaRSuffix = "-cvar" // maximises the CVaR of the return over the posterior
	// ExactSuffix marks another CVaR policy of QVIRL. CVaRSuffix is for its Gaussian over rewards; this one is for the
	// rewards that belong to samples of its values, without the approximation of the maximum.
	ExactSuffix = "-exactmax-cvar"
	Optimal     = "optimal"
	Random      = "random" // every action with the same probability
)

// The metrics, which the registry of package metric explains.
const (
	ReturnTrue        = "return_true"
	ReturnMean        = "return_posterior_mean"
	ReturnCVaR        = "return_posterior_cvar"
	ReturnStd         = "return_posterior_std"
	ReturnMeanHeldOut = "return_posterior_mean_heldout"
	ReturnCVaRHeldOut = "return_posterior_cvar_heldout"
	ReturnStdHeldOut  = "return_posterior_std_heldout"
	OwnMean           = "return_own_mean"
	OwnCVaR           = "return_own_cvar"
	OwnStd            = "return_own_std"
	Gap               = "cvar_gap"
)

// Config determines the rows of the experiment, up to rounding of the backend.
type Config struct {
	// Posteriors says which worlds there are, which methods are fitted to them beside ValueWalk, and how. Its worlds
	// for the choice of λ are not used.
	Posteriors worlds.Config
	Level      float64 // of the CVaR
	HeldOut    bool    // whether ValueWalk is run twice, for the metrics on held-out samples
}

// Paper returns the config of the full experiment, on the same 100 worlds as the comparison of posteriors.
func Paper() Config { return from(worlds.Paper()) }

// Quick returns the config of a run of about a minute: four worlds, fewer samples.
func Quick() Config { return from(worlds.Quick()) }

func from(c worlds.Config) Config {
	// What makes the closed form's apprentice cautious: QVIRLLogEP has its likelihood from draws, QVIRLELogP also E log
	// p in place of log E p, QVIRLSVILogEP and QVIRLSVI the same with the exact maximum and divergence, and
	// QVIRLMaxMean the paper's other approximation of the maximum.
	c.Methods = []string{worlds.QVIRL, worlds.QVIRLMaxMean, worlds.QVIRLLogEP, worlds.QVIRLELogP,
		worlds.QVIRLSVILogEP, worlds.QVIRLSVI, worlds.QVIRLMatched, worlds.QVIRLRefined, worlds.AVRIL, "avril-0.17"}
	c.QVIRLMaxMean = c.QVIRL // trained to convergence, unlike that of Table 1
	c.QVIRLMaxMean.Maximum = graphs.MaxMean
	// Half of the time of the default, and hardly other policies: on 12 worlds with seeds from 1000 QVIRLSVI's CVaR
	// policy has a CVaR of 78.2 with either and a true return of 80.6 in place of 80.9.
	c.QVIRLSVI.LearningRate, c.QVIRLSVI.Steps, c.QVIRLSVI.Rounds, c.QVIRLSVI.Tolerance = 0.02, 1500, 4, 0.3
	c.HeldOut, c.Lambdas, c.Again = nil, nil, 0
	return Config{Posteriors: c, Level: 0.1, HeldOut: true}
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	return check.First(
		check.All("apprenticeship", check.That(c.Level > 0 && c.Level <= 1, "Level = %g is outside (0, 1]",
			c.Level)), c.Posteriors.Validate())
}

// Definition is the experiment as the command lists it.
func Definition() experiment.Definition {
	return experiment.Define(Name, "Risk-neutral and risk-averse apprentices of ValueWalk, QVIRL and AVRIL on random "+
		"8×8 gridworlds (Table 2)", Quick, Paper, Report)
}
