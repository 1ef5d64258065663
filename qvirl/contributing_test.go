package qvirl_test

import (
	"encoding/json"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// promises stand beside the example method: it has all that the tests of registered methods ask for.
const promises = `package ignorance

import "github.com/go-birl/birl/qvirl/irl"

var (
	_ irl.Method   = Method{}
	_ irl.Computed = Posterior{}
	_ irl.Storable = Posterior{}
	_ irl.Restore  = Restore
)
`

// TestContributingCompiles builds the examples of CONTRIBUTING.md as if they stood where it puts them.
func TestContributingCompiles(t *testing.T) {
	page, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir, places := t.TempDir(), map[string]string{}
	overlay := filepath.Join(dir, "overlay.json")
	args := []string{"build", "-overlay", overlay}
	example := regexp.MustCompile("(?s)`([a-z/]+\\.go)`:\n\n```go\n(.*?)```")
	for _, m := range example.FindAllStringSubmatch(string(page), -1) {
		if text, err := format.Source([]byte(m[2])); err != nil || string(text) != m[2] {
			t.Errorf("%s is not as gofmt writes it (error %v)", m[1], err)
		}
		file := filepath.Join(dir, filepath.Base(m[1]))
		places[filepath.Join(root, m[1])] = file
		args = append(args, "./"+filepath.Dir(m[1]))
		if err := os.WriteFile(file, []byte(m[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(string(page), "```go\n"); n == 0 || len(places) != n {
		t.Fatalf("%d of %d examples say which file they are", len(places), n)
	}
	file := filepath.Join(dir, "promises.go")
	places[filepath.Join(root, "qvirl", "ignorance", "promises.go")] = file
	if err := os.WriteFile(file, []byte(promises), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"Replace": places})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", args...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
