// Package backend chooses what GoMLX computes on: XLA where it is told of a plugin, the pure Go backend elsewhere. It
// loads no library that it was not told of, by a name that Get takes or by the environment variables GOMLX_BACKEND and
// PJRT_PLUGIN_LIBRARY_PATH, and sets no variable. On a CPU the variable XLA_FLAGS had better hold command.XLAFlags.
//
// A compiled program is kept as long as the process, not on disk: plugins have PJRT_Executable_Serialize, which go-xla
// v0.4.1 does not offer to Go.
package backend

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	"github.com/gomlx/gomlx/support/exceptions"
)

// pluginFiles are the names of the plugins that are looked for, best first.
var pluginFiles = []string{"pjrt_c_api_cuda_plugin.so", "pjrt_c_api_cpu_plugin.so"}

// pathsVariable names the folders with plugins, separated by colons; it is go-xla's own.
const pathsVariable = "PJRT_PLUGIN_LIBRARY_PATH"

// install is what to do where there is no plugin.
const install = "`go run ./kernel-setup install` fetches it for this project's commands and notebooks; for others, " +
	pathsVariable + " names its folder"

// Choice is a usable backend and why it was chosen.
type Choice struct {
	Backend compute.Backend
	// OnCPU is false where an accelerator computes.
	OnCPU bool
	// Notice is one line for the user where the choice may surprise; empty otherwise.
	Notice string

	clients *clientPool // nil where Client always returns Backend
}

// ErrNone is the error where no backend of a name can be used.
var ErrNone = errors.New("backend: none can be used")

// none is an ErrNone that says why.
type none struct{ error }

func (none) Is(target error) bool { return target == ErrNone }

func (n none) Unwrap() error { return n.error }

var (
	mutex  sync.Mutex
	chosen = map[string]Choice{}
)

// Get returns the backend of the given name ("xla", "go", or GoMLX's longer form "xla:/path/of/plugin.so"). An empty
// name stands for the environment variable GOMLX_BACKEND and, where that is not set either, for the best that is
// there: the CUDA plugin, the CPU plugin, pure Go. A backend is made once and shared by the process.
// The error, if any, is an ErrNone.
func Get(name string) (Choice, error) {
	name = cmp.Or(name, os.Getenv(compute.ConfigEnvVar))
	mutex.Lock()
	defer mutex.Unlock()
	if c, ok := chosen[name]; ok {
		return c, nil
	}
	c, err := open(name)
	if err != nil {
		return Choice{}, none{err}
	}
	chosen[name] = c
	return c, nil
}

func open(name string) (Choice, error) {
	switch name {
	case "":
		return openBest()
	case "xla":
		plugins := Plugins()
		if len(plugins) == 0 {
			return Choice{}, fmt.Errorf("backend: no XLA plugin in %s=%q; %s", pathsVariable, os.Getenv(pathsVariable),
				install)
		}
		name = "xla:" + plugins[0]
	}
	if kind, _, _ := strings.Cut(name, ":"); kind != "xla" && !slices.Contains(compute.List(), kind) {
		return Choice{}, fmt.Errorf("backend: there is no %q; want go, xla, or xla:/path/of/plugin.so, or nothing, in "+
			"--backend and the variable %s", name, compute.ConfigEnvVar)
	}
	b, err := newBackend(name)
	if err != nil {
		return Choice{}, fmt.Errorf("backend: %q cannot be used: %w", name, err)
	}
	return newChoice(b, name, ""), nil
}

// openBest tries the plugins in order and falls back to pure Go, with a notice that says why.
func openBest() (Choice, error) {
	var reasons []string
	for _, plugin := range Plugins() {
		b, err := newBackend("xla:" + plugin)
		if err == nil {
			return newChoice(b, "xla:"+plugin, ""), nil
		}
		reason, _, _ := strings.Cut(err.Error(), "\n")
		reasons = append(reasons, filepath.Base(plugin)+": "+reason)
	}
	b, err := newBackend("go")
	if err != nil {
		return Choice{}, fmt.Errorf("backend: not even the pure Go backend can be used: %w", err)
	}
	if len(reasons) == 0 {
		reasons = []string{"no plugin was found; " + install}
	}
	return newChoice(b, "go", "XLA is not available ("+strings.Join(reasons, "; ")+
		"): computing on the pure Go backend, about ten times slower"), nil
}

// newChoice tells from the configuration of a backend what it computes on.
func newChoice(b compute.Backend, config, notice string) Choice {
	return Choice{Backend: b, OnCPU: !strings.Contains(config, "cuda"), Notice: notice, clients: newClients(b, config)}
}

// newBackend calls GoMLX's constructor, whose panics become errors, and never lets it download a plugin.
func newBackend(config string) (b compute.Backend, err error) {
	if strings.Contains(config, "cuda") && !strings.Contains(config, "tf32") {
		config += ",tf32=false" // ten bits of mantissa are too few for covariances
	}
	if config == "go" {
		// Otherwise operations of a graph run side by side in the same pool of workers in which some of them (products
		// of small matrices, in batches) wait for workers of their own: once all wait, none ends. Those products use
		// all cores either way.
		config = "go:ops_sequential"
	}
	forbidDownload()
	construct := compute.NewWithConfig
	if onXLACPU(config) {
		construct = newXLACPU
	}
	if panicked := exceptions.TryCatch[error](func() { b, err = construct(config) }); panicked != nil {
		return nil, panicked
	}
	return b, err
}

// Plugins returns the paths of the XLA plugins in the folders of PJRT_PLUGIN_LIBRARY_PATH, best first.
func Plugins() []string {
	var found []string
	for _, file := range pluginFiles {
		for _, folder := range filepath.SplitList(os.Getenv(pathsVariable)) {
			if folder == "" {
				continue
			}
			path, err := filepath.Abs(filepath.Join(folder, file))
			if err != nil {
				continue
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				found = append(found, path)
				break
			}
		}
	}
	return found
}
