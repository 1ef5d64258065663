package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/overlay"
)

// Where results lie unless --out or --from say otherwise.
const (
	resultsDir = "results"    // of the paper's scale, under version control
	scratchDir = ".birl/runs" // of all other scales
	paperScale = "paper"
)

// defaultDir returns the folder of an experiment's results.
func defaultDir(name, scale string) string {
	if scale == paperScale {
		return filepath.Join(resultsDir, name)
	}
	return filepath.Join(scratchDir, name+"-"+scale)
}

const backendHelp = "what GoMLX computes on: xla, go, or xla:/path/of/plugin.so (default: $GOMLX_BACKEND, else the " +
	"best there is)"

// runOptions are the flags of run.
type runOptions struct {
	plan              experiment.Settings
	run               experiment.Options
	shard, configFile string
	asJSON            bool
}

func newRun(definitions []experiment.Definition) *cobra.Command {
	var o runOptions
	c := &cobra.Command{
		Use:   "run EXPERIMENT",
		Short: "Run an experiment, or a shard of it, and keep its rows",
		Long: `run computes those units of an experiment that OUT lacks, and keeps each in OUT/units as soon as it is
done. A unit is a method, or a variant of one, on a chunk of problems. At the end run writes OUT/rows.csv,
the rows of the experiment's units, and OUT/run.json, the record of the run. After Ctrl-C, the finished
units are still there, and the same command continues from them.

Each unit is kept under a digest of what its rows depend on: its method's settings, the problems, the data. Where one of
these has changed, run says so and computes the units concerned anew, and no others. More methods or problems are more
units. Rows of another scale are not replaced; they need another OUT.

With --shard i/n it computes every n-th unit, from the i-th on (units on the same problems stay together). Shards may
write to the same folder at the same time, or to folders of their own, which "qvirl merge" joins; the rows are the
same as those of one run. See "qvirl help scaling".`,
		Example: `  qvirl run posterior-quality                               # quick scale, minutes
  qvirl run posterior-quality --scale paper                 # all worlds, to results/posterior-quality
  qvirl run posterior-quality --scale paper --shard 2/8 --out /scratch/pq
  qvirl run posterior-quality --json | jq .fraction`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(definitions),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := experiment.Find(definitions, args[0])
			if err != nil {
				return err
			}
			return runExperiment(cmd, d, &o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.plan.Scale, "scale", "quick", "quick, paper, or what else \"qvirl list\" shows of each experiment")
	f.StringVar(&o.shard, "shard", "", "i/n: compute every n-th unit, from the i-th on (1 ≤ i ≤ n)")
	f.BoolVar(&o.run.Anew, "anew", false, "compute all units, those that OUT holds too")
	f.IntVar(&o.run.Parallel, "parallel", 1, "units on different problems to compute at a time; with more than one, "+
		"processor time is not recorded per method")
	f.BoolVar(&o.run.UnitsOnly, "units-only", false,
		"leave rows.csv and run.json to \"qvirl merge\"; for one of many shards in one folder")
	f.StringVar(&o.run.Out, "out", "", "folder for the results (default: "+defaultDir("EXPERIMENT",
		paperScale)+" at paper scale, else "+defaultDir("EXPERIMENT", "SCALE")+")")
	f.StringVar(&o.configFile, "config", "", "JSON file with fields that replace those of the scale's config")
	f.StringVar(&o.plan.Backend, "backend", "", backendHelp)
	f.BoolVar(&o.asJSON, "json", false, "write events as JSON to standard output, one a line")
	return c
}

// runExperiment does what the command says.
func runExperiment(cmd *cobra.Command, d *experiment.Definition, o *runOptions) error {
	err := d.CheckScale(o.plan.Scale)
	if err != nil {
		return err
	}
	if o.run.Shard, err = experiment.ParseShard(o.shard); err != nil {
		return err
	}
	if err := check.AtLeast(1, "--parallel", o.run.Parallel); err != nil {
		return err
	}
	if o.plan.Override, err = overlay.Read(o.configFile); err != nil {
		return err
	}
	o.run.Out = cmp.Or(o.run.Out, defaultDir(d.Name, o.plan.Scale))
	plan, err := d.Plan(o.plan)
	if err != nil {
		return overlay.OfFile(o.configFile, err)
	}
	if o.run.Backend, err = describeBackend(o.plan.Backend, cmd.ErrOrStderr()); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	o.run.Events = listen(cmd, o.asJSON)
	record, err := experiment.Run(cmd.Context(), plan, o.run)
	if err != nil {
		return withHint(err, record, o.run)
	}
	switch {
	case o.asJSON:
	case o.run.UnitsOnly:
		fmt.Fprintf(out, "the units are in %s; qvirl merge makes their rows.csv and run.json\n",
			filepath.Join(o.run.Out, experiment.UnitsDir))
	case record == nil:
		fmt.Fprintf(out, "nothing to compute: the plan of %s (%s scale) has %d units, and none is in the "+
			"shard %s\n", d.Name, o.plan.Scale, len(plan.Units), o.shard)
	default:
		summarise(out, record, o.run.Out)
	}
	return nil
}

// describeBackend opens the backend, passes on its notice, and describes it for the record.
func describeBackend(name string, stderr io.Writer) (string, error) {
	choice, err := backend.Get(name)
	if err != nil {
		return "", err
	}
	if choice.Notice != "" {
		fmt.Fprintln(stderr, "note:", choice.Notice)
	}
	return folders.ReplaceAllString(choice.Backend.Description(), ""), nil
}

// folders matches what stands before a file's name in a path: records are published, and where a plugin lies on one
// machine says nothing on another.
var folders = regexp.MustCompile(`(/[^\s/:()]+)+/`)

// withHint adds how to go on to the error of a run that did not come to its end.
func withHint(err error, record *experiment.Record, o experiment.Options) error {
	if record == nil {
		return err
	}
	verb := "stopped"
	if errors.Is(err, context.Canceled) {
		verb = "was interrupted"
	}
	again := "The same command"
	if o.Anew {
		again = "The same command without --anew"
	}
	return fmt.Errorf("%w\nThe run %s; %d finished units are kept in %s. %s goes on from there", err, verb,
		len(record.Units), o.Out, again)
}

// namedMissing is the number of missing units that summarise names at most.
const namedMissing = 10

// summarise says what a folder holds after a run or a merge.
func summarise(w io.Writer, r *experiment.Record, out string) {
	fmt.Fprintf(w, "%d rows of %s (%s scale) in %s\n", r.Rows, r.Experiment, r.Scale,
		filepath.Join(out, experiment.RowsFile))
	if !r.Complete {
		missing := r.Missing
		if len(missing) > namedMissing {
			missing = append(slices.Clone(missing[:namedMissing]), "…")
		}
		fmt.Fprintf(w, "incomplete: %d of %d units are missing: %s\n", len(r.Missing), len(r.Missing)+len(r.Units),
			strings.Join(missing, ", "))
		return
	}
	fmt.Fprintf(w, "tables and figures: qvirl report %s --from %s\n", r.Experiment, command.Quote(out))
}

// completeNames completes the names of experiments in shells.
func completeNames(definitions []experiment.Definition) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		for _, d := range definitions {
			names = append(names, cobra.CompletionWithDesc(d.Name, d.Short))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func newMerge() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "merge [DIR...] --out DIR",
		Short: "Join the results of shards that wrote to different folders",
		Long: `merge copies the finished units of all folders to one, and writes its rows.csv and run.json. The folders
must be of the same experiment and config; without any, OUT's own units are joined. Some units may still
be missing; a later merge to the same folder adds them.`,
		Example: `  qvirl merge shard-1 shard-2 shard-3 --out results/posterior-quality`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := experiment.Merge(args, out)
			if err != nil {
				return err
			}
			summarise(cmd.OutOrStdout(), record, out)
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder for the joined results (required)")
	c.MarkFlagRequired("out")
	return c
}
