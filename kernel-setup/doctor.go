package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/atomicfile"
	commands "github.com/go-birl/birl/envs/command"
)

// finding is one line of the doctor's table.
type finding struct {
	Item   string `json:"item"`
	Status string `json:"status"` // "ok", "missing", "broken" or, where nothing needs to be done, "none"
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"`
	Needed bool   `json:"needed"` // for running the notebooks
}

// report is the doctor's answer as --json prints it.
type report struct {
	OK       bool      `json:"ok"`
	Root     string    `json:"root"`
	Findings []finding `json:"findings"`
}

const mendInstall = "go run ./kernel-setup install"

func newDoctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is installed, whether it works, and how to fix what does not",
		Long: `Say what is installed, in which version and where, and compute one line on each backend in a process of
its own. For anything missing or broken, show the command that fixes it. Nothing is changed. The exit
status is 0 if the notebooks can run.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := currentLayout()
			if err != nil {
				return err
			}
			p := newTasks(os.Stderr)
			t := p.begin("examining " + l.root)
			r, err := examine(cmd.Context(), l, t.say)
			if err != nil {
				t.failed(cmd.Context())
				return err
			}
			t.done("")
			if asJSON {
				err = atomicfile.EncodeJSON(cmd.OutOrStdout(), r)
			} else {
				r.print(cmd.OutOrStdout())
			}
			if err == nil && !r.OK {
				return errReported
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the findings as JSON")
	return cmd
}

// examine looks at everything; an error means that it was interrupted or could not read the clone.
func examine(ctx context.Context, l layout, say func(string)) (report, error) {
	s, err := loadState(l.state())
	if err != nil {
		return report{}, err
	}
	r := report{Root: l.root, OK: true}
	add := func(f finding) {
		r.Findings = append(r.Findings, f)
		if f.Needed && f.Status != "ok" {
			r.OK = false
		}
	}
	add(privateFinding(l, s))
	say("programs")
	add(goFinding(ctx, l))
	add(compilerFinding(ctx, l))
	for _, name := range toolNames {
		add(toolFinding(l, name))
	}
	say("Python")
	for _, f := range pythonFindings(ctx, l, s) {
		add(f)
	}
	add(envsFinding(ctx, l, s))
	add(kernelspecFinding(l))
	say("XLA plugins")
	obstacle := xlaObstacle(ctx, l)
	for _, p := range allPlugins {
		add(pluginFinding(ctx, l, p, obstacle, s))
	}
	usable := false
	for _, f := range backendFindings(ctx, l, say) {
		add(f)
		usable = usable || f.Status == "ok"
	}
	r.OK = r.OK && usable
	return r, ctx.Err()
}

func (r report) print(w io.Writer) {
	width := 0
	for _, f := range r.Findings {
		width = max(width, len([]rune(f.Item)))
	}
	marks := map[string]string{"ok": "✓", "missing": "✗", "broken": "✗", "none": "–"}
	for _, f := range r.Findings {
		lines := strings.Split(f.Detail, "\n")
		fmt.Fprintf(w, "%s %-*s  %s\n", marks[f.Status], width, f.Item, lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(w, "  %-*s  %s\n", width, "", line)
		}
		if f.Mend != "" {
			fmt.Fprintf(w, "  %-*s  → %s\n", width, "", f.Mend)
		}
	}
	if r.OK {
		fmt.Fprintln(w, "\nThe notebooks can run.")
	} else {
		fmt.Fprintln(w, "\nThe notebooks cannot run yet: mend what is marked ✗.")
	}
}

// privateFinding looks for another clone whose .birl this one shares, with which nothing is installed or run.
func privateFinding(l layout, s *state) finding {
	f := finding{Item: ".birl", Needed: true, Status: "ok", Detail: l.private()}
	if err := s.claim(l); err != nil {
		f.Status, f.Detail, f.Mend = "broken", err.Error(), "rm "+commands.Quote(l.private())+" && "+mendInstall
	}
	return f
}

func goFinding(ctx context.Context, l layout) finding {
	f := finding{Item: "Go", Needed: true, Status: "ok"}
	path, err := exec.LookPath("go")
	var version []string
	if err == nil {
		version, err = goEnv(ctx, l, "GOVERSION")
	}
	if err != nil {
		f.Status, f.Detail, f.Mend = "broken", err.Error(), "put the go command on PATH"
		return f
	}
	f.Detail = fmt.Sprintf("%s  %s/%s  %s", version[0], runtime.GOOS, runtime.GOARCH, path)
	return f
}

func compilerFinding(ctx context.Context, l layout) finding {
	f := finding{Item: "C compiler (for XLA)", Status: "ok"}
	path, err := compiler(ctx, l)
	if err != nil {
		f.Status, f.Detail, f.Mend = "missing", err.Error(), "install gcc or clang, and leave CGO_ENABLED alone"
		return f
	}
	f.Detail = path
	return f
}

func toolFinding(l layout, name string) finding {
	f := finding{Item: name, Needed: name != "gopls", Status: "ok"}
	path := l.tool(name)
	info, err := buildinfo.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Status, f.Detail, f.Mend = "missing", path, mendInstall
	case err != nil:
		f.Status, f.Detail, f.Mend = "broken", err.Error(), mendInstall
	default:
		f.Detail = fmt.Sprintf("%s  %s  %s", info.Main.Version, info.GoVersion, path)
	}
	return f
}

func pythonFindings(ctx context.Context, l layout, s *state) []finding {
	const script = `import importlib.metadata as m, platform
