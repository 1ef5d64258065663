package command

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"
)

// Private is the folder that kernel-setup installs into, relative to the root of the clone.
const Private = ".birl"

// Environment variables that the packages of this project read. What is set already stays.
const (
	// PluginsVariable lists the folders in which XLA's plugins are looked for.
	PluginsVariable = "PJRT_PLUGIN_LIBRARY_PATH"
	// PythonVariable names the interpreter of Gymnasium's environments.
	PythonVariable = "BIRL_PYTHON"
	// FlagsVariable holds XLA's options, which it reads when its first plugin is loaded.
	FlagsVariable = "XLA_FLAGS"
)

// XLAFlags have XLA run the operations of a program for the CPU one after the other, in one thread. The programs of
// this project are made of many small operations, which lose more by being handed from thread to thread than they gain;
// what keeps all processors busy is several programs side by side.
const XLAFlags = "--xla_cpu_multi_thread_eigen=false --xla_cpu_enable_concurrency_optimized_scheduler=false"

// UseInstallation has this process, and what it starts, use what kernel-setup installed in the working folder's .birl
// or the nearest above it: the XLA plugins, Python with its environments, and XLAFlags where no CUDA plugin is among
// the plugins. It is for commands: libraries use what they are told to.
func UseInstallation() error {
	if plugins := above(filepath.Join(Private, "pjrt")); plugins != "" {
		list := os.Getenv(PluginsVariable)
		if list != "" {
			list += string(os.PathListSeparator)
		}
		if err := os.Setenv(PluginsVariable, list+plugins); err != nil {
			return fmt.Errorf("command: %w", err)
		}
		if _, set := os.LookupEnv(FlagsVariable); !set && !holdsCUDA(list+plugins) {
			if err := os.Setenv(FlagsVariable, XLAFlags); err != nil {
				return fmt.Errorf("command: %w", err)
			}
		}
	}
	inside := filepath.Join(Private, "venv", "bin", "python")
	if runtime.GOOS == "windows" {
		inside = filepath.Join(Private, "venv", "Scripts", "python.exe")
	}
	if python := above(inside); python != "" && os.Getenv(PythonVariable) == "" {
		if err := os.Setenv(PythonVariable, python); err != nil {
			return fmt.Errorf("command: %w", err)
		}
	}
	return nil
}

// AddPython adds to a command the flags that say which Python runs environments, and plays trajectories again that are
// kept as seeds and actions.
func AddPython(c *cobra.Command, python *string, path *[]string) {
	c.Flags().StringVar(python, "python", "", "Python interpreter (default: "+PythonVariable+", the one that "+
		"kernel-setup installed, or python3)")
	c.Flags().StringArrayVar(path, "python-path", nil, "folder in which Python modules are looked for first")
}

// holdsCUDA tells whether a CUDA plugin lies in one of the folders of a list.
func holdsCUDA(list string) bool {
	for _, folder := range filepath.SplitList(list) {
		if found, _ := fs.Glob(os.DirFS(folder), "*cuda*"); len(found) > 0 { // a folder that is not there holds none
			return true
		}
	}
	return false
}

// above returns the path of what lies at a relative path in the working folder or the nearest folder above it; "" for
// none.
func above(inside string) string {
	dir, err := os.Getwd()
	for err == nil {
		path := filepath.Join(dir, inside)
		if _, err := os.Stat(path); err == nil {
			return path
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}
