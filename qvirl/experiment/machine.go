package experiment

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Machine says what units were computed on and with.
type Machine struct {
	Backend  string            `json:"backend"`
	CPU      string            `json:"cpu,omitempty"` // model, where the system tells it
	Cores    int               `json:"cores"`         // that the program may use
	MemoryGB float64           `json:"memory_gb,omitempty"`
	OS       string            `json:"os"`
	Arch     string            `json:"arch"`
	Go       string            `json:"go"`
	Commit   string            `json:"commit,omitempty"`  // of the program
	Dirty    bool              `json:"dirty,omitempty"`   // whether the checkout differed from the commit, results aside
	Modules  map[string]string `json:"modules,omitempty"` // versions of what is built in
}

// ThisMachine describes the present machine and program; backend is what it computes on.
func ThisMachine(backend string) Machine {
	m := Machine{Backend: backend, OS: runtime.GOOS, Arch: runtime.GOARCH, Go: runtime.Version(),
		Cores: runtime.GOMAXPROCS(0)}
	m.CPU = procField("/proc/cpuinfo", "model name")
	if kB, err := strconv.ParseFloat(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB"),
		64); err == nil {
		m.MemoryGB = float64(int(kB/1e5)) / 10
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	m.Modules = map[string]string{}
	for _, d := range info.Deps {
		if d.Replace != nil {
			d = d.Replace
		}
		m.Modules[d.Path] = d.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			m.Commit = s.Value
		case "vcs.modified":
			m.Dirty = s.Value == "true"
		}
	}
	if m.Commit == "" {
		m.Commit, m.Dirty = checkout(info.Main.Path)
	}
	return m
}

// commit returns the beginning of the commit's digits, with a + if the checkout differed from it.
func (m Machine) commit() string {
	text := m.Commit[:min(len(m.Commit), 12)]
	if m.Dirty && text != "" {
		text += "+"
	}
	return text
}

// checkout returns the commit of the git checkout of the module around the working folder, and whether files other than
// results differ from it. `go run` and `go test` do not stamp the commit into the program.
func checkout(module string) (commit string, dirty bool) {
	top, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return "", false
	}
	dir := strings.TrimSpace(string(top))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !bytes.HasPrefix(mod, []byte("module "+module+"\n")) {
		return "", false
	}
	head, err := exec.Command("git", "-C", dir, "rev-parse", "HEAD").Output()
	if err != nil {
		return "", false
	}
	changes, err := exec.Command("git", "-C", dir, "status", "--porcelain", "--", ".", ":(exclude)results").Output()
	return strings.TrimSpace(string(head)), err != nil || len(changes) > 0
}

// PeakMiB returns the largest resident memory of the program so far, in units of 2²⁰ bytes, or 0 where the system does
// not say.
func PeakMiB() float64 {
	kB, _ := strconv.ParseFloat(strings.TrimSuffix(procField("/proc/self/status", "VmHWM"), " kB"), 64)
	return kB / 1024
}

// procField returns the first value of a field in one of Linux's "name : value" files, or nothing.
func procField(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if key, value, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
