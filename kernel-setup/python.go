package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
)

// requirements pins JupyterLab and all it needs for every supported Python, with SHA-256 digests.
//
//go:embed requirements.txt
var requirements string

// requirementsCUDA pins the NVIDIA libraries that the CUDA plugin loads.
//
//go:embed requirements-cuda.txt
var requirementsCUDA string

// requirementsEnvs pins Gymnasium with the environments of the experiments, and ArviZ.
//
//go:embed requirements-envs.txt
var requirementsEnvs string

// oldestPython is the oldest minor version of Python 3 that the pinned packages run on.
const oldestPython = 10

const pythonStepName, cudaStepName, envsStepName = "python", "cuda-libraries", "environments"

// pythonStep makes the virtual environment with its packages. Both are one step: pip cannot tell a package that was
// half installed when it was interrupted from a whole one, so a repair begins with a new environment.
func (l layout) pythonStep(s *state) step {
	return step{
		name:  pythonStepName,
		title: "Python environment (JupyterLab, nbclient, nbconvert)",
		// The clone's path belongs to the inputs because a virtual environment cannot be moved.
		digest: digest("python 1", l.root, requirements, s.Choices.Python),
		run: func(ctx context.Context, say func(string)) ([]output, error) {
			say("looking for Python")
			base, err := findPython(ctx, s.Choices.Python)
			if err != nil {
				return nil, err
			}
			say("creating the virtual environment")
			if err := os.RemoveAll(l.venv()); err != nil {
				return nil, err
			}
			create := command{name: base, args: []string{"-m", "venv", l.venv()}, dir: l.root, env: l.environment(),
				output: say}
			if err := create.run(ctx); err != nil {
				return nil, explainVenv(err, base)
			}
			if err := l.pipInstall(ctx, requirements, say); err != nil {
				return nil, err
			}
			return l.packageOutputs()
		},
	}
}

// envsStep adds Gymnasium and the environments to the virtual environment.
func (l layout) envsStep(s *state) step {
	return step{
		name:   envsStepName,
		title:  "Gymnasium environments (Box2D, highway-env, Atari) and ArviZ",
		digest: digest("envs 1", requirementsEnvs, builtOn(s)),
		run: func(ctx context.Context, say func(string)) ([]output, error) {
			if err := l.pipInstall(ctx, requirementsEnvs, say); err != nil {
				return nil, err
			}
			return l.packageOutputs()
		},
	}
}

// builtOn identifies the virtual environment that further packages go into: a new one has lost them.
func builtOn(s *state) string { return s.Steps[pythonStepName].Ended.Format(time.RFC3339Nano) }

// cudaStep adds the NVIDIA libraries to the virtual environment and links them to where the plugin looks.
func (l layout) cudaStep(s *state) step {
	return step{
		name:   cudaStepName,
		title:  "NVIDIA libraries",
		digest: digest("cuda 1", requirementsCUDA, builtOn(s)),
		run: func(ctx context.Context, say func(string)) ([]output, error) {
			if err := l.pipInstall(ctx, requirementsCUDA, say); err != nil {
				return nil, err
			}
			site, err := l.sitePackages()
			if err != nil {
				return nil, err
			}
			target, err := filepath.Rel(l.private(), filepath.Join(site, "nvidia"))
			if err != nil {
				return nil, err
			}
			if err := os.Remove(l.nvidia()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if err := os.Symlink(target, l.nvidia()); err != nil {
				return nil, err
			}
			if len(l.nvidiaLibraries()) == 0 {
				return nil, fmt.Errorf("the packages left no libraries in %s", l.nvidia())
			}
			return outputsOf(l.private(), false, "nvidia", "nvidia/cu13/lib")
		},
	}
}

// discardSpoiltPython forgets the Python steps if packages were being added when an installation was interrupted: the
// environment may hold half of one, and only a new environment is sure to be whole.
func discardSpoiltPython(s *state) {
	for _, name := range []string{cudaStepName, envsStepName} {
		if st, ok := s.Steps[name]; ok && st.Digest == "" {
			delete(s.Steps, name)
			delete(s.Steps, pythonStepName)
		}
	}
}

// pipInstall installs pinned requirements, given as text, with the user's own pip configuration. (uv is several times
// faster, but has to be installed by pip first, and reads none of pip's settings: a mirror, a proxy or certificates
// that a user has configured for pip would have to be translated for it.)
func (l layout) pipInstall(ctx context.Context, pinned string, say func(string)) error {
	list := filepath.Join(l.temporary(), "requirements.txt")
	if err := atomicfile.WriteBytes(list, []byte(pinned)); err != nil {
		return err
	}
	// Packages that are there already are installed anew, because a repair is asked for when files of theirs are
	// missing.
	return l.pip(ctx, say, "install", "--force-reinstall", "--require-hashes", "-r", list)
}

// pip runs a command of the virtual environment's pip. -I keeps the user's own Python packages and PYTHON variables
// out.
func (l layout) pip(ctx context.Context, say func(string), name string, args ...string) error {
	run := command{
		name: l.python(),
		args: append([]string{"-I", "-m", "pip", name, "--no-input", "--disable-pip-version-check", "--progress-bar",
			"off"}, args...),
		dir: l.root, env: l.environment(), output: say,
	}
	return explainPip(run.run(ctx))
}

// packageOutputs lists the interpreter and the record of every installed package.
func (l layout) packageOutputs() ([]output, error) {
	site, err := l.sitePackages()
	if err != nil {
		return nil, err
	}
	records, err := fs.Glob(os.DirFS(site), "*.dist-info/RECORD")
	if err != nil {
		return nil, err
	}
	paths := []string{l.python()}
	for _, r := range records {
		paths = append(paths, filepath.Join(site, filepath.FromSlash(r)))
	}
	for i, p := range paths {
		rel, err := filepath.Rel(l.private(), p)
		if err != nil {
			return nil, err
		}
		paths[i] = filepath.ToSlash(rel)
	}
	return outputsOf(l.private(), false, paths...)
}

// absoluteProgram resolves the program a user named, by path or by a name on PATH.
func absoluteProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("--python %s: %w", name, err)
	}
	return filepath.Abs(path)
}

