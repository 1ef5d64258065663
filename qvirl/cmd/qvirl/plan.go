package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
	"github.com/go-birl/birl/qvirl/neural/planning"
	"github.com/go-birl/birl/qvirl/overlay"
)

// planOptions are the flags of plan.
type planOptions struct {
	environmentOptions
	model, demos, out, backend, configFile string
	risk                                   float64
	visits                                 bool
	steps                                  int
	seed                                   uint64
	asJSON, force                          bool
}

// planned is what plan writes as JSON.
type planned struct {
	Method string `json:"method"`
	// EnvironmentSteps are those of rollouts, training and the episodes of the curve.
	EnvironmentSteps int     `json:"environment_steps"`
	Seconds          float64 `json:"seconds"`
	Objective        float64 `json:"objective"` // the best one, of the apprentice
	// Demonstrated is the demonstrations' objective, and Length the lengthscale that was planned with.
	Demonstrated float64 `json:"objective_demonstrated"`
	Length       float64 `json:"length"`
	// EndWorth is how many demonstrated steps a demonstrated end was worth, for ever.
	EndWorth float64        `json:"end_worth"`
	Curve    []expert.Point `json:"curve"`
	Out      string         `json:"out"`
}

func newPlan() *cobra.Command {
	var o planOptions
	c := &cobra.Command{
		Use:   "plan --model DIR --demos FILE --env ID --out DIR",
		Short: "Plan an apprentice in its environment on a model's posterior over rewards",
		Long: `plan trains an apprentice in a Gymnasium environment by reinforcement learning (QR-DQN) on what a model
of QVIRL believes of the rewards: the mean of a Gaussian process minus --risk standard deviations. The
process is conditioned on the model's posterior means at the demonstrated transitions and at rollouts of
the model's apprentice, with the posterior variances as noise. For an ensemble (--method qvirl-ensemble in
training) these are the moments of the members' mixture. The environment's own rewards play no part.

The model has to put the rewards of the demonstrations above its prior's mean. A model trained with auxiliary
transitions ("qvirl train --env ID") mostly does, one trained on demonstrations alone mostly does not. --demos is the
file that it was trained on. With --visits the process has the prior N(0, 1) and is conditioned on 1 at each
demonstrated transition instead; it takes only lengthscales from the model, by the spread of its rollouts.

The end of an episode pays for ever, in closed form: as much as a demonstrated step if a demonstration ended like
that, otherwise as much as an undemonstrated one. An episode that was cut off continues from its last state. Where the
demonstrations end sooner than a few episodes of a random policy, the end is taken for a goal, and pays so much more
that lingering is worth less ("end_worth" in the config, in demonstrated steps, sets how much). Where none of 100
random episodes ends in as many steps as the longest demonstration that did, any end counts as a demonstrated one.

At each point of the learning curve (the fewer --steps, the fewer points) a few episodes are played greedily. Their
discounted return by the planned rewards is the planning objective, and the network with the greatest objective becomes
the apprentice. DIR/plan.json holds the curve over environment steps.

"qvirl rollout" and "qvirl score" take the planned model in DIR; the expert's probabilities are those of the model that
was planned on. The state of the training is stored at each point of the learning curve; after an interruption
the same command resumes from the last one, and ends with the same apprentice.

A config is a JSON file with fields of qvirl/neural/planning's Config, such as {"length": 4, "learner":
{"gradient_steps": 8}}. The length is the distance over which rewards generalise, in standard deviations of the
features; by default, the median distance of a demonstrated state from the nearest one of another demonstration or,
with one demonstration, of a rollout. Where the objective of the curve stays far below that of the demonstrations, it
may be too short.`,
		Example: `  qvirl train --demos lander.npz --method qvirl --trajectories 3 --env LunarLander-v3 --out model
  qvirl plan --model model --demos lander.npz --env LunarLander-v3 --out planned
  qvirl plan --model model --demos lander.npz --env LunarLander-v3 --risk 0.3 --out averse
  qvirl rollout --model planned --env LunarLander-v3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return plan(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "folder with the model (required)")
	f.StringVar(&o.demos, "demos", "", "file with the demonstrations that it was trained on (required)")
	o.add(c, "id of the Gymnasium environment (required)")
	f.StringVar(&o.out, "out", "", "folder for the planned model (required)")
	f.Float64Var(&o.risk, "risk", 0, "number of standard deviations of a reward to subtract from its mean")
	f.BoolVar(&o.visits, "visits", false, "plan on a Gaussian process that is conditioned on 1 at "+
		"each demonstrated transition")
	f.IntVar(&o.steps, "steps", 0, "about how many steps of the environments to train for (default: the config's)")
	f.Uint64Var(&o.seed, "seed", 1, "seed of everything random, beside the model's")
	f.StringVar(&o.configFile, "config", "", "JSON file with fields of the config")
	f.StringVar(&o.backend, "backend", "", backendHelp)
	f.BoolVar(&o.asJSON, "json", false, "write the result as JSON")
	f.BoolVar(&o.force, "force", false, command.ForceHelp)
	for _, name := range []string{"model", "demos", "env", "out"} {
		c.MarkFlagRequired(name)
	}
	return c
}

// planning returns the config that the flags ask for.
func (o *planOptions) planning(cmd *cobra.Command, spec neural.Spec) (planning.Config, error) {
	c := planning.Default(o.env, spec.Discount)
	if err := overlay.File(&c, o.configFile); err != nil {
		return c, err
	}
	if err := check.NotNegative("--risk", o.risk); err != nil {
		return c, err
	}
	if cmd.Flags().Changed("risk") {
		c.Risk = o.risk
	}
	if cmd.Flags().Changed("visits") {
		c.Visits = o.visits
	}
	if cmd.Flags().Changed("seed") {
		c.Learner.Seed = o.seed
	}
	if cmd.Flags().Changed("steps") {
		if err := check.First(check.AtLeast(1, "--steps", o.steps), c.Learner.SetSteps(o.steps)); err != nil {
			return c, err
		}
	}
	return c, nil
}

// demonstrations returns the episodes that the model was trained on.
func (o *planOptions) demonstrations(ctx context.Context) ([]demo.Trajectory, *usedEpisodes, error) {
	used, err := readUsed(o.model)
	if err != nil {
		return nil, nil, err
	}
	if used == nil {
		return nil, nil, fmt.Errorf("--model: %s does not tell which episodes it was trained on (%s)", o.model,
			usedFile)
	}
	this, err := newUsedEpisodes(o.demos)
	if err != nil {
		return nil, nil, err
	}
	if this.SHA256 != used.SHA256 {
		return nil, nil, fmt.Errorf("--demos: %s is not the file that the model was trained on, which was called %s",
			o.demos, used.File)
	}
	set, err := demo.Open(o.demos)
	if err != nil {
		return nil, nil, err
	}
	var out []demo.Trajectory
	for _, i := range used.Episodes {
		if i < 0 || i >= len(set.Trajectories) {
			return nil, nil, fmt.Errorf("--model: %s names the episode %d, %s has %d", filepath.Join(o.model,
				usedFile), i, o.demos, len(set.Trajectories))
		}
		out = append(out, set.Trajectories[i])
	}
	if set, err = observe(ctx, o.demos, set, out, o.python); err != nil {
		return nil, nil, err
	}
	return set.Trajectories, used, nil
}

// sameFile reports whether two paths lead to one file or folder that is there.
func sameFile(a, b string) bool {
	first, missing := os.Stat(a)
	second, err := os.Stat(b)
	return missing == nil && err == nil && os.SameFile(first, second)
}

// plan does what the command says.
func plan(cmd *cobra.Command, o *planOptions) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	m, err := catalogue.Load(o.model, o.backend)
	if err != nil {
		return err
	}
	c, err := o.planning(cmd, m.Spec())
	if err != nil {
		return err
	}
	demos, used, err := o.demonstrations(ctx)
	if err != nil {
		return err
	}
	if sameFile(o.model, o.out) {
		return fmt.Errorf("--out %s is the folder of --model, which planning goes on needing; want another", o.out)
	}
	run := filepath.Join(o.out, "plan.run.npz")
	unlock, err := claim(o.out, run, o.force)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := describeBackend(o.backend, stderr); err != nil {
		return err
	}
	on, release, err := backend.Client(o.backend)
	if err != nil {
		return err
	}
	defer release()
	config, err := o.config(1)
	if err != nil {
		return err
	}
	config.EnvsPerWorker = c.Learner.Environments
	pool, err := gym.Open(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	defer command.EndSoon(ctx, stderr, unlock,
		func(err error) error { return command.Interrupted(err, run) })()
	if note := c.Learner.CutsOff(pool.Spec()); note != "" {
		fmt.Fprintln(stderr, "note:", note)
	}
	now := progress.Every(5 * time.Second)
	options := planning.Options{Checkpoint: run,
		Resumed: noteResumption(stderr, run),
		Source:  fmt.Sprintf("options %q, modules %q", o.made(), o.imports),
		Progress: func(p expert.Progress) {
			if now() || p.Steps == p.Total {
				p.Return = math.NaN() // of the environment's own rewards, which play no part
				fmt.Fprintln(stderr, "training:", p)
			}
		}}
	out, err := command.Anew(stderr, o.force, run, expert.ErrCheckpoint, func() (*planning.Model, error) {
		return planning.Plan(ctx, on, pool, m, demos, c, options)
	})
	if errors.Is(err, expert.ErrCheckpoint) {
		return fmt.Errorf("%w, as with --force", err)
	}
	if err != nil {
		return command.Interrupted(err, run)
	}
	if err := out.Save(o.out); err != nil {
		return err
	}
	if err := used.write(o.out); err != nil {
		return err
	}
	if err := os.Remove(run); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	e := out.Apprentice()
	best := slices.MaxFunc(e.Curve, func(a, b expert.Point) int { return cmp.Compare(a.Objective, b.Objective) })
	result := planned{Method: out.Name(), EnvironmentSteps: out.EnvironmentSteps(), Seconds: e.Seconds, Curve: e.Curve,
		Objective: best.Objective, Demonstrated: out.Worth().Demonstrated, Length: out.Config.Length,
		EndWorth: out.Config.EndWorth, Out: o.out}
	for _, note := range o.notes(out, demo.Ended(demos), best.Ended, c) {
		fmt.Fprintln(stderr, "note:", note)
	}
	if o.asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s in %s: planned in %d steps of the environment (%d of training, the others of "+
		"rollouts and of the curve's episodes) and %.0f s, objective %.2f (demonstrations: %.2f), length %.2f: model "+
		"in %s\n", result.Method, o.env, result.EnvironmentSteps, e.Curve[len(e.Curve)-1].Steps, result.Seconds,
		result.Objective, result.Demonstrated, result.Length, o.out)
	return nil
}

// notes says what a reader of the result should know, given the shares of the demonstrations and of the plan's episodes
// that reach an end.
func (o *planOptions) notes(m *planning.Model, demonstrated, planned float64, c planning.Config) (notes []string) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if ends := noteEnds(demonstrated, planned); ends != "" {
		note("%s. Compare it with the model that it was planned on: qvirl rollout --model %s", ends,
			command.Quote(o.model))
	}
	if w := m.Worth(); c.Rollouts > 0 && w.Plan < w.Rollouts {
		note("by the planned rewards the plan is worth %.2f, and the apprentice of the model that it was planned on "+
			"%.2f: more --steps may help", w.Plan, w.Rollouts)
	}
	if worth := m.Config.EndWorth; worth > 1 && c.EndWorth == 0 {
		note("the demonstrations reach an end sooner than a random policy, so that an end is taken to be sought, and "+
			"worth %.0f demonstrated steps for ever", worth)
	}
	return notes
}

// apart is how far apart shares of episodes that end are which the few of a curve's point tell apart.
const apart = 0.25

// noteEnds says what it may mean that the demonstrations reach an end much more often than the plan's episodes, or less
// often; "" if it is about as often.
func noteEnds(demonstrated, planned float64) string {
	switch {
	case demonstrated > 2*planned, demonstrated-planned > apart:
		return fmt.Sprintf("%.0f %% of the demonstrations reach an end, and %.0f %% of the plan's episodes: by the "+
			"planned rewards, to stay among states like the demonstrated ones is worth as much, or more --steps are "+
			"needed", 100*demonstrated, 100*planned)
	case planned > 2*demonstrated && planned-demonstrated > apart:
		return fmt.Sprintf("%.0f %% of the demonstrations reach an end, and %.0f %% of the plan's episodes: if an end "+
			"is a failure, such as a fall, more --steps may help", 100*demonstrated, 100*planned)
	}
	return ""
}
