package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/overlay"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// answerDraws is the number of draws that averages in an answer are taken over where no closed form is known.
const answerDraws = 5000

// fitOptions are the flags of fit.
type fitOptions struct {
	problem, method, out string
	samples              int
	seed                 uint64
	lambda               float64
	refine               int // transitions; negative for no refinement
	noDet                bool
	configFile           string
	backend              string
	asJSON               bool
}

func newFit() *cobra.Command {
	var o fitOptions
	c := &cobra.Command{
		Use:   "fit --problem FILE.npz --method METHOD --out FILE.npz",
		Short: "Infer the reward of a Markov decision process from demonstrations",
		Long: `fit reads an IRL problem on any finite MDP from a NumPy archive, and writes the posterior over its reward to another.

The problem holds the arrays
  transitions [S,A,S]  probabilities of the successors; all-zero rows where the episode ends
  prior_mean [S]       prior mean of the rewards; [S,A] for rewards of state-action pairs
  prior_std            standard deviations of independent rewards, same shape or one number; or another prior, see below
  demos [n,2]          integers: state and action of each demonstrated decision; n may be 0
  discount, beta       γ in [0, 1), and the rationality coefficient β > 0 of the demonstrator
  beta_log_std         standard deviation of a log-normal prior over β with the median beta (optional; without it β is known)
  initial [S]          distribution of the first state (optional)

Rewards that depend on each other take one of these priors, singular ones included:
  prior_cov [S,S]      covariance; [S·A,S·A] for rewards of state-action pairs
  prior_low_rank [S,k] factor W of the covariance W Wᵀ + diag(prior_std²); [S,A,k] for pairs; prior_std is optional here
  prior_kernel         Gaussian process: a text, rbf, matern12, matern32, matern52 or linear, as of np.array("rbf"), with
                       prior_lengthscale (one, or one a feature), prior_std (of the rewards, one or one each), state_features [S,d]
                       (reward_features [S,A,d] for pairs), and optionally prior_nugget, a variance that no two rewards share
Standard deviations and β lie between 1e-60 and 1e60.

The answer holds reward_mean [S], reward_cov [S,S], value_mean [S] and value_std [S] (of the optimal state values),
action_probs [S,A] (of the demonstrator, averaged over the posterior), with --samples or from samplers reward_samples
[k,S], and from valuewalk rhat [S] and ess_bulk [S]. With state-action rewards, [S] is [S,A] for everything about rewards,
and reward_cov is [S·A,S·A]. Where β has a prior there are beta_mean, beta_std and, beside reward_samples, beta_samples [k] too.

Methods:
  qvirl      variational (the default): rewards with skewed marginals and Gaussian dependence, matched to a short Markov chain
  paper      variational as in the paper, whose objective it trains to convergence; β must be known
  valuewalk  Markov chain Monte Carlo, exact
  avril      a variational baseline; β must be known

--refine K is a dial between the variational posterior and valuewalk: each sample of the answer is at least K transitions of
Hamiltonian Monte Carlo away from a sample of the variational posterior (0: such a sample itself, with the reward that belongs
to it exactly; 10 is much; it costs less than half of what valuewalk does). A diagnosis is printed: whether the variational
posterior could have been trusted, should be refined, or should not be used, and why.`,
		Example: `  qvirl fit --problem corridor.npz --out posterior.npz
  qvirl fit --problem corridor.npz --samples 1000 --out posterior.npz
  qvirl fit --problem corridor.npz --refine 3 --out posterior.npz
  qvirl fit --problem corridor.npz --method valuewalk --out posterior.npz
  qvirl fit --problem corridor.npz --method avril --lambda 0.1 --out posterior.npz`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return fit(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.problem, "problem", "", "file with the problem (required)")
	f.StringVar(&o.method, "method", "qvirl", "qvirl, paper, valuewalk or avril")
	f.StringVar(&o.out, "out", "", "file for the answer (required)")
	f.IntVar(&o.samples, "samples", 0, "number of reward samples in the answer (default: all samples of samplers, none of others)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	f.Float64Var(&o.lambda, "lambda", avril.Default().Lambda, "avril: weight of the constraint that ties rewards to values")
	f.IntVar(&o.refine, "refine", noRefinement, "qvirl and paper: refine the posterior by at least so many Hamiltonian transitions, and say how far it was from exact")
	f.BoolVar(&o.noDet, "nodet", false, "valuewalk: leave out the log-determinant (not the posterior; for comparison)")
	f.StringVar(&o.configFile, "config", "", "JSON file with fields that replace those of the method's default config")
	f.StringVar(&o.backend, "backend", "", "qvirl and paper: "+backendHelp)
	f.BoolVar(&o.asJSON, "json", false, "write progress as JSON to standard output, one event a line")
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
	if o.samples < 0 {
		return fmt.Errorf("--samples %d: want none or more", o.samples)
	}
	if err := atomicfile.Check(o.out, o.problem, o.configFile); err != nil {
		return err
	}
	problem, err := problemfile.Read(o.problem)
	if err != nil {
		return err
	}
	listener := newProgress(cmd.ErrOrStderr())
	if o.asJSON {
		listener = newJSON(cmd.OutOrStdout())
	}
	clock := newStopwatch()
	posts, err := m.Fit(cmd.Context(), []*irl.Problem{problem}, fitProgress(listener, o.method, clock))
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w; nothing was written", err)
		}
		return err
	}
	report, err := diagnose(cmd.Context(), posts[0], o.seed)
	if err != nil {
		return err
	}
	elapsed, _ := clock.estimate(1)
	listener(experiment.Event{Kind: experiment.Finished, Unit: o.method, Done: 1, Total: 1, Fraction: 1, Elapsed: elapsed, Out: o.out, Notes: report})
	answer, err := problemfile.NewAnswer(posts[0], problemfile.AnswerOptions{Samples: o.samples, Draws: answerDraws, Seed: o.seed})
	if err != nil {
		return err
	}
	verdict := describeFit(posts[0], answer)
	if err := answer.Write(o.out); err != nil {
		return err
	}
	if !o.asJSON {
		fmt.Fprintf(cmd.OutOrStdout(), "%s: posterior over %d rewards in %s\n", verdict, problem.RewardDim(), o.out)
	}
	return nil
}

