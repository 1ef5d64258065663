package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/overlay"
	"github.com/go-birl/birl/qvirl/submit"
)

// Files in the folder of the results that all tasks read.
const (
	programFile = "qvirl"       // a copy of this program
	configFile  = "config.json" // of --config
	scriptFile  = "submitted"   // what was submitted last
)

// submitOptions are the flags of submit.
type submitOptions struct {
	settings                          experiment.Settings
	engine, out, config               string
	tasks, cpus, retries              int
	every                             time.Duration
	dryRun                            bool
	partition, account, limit, memory string
	namespace, image, claim, mount    string
}

func newSubmit(definitions []experiment.Definition) *cobra.Command {
	var o submitOptions
	c := &cobra.Command{
		Use:   "submit EXPERIMENT",
		Short: "Spread an experiment over the tasks of Slurm, Kubernetes or this machine, and collect its rows",
		Long: `submit computes an experiment by many tasks at once: task i computes the shard i/TASKS, as "qvirl run
--shard" does, into the folder OUT that all tasks share. It submits the tasks, shows their progress, and
at the end writes OUT/rows.csv and OUT/run.json; the rows are those of one run. A task that fails, is
pre-empted or runs out of time is submitted again and continues from its finished units, up to --retries
times without finishing another. A cancelled task is also submitted again, unless all remaining tasks are
cancelled.

Where Slurm or Kubernetes runs the tasks, Ctrl-C ends this command alone; it says how to inspect and cancel the tasks.
The same command follows them again, and computes nothing that is finished.`,
		Example: `  qvirl submit posterior-quality --scale paper --engine slurm --tasks 6 --cpus 4 --partition short --out $SCRATCH/pq
  qvirl submit lunarlander --scale paper --engine local --tasks 63 --cpus 1 --out lander
  qvirl submit zoo --scale paper --engine kubernetes --tasks 16 --cpus 4 --image registry.example/qvirl \
      --claim results --mount /results --out /results/zoo --dry-run`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeNames(definitions),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := experiment.Find(definitions, args[0])
			if err != nil {
				return err
			}
			return o.run(cmd, d)
		},
	}
	f := c.Flags()
	f.StringVar(&o.settings.Scale, "scale", "quick",
		"quick, paper, or what else \"qvirl list\" shows of each experiment")
	f.StringVar(&o.engine, "engine", "", "slurm, kubernetes or local (required)")
	f.IntVar(&o.tasks, "tasks", 0, "number of tasks; more than there are sets of problems are not submitted (required)")
	f.IntVar(&o.cpus, "cpus", 1, "processor cores of a task")
	f.StringVar(&o.out, "out", "", "folder for the results, which all tasks see (default as for run)")
	f.StringVar(&o.config, "config", "", "JSON file with fields that replace those of the scale's config")
	f.StringVar(&o.settings.Backend, "backend", "", "what the tasks compute on, as for run")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be submitted, and submit nothing")
	f.IntVar(&o.retries, "retries", 3, "how often a task is submitted again without finishing a unit")
	f.DurationVar(&o.every, "every", 5*time.Second, "how often the engine is asked")
	f.StringVar(&o.partition, "partition", "", "slurm: the partition (default: the cluster's)")
	f.StringVar(&o.account, "account", "", "slurm: the account (default: yours)")
	f.StringVar(&o.limit, "time", "", "slurm: time limit of a task, as of sbatch, such as 4:00:00")
	f.StringVar(&o.memory, "memory", "", "slurm, kubernetes: memory of a task, such as 8G (slurm) or 8Gi (kubernetes)")
	f.StringVar(&o.namespace, "namespace", "", "kubernetes: the namespace (default: kubectl's)")
	f.StringVar(&o.image, "image", "", "kubernetes: the image, with qvirl on its PATH")
	f.StringVar(&o.claim, "claim", "", "kubernetes: the persistent volume claim on which OUT lies")
	f.StringVar(&o.mount, "mount", "/results", "kubernetes: where its volume is mounted, in the pods and here")
	c.MarkFlagRequired("engine")
	c.MarkFlagRequired("tasks")
	return c
}

