package main

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/inferencedata"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// exportOptions are the flags of export.
type exportOptions struct {
	model, demos, out, backend string
	python                     gym.ReplayOptions
	episode, draws             int
	seed                       uint64
	force                      bool
	memory                     command.Memory
}

func newExport() *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export --model DIR --demos FILE --out FILE.nc",
		Short: "What a model of QVIRL believes along a trajectory, for ArviZ",
		Long: `export draws rewards and values along one trajectory from the posterior of a model that "qvirl train
--method qvirl" made, and stores them in a netCDF file that arviz.from_netcdf opens: the groups
posterior, prior, log_likelihood, observed_data and constant_data, with a step for each transition.
Models of images cannot be exported.

Means and standard deviations are outputs of the network. Far from all demonstrations it extrapolates both: there, a
small standard deviation says nothing, and means may lie many prior standard deviations below the prior's mean.`,
		Example: `  qvirl export --model model --demos lander.npz --episode 200 --out landing.nc
  python -c 'import arviz; print(arviz.summary(arviz.from_netcdf("landing.nc"), var_names=["reward"]))'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return export(cmd, &o) },
	}
	f := c.Flags()
	f.StringVar(&o.model, "model", "", "folder with the model (required)")
	f.StringVar(&o.demos, "demos", "", "file with trajectories, as train takes it (required)")
	f.IntVar(&o.episode, "episode", 0, "the trajectory, counted from 0")
	f.IntVar(&o.draws, "draws", 1000, "number of draws, at least 2")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the draws")
	f.StringVar(&o.out, "out", "", "file for the draws, ending in .nc (required)")
	f.BoolVar(&o.force, "force", false, command.ForceHelp)
	command.AddPython(c, &o.python.Python, &o.python.PythonPath)
	f.StringVar(&o.backend, "backend", "", backendHelp)
	o.memory.AddTo(c)
	for _, name := range []string{"model", "demos", "out"} {
		c.MarkFlagRequired(name)
	}
	return c
}

// bytesOfDraw is what a number of a draw takes: a reward, its prior, or the value of an action in a step.
const bytesOfDraw = 40

// export does what the command says.
func export(cmd *cobra.Command, o *exportOptions) error {
	if filepath.Ext(o.out) != ".nc" {
		return fmt.Errorf("--out %s: want a name that ends in .nc", o.out)
	}
	if err := check.First(check.AtLeast(2, "--draws", o.draws),
		command.CheckOutput(o.force, []string{o.out}, demo.Inputs(o.demos)...)); err != nil {
		return err
	}
	m, err := catalogue.Load(o.model, o.backend)
	if err != nil {
		return err
	}
	fitted, ok := m.(*neural.Fitted)
	if !ok {
		return fmt.Errorf("--model %s: %s has no posterior along a trajectory; qvirl has", o.model, m.Name())
	}
	set, err := demo.Open(o.demos)
	if err != nil {
		return err
	}
	if n := len(set.Trajectories); o.episode < 0 || o.episode >= n {
		return fmt.Errorf("--episode %d: the file has %s, counted from 0", o.episode, progress.Count(n, "episode",
			"episodes"))
	}
	if err := checkShapes(o.demos, set, m.Spec()); err != nil {
		return err
	}
	if _, err := describeBackend(o.backend, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if set, err = observe(cmd.Context(), o.demos, set, set.Trajectories[o.episode:o.episode+1], o.python); err != nil {
		return err
	}
	t := &set.Trajectories[0]
	numbers := float64(o.draws) * float64(t.Len()*(2+m.Spec().Actions))
	err = o.memory.Check(fmt.Sprintf("%d draws along %d steps", o.draws, t.Len()), bytesOfDraw*numbers)
	if err != nil {
		return err
	}
	if err := inferencedata.WriteTrajectory(o.out, fitted, t, inferencedata.Options{Draws: o.draws, Seed: o.seed,
		Attributes: map[string]string{"environment": set.Environment, "episode": fmt.Sprint(o.episode)}}); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d draws along %d steps of episode %d in %s\n", o.draws, t.Len(), o.episode, o.out)
	return nil
}
