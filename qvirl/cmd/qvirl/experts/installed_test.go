//go:build installed

package experts

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/go-birl/birl/envs/demo"
)

// An expert of an environment that a module in a folder of one's own registers is trained, evaluated, and demonstrates.
func TestEnvironmentsOfOnesOwn(t *testing.T) {
	dir := t.TempDir()
	config, out, demos := filepath.Join(dir, "config.json"), filepath.Join(dir, "x.npz"), filepath.Join(dir, "d.npz")
	if err := os.WriteFile(config, []byte(`{"steps": 160, "segment_steps": 160, "learn_after": 64, "curve_episodes": 1,
		"evaluation_episodes": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"train", "Faulty-v0", "--import", "faulty", "--config", config, "--backend", "go", "--out", out},
		{"evaluate", out, "--episodes", "1"},
		{"demonstrate", out, "--episodes", "2", "--out", demos},
	} {
		args = append(args, "--python-path", "../../../../envs/gym/testdata")
		if status, _, stderr := run(t, args...); status != 0 {
			t.Fatalf("%v: status %d, %s", args, status, stderr)
		}
	}
	if set, err := demo.Read(demos); err != nil || set.Transitions() != 2000 {
		t.Errorf("the demonstrations: %+v, error %v", set, err)
	}
}
