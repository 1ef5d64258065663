package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	imagedraw "image/draw"
	"image/png"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/progress"
)

func newShow() *cobra.Command {
	var picture string
	var episode int
	var force bool
	var replay gym.ReplayOptions
	c := &cobra.Command{
		Use:   "show FILE...",
		Short: "Check files of demonstrations and say what they hold",
		Long: `show reads files of demonstrations in any layout that the project knows (its own, flat .npz, imitation's
.npz, CSV), checks every array in them, and says what they hold.

With --frames, it draws evenly spaced frames of one episode into a picture. Where a file holds seeds and actions in
place of observations, the episode is played again, and checked.`,
		Example: `  demos show cartpole.npz recorded.csv
  demos show results/expert-pong/demos.npz --frames pong.png`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if picture != "" {
				if len(args) > 1 {
					return fmt.Errorf("--frames draws of one file, there are %d", len(args))
				}
				if filepath.Ext(picture) != ".png" {
					return fmt.Errorf("--frames %s: want a name that ends in .png", picture)
				}
				if err := command.CheckOutput(force, []string{picture}, demo.Inputs(args[0])...); err != nil {
					return err
				}
			}
			var errs []error
			for _, path := range args {
				set, err := demo.Open(path)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				show(cmd.OutOrStdout(), path, set)
				if picture != "" {
					errs = append(errs, draw(cmd.Context(), set, episode, picture, replay))
				}
			}
			return errors.Join(errs...)
		},
	}
	f := c.Flags()
	f.StringVar(&picture, "frames", "", "draw frames of an episode into this file, ending in .png")
	f.IntVar(&episode, "episode", 0, "which episode --frames draws")
	f.BoolVar(&force, "force", false, command.ForceHelp)
	command.AddPython(c, &replay.Python, &replay.PythonPath)
	return c
}

// The frames of a picture, in rows from left to right.
const drawnRows, drawnColumns = 4, 8

// draw draws frames of an episode, at even distances, into a file.
func draw(ctx context.Context, set *demo.Set, episode int, path string, o gym.ReplayOptions) error {
	if episode < 0 || episode >= len(set.Trajectories) {
		return fmt.Errorf("--episode %d: want 0 to %d", episode, len(set.Trajectories)-1)
	}
	one := *set
	one.Trajectories = set.Trajectories[episode : episode+1]
	if set.Replay != nil {
		played, err := gym.Replay(ctx, &one, o)
		if err != nil {
			return err
		}
		one = *played
	}
	shape, f := set.ObservationShape, one.Trajectories[0].Frames
	if f == nil || len(shape) != 3 {
		return fmt.Errorf("--frames: %s are no stacks of frames, of which there is nothing to draw",
			observations(shape))
	}
	height, width := shape[1], shape[2]
	out := image.NewGray(image.Rect(0, 0, drawnColumns*(width+2), drawnRows*(height+2)))
	last := len(f.Pixels)/f.Size - 1
	for i := range drawnRows * drawnColumns {
		at := (last*i + (drawnRows*drawnColumns-1)/2) / (drawnRows*drawnColumns - 1)
		frame := &image.Gray{Pix: f.Pixels[at*f.Size:], Stride: width, Rect: image.Rect(0, 0, width, height)}
		place := image.Pt(i%drawnColumns*(width+2)+1, i/drawnColumns*(height+2)+1)
		imagedraw.Draw(out, frame.Rect.Add(place), frame, image.Point{}, imagedraw.Src)
	}
	return atomicfile.Write(path, func(w io.Writer) error { return png.Encode(w, out) })
}

// observations says in words what shape they have.
func observations(shape []int) string {
	if len(shape) == 0 {
		return "observations of a single number"
	}
	return fmt.Sprintf("observations %v", shape)
}

// show writes what a set holds.
func show(w io.Writer, path string, s *demo.Set) {
	name := cmp.Or(s.Environment, "an environment not named")
	fmt.Fprintf(w, "%s: %s of %s, %s\n", path, progress.Count(len(s.Trajectories), "trajectory", "trajectories"), name,
		progress.Count(s.Transitions(), "transition", "transitions"))
	kind := ""
	switch {
	case s.Replay != nil:
		kind = " by replay of seeds and actions"
	case len(s.Trajectories) > 0 && s.Trajectories[0].Frames != nil:
		kind = " that are stacks of pictures"
	}
	fmt.Fprintf(w, "  %s%s, %s", observations(s.ObservationShape), kind, progress.Count(s.Actions, "action", "actions"))
	if s.Actions <= 20 {
		var counts []string
		taken := s.Taken()
		for a := range s.Actions {
			counts = append(counts, strconv.Itoa(taken[a]))
		}
		fmt.Fprintf(w, ", taken %s times", strings.Join(counts, ", "))
	}
	fmt.Fprintln(w)
	if s.Expert != "" {
		fmt.Fprintf(w, "  by %s", s.Expert)
		if s.Beta != nil {
			fmt.Fprintf(w, ", β = %g", *s.Beta)
		}
		fmt.Fprintln(w)
	}
	var ends []string
	terminated, truncated, unknown := s.Ends()
	for i, n := range []int{terminated, truncated, unknown} {
		if n > 0 {
			ends = append(ends, fmt.Sprint(n, []string{" terminated", " truncated", " not known"}[i]))
		}
	}
	fmt.Fprintf(w, "  ends: %s\n", strings.Join(ends, ", "))
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
	if len(s.Ignored) > 0 {
		fmt.Fprintf(w, "  unknown or misspelt arrays are ignored: %s\n", strings.Join(s.Ignored, ", "))
	}
	for _, remark := range s.Remarks() {
		fmt.Fprintf(w, "  note: %s\n", remark)
	}
}

