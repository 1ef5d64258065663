package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/sbc"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/verdict"
)

// fitOptions are the flags of fit.
type fitOptions struct {
	problem, method, out string
	samples              int
	seed                 uint64
	lambda               float64
	refine               int // transitions; negative for no refinement
	check                int // simulated problems
	noDet                bool
	noEscalate, strict   bool
	noVerdict            bool
	configFile           string
	backend              string
	asJSON               bool
	memory               command.Memory
	format               string
	summary              bool
}

func newFit() *cobra.Command {
	var o fitOptions
	c := &cobra.Command{
		Use:   "fit --problem FILE.npz --out FILE.npz",
		Short: "Infer the reward of a Markov decision process from demonstrations",
		Long: `fit reads a problem of inverse reinforcement learning (IRL) on any finite Markov decision process (MDP)
from a NumPy archive, and writes the posterior over its rewards to another.

The problem holds the arrays
  transitions [S,A,S]  probabilities of the successors; all-zero rows where the episode ends; or, sparse,
                       transitions_probs [k] and transitions_indices [k,3], the state, action and successor of each,
                       or transitions_probs [k], transitions_indices [k] and transitions_indptr [S·A+1]: data,
                       indices and indptr of SciPy's CSR format, row s·A + a
  prior_mean [S]       prior mean of the rewards, which are paid for acting in a state, also a terminal one, whatever
                       comes next; [S,A] for rewards of state-action pairs
  prior_std            standard deviations of independent rewards, 0 of known ones, same shape or one number; or another
                       prior, see below
  demos [n,2]          integers: state and action of each demonstrated decision; n may be 0
  discount, beta       γ in [0, 1), and the rationality coefficient β > 0 of the expert
  beta_log_std         standard deviation of a log-normal prior over β with the median beta (optional; without it β is
                       known)
  initial [S]          distribution of the first state (optional)
  state_names [S], action_names [A]  texts for tables and netCDF files (optional)

Correlated rewards take one of these priors, which may be singular:
  prior_cov [S,S]      covariance; [S·A,S·A] for rewards of state-action pairs
  prior_low_rank [S,k] factor W of the covariance W Wᵀ + diag(prior_std²); [S,A,k] for pairs; prior_std is optional here
  prior_kernel         kernel of a Gaussian process, a text such as np.array("rbf"): rbf, matern12, matern32, matern52
                       or linear; with prior_lengthscale (one number, or one per feature), prior_std (of the rewards;
                       one number, or one each), state_features [S,d] (reward_features [S,A,d] for pairs), and
                       optionally prior_nugget, an independent variance added to each reward
Standard deviations and β lie between 1e-60 and 1e60.

The answer holds reward_mean and reward_std [S], reward_cov [S,S] (of up to 4,096 rewards), value_mean [S] and
value_std [S] (of the optimal state values, a state's own reward included), action_probs [S,A] (of the expert, averaged
over the posterior), reward_samples [k,S] from samplers or with --samples, and from samplers rhat [S] and ess_bulk [S].
With state-action rewards, [S] is [S,A] for everything about rewards, and reward_cov is [S·A,S·A]. Where β has a prior
there are also beta_mean, beta_std (NaN where a heavy tail leaves it unknown) and, beside reward_samples, beta_samples
[k]. With --format netcdf, or an --out that ends in .nc, the answer is a file for ArviZ (arviz.from_netcdf), with the
groups posterior, prior, sample_stats, log_likelihood, observed_data and constant_data.

Three texts say whether to trust it: verdict ("trust", "refine", "do not use" or "not judged"; from samplers
"converged" or "not converged"), returned (the method whose posterior it is; "refined" if it consists of the samples of
the judging chains) and reason. converged is 1 if the answer can be trusted, else 0.

Methods:
  qvirl-matched  variational (the default): rewards with skewed marginals and Gaussian dependence, matched to a short
                 chain
  qvirl          variational as in the paper, whose objective it trains to convergence; β must be known
  qvirl-refined  samples of a brief training of qvirl, moved by a few Hamiltonian transitions; β must be known
  avril          AVRIL, a variational baseline; β must be known
  reference      Markov chain Monte Carlo, for any prior, discount and β
  valuewalk      ValueWalk, the Markov chain Monte Carlo to which the paper compares
  policywalk     PolicyWalk, an earlier one; β must be known
Posteriors of reference, valuewalk and policywalk are exact if their chains agree and none has missed a mode. Chains of
valuewalk and policywalk start only from draws of the prior. Those of reference also start far from it, and jump between
the modes that maximising the density from many starting points finds.

A variational answer is judged on the problem itself, by chains started from it, from the prior, and from points
far away:
  trust       means, standard deviations, values, policy and importance weights agree: it is returned
  refine      these chains agree with each other but not with it, or it has no density by which to judge its tails
              (with qvirl-refined and --refine): the samples of these chains are returned
  do not use  they do not agree: samples of another run of the reference sampler are returned
Where a variational method does not apply to the problem, as with a singular prior, the reference sampler takes its
place, and the verdict is on its samples, except with --no-escalate or --no-verdict.
The verdict is on the computation. A note says where the model itself may not fit: where the demonstrated actions are
much less, or much more, predictable than those of the model (posterior predictive p-value below 0.01 or above 0.99).
--no-escalate returns the variational answer whatever the verdict; --no-verdict does not judge it. --strict ends
with an error if the answer cannot be trusted, or if --check finds the method miscalibrated.

--refine K first moves samples of a variational posterior by at least K transitions of Hamiltonian Monte Carlo (0: by
none, but each reward is computed exactly from its sample of values). --check N simulates N problems like this one
from its prior, fits each, and tests whether the ranks of the truth are uniform (simulation-based calibration; 100
problems take minutes).`,
		Example: `  qvirl fit --problem corridor.npz --out posterior.npz
  qvirl fit --problem corridor.npz --samples 1000 --strict --out posterior.npz
  qvirl fit --problem corridor.npz --method reference --out posterior.npz
  qvirl fit --problem corridor.npz --method qvirl --no-escalate --out posterior.npz
  qvirl fit --problem corridor.npz --summary --out posterior.nc          # arviz.from_netcdf("posterior.nc")
  qvirl fit --problem corridor.npz --check 100 --out posterior.npz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return fit(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.problem, "problem", "", "file with the problem (required)")
	f.StringVar(&o.method, "method", method.Matched, strings.Join(method.Names(method.Fitters()), ", "))
	f.StringVar(&o.out, "out", "", "file for the answer; an answer that is there is replaced, another file is not "+
		"(required)")
	f.IntVar(&o.samples, "samples", 0, "number of reward samples in the answer (default: all samples of samplers, "+
		"none of others); in netCDF files, draws of the prior, and of answers that are not samples (default: 5000)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	f.Float64Var(&o.lambda, "lambda", avril.Default().Lambda,
		"avril: weight of the constraint that ties rewards to values")
	f.IntVar(&o.refine, "refine", noRefinement, "qvirl-matched and qvirl: move samples by at least so many "+
		"Hamiltonian transitions first")
	f.BoolVar(&o.noDet, "nodet", false, "valuewalk: leave out the log-determinant (not the posterior; for comparison)")
	f.BoolVar(&o.noEscalate, "no-escalate", false, "keep a variational answer that is not trusted")
	f.BoolVar(&o.noVerdict, "no-verdict", false, "return a variational answer without judging it, in a fraction "+
		"of the time")
	f.BoolVar(&o.strict, "strict", false, "end with an error if the answer cannot be trusted, or --check fails; "+
		"it is written all the same")
	f.IntVar(&o.check, "check", 0, "simulate this many problems like this one, at least 20, and test the calibration "+
		"of the method on them")
	f.StringVar(&o.configFile, "config", "", "JSON file with fields that replace those of the method's default "+
		"config; --seed, --lambda, --nodet and --backend, if given, win over it")
	f.StringVar(&o.backend, "backend", "", "qvirl-matched, qvirl and qvirl-refined: "+backendHelp)
	f.BoolVar(&o.asJSON, "json", false, "write progress as JSON to standard output, one event a line")
	f.StringVar(&o.format, "format", "", "npz or netcdf (default: by the ending of --out, .npz or .nc)")
	f.BoolVar(&o.summary, "summary", false, "print a table of the posterior: means, intervals, Monte Carlo errors")
	o.memory.AddTo(c)
	for _, name := range []string{"problem", "out"} {
		c.MarkFlagRequired(name)
	}
	return c
}

// fit does what the command says.
func fit(cmd *cobra.Command, o *fitOptions) error {
	m, err := o.newMethod(cmd.Flags(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	problem, err := o.read(cmd)
	if err != nil {
		return err
	}
	if best := qvirl.DefaultMethod(problem); best != o.method && !cmd.Flags().Changed("method") {
		o.method = best
		if m, err = o.newMethod(cmd.Flags(), cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	need := qvirl.MemoryNeed(problem, o.method) + qvirl.SamplesNeed(problem, o.samples)
	if err := o.memory.Check("fitting it by "+o.method, need); err != nil {
		return err
	}
	if why := qvirl.Unjudgeable(problem); o.strict && why != "" && !o.sampled() {
		return fmt.Errorf("--strict asks for an answer that can be trusted, but %s cannot be judged: %s", o.method, why)
	}
	if o.method == method.QVIRL {
		if note := slow(problem); note != "" {
			fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
		}
	}
	defer command.EndSoon(cmd.Context(), cmd.ErrOrStderr(), func() {}, o.nothingWritten)()
	listener := listen(cmd, o.asJSON)
	meter := progress.NewMeter(listener, o.method)
	result, err := o.infer(cmd.Context(), m, problem, meter.Report)
	if err != nil {
		return o.nothingWritten(err)
	}
	if p, ok := result.Posterior.(interface{ Len() int }); ok && o.samples > 0 {
		if o.format == formatNetCDF && o.samples != p.Len() {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: --samples %d: so many draws are of the prior; the posterior is all "+
				"%d draws of the chains\n", o.samples, p.Len())
		} else if o.samples > p.Len() {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: --samples %d: the posterior consists of %d draws, some of which "+
				"are repeated\n", o.samples, p.Len())
		}
	}
	if err := o.write(result); err != nil {
		return err
	}
	meter.Finish(progress.Event{Out: o.out, Notes: describeFit(result)})
	if err := o.print(cmd, result); err != nil {
		return err
	}
	if note := o.misfit(result.Posterior); note != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: %s\n", o.problem, note)
	}
	if o.check > 0 {
		if err := o.checkCalibration(cmd, m, problem, listener); err != nil {
			return err
		}
	}
	if err := result.Err(); err != nil && o.strict {
		return fmt.Errorf("--strict: %w; the answer is in %s", err, o.out)
	}
	return nil
}

// validate refuses options that are out of range or do not go together, and files that would be overwritten. It sets
// the format where the options do not.
func (o *fitOptions) validate() error {
	if o.strict && o.noVerdict {
		return errors.New("--strict asks for an answer that can be trusted, and --no-verdict for one that is not " +
			"judged: want one of them")
	}
	if o.samples < 0 {
		return fmt.Errorf("--samples %d: want none or more", o.samples)
	}
	if o.check != 0 && o.check < sbc.MinProblems {
		return fmt.Errorf("--check %d: want none or at least %d simulated problems", o.check, sbc.MinProblems)
	}
	if err := atomicfile.Check(o.out, o.problem, o.configFile); err != nil {
		return err
	}
	return check.First(o.setFormat(), check.That(o.format != formatNetCDF || o.samples != 1,
		"--samples 1: want at least 2 in a netCDF file"), o.replaceable())
}

// setFormat sets the format by the ending of the answer's name where the options do not, and refuses a contradiction.
func (o *fitOptions) setFormat() error {
	named := map[string]string{".npz": formatNPZ, ".nc": formatNetCDF}[strings.ToLower(filepath.Ext(o.out))]
	switch {
	case o.format == "" && named == "":
		return fmt.Errorf("--out %s: want a name that ends in .npz or .nc, or --format, which says what is written",
			o.out)
	case o.format == "":
		o.format = named
	case o.format != formatNPZ && o.format != formatNetCDF:
		return fmt.Errorf("--format %q: want %s or %s", o.format, formatNPZ, formatNetCDF)
	case named != "" && named != o.format:
		return fmt.Errorf("--out %s: the ending stands for %s, and --format asks for %s; change one of them", o.out,
			named, o.format)
	}
	return nil
}

// read reads the problem, if there is memory for it, and notes what of the file may have been meant otherwise.
func (o *fitOptions) read(cmd *cobra.Command) (*irl.Problem, error) {
	need, err := problemfile.MemoryNeed(o.problem)
	if err != nil {
		return nil, err
	}
	if err := o.memory.Check("reading "+o.problem, need); err != nil {
		return nil, err
	}
	problem, err := problemfile.Read(o.problem)
	if err != nil {
		return nil, err
	}
	if ignored, err := problemfile.Ignored(o.problem); err == nil && len(ignored) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: unknown or misspelt arrays are ignored: %s; "+
			"see fit --help\n", o.problem, strings.Join(ignored, ", "))
	}
	for _, note := range []string{idle(problem), endless(problem)} {
		if note != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: %s\n", o.problem, note)
		}
	}
	return problem, nil
}

// print says in a line what was written, and in a table what it says, if that is asked for.
func (o *fitOptions) print(cmd *cobra.Command, result *verdict.Result) error {
	w := cmd.OutOrStdout()
	if o.asJSON { // its lines are for programs
		w = cmd.ErrOrStderr()
	} else {
		state := "converged"
		switch {
		case result.Verdict == verdict.NotJudged:
			state = "not judged"
		case !result.Converged && result.Returned == o.method && result.Diagnosis != nil:
			state = "WARNING: NOT TRUSTED: " + result.Reason
		case !result.Converged:
			state = "WARNING: NOT CONVERGED: " + result.Reason
		}
		fmt.Fprintf(w, "%s: %s posterior over %s in %s\n", state, result.Returned,
			progress.Count(result.Posterior.Problem().RewardDim(), "reward", "rewards"), o.out)
	}
	if !o.summary {
		return nil
	}
	table, err := summary.Table(result.Posterior, problemfile.DefaultDraws, o.seed)
	if err != nil {
		return err
	}
	return summary.Print(w, table)
}

// nothingWritten adds to the error of an interrupted fit that there is no answer, and how there is one sooner.
func (o *fitOptions) nothingWritten(err error) error {
	switch {
	case !errors.Is(err, context.Canceled):
		return err
	case o.noVerdict || o.sampled():
		return fmt.Errorf("%w; nothing was written", err)
	}
	return fmt.Errorf("%w; nothing was written; with --no-verdict %s answers sooner, and is not judged", err, o.method)
}

// infer fits the problem: a sampler's answer is what it is; a variational one is judged.
func (o *fitOptions) infer(ctx context.Context, m irl.Method, problem *irl.Problem,
	progress irl.Progress) (*verdict.Result, error) {
	judging := qvirl.Judging{Not: o.noVerdict, Escalate: !o.noEscalate, Seed: o.seed}
	return qvirl.FitBy(ctx, m, o.method, problem, judging, progress)
}

// checkCalibration simulates problems like this one and tests the method that was asked on them.
func (o *fitOptions) checkCalibration(cmd *cobra.Command, m irl.Method, problem *irl.Problem,
	listener func(progress.Event)) error {
	fitOne := func(ctx context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error) {
		r, err := o.infer(ctx, m, p, nil)
		if err != nil {
			return nil, err
		}
		return r.Posterior.Sample(rand.New(rand.NewPCG(seed, 0)), sbc.Draws)
	}
	report, err := sbc.Check(cmd.Context(), problem, fitOne, sbc.Options{Problems: o.check, Seed: o.seed},
		progress.NewMeter(listener, "check").Report)
	if err != nil {
		return fmt.Errorf("--check: %w; the answer is in %s", err, o.out)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "check: %s\n", report)
	if o.strict && !report.OK {
		return fmt.Errorf("--strict: %s; the answer is in %s", report, o.out)
	}
	return nil
}

// listen returns who is told how far a command has come: a person, or a program that reads JSON.
func listen(cmd *cobra.Command, asJSON bool) func(progress.Event) {
	if asJSON {
		return progress.JSON(command.Unwatched(cmd))
	}
	return progress.Terminal(cmd.ErrOrStderr())
}