// How sbatch takes times and memory, and how Kubernetes takes memory.
var (
	slurmTime        = regexp.MustCompile(`^((\d+-)?\d+(:\d+){0,2}|(?i)infinite|unlimited)?$`)
	slurmMemory      = regexp.MustCompile(`^(\d+[KMGTkmgt]?)?$`)
	kubernetesMemory = regexp.MustCompile(`^(\d+(\.\d+)?([KMGTPE]i|[kMGTPE])?)?$`)
)

// engineFlags are the flags that not all engines take, and those that do.
var engineFlags = map[string]string{"partition": "slurm", "account": "slurm", "time": "slurm",
	"memory": "slurm or kubernetes", "namespace": "kubernetes", "image": "kubernetes", "claim": "kubernetes",
	"mount": "kubernetes"}

// refuseOthers refuses a flag of another engine.
func (o *submitOptions) refuseOthers(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(f *pflag.Flag) {
		if of, some := engineFlags[f.Name]; some && !strings.Contains(of, o.engine) && err == nil {
			err = fmt.Errorf("--%s is a flag of --engine %s, not of %s", f.Name, of, o.engine)
		}
	})
	return err
}

// choose returns the engine.
func (o *submitOptions) choose() (submit.Engine, error) {
	switch o.engine {
	case "slurm":
		if err := check.First(
			check.That(slurmTime.MatchString(o.limit), "--time %s: want minutes, or as in 4:00:00 or 1-12:00:00",
				o.limit),
			check.That(slurmMemory.MatchString(o.memory), "--memory %s: slurm takes it as in 8G", o.memory),
		); err != nil {
			return nil, err
		}
		return submit.Slurm{Partition: o.partition, Account: o.account, Time: o.limit, Memory: o.memory}, nil
	case "kubernetes":
		if o.image == "" || o.claim == "" {
			return nil, errors.New("--engine kubernetes needs --image and --claim")
		}
		if !kubernetesMemory.MatchString(o.memory) {
			return nil, fmt.Errorf("--memory %s: kubernetes takes it as in 8Gi", o.memory)
		}
		return submit.Kubernetes{Namespace: o.namespace, Image: o.image, Claim: o.claim, Mount: o.mount,
			Memory: o.memory, Retries: o.retries}, nil
	case "local":
		return &submit.Local{Parallel: runtime.NumCPU() / o.cpus}, nil
	}
	return nil, fmt.Errorf("--engine %q: there is slurm, kubernetes and local", o.engine)
}

func (o *submitOptions) run(cmd *cobra.Command, d *experiment.Definition) (err error) {
	if err := d.CheckScale(o.settings.Scale); err != nil {
		return err
	}
	if err := check.First(check.AtLeast(1, "--tasks --cpus", o.tasks, o.cpus), check.AtLeast(0, "--retries", o.retries),
		check.That(o.every > 0, "--every %v: want a positive time", o.every)); err != nil {
		return err
	}
	if o.settings.Override, err = overlay.Read(o.config); err != nil {
		return err
	}
	engine, err := o.choose()
	if err != nil {
		return err
	}
	if err := o.refuseOthers(cmd.Flags()); err != nil {
		return err
	}
	plan, err := d.Plan(o.settings)
	if err != nil {
		return overlay.OfFile(o.config, err)
	}
	job, err := o.job(d.Name, plan.Groups())
	if err != nil {
		return err
	}
	script, err := engine.Script(job)
	if err != nil {
		return err
	}
	out, stderr := cmd.OutOrStdout(), cmd.ErrOrStderr()
	if o.dryRun {
		_, err := io.WriteString(out, script)
		return err
	}
	_, missing := os.Stat(job.Out)
	release, err := command.ClaimFolder(job.Out)
	if err != nil {
		return err
	}
	defer release()
	left, err := experiment.Left(plan, experiment.Options{Out: job.Out})
	if err != nil {
		return err
	}
	if len(left) == 0 {
		fmt.Fprintf(stderr, "all %d units of %s are finished; nothing is submitted\n", len(plan.Units), d.Name)
	} else {
		if err := o.prepare(cmd, job, engine, script); err != nil {
			if missing != nil && os.Remove(filepath.Join(job.Out, experiment.UnitsDir)) == nil { // it was empty
				_ = os.Remove(filepath.Join(job.Out, experiment.PlanFile)) // so that release removes the folder
			}
			return err
		}
		show, began := progress.Terminal(stderr), time.Now()
		if err := submit.Run(cmd.Context(), experiment.Shares(plan, job.Out, job.Tasks), job, engine,
			submit.Options{Every: o.every, Retries: o.retries, Events: submitProgress(show, began)}); err != nil {
			return err
		}
		show(progress.Event{Kind: progress.Finished, Done: len(plan.Units), Total: len(plan.Units), Fraction: 1,
			Elapsed: time.Since(began).Seconds()})
	}
	record, err := experiment.Merge(nil, job.Out)
	if err != nil {
		return err
	}
	summarise(out, record, job.Out)
	return nil
}