// convertOptions are the flags of convert.
type convertOptions struct {
	out, env, expert, layout string
	actions                  int
	force, plain             bool
	replay                   gym.ReplayOptions
}

func newConvert() *cobra.Command {
	var o convertOptions
	c := &cobra.Command{
		Use:   "convert FILE|FOLDER --out FILE.npz",
		Short: "Convert a file that others have made to this project's layout",
		Long: `convert reads a file of one of the layouts

  flat       .npz with a row for each transition: obs, action, next_obs, episode, and where known reward, terminated,
             truncated, seed, expert_logp
  imitation  .npz of the Python library imitation: obs, acts, terminal, indices, and where known rews
  csv        text with the columns episode, action, obs_0, ..., next_obs_0, ..., and where known reward, terminated,
             truncated, seed

and, through Python, with h5py or pyarrow (which kernel-setup install --with envs includes),

  Minari     a data set's folder, or its data/main_data.hdf5
  datasets   a folder that imitation.data.serialize.save or Hugging Face's save_to_disk wrote, a file .arrow or
             .parquet, with imitation's columns obs, acts, terminal, and where known rews

checks every array, and writes FILE.npz with a description in FILE.json.

With --plain, it reads a file of this project's layout that holds seeds and actions in place of observations, plays
the episodes again, checks them, and writes the observations as plain arrays; for stacks of frames, it writes each
frame once (array frames).`,
		Example: `  demos convert recorded.csv --env Moonbase-v0 --expert 'the pilot' --out moonbase.npz
  demos convert ~/.minari/datasets/cartpole/expert-v0 --out cartpole.npz
  demos convert results/expert-pong/demos.npz --plain --out pong.npz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return convert(cmd, args[0], &o) },
	}
	f := c.Flags()
	f.StringVar(&o.out, "out", "", "file to write, ending in .npz (required)")
	f.StringVar(&o.env, "env", "", "id of the environment")
	f.StringVar(&o.expert, "expert", "", "who demonstrated")
	f.IntVar(&o.actions, "actions", 0, "number of actions (default: one more than the largest in the file)")
	f.StringVar(&o.layout, "layout", "", "layout of FILE: flat, imitation or csv (default: by its ending "+
		"and arrays)")
	f.BoolVar(&o.plain, "plain", false, "store observations where FILE has seeds and actions")
	f.BoolVar(&o.force, "force", false, command.ForceHelp)
	command.AddPython(c, &o.replay.Python, &o.replay.PythonPath)
	for _, other := range []string{"env", "expert", "actions", "layout"} {
		c.MarkFlagsMutuallyExclusive("plain", other)
	}
	c.MarkFlagRequired("out")
	return c
}

// convert does what the command says with the file or folder at a path.
func convert(cmd *cobra.Command, path string, o *convertOptions) error {
	if filepath.Ext(o.out) != ".npz" {
		return fmt.Errorf("--out %s: want a name that ends in .npz, as convert writes no other layout", o.out)
	}
	if err := command.CheckOutput(o.force, demo.Files(o.out), demo.Inputs(path)...); err != nil {
		return err
	}
	if layouts := []demo.Layout{"", demo.Flat, demo.Imitation, demo.CSV}; !slices.Contains(layouts,
		demo.Layout(o.layout)) {
		return fmt.Errorf("--layout %q: want flat, imitation or csv", o.layout)
	}
	options := demo.ImportOptions{Layout: demo.Layout(o.layout),
		Description: demo.Description{Environment: o.env, Expert: o.expert, Actions: o.actions}}
	read := demo.Import
	switch {
	case o.plain:
		read = func(path string, _ demo.ImportOptions) (*demo.Set, error) {
			return gym.OpenDemos(cmd.Context(), path, o.replay)
		}
	case o.layout == "" && needsPython(path):
		read = func(path string, options demo.ImportOptions) (*demo.Set, error) {
			return importByPython(cmd.Context(), o.replay.Python, path, options)
		}
	}
	set, err := read(path, options)
	if err != nil {
		return err
	}
	set.Made, set.Replay = cmp.Or(set.Made, set.Replay), nil
	if err := set.Write(o.out); err != nil {
		return err
	}
	show(cmd.OutOrStdout(), o.out, set)
	return nil
}
