package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	commands "github.com/go-birl/birl/envs/command"
)

const (
	modulePath = "github.com/go-birl/birl"
	// headlessVariable tells a notebook that nobody can move a slider: it shows static figures instead of widgets,
	// which would wait for an answer for ever.
	headlessVariable = "BIRL_HEADLESS"
	backendVariable  = "GOMLX_BACKEND"
)

// layout knows where things are in a clone. Everything that kernel-setup makes lies in the folder .birl.
type layout struct {
	root string // absolute, without symbolic links
}

// findLayout returns the layout of the clone that dir lies in.
func findLayout(dir string) (layout, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declaresModule(string(text), modulePath) {
			root, err := filepath.EvalSymlinks(dir)
			return layout{root: root}, err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return layout{}, err
		}
		if filepath.Dir(dir) == dir {
			return layout{}, fmt.Errorf("%s is not inside a clone of %s: change to the clone and try again", start,
				modulePath)
		}
	}
}

func declaresModule(goMod, module string) bool {
	for line := range strings.Lines(goMod) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`) == module
		}
	}
	return false
}

func currentLayout() (layout, error) {
	dir, err := os.Getwd()
	if err != nil {
		return layout{}, err
	}
	return findLayout(dir)
}

// prepared returns the layout of the clone that the user is in, once the steps that the installer wants are done.
func prepared(ctx context.Context, in installer) (layout, error) {
	l, err := currentLayout()
	if err != nil {
		return l, err
	}
	in.layout, in.progress = l, newTasks(os.Stderr)
	_, err = in.ensure(ctx)
	return l, err
}

// private returns a path inside .birl.
func (l layout) private(parts ...string) string {
	return filepath.Join(append([]string{l.root, ".birl"}, parts...)...)
}

func (l layout) venv() string      { return l.private("venv") }
func (l layout) bin() string       { return l.private("bin") }
func (l layout) plugins() string   { return l.private("pjrt") }
func (l layout) temporary() string { return l.private("tmp") }
func (l layout) state() string     { return l.private("state.json") }
func (l layout) lock() string      { return l.private("lock") }
func (l layout) runs() string      { return l.private("runs") }

// plugin is where go-xla looks for a plugin.
func (l layout) plugin(p plugin) string { return filepath.Join(l.plugins(), p.file()) }

// nvidia is a link to the NVIDIA libraries of the virtual environment. The CUDA plugin looks for them in ../nvidia
// from its own folder.
func (l layout) nvidia() string { return l.private("nvidia") }

func (l layout) notebooks() string { return filepath.Join(l.root, "notebooks") }
func (l layout) jupyter() string   { return filepath.Join(l.root, "kernel-setup", "jupyter") }

// kernelspec is the folder of the Go kernel, which is part of the repository.
func (l layout) kernelspec() string { return filepath.Join(l.jupyter(), "kernels", kernelName) }

func (l layout) scripts() string {
	if runtime.GOOS == "windows" {
		return filepath.Join(l.venv(), "Scripts")
	}
	return filepath.Join(l.venv(), "bin")
}

func (l layout) python() string          { return filepath.Join(l.scripts(), executable("python")) }
func (l layout) tool(name string) string { return filepath.Join(l.bin(), executable(name)) }

func executable(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return name
}

// sitePackages returns the folder of the virtual environment that holds its packages.
func (l layout) sitePackages() (string, error) {
	pattern := filepath.Join("lib", "python3*", "site-packages")
	if runtime.GOOS == "windows" {
		pattern = filepath.Join("Lib", "site-packages")
	}
	// The pattern is matched below the virtual environment, so that special characters in the clone's own path do no
	// harm.
	found, err := fs.Glob(os.DirFS(l.venv()), filepath.ToSlash(pattern))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("%s has no site-packages folder", l.venv())
	}
	return filepath.Join(l.venv(), filepath.FromSlash(found[0])), nil
}

// environment returns the environment of everything that kernel-setup starts: the caller's own, with the installed
// programs first and without the variables that would make Python or Go look elsewhere. Later entries of extra, of
// the form KEY=VALUE, win.
func (l layout) environment(extra ...string) []string {
	values := map[string]string{}
	for _, entry := range os.Environ() {
		if key, value, ok := strings.Cut(entry, "="); ok && key != "" {
			values[key] = value
		}
	}
	for _, key := range []string{"PYTHONHOME", "PYTHONPATH", "GOWORK", "GOBIN"} {
		delete(values, key)
	}
	values["VIRTUAL_ENV"] = l.venv()
	values["PYTHONNOUSERSITE"] = "1"
	values["PIP_USER"] = "0" // "user = true" in a pip configuration does not work inside a virtual environment
	values["GOMLX_NO_AUTO_INSTALL"] = "1"
	values["GOFLAGS"] = withoutModuleMode(values["GOFLAGS"])
	prepend := func(key string, paths ...string) {
		if old := values[key]; old != "" {
			paths = append(paths, old)
		}
		values[key] = strings.Join(paths, string(os.PathListSeparator))
	}
	prepend("PATH", l.scripts(), l.bin())
	prepend("JUPYTER_PATH", l.jupyter())
	prepend(commands.PluginsVariable, l.plugins())
	// Without these, Jupyter keeps its settings, its key for trusted notebooks and its open files in the home folder.
	for key, name := range map[string]string{
		"JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
		"JUPYTERLAB_SETTINGS_DIR": "lab/user-settings", "JUPYTERLAB_WORKSPACES_DIR": "lab/workspaces",
		"IPYTHONDIR": "ipython", "NPM_CONFIG_CACHE": "npm",
	} {
		values[key] = l.private("jupyter", filepath.FromSlash(name))
	}
	if _, err := os.Stat(l.python()); err == nil && values[commands.PythonVariable] == "" {
		values[commands.PythonVariable] = l.python()
	}
	if libraries := l.nvidiaLibraries(); len(libraries) == 0 {
		if _, set := values[commands.FlagsVariable]; !set {
			values[commands.FlagsVariable] = commands.XLAFlags
		}
	} else {
		prepend("LD_LIBRARY_PATH", libraries...)
		values["GOPJRT_CUDA_CHECKS"] = "no" // go-xla would name the CUDA folder in XLA_FLAGS, which breaks at a space
	}
	for _, entry := range extra {
		key, value, _ := strings.Cut(entry, "=")
		values[key] = value
	}
	out := make([]string, 0, len(values))
	for key, value := range values {
		out = append(out, key+"="+value)
	}
	return out
}

// nvidiaLibraries lists the folders with NVIDIA's shared libraries, none where --cuda was not installed.
func (l layout) nvidiaLibraries() []string {
	found, err := fs.Glob(os.DirFS(l.nvidia()), "*/lib")
	if err != nil {
		return nil
	}
	for i := range found {
		found[i] = filepath.Join(l.nvidia(), filepath.FromSlash(found[i]))
	}
	return found
}

// withoutModuleMode drops -mod from GOFLAGS: with -mod=mod the workspace that shows this repository to notebook cells
// is refused.
func withoutModuleMode(goflags string) string {
	var kept []string
	for _, flag := range strings.Fields(goflags) {
		if !strings.HasPrefix(flag, "-mod=") && !strings.HasPrefix(flag, "--mod=") {
			kept = append(kept, flag)
		}
	}
	return strings.Join(kept, " ")
}
