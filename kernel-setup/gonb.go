package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const gonbModule = "github.com/janpfeifer/gonb"

// A mend replaces a passage that stands a number of times in a file of GoNB's source.
type mend struct {
	file, old, new string
	times          int
}

// gonbMends are applied to the version of GoNB that tools/go.mod names before it is built: without them, a kernel's
// first completion comes back empty after 20 seconds.
var gonbMends = []mend{
	// GoNB waits for the whole of its timeout, 12 s, before it first connects to gopls, which listens within 0.1 s.
	{"internal/goexec/goplsclient/exec.go", "time.After(ConnectTimeout)", "time.After(500 * time.Millisecond)", 2},
	// Before the first completion GoNB opens each file of the workspace in gopls, which reads them from the disk by
	// itself. Files that change later are opened when they do.
	{"internal/goexec/tracking.go", "if !ti.updated.Has(path) {", "if false {", 1},
}

// mendedTools mends a copy of GoNB's source in the folder dir, and writes beside it the tools' go.mod with GoNB
// replaced by the copy. It returns the path of that go.mod, for the flag -modfile of the go command.
func mendedTools(ctx context.Context, tools, dir string, env []string) (string, error) {
	var out strings.Builder
	download := command{name: "go", args: []string{"mod", "download", "-json", gonbModule}, dir: tools, env: env,
		stdout: func(line string) { out.WriteString(line) }}
	if err := download.run(ctx); err != nil {
		return "", err
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(out.String()), &module); err != nil {
		return "", fmt.Errorf("%s: %w", &download, err)
	}
	source := filepath.Join(dir, "gonb")
	if err := os.CopyFS(source, os.DirFS(module.Dir)); err != nil {
		return "", err
	}
	for _, m := range gonbMends {
		if err := m.apply(source); err != nil {
			return "", err
		}
	}
	if err := os.CopyFS(dir, os.DirFS(tools)); err != nil {
		return "", err
	}
	goMod := filepath.Join(dir, "go.mod")
	replace := command{name: "go", args: []string{"mod", "edit", "-replace", gonbModule + "=" + source, goMod},
		dir: dir, env: env}
	return goMod, replace.run(ctx)
}

func (m mend) apply(source string) error {
	path := filepath.Join(source, filepath.FromSlash(m.file))
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), m.old); n != m.times {
		return fmt.Errorf("%q stands %d times in %s, not %d: look at this version of GoNB, and change gonbMends",
			m.old, n, path, m.times)
	}
	return os.WriteFile(path, []byte(strings.ReplaceAll(string(text), m.old, m.new)), 0o644)
}