// matchedConfig is the config of the method qvirl: of the posterior that the walk starts from, and of the walk.
type matchedConfig struct {
	Start tabular.Config
	Match valuewalk.RefineConfig
}

// newMethod returns the method that the flags ask for.
func (o *fitOptions) newMethod(flags *pflag.FlagSet, stderr io.Writer) (irl.Method, error) {
	var override []byte
	if o.configFile != "" {
		var err error
		if override, err = os.ReadFile(o.configFile); err != nil {
			return nil, fmt.Errorf("--config: %w", err)
		}
	}
	for flag, methods := range map[string][]string{"lambda": {"avril"}, "nodet": {"valuewalk"}, "backend": {"qvirl", "paper"}, "refine": {"qvirl", "paper"}} {
		if flags.Changed(flag) && !slices.Contains(methods, o.method) {
			return nil, fmt.Errorf("--%s is a flag of the method %s, not of %s", flag, strings.Join(methods, " or "), o.method)
		}
	}
	switch o.method {
	case "valuewalk":
		c := valuewalk.Default()
		c.Seed, c.NoDeterminant = o.seed, o.noDet
		if err := overlay.JSON(&c, override); err != nil {
			return nil, err
		}
		return valuewalk.New(c)
	case "qvirl":
		c := matchedConfig{Start: tabular.StartConfig(), Match: matched.Default()}
		c.Start.Seed, c.Start.Backend, c.Match.Seed = o.seed, o.backend, o.seed
		if err := overlay.JSON(&c, override); err != nil {
			return nil, err
		}
		if _, err := describeBackend(c.Start.Backend, stderr); err != nil {
			return nil, err
		}
		start, err := tabular.New(c.Start)
		if err != nil {
			return nil, err
		}
		m, err := matched.New("qvirl", start, matched.WarpedRewards, c.Match)
		if err != nil {
			return nil, err
		}
		return o.refined(m)
	case "paper":
		c := tabular.DefaultConfig()
		c.Name, c.Seed, c.Backend = "paper", o.seed, o.backend
		if err := overlay.JSON(&c, override); err != nil {
			return nil, err
		}
		if _, err := describeBackend(c.Backend, stderr); err != nil {
			return nil, err
		}
		m, err := tabular.New(c)
		if err != nil {
			return nil, err
		}
		return o.refined(m)
	case "avril":
		c := avril.Default()
		c.Seed, c.Lambda = o.seed, o.lambda
		if err := overlay.JSON(&c, override); err != nil {
			return nil, err
		}
		return avril.New(c)
	}
	return nil, fmt.Errorf("there is no method %q; there are qvirl, paper, valuewalk and avril", o.method)
}

// describeFit says how the fit ended, and adds what only a Markov chain has to the answer.
func describeFit(post irl.Posterior, answer *problemfile.Answer) string {
	switch p := post.(type) {
	case *valuewalk.Refined:
		return describeFit(p.Start(), answer)
	case *valuewalk.Posterior:
		d := p.Diagnostics()
		answer.RHat, answer.ESSBulk = d.Reward.RHat, d.Reward.BulkESS
		if err := d.Clean(); err != nil {
			return "WARNING: " + err.Error()
		}
		rhat, ess := d.Worst()
		return fmt.Sprintf("converged (R̂ ≤ %.3f, bulk ESS ≥ %.0f)", rhat, ess)
	case *tabular.Gaussian:
		if !p.Converged() {
			return "WARNING: training ended before it converged"
		}
	case *matched.Warped:
		if !p.Converged() {
			return "WARNING: the walk that the posterior is matched to had not settled; --refine says how far off it is"
		}
	case *avril.Posterior:
		d := p.Diagnostics()
		if d.Collapsed > 0 {
			return fmt.Sprintf("WARNING: %d rewards collapsed to a point (λ is too large)", d.Collapsed)
		}
		if !d.Converged {
			return "WARNING: training ended before it converged"
		}
	}
	return "converged"
}

// fitProgress turns a method's progress into events. Methods may report from several goroutines.
func fitProgress(listener func(experiment.Event), method string, clock stopwatch) irl.Progress {
	var mutex sync.Mutex
	return func(done, total int, status string) {
		mutex.Lock()
		defer mutex.Unlock()
		e := experiment.Event{Kind: experiment.Progressed, Unit: method, Total: 1, Status: strings.TrimSpace(status)}
		if total > 0 {
			e.Fraction = float64(done) / float64(total)
		}
		e.Elapsed, e.Left = clock.estimate(e.Fraction)
		listener(e)
	}
}
