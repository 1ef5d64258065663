package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/progress"
)

// step is a part of the installation that is complete or not: when its inputs, summed up in the digest, change, or an
// output is damaged, it runs again as a whole.
type step struct {
	name   string // in the state file
	title  string
	digest string
	// run does the work and returns the outputs whose presence shows that it is still done. say reports what is
	// going on in a few words.
	run func(ctx context.Context, say func(string)) ([]output, error)
}

// stepError is the failure of a step as the user sees it.
type stepError struct {
	Title string
	Err   error
}

func (e *stepError) Error() string {
	text := fmt.Sprintf("step %q failed: %v", e.Title, e.Err)
	if h, ok := errors.AsType[hinted](e.Err); ok {
		text += "\n  What to do: " + strings.ReplaceAll(h.hint, "\n", "\n    ")
	}
	return text
}

func (e *stepError) Unwrap() error { return e.Err }

// hinted is an error that knows what its reader can do.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// installer brings a clone to the state that the choices ask for.
type installer struct {
	layout   layout
	progress *tasks
	choose   func(*choices) // changes the stored choices; may be nil
	only     []string       // names of the steps to run, where not all are needed
}

// installOptions are the flags of install.
type installOptions struct {
	python, kernelspec string
	cuda, noXLA        bool
	with               []string
}

func newInstallCommand() *cobra.Command {
	var o installOptions
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Install JupyterLab, the Go kernel and the XLA plugin into .birl",
		Long: `Install JupyterLab, the Go kernel and the XLA plugin into the clone's folder .birl.

Python packages come through your own pip configuration (mirrors, proxies, local indexes), Go modules through your own
GOPROXY. Everything is pinned and checked by SHA-256. What is already there is left alone; after an interruption, run
the command again to repair the installation. The options are remembered, except --kernelspec.

With --kernelspec, a kernelspec named gonb is written where other programs look for kernels, so that VS Code and your
own Jupyter can run the notebooks: --kernelspec user for all your programs, --kernelspec PREFIX for one virtual
environment. It starts the kernel of this clone; to undo it, delete the folder that the command names.`,
		Example: `  go run ./kernel-setup install
  go run ./kernel-setup install --python /usr/bin/python3.12
  go run ./kernel-setup install --cuda            # on a machine with an NVIDIA GPU
  go run ./kernel-setup install --no-xla          # pure Go computation only
  go run ./kernel-setup install --no-xla=false    # back to XLA
  go run ./kernel-setup install --with envs       # Gymnasium, Box2D, highway-env and Atari for the package envs/gym
  go run ./kernel-setup install --kernelspec user # the Go kernel, for VS Code and every Jupyter of yours`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return install(cmd, &o) },
	}
	cmd.Flags().StringVar(&o.python, "python", "", "Python interpreter to build on, 3.10 or newer (default: the first "+
		"suitable one on PATH)")
	cmd.Flags().BoolVar(&o.cuda, "cuda", false, "also install the XLA plugin and libraries for NVIDIA GPUs (Linux on "+
		"x86-64, several GB)")
	cmd.Flags().BoolVar(&o.noXLA, "no-xla", false, "do without XLA: compute on the pure Go backend, about ten times "+
		"slower")
	cmd.Flags().StringVar(&o.kernelspec, "kernelspec", "", `also write a kernelspec for other programs: "user" for all of `+
		`yours, or a prefix, below which it goes to share/jupyter/kernels`)
	cmd.Flags().StringSliceVar(&o.with, "with", nil,
		`further parts: "envs", the Gymnasium environments (700 MB); --with= goes back to none`)
	return cmd
}

// install does what the command says.
func install(cmd *cobra.Command, o *installOptions) error {
	l, err := currentLayout()
	if err != nil {
		return err
	}
	envs, err := parseWith(o.with)
	if err != nil {
		return err
	}
	if o.python != "" {
		// An interpreter that will not do must not become the stored choice.
		if o.python, err = absoluteProgram(o.python); err != nil {
			return err
		}
		if _, err := findPython(cmd.Context(), o.python); err != nil {
			return &stepError{"--python", err}
		}
	}
	in := installer{layout: l, progress: newTasks(os.Stderr), choose: func(c *choices) {
		if cmd.Flags().Changed("python") {
			c.Python = o.python
		}
		if cmd.Flags().Changed("cuda") {
			c.CUDA = o.cuda
		}
		if cmd.Flags().Changed("no-xla") {
			c.NoXLA = o.noXLA
		}
		if cmd.Flags().Changed("with") {
			c.Envs = envs
		}
	}}
	started := time.Now()
	did, err := in.ensure(cmd.Context())
	if err != nil {
		return err
	}
	if o.kernelspec != "" {
		folder, err := writeKernelspec(l, o.kernelspec)
		if err != nil {
			return fmt.Errorf("--kernelspec %s: %w", o.kernelspec, err)
		}
		fmt.Fprintf(os.Stderr, "the Go kernel of this clone can be found in %s\n", folder)
	}
	if !did {
		fmt.Fprintf(os.Stderr, "everything is installed already (checked in %s)\n",
			time.Since(started).Round(time.Millisecond))
	} else {
		fmt.Fprintf(os.Stderr, "installed in %s; next: go run ./kernel-setup doctor, lab, run or test\n",
			progress.Brief(time.Since(started)))
	}
	return nil
}

// parseWith reads the values of --with.
func parseWith(parts []string) (envs bool, err error) {
	for _, p := range parts {
		if p != "envs" {
			return false, fmt.Errorf("--with %s: there is no such part; there is envs", p)
		}
		envs = true
	}
	return envs, nil
}