// findPython returns an interpreter that is new enough: the chosen one, else the first on PATH.
func findPython(ctx context.Context, chosen string) (string, error) {
	candidates := []string{chosen}
	if chosen == "" {
		candidates = []string{"python3", "python"}
		for minor := oldestPython + 4; minor >= oldestPython; minor-- {
			candidates = append(candidates, fmt.Sprintf("python3.%d", minor))
		}
	}
	var seen []string
	for _, name := range candidates {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		var version string
		ask := command{
			name: path, args: []string{"-I", "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"},
			stdout: func(line string) { version = line },
		}
		if err := ask.run(ctx); err != nil {
			seen = append(seen, fmt.Sprintf("%s does not start", path))
			continue
		}
		if ctx.Err() == nil && newEnough(version) {
			return path, nil
		}
		seen = append(seen, fmt.Sprintf("%s is Python %s", path, version))
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if len(seen) == 0 {
		seen = []string{"none was found on PATH"}
	}
	return "", hinted{
		fmt.Errorf("no Python 3.%d or newer: %s", oldestPython, strings.Join(seen, ", ")),
		"install Python 3 (any way you like, root is not needed) and put it on PATH,\nor name it: go run " +
			"./kernel-setup install --python /path/to/python3",
	}
}

// newEnough judges a version of the form 3.11.2.
func newEnough(version string) bool {
	minor := 0
	_, err := fmt.Sscanf(version, "3.%d", &minor)
	return err == nil && minor >= oldestPython
}

// explainVenv recognises a Python without ensurepip, as Debian and Ubuntu deliver it.
func explainVenv(err error, python string) error {
	if failed, ok := errors.AsType[*commandError](err); ok && strings.Contains(strings.Join(failed.Tail, "\n"),
		"ensurepip") {
		return hinted{err, python + " cannot make virtual environments. Debian and Ubuntu keep that in the package " +
			"python3-venv\n(apt install python3-venv); or name another Python: go run ./kernel-setup install " +
			"--python /path/to/python3"}
	}
	return hinted{err, "check that there is space on the disk, or name another Python: go run ./kernel-setup install " +
		"--python /path/to/python3"}
}

// explainPip recognises the usual causes of a failed pip; other errors, and none, stay as they are.
func explainPip(err error) error {
	failed, ok := errors.AsType[*commandError](err)
	if !ok {
		return err
	}
	text := strings.Join(failed.Tail, "\n")
	switch {
	case strings.Contains(text, "DO NOT MATCH THE HASHES"):
		return hinted{err, "your package index serves a file that differs from the published one; use another index " +
			"(`pip config list` shows yours)"}
	case strings.Contains(text, "No space left"):
		return hinted{err, "make room on the disk, then run the same command again"}
	case strings.Contains(text, "No matching distribution"), strings.Contains(text, "Could not find a version"):
		return hinted{err, "your package index could not be reached or does not have this version for your Python " +
			"(`pip config list` shows the index);\ncheck the network or the index, then run the same command again"}
	}
	return hinted{err, "check the network and `pip config list`, then run the same command again"}
}
