package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// scoreOptions are the flags of score.
type scoreOptions struct {
	model, demos, episodes, backend string
	python                          gym.ReplayOptions
	asJSON                          bool
}

// scored is what score writes as JSON.
type scored struct {
	Method   string `json:"method"`
	Episodes int    `json:"episodes"`
	*neural.Scores
	// TrainedOn is the number of these episodes that the model was trained on.
	TrainedOn int `json:"trained_on"`
	// Trust is the weight of the model's own probabilities, if they were calibrated.
	Trust *float64 `json:"trust,omitempty"`
}

func newScore() *cobra.Command {
	var o scoreOptions
	c := &cobra.Command{
		Use:   "score --model DIR --demos FILE",
		Short: "Measure how well a model predicts demonstrated actions, and how well its probabilities are calibrated",
		Long: `score compares the action probabilities of a model that "qvirl train" made with demonstrations that it
has not seen. It reports their mean log-likelihood per action, the expected calibration error (ECE; of
the probabilities of all actions, in ten bins of equal width), and the fraction of actions that the model
took for the most probable. Where the file holds the expert's own probabilities, their mean
log-likelihood is the ceiling. If the model's probabilities were calibrated in training, it also reports
the uncalibrated ones: calibration usually raises the log-likelihood, but may leave a larger ECE than
there was without it.`,
		Example: `  qvirl score --model bc --demos lander.npz --episodes 200:300
  qvirl score --model bc --demos lander.npz --json | jq .log_likelihood`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return score(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "folder with the model (required)")
	f.StringVar(&o.demos, "demos", "", "file with demonstrations, as train takes it (required)")
	f.StringVar(&o.episodes, "episodes", "", "A:B, the episodes A, …, B−1 of the file, counted from 0 (default: all)")
	command.AddPython(c, &o.python.Python, &o.python.PythonPath)
	f.StringVar(&o.backend, "backend", "", backendHelp)
	f.BoolVar(&o.asJSON, "json", false, "write the result as JSON")
	c.MarkFlagRequired("model")
	c.MarkFlagRequired("demos")
	return c
}

// checkShapes refuses demonstrations of another environment's shapes than those that a model was learnt for.
func checkShapes(path string, set *demo.Set, spec neural.Spec) error {
	if set.ObservationSize() != spec.Observation || set.Actions > spec.Actions {
		return fmt.Errorf("--demos: %s has observations of %d numbers and %d actions, the model was learnt for %d "+
			"and %d", path, set.ObservationSize(), set.Actions, spec.Observation, spec.Actions)
	}
	if image := neural.ImageOf(set); set.Replay == nil && image != spec.Image { // a replay makes pictures later
		return fmt.Errorf("--demos: %s has observations %v that are %s, the model was learnt for %s", path,
			set.ObservationShape, kindOf(image), described(spec.Image))
	}
	return nil
}

// kindOf says in words how observations are read.
func kindOf(image neural.Image) string {
	if image == (neural.Image{}) {
		return "features"
	}
	return "stacks of pictures"
}

// described says the same, of pictures with their shape.
func described(image neural.Image) string {
	if image == (neural.Image{}) {
		return kindOf(image)
	}
	return fmt.Sprintf("%s [%d %d %d]", kindOf(image), image.Frames, image.Height, image.Width)
}

// score does what the command says.
func score(cmd *cobra.Command, o *scoreOptions) error {
	m, err := catalogue.Load(o.model, o.backend)
	if err != nil {
		return err
	}
	set, err := demo.Open(o.demos)
	if err != nil {
		return err
	}
	first, end, err := parseEpisodes("episodes", o.episodes, len(set.Trajectories))
	if err != nil {
		return err
	}
	if err := checkShapes(o.demos, set, m.Spec()); err != nil {
		return err
	}
	noteEnvironments(cmd.ErrOrStderr(), o.model, m.Spec().Environment, o.demos, set.Environment)
	if _, err := describeBackend(o.backend, cmd.ErrOrStderr()); err != nil {
		return err
	}
	all := set.Trajectories
	if set, err = observe(cmd.Context(), o.demos, set, set.Trajectories[first:end], o.python); err != nil {
		return err
	}
	s, err := neural.Score(m, set.Trajectories, nil)
	if err != nil {
		return err
	}
	used, note, err := countUsed(o.model, o.demos, first, end, all)
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "note:", note)
	}
	result := scored{Method: m.Name(), Episodes: end - first, Scores: s, TrainedOn: used}
	if calibration := m.Calibration(); calibration != nil {
		result.Trust = &calibration.Trust
	}
	out := cmd.OutOrStdout()
	if o.asJSON {
		return json.NewEncoder(out).Encode(result)
	}
	if used > 0 {
		these := "this episode"
		if end-first > 1 {
			these = fmt.Sprintf("%d of these %d episodes", used, end-first)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "note: the model was trained on %s; --episodes chooses others\n", these)
	}
	fmt.Fprintf(out, "%s on %s (%s)\n", m.Name(), progress.Count(end-first, "episode", "episodes"),
		progress.Count(s.Transitions, "action", "actions"))
	fmt.Fprintf(out, "  mean log-likelihood         %.4f", s.LogLikelihood)
	if s.ExpertLogLikelihood != nil {
		fmt.Fprintf(out, "   (expert: %.4f)", *s.ExpertLogLikelihood)
	}
	fmt.Fprintf(out, "\n  expected calibration error  %.4f\n  most probable action taken  %.1f %%\n", s.ECE,
		100*s.Accuracy)
	if u := s.Uncalibrated; u != nil {
		fmt.Fprintf(out, "  calibrated: %.2f of its own probabilities and %.2f of the actions' frequencies\n",
			*result.Trust, 1-*result.Trust)
		fmt.Fprintf(out, "  before calibration: mean log-likelihood %.4f, expected calibration error %.4f\n",
			u.LogLikelihood, u.ECE)
	}
	return nil
}