// job says what is submitted.
func (o *submitOptions) job(name string, groups int) (submit.Job, error) {
	o.out = cmp.Or(o.out, defaultDir(name, o.settings.Scale))
	out, err := filepath.Abs(o.out)
	if err != nil {
		return submit.Job{}, fmt.Errorf("--out: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return submit.Job{}, err
	}
	program := filepath.Join(out, programFile)
	if o.engine == "kubernetes" {
		program, dir = "qvirl", ""
	}
	words := []string{program, "run", name, "--scale", o.settings.Scale, "--units-only", "--out", out}
	if o.config != "" {
		words = append(words, "--config", filepath.Join(out, configFile))
	}
	if o.settings.Backend != "" {
		words = append(words, "--backend", o.settings.Backend)
	}
	sum := sha256.Sum256([]byte(out))
	return submit.Job{Name: fmt.Sprintf("qvirl-%s-%x", name, sum[:4]), Command: words, Dir: dir, Out: out,
		Tasks: min(o.tasks, groups), CPUs: o.cpus}, nil
}

// prepare stores what the tasks read, unless they are on their way: then they must be those that would be submitted.
func (o *submitOptions) prepare(cmd *cobra.Command, job submit.Job, engine submit.Engine, script string) error {
	states, err := engine.Tasks(cmd.Context(), job)
	if err != nil {
		return err
	}
	live := 0
	for _, s := range states {
		if s.Phase.Live() {
			live++
		}
	}
	path := filepath.Join(job.Out, scriptFile)
	if live > 0 {
		former, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(former) != script {
			return fmt.Errorf("%d tasks of %s that were submitted with other settings go on; give the same settings "+
				"to follow them, wait for them, or cancel them.\n%s", live, job.Name, engine.Leave(job))
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "following %d tasks that were submitted before\n", live)
		return nil
	}
	if o.config != "" {
		if err := atomicfile.WriteBytes(filepath.Join(job.Out, configFile), o.settings.Override); err != nil {
			return err
		}
	}
	if o.engine != "kubernetes" {
		if err := copyProgram(filepath.Join(job.Out, programFile)); err != nil {
			return err
		}
	}
	return atomicfile.WriteBytes(path, []byte(script))
}

// copyProgram copies this program, so that all tasks run the same one, whatever is built meanwhile.
func copyProgram(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	in, err := os.Open(self)
	if err != nil {
		return err
	}
	defer in.Close()
	if same, err := os.Stat(path); err == nil {
		if info, err := in.Stat(); err == nil && os.SameFile(info, same) {
			return nil
		}
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := io.Copy(w, in); return err }); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

// submitProgress shows the progress of a job as that of a run.
func submitProgress(show func(progress.Event), began time.Time) func(submit.Progress) {
	before := -1.
	var last progress.Event
	return func(p submit.Progress) {
		if p.Note != "" {
			e := last
			e.Kind, e.Unit, e.Notes = progress.UnitFinished, "submit", []string{p.Note}
			if p.Task > 0 {
				e.Unit = "task " + strconv.Itoa(p.Task)
			}
			show(e)
			return
		}
		if before < 0 {
			before = p.Fraction
		}
		last = progress.Event{Kind: progress.Progressed, Done: p.Done, Total: p.Total, Fraction: p.Fraction,
			Status: fmt.Sprintf("tasks: %d running, %d waiting", p.Running, p.Waiting)}
		// of what was left when the command began to follow
		last.Elapsed = time.Since(began).Seconds()
		last.Left = progress.Left(last.Elapsed, (p.Fraction-before)/max(1-before, 1e-9))
		show(last)
	}
}