print(platform.python_version())
for name in ("jupyterlab", "nbclient", "nbconvert"):
    try: print(m.version(name))
    except m.PackageNotFoundError: print("")`
	python := finding{Item: "Python", Needed: true, Status: "ok", Detail: l.python()}
	var lines []string
	// Blank lines are dropped by command; a missing package therefore shows as too few lines.
	err := command{name: l.python(), args: []string{"-I", "-c", script}, dir: l.root, env: l.environment(),
		stdout: func(line string) { lines = append(lines, line) }}.run(ctx)
	problem := s.check(l.private(), pythonStepName, s.Steps[pythonStepName].Digest)
	switch {
	case err != nil:
		python.Status = "missing"
		if _, statErr := os.Lstat(l.python()); statErr == nil {
			python.Status, python.Detail = "broken", err.Error()
		}
	case problem != "":
		python.Status, python.Detail = "broken", "the environment: "+problem
	case len(lines) != 4:
		python.Status, python.Detail = "broken", "packages are missing from "+l.venv()
	}
	if python.Status != "ok" {
		python.Mend = mendInstall
		return []finding{python}
	}
	python.Detail = lines[0] + "  " + l.python()
	out := []finding{python}
	for i, name := range []string{"JupyterLab", "nbclient", "nbconvert"} {
		out = append(out, finding{Item: name, Needed: true, Status: "ok", Detail: lines[i+1]})
	}
	return out
}

// envsFinding imports the environments, because a wheel that is there need not load.
func envsFinding(ctx context.Context, l layout, s *state) finding {
	const script = `import ale_py, Box2D, cv2, gymnasium, highway_env, importlib.metadata as m
print(", ".join(f"{name} {m.version(name)}" for name in ("gymnasium", "box2d", "highway-env", "ale-py")))`
	f := finding{Item: "Gymnasium environments", Status: "ok"}
	mend := mendInstall + " --with envs"
	if !s.Choices.Envs {
		f.Status, f.Detail, f.Mend = "none", "not installed", mend
		return f
	}
	if problem := s.check(l.private(), envsStepName, s.Steps[envsStepName].Digest); problem != "" {
		f.Status, f.Detail, f.Mend = "missing", problem, mend
		return f
	}
	// Greetings of the packages may come before the line that is wanted.
	err := command{name: l.python(), args: []string{"-I", "-c", script}, dir: l.root,
		env:    l.environment("PYGAME_HIDE_SUPPORT_PROMPT=1"),
		stdout: func(line string) { f.Detail = line }}.run(ctx)
	if err != nil {
		f.Status, f.Detail, f.Mend = "broken", err.Error(), "rm -rf "+commands.Quote(l.venv())+" && "+mend
	}
	return f
}

func kernelspecFinding(l layout) finding {
	f := finding{Item: "kernelspec", Needed: true, Status: "ok", Detail: l.kernelspec()}
	for _, name := range []string{"kernel.json", "launch.sh"} {
		if _, err := os.Stat(filepath.Join(l.kernelspec(), name)); err != nil {
			f.Status, f.Detail, f.Mend = "broken", err.Error(), "git checkout -- kernel-setup/jupyter"
		}
	}
	return f
}

func pluginFinding(ctx context.Context, l layout, p plugin, obstacle string, s *state) finding {
	f := finding{Item: "XLA plugin " + strings.ToUpper(p.name), Status: "ok"}
	mend, wanted := mendInstall, true
	if p.name == cudaPlugin.name {
		mend, wanted = mendInstall+" --cuda", s.Choices.CUDA || hasNVIDIA()
	} else if s.Choices.NoXLA {
		mend, wanted = mendInstall+" --no-xla=false", false
	}
	path := l.plugin(p)
	sum, err := fileSum(ctx, path)
	switch {
	case err == nil && sum == p.sum:
		f.Detail = fmt.Sprintf("%s %s  %s", p.project, p.version, path)
	case err == nil:
		f.Status, f.Detail, f.Mend = "broken", path+" is damaged", "rm -f "+commands.Quote(path)+" && "+mend
	case obstacle != "":
		f.Status, f.Detail = "none", obstacle
	case !wanted:
		f.Status, f.Detail = "none", "not installed"
		if p.name == cudaPlugin.name {
			f.Detail = "not installed; no NVIDIA GPU"
		} else {
			f.Mend = mend
		}
	default:
		f.Status, f.Detail, f.Mend = "missing", path, mend
	}
	return f
}

func backendFindings(ctx context.Context, l layout, say func(string)) []finding {
	say("compiling a computation, about a minute the first time")
	built := buildProbe(ctx, l, say)
	compute := func(item, name, mend string) finding {
		say("computing on " + item)
		var got probed
		err := built
		if err == nil {
			got, err = probe(ctx, l, name)
		}
		if err != nil {
			return finding{Item: item, Status: "broken", Detail: err.Error(), Mend: mend}
		}
		return finding{Item: item, Status: "ok",
			Detail: fmt.Sprintf("3² + 4² = %v in %d ms", got.Value, got.Milliseconds)}
	}
	out := []finding{compute("backend go", "go", "go build ./...")}
	for _, p := range allPlugins {
		item := "backend xla (" + p.name + ")"
		if _, err := os.Stat(l.plugin(p)); err != nil {
			continue
		}
		if p.name == cudaPlugin.name && !hasNVIDIA() {
			out = append(out, finding{Item: item, Status: "none", Detail: "this machine shows no NVIDIA GPU"})
			continue
		}
		out = append(out, compute(item, "xla:"+l.plugin(p), mendInstall))
	}
	return out
}