// withEnvs makes the environments part of the installation, for commands that cannot do without them.
func withEnvs(c *choices) { c.Envs = true }

// ensure stores the choices, runs the steps that are missing and reports whether there were any. What it writes, it
// writes under a lock; checking that nothing has changed and nothing is missing needs none.
func (in *installer) ensure(ctx context.Context) (did bool, err error) {
	s, err := loadState(in.layout.state())
	if err != nil {
		return false, err
	}
	changed := in.apply(s)
	if missing, _, err := in.missing(ctx, s); err != nil || len(missing) == 0 && !changed {
		return false, err
	}
	if err := os.MkdirAll(in.layout.private(), 0o755); err != nil {
		return false, err
	}
	unlock, err := in.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()

	// The one who held the lock may have done it all.
	if s, err = loadState(in.layout.state()); err != nil {
		return false, err
	}
	if err := s.claim(in.layout); err != nil {
		return false, err
	}
	if in.apply(s) {
		if err := s.save(in.layout.state()); err != nil {
			return false, err
		}
	}
	missing, notices, err := in.missing(ctx, s)
	if err != nil || len(missing) == 0 {
		return false, err
	}
	for _, n := range notices {
		fmt.Fprintln(in.progress.w, "· "+n)
	}
	if err := os.RemoveAll(in.layout.temporary()); err != nil { // left by an interrupted run
		return false, err
	}
	for len(missing) > 0 {
		if err := in.perform(ctx, s, missing[0]); err != nil {
			return true, err
		}
		// A step can make others incomplete: a new virtual environment has lost the packages that were added to it.
		if missing, _, err = in.missing(ctx, s); err != nil {
			return true, err
		}
	}
	return true, os.RemoveAll(in.layout.temporary())
}

// perform runs one step between two savings of the state, so that an interruption at any moment leaves the step
// marked as begun.
func (in *installer) perform(ctx context.Context, s *state, st step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(in.layout.temporary(), 0o755); err != nil {
		return err
	}
	s.Steps[st.name] = stamp{}
	if err := s.save(in.layout.state()); err != nil {
		return err
	}
	t := in.progress.begin(st.title)
	outputs, err := st.run(ctx, t.say)
	if err != nil {
		t.failed(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &stepError{st.title, err}
	}
	t.done("")
	s.Steps[st.name] = stamp{Digest: st.digest, Outputs: outputs, Ended: time.Now().UTC()}
	return s.save(in.layout.state())
}

// apply applies the choices to s and reports whether they change it.
func (in *installer) apply(s *state) (changed bool) {
	if in.choose == nil {
		return false
	}
	before := s.Choices
	in.choose(&s.Choices)
	return s.Choices != before
}

// missing lists the steps that have to run for the choices in s, in order, and what the user should know.
func (in *installer) missing(ctx context.Context, s *state) (todo []step, notices []string, err error) {
	discardSpoiltPython(s)
	steps, notices, err := in.steps(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	for _, st := range steps {
		if (in.only == nil || slices.Contains(in.only, st.name)) &&
			s.check(in.layout.private(), st.name, st.digest) != "" {
			todo = append(todo, st)
		}
	}
	return todo, notices, nil
}

// steps lists all steps for the choices in s. A digest contains the digests of the steps that it builds upon.
func (in *installer) steps(ctx context.Context, s *state) (steps []step, notices []string, err error) {
	goMod, err := os.ReadFile(filepath.Join(in.layout.root, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	tools, err := os.ReadFile(filepath.Join(in.layout.tools(), "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	steps = append(steps, in.layout.toolStep(string(tools)), in.layout.pythonStep(s))
	if s.Choices.Envs {
		steps = append(steps, in.layout.envsStep(s))
	}
	reason := xlaObstacle(ctx, in.layout)
	if s.Choices.NoXLA {
		reason = "left out at your wish (--no-xla)"
	}
	if reason != "" {
		if s.Choices.CUDA {
			return nil, nil, fmt.Errorf("--cuda needs XLA: %s", reason)
		}
		return steps, append(notices, "XLA: "+reason+"; computation will use the pure Go backend, about ten times "+
			"slower"), nil
	}
	plugins := []plugin{cpuPlugin}
	if s.Choices.CUDA {
		plugins = append(plugins, cudaPlugin)
		steps = append(steps, in.layout.cudaStep(s))
		if !hasNVIDIA() {
			notices = append(notices, "CUDA: this machine shows no NVIDIA GPU (/dev/nvidia*); the files are "+
				"installed all the same")
		}
	}
	for _, p := range plugins {
		steps = append(steps, in.layout.pluginStep(p))
	}
	return append(steps, in.layout.probeStep(string(goMod), plugins)), notices, nil
}

// lock keeps two installations of one clone apart. The operating system releases it when its holder dies.
func (in *installer) lock(ctx context.Context) (unlock func(), err error) {
	path := in.layout.lock()
	l := flock.New(path)
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	if !ok {
		who, _ := os.ReadFile(path)
		t := in.progress.begin(fmt.Sprintf("waiting for another kernel-setup (process %s) that installs into this "+
			"clone", strings.TrimSpace(string(who))))
		if _, err := l.TryLockContext(ctx, 200*time.Millisecond); err != nil {
			t.failed(ctx)
			return nil, err
		}
		t.done("")
	}
	// Who holds the lock is a help for the reader of the message above; the lock does not depend on it.
	_ = os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o644)
	return func() { _ = l.Unlock() }, nil
}
