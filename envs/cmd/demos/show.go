package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
)

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show FILE...",
		Short: "Check files of demonstrations and say what they hold",
		Long: `show reads files of demonstrations in any layout that the project knows (its own, flat .npz, imitation's .npz, CSV), checks
every array, and says what they hold.`,
		Example: "  demos show cartpole.npz recorded.csv",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var errs []error
			for _, path := range args {
				set, err := demo.Open(path)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				show(cmd.OutOrStdout(), path, set)
			}
			return errors.Join(errs...)
		},
	}
}

// show writes what a set holds.
func show(w io.Writer, path string, s *demo.Set) {
	name := s.Environment
	if name == "" {
		name = "an environment not named"
	}
	fmt.Fprintf(w, "%s: %d trajectories of %s, %d transitions\n", path, len(s.Trajectories), name, s.Transitions())
	fmt.Fprintf(w, "  observations %v, %d actions\n", s.ObservationShape, s.Actions)
	if s.Expert != "" {
		fmt.Fprintf(w, "  by %s", s.Expert)
		if s.Beta != nil {
			fmt.Fprintf(w, ", β = %g", *s.Beta)
		}
		fmt.Fprintln(w)
	}
	if r := s.Returns(); r != nil {
		fmt.Fprintf(w, "  return %.2f ± %.2f, from %.2f to %.2f\n", r.Mean, r.Std, r.Min, r.Max)
	}
	if ll, ok := s.ExpertLogLikelihood(); ok {
		fmt.Fprintf(w, "  log-likelihood of its own actions %.4f\n", ll)
	}
	var versions []string
	for _, k := range slices.Sorted(maps.Keys(s.Versions)) {
		versions = append(versions, k+" "+s.Versions[k])
	}
	if len(versions) > 0 {
		fmt.Fprintf(w, "  made with %s\n", strings.Join(versions, ", "))
	}
}

func newConvert() *cobra.Command {
	var out, env, expert, layout, python string
	var actions int
	var force bool
	c := &cobra.Command{
		Use:   "convert FILE|FOLDER --out FILE.npz",
		Short: "Convert a file that others have made to this project's layout",
		Long: `convert reads one of the layouts

  flat       .npz with a row for each transition: obs, action, next_obs, episode, and where known reward, terminated, truncated,
             expert_logp
  imitation  .npz of the Python library imitation: obs, acts, terminal, indices, and where known rews
  csv        text with the columns episode, action, obs_0, ..., next_obs_0, ..., and where known reward, terminated, truncated

and, by Python, with h5py (which kernel-setup install --with envs brings along) or pyarrow,

  Minari     a data set's folder, or its data/main_data.hdf5
  datasets   a folder that imitation.data.serialize.save or Hugging Face's save_to_disk wrote, a file .arrow or .parquet, with
             imitation's columns obs, acts, terminal, and where known rews

checks every array, and writes FILE.npz with a description in FILE.json.`,
		Example: `  demos convert recorded.csv --env Moonbase-v0 --expert 'the pilot' --out moonbase.npz
  demos convert ~/.minari/datasets/cartpole/expert-v0 --out cartpole.npz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := atomicfile.Check(out, args[0]); err != nil {
				return err
			}
			o := demo.ImportOptions{Description: demo.Description{Environment: env, Expert: expert, Actions: actions},
				Layout: demo.Layout(layout)}
			read := demo.Import
			if layout == "" && needsPython(args[0]) {
				read = func(path string, o demo.ImportOptions) (*demo.Set, error) {
					return importByPython(cmd.Context(), python, path, o)
				}
			}
			set, err := read(args[0], o)
			if err != nil {
				return err
			}
			if err := command.CheckOutput(force, demo.Files(out), demo.Files(args[0])...); err != nil {
				return err
			}
			if err := set.Write(out); err != nil {
				return err
			}
			show(cmd.OutOrStdout(), out, set)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&out, "out", "", "file to write, ending in .npz (required)")
	f.StringVar(&env, "env", "", "id of the environment")
	f.StringVar(&expert, "expert", "", "who demonstrated")
	f.IntVar(&actions, "actions", 0, "number of actions (default: one more than the largest in the file)")
	f.StringVar(&layout, "layout", "", "flat, imitation or csv (default: by the file's ending and arrays)")
	f.StringVar(&python, "python", "", "Python interpreter, where one is needed (default: BIRL_PYTHON, the one that "+
		"kernel-setup installed, or python3)")
	f.BoolVar(&force, "force", false, command.ForceHelp)
	c.MarkFlagRequired("out")
	return c
}
