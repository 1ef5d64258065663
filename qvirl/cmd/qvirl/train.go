package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
	"github.com/go-birl/birl/qvirl/overlay"
)

// trainOptions are the flags of train.
type trainOptions struct {
	environmentOptions
	memory                  command.Memory
	demos, method, out, aux string
	heldOut                 string
	episodes                string
	trajectories, actions   int
	seed                    uint64
	betas                   []float64
	discount                float64
	steps, successors       int
	configFile, backend     string
	exploreEvery            int
	asJSON, explore, force  bool
	branches                bool
	seconds                 float64   // that fit took, of all β
	ignored, remarks        []string  // what task has found in the file and not read, and what it may have meant
	auxiliary               *demo.Set // of aux, as task has read it; nil without one
}

func newTrain() *cobra.Command {
	var o trainOptions
	c := &cobra.Command{
		Use:   "train --demos FILE --method METHOD [--trajectories N] [--beta B] [--discount G] --out DIR",
		Short: "Learn from demonstrations in an environment of continuous observations and discrete actions",
		Long: `train learns from N trajectories of a file of demonstrations, and writes the model to a folder.

A file is an .npz archive of transitions, one row per step: obs [M, …], action [M], next_obs [M, …], episode [M] and,
where known, terminated [M], truncated [M] and seed [M], what the episode's environment was reset with; imitation's
layout, CSV files with the same columns, and this project's own files are also read. The rows of an episode are
consecutive and in order, so that the next_obs of each is the obs of the next.

The trajectories are the first N of the file with --seed 0, the next N with --seed 1, and so on, wrapping around at
the end of the file. Until it wraps, different seeds learn from different demonstrations, and the end of the file is
left for scoring. --episodes A:B restricts this to the episodes A, …, B−1 of the file, counted from 0.

Features of order one (root mean square over the demonstrations at most 1) enter the networks as they are, saturating
at 1. All others, and those whose standard deviation is below 2 % of their mean, are standardised, and saturate at two
standard deviations. --config with {"Training": {"Unit": 0, "Range": 2}} standardises all, which suits any units, but
with few trajectories exaggerates features that hardly vary in them.

Observations that are stacks of images (bytes [frames, height, width]) pass through the convolutions of Mnih et al.
(2015) first. QVIRL's prior over rewards then compares images, by default with the paper's weights for Pong;
--config says what the actions do, and the scale of the rewards:

  {"Training": {"Folds": 0}, "Objective": {"prior_mean": 0, "prior_std": 0.5, "per_beta": true,
   "image": {"patches": 0.45, "motion": 0.45, "pyramid": 0.05, "pixels": 0.05, "levels": 3,
             "actions": "NOOP FIRE RIGHT LEFT RIGHTFIRE LEFTFIRE"}}}

per_beta measures values in units of 1/β, for β in the hundreds.

The larger β, the more often the expert is expected to choose the best action. With several, such as --beta 1,5,20,
train keeps the β whose models, trained on four fifths of the demonstrations at a time, best predict the rest.

The action probabilities, except those of ensembles, are calibrated by such models (cross-validation), which takes most
of the time; --config with {"Training": {"Folds": 0}} omits this. Calibration does not change what the apprentice does.

The state of the training is stored in DIR, and after an interruption the same command resumes from there. An existing
model in DIR, or the state of a training with other settings, is replaced only with --force, and one command at a time
trains into a folder.

Methods:
` + listMethods(),
		Example: `  qvirl train --demos lander.npz --method bc --trajectories 7 --out bc
  qvirl train --demos lander.npz --method iqlearn --trajectories 3 --seed 4 --beta 3 --discount 0.99 \
      --held-out 200:300 --out iq
  qvirl train --demos lander.npz --method qvirl --env LunarLander-v3 --explore=false --successors 4 \
      --discount 0.99 --out qvirl
  qvirl train --demos pong.npz --method bc --steps 20000 --out pong-bc
  qvirl score --model iq --demos lander.npz --episodes 200:300
  qvirl rollout --model iq --env LunarLander-v3 --episodes 30`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return train(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.demos, "demos", "", "file with the demonstrations (required)")
	f.StringVar(&o.method, "method", "", strings.Join(catalogue.Names(), ", ")+" (required)")
	f.IntVar(&o.trajectories, "trajectories", 0, "number of trajectories to learn from (default: all)")
	f.StringVar(&o.episodes, "episodes", "", "A:B, the episodes of the file to choose them from (default: all)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything random, and the place of the trajectories in the file")
	f.Float64SliceVar(&o.betas, "beta", nil, "rationality coefficient of the expert (default: what the file's "+
		"description says); of several `numbers`, such as 1,5,20, the one that best predicts left-out parts "+
		"of the demonstrations is kept")
	f.Float64Var(&o.discount, "discount", 0.99, "discount γ")
	f.StringVar(&o.aux, "aux", "", "file with auxiliary trajectories, by any policy, for methods that use them")
	o.add(c, "id of the Gymnasium environment in which the apprentice gathers auxiliary trajectories while it learns; "+
		"instead of --aux")
	f.IntVar(&o.exploreEvery, "explore-every", 500,
		"number of steps after which the apprentice gathers trajectories anew with --env, a multiple of the config's "+
			"ReportEvery")
	f.BoolVar(&o.explore, "explore", true, "with --explore=false the environment of --env serves --successors alone, "+
		"and there are no auxiliary trajectories")
	f.BoolVar(&o.branches, "branches", false, "the auxiliary trajectories are, instead of the apprentice's, one step "+
		"with each action that the expert did not take in each state of the demonstrations, in the environment "+
		"of --env; the file has to hold the seeds of its episodes")
	f.IntVar(&o.successors, "successors", 1, "number of successors of each transition that rewards take the "+
		"expectation over: that which it led to, and draws of the environment of --env, for which the file has to "+
		"hold the seeds of its episodes, as this project's own do")
	f.IntVar(&o.actions, "actions", 0, "number of actions (default: what the file says, or one more than the largest "+
		"action in it)")
	f.StringVar(&o.heldOut, "held-out", "", "A:B, episodes of the file on which to watch the log-likelihood: while "+
		"training, that of uncalibrated probabilities and of at most 2,048 transitions; at the end, what score says "+
		"of the model. They change nothing, unless --config asks for early stopping: "+
		"{\"Training\": {\"Patience\": K}} keeps the model of the best one, and stops K reports after it")
	f.StringVar(&o.out, "out", "", "folder for the model (required)")
	f.IntVar(&o.steps, "steps", neural.Default().Steps, "number of training steps")
	f.StringVar(&o.configFile, "config", "",
		`JSON file with fields that replace those of the method's config, {"Training": {…}, "Objective": {…}}; `+
			"--steps and --backend, if given, win over it")
	f.StringVar(&o.backend, "backend", "", backendHelp)
	f.BoolVar(&o.asJSON, "json", false, "write progress as JSON to standard output, one event a line")
	f.BoolVar(&o.force, "force", false, command.ForceHelp)
	o.memory.AddTo(c)
	c.MarkFlagsMutuallyExclusive("aux", "env")
	for _, name := range []string{"demos", "method", "out"} {
		c.MarkFlagRequired(name)
	}
	return c
}

// listMethods describes the methods, a line each.
func listMethods() string {
	var lines []string
	for _, name := range catalogue.Names() {
		m, err := catalogue.Find(name)
		if err != nil {
			continue // the names are the catalogue's own
		}
		lines = append(lines, fmt.Sprintf("  %-18s%s", m.Name, m.Short))
	}
	return strings.Join(lines, "\n")
}

// train does what the command says.
func train(cmd *cobra.Command, o *trainOptions) error {
	entry, err := catalogue.Find(o.method)
	if err != nil {
		return err
	}
	if err := o.validate(entry, cmd.Flags()); err != nil {
		return err
	}
	override, err := overlay.Read(o.configFile)
	if err != nil {
		return err
	}
	method, err := entry.New(neural.Default(), override, o.given(cmd.Flags()))
	if err != nil {
		return overlay.OfFile(o.configFile, err)
	}
	if err := o.goesWith(method.Config()); err != nil {
		return err
	}
	if len(o.betas) == 0 && !entry.Beta {
		o.betas = []float64{1}
	}
	task, used, err := o.task(cmd.Context())
	if err != nil {
		return err
	}
	if err := o.fits(method, task); err != nil {
		return err
	}
	unlock, err := claim(o.out, filepath.Join(o.out, neural.CheckpointDir), o.force)
	if err != nil {
		return err
	}
	defer unlock()
	units := o.noteDemos(cmd.ErrOrStderr(), task, override)
	if _, err := describeBackend(o.backend, cmd.ErrOrStderr()); err != nil {
		return err
	}
	listener := listen(cmd, o.asJSON)
	if o.env != "" {
		pool, err := o.open(cmd.Context(), exploreEpisodes)
		if err != nil {
			return err
		}
		defer pool.Close()
		if err := o.checkEnvironment(pool.Spec(), task); err != nil {
			return err
		}
		if err := o.simulate(cmd.Context(), pool, task, listener); err != nil {
			return err
		}
		if err := o.fits(method, task); err != nil { // with what was simulated, and will be
			return err
		}
	}
	defer command.EndSoon(cmd.Context(), cmd.ErrOrStderr(), unlock,
		func(err error) error { return command.Interrupted(err, task.Checkpoint) })()
	meter := progress.NewMeter(listener, o.method)
	task.Resumed = noteResumption(cmd.ErrOrStderr(), task.Checkpoint)
	model, err := o.learn(cmd, method, task, meter.Report)
	if err != nil {
		return err
	}
	if err := model.Save(o.out); err != nil {
		return err
	}
	if err := used.write(o.out); err != nil {
		return err
	}
	if err := os.RemoveAll(task.Checkpoint); err != nil {
		return fmt.Errorf("removing the checkpoint: %w", err)
	}
	meter.Finish(progress.Event{Out: o.out})
	noteFit(cmd.ErrOrStderr(), model, o.mayTakeBetas(entry), units)
	if o.asJSON {
		return nil
	}
	return o.tell(cmd.OutOrStdout(), model, task.HeldOut)
}

// validate reports the first flag that does not go with the method or with others.
func (o *trainOptions) validate(entry *catalogue.Method, flags *pflag.FlagSet) error {
	for _, flag := range []string{"option", "import", "max-steps", "step-timeout", "explore-every"} {
		if o.env == "" && flags.Changed(flag) {
			return fmt.Errorf("--%s is about the environment of --env, which is missing", flag)
		}
	}
	if err := check.First(
		check.That(entry.Aux || o.aux == "" && o.env == "", "--aux and --env: the method %s has no use "+
			"for auxiliary trajectories", o.method),
		check.That(len(o.betas) < 2 || entry.Beta, "--beta: to %s no β makes a difference; want at most one",
			o.method),
		check.That(len(o.betas) < 2 || !o.explores(), "--beta: to choose among several in an environment "+
			"that the apprentice explores is not supported; choose without --env first"),
		check.That(!flags.Changed("trajectories") || o.trajectories >= 1, "--trajectories %d: want at least 1",
			o.trajectories),
		check.AtLeast(1, "--steps", o.steps),
		check.That(o.successors >= 1, "--successors %d: want at least 1", o.successors),
		check.That(!o.branches || o.env != "" && o.successors == 1,
			"--branches: want the environment to take them in, --env, and no --successors"),
		check.That(o.explores() || !flags.Changed("explore-every"), "--explore-every: with --explore=false or "+
			"--branches nothing is explored"),
		check.That(o.explore || o.branches || o.successors != 1, "--explore=false: want --env with --successors or "+
			"--branches, which alone use an environment then"),
		check.That(o.successors == 1 || o.env != "", "--successors %d: want the environment to draw them in, --env",
			o.successors),
		check.That(o.discount >= 0 && o.discount < 1, "--discount %g: want 0 ≤ γ < 1", o.discount)); err != nil {
		return err
	}
	for i, beta := range o.betas {
		if slices.Contains(o.betas[:i], beta) {
			return fmt.Errorf("--beta %g is given twice: want each once to choose among", beta)
		}
		if !(beta > 0) || math.IsInf(beta, 1) {
			return fmt.Errorf("--beta %g: want a positive number that is finite", beta)
		}
	}
	return nil
}

// goesWith reports the first flag that does not go with the method's config.
func (o *trainOptions) goesWith(c neural.Config) error {
	return check.First(
		check.That(len(o.betas) < 2 || c.Folds > 0, "--beta: to choose among several takes models of parts of the "+
			"demonstrations, and there are none with Folds = 0, as of ensembles"),
		check.That(c.Patience == 0 || o.heldOut != "", "--held-out is missing: the config's Patience = %d looks at "+
			"its episodes", c.Patience),
		check.That(!o.explores() || o.exploreEvery >= 1 && o.exploreEvery%c.ReportEvery == 0,
			"--explore-every %d: want a multiple of the config's ReportEvery, %d", o.exploreEvery, c.ReportEvery))
}

// fits refuses a task that training has no memory for.
func (o *trainOptions) fits(method neural.Method, task *neural.Task) error {
	err := o.memory.Check(fmt.Sprintf("training for %d actions", task.Actions), method.MemoryNeed(task))
	if err != nil {
		return errors.Join(err, o.outlier(task))
	}
	return nil
}

// learn trains, with --force from the start where the checkpoint is of another training.
func (o *trainOptions) learn(cmd *cobra.Command, method neural.Method, task *neural.Task, report irl.Progress) (
	neural.Model, error) {
	stderr := cmd.ErrOrStderr()
	model, err := command.Anew(stderr, o.force, task.Checkpoint, neural.ErrCheckpoint, func() (neural.Model, error) {
		return o.fit(cmd.Context(), method, task, report, stderr)
	})
	if errors.Is(err, neural.ErrCheckpoint) {
		return nil, fmt.Errorf("%w, or give --force", err)
	}
	if err != nil {
		return nil, command.Interrupted(err, task.Checkpoint)
	}
	return model, nil
}

// tell says in a line what was learnt, and what score says of it on the held-out trajectories, if there are any.
func (o *trainOptions) tell(w io.Writer, model neural.Model, heldOut []demo.Trajectory) error {
	spec, likelihood := model.Spec(), ""
	if len(heldOut) > 0 {
		s, err := neural.Score(model, heldOut, nil)
		if err != nil {
			return err
		}
		likelihood = fmt.Sprintf(", held-out log-likelihood %.4f", s.LogLikelihood)
	}
	beta := ""
	if len(o.betas) > 1 {
		beta = fmt.Sprintf(" with β = %g", spec.Beta)
	}
	fmt.Fprintf(w, "%s learnt from %s (%s)%s in %.0f s%s: model in %s\n", o.method,
		progress.Count(spec.Demos, "trajectory", "trajectories"), progress.Count(spec.Transitions, "transition",
			"transitions"), beta, o.seconds, likelihood, o.out)
	return nil
}

// given returns, as JSON, the fields of a method's config that flags were given for.
func (o *trainOptions) given(flags *pflag.FlagSet) []byte {
	training := map[string]any{}
	if flags.Changed("steps") {
		training["Steps"] = o.steps
	}
	if flags.Changed("backend") {
		training["Backend"] = o.backend
	}
	text, _ := json.Marshal(map[string]any{"Training": training}) // of a number and a text
	return text
}

// noteResumption returns what says, once, where a run goes on from.
func noteResumption(w io.Writer, checkpoint string) func() {
	return sync.OnceFunc(func() { fmt.Fprintln(w, "going on from", checkpoint) })
}

// claim keeps other commands from training into the folder until the release, and refuses one that holds a model,
// unless that is to be replaced with --force, or its training, whose state lies at checkpoint, was interrupted.
func claim(out, checkpoint string, force bool) (release func(), err error) {
	unlock, err := command.ClaimFolder(out)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			unlock()
		}
	}()
	_, err = os.Stat(checkpoint)
	if err := command.CheckOutput(force || err == nil, []string{filepath.Join(out, "model.json")}); err != nil {
		return nil, err
	}
	return unlock, nil
}
