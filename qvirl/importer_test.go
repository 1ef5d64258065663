package qvirl_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestImporters builds and runs three programs of a module elsewhere on the disk, which sees this one through a
// workspace, without a C compiler. In that folder there is nothing that belongs to this project, and nothing that the
// library could find there.
func TestImporters(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/importer")); err != nil {
		t.Fatal(err)
	}
	goCommand := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=", "GOFLAGS=", "GOMLX_BACKEND=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	goCommand("work", "init", ".", root)
	for program, want := range map[string]string{
		"./fit": "leaving pays more than staying: true\n", "./sample": "the chains agree: true\n",
		"./learn": "models: 1\n",
	} {
		if got := goCommand("run", program); !strings.HasSuffix(got, want) {
			t.Errorf("%s printed %q, want %q", program, got, want)
		}
	}
}
