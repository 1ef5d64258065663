//go:build peers

package neuraltest

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
)

// CheckPeers has a script, one of those that "qvirl bench steps" takes turns with, compute a model's loss on a batch in
// PyTorch and in JAX: the same training step, written independently. The project does not install them: tests run with
//
//	BIRL_PEERS_PYTHON=/path/of/python go test -tags peers -run Peers ./qvirl/neural/...
//
// where that Python has torch and jax.
func CheckPeers(t *testing.T, script string, m *neural.Fitted, batch map[string]npz.Array, want float64) {
	t.Helper()
	python := os.Getenv("BIRL_PEERS_PYTHON")
	if python == "" {
		t.Fatal("BIRL_PEERS_PYTHON does not say which Python has torch and jax")
	}
	dir := t.TempDir()
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "batch.npz")
	if err := npz.Write(file, batch); err != nil {
		t.Fatal(err)
	}
	for _, library := range []string{"torch", "jax"} {
		cmd := exec.Command(python, filepath.Join("..", "..", "cmd", "qvirl", "peers", script), "check", library,
			filepath.Join(dir, "weights.npz"), file)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			t.Fatal(err)
		}
		if !scalar.EqualWithinAbs(got, want, 1e-3*math.Abs(want)) { // in single precision, distances by products
			t.Errorf("the loss is %g, by %s %g", want, library, got)
		}
	}
}
