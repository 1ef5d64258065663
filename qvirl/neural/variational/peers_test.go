//go:build peers

package variational

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

// Peers are the same training step in PyTorch and JAX, which "qvirl bench steps" takes turns with. The project does not
// install them: the test runs with
//
//	BIRL_PEERS_PYTHON=/path/of/python go test -tags peers -run Peers ./qvirl/neural/variational
//
// where that Python has torch and jax.
var peers = []string{"torch", "jax"}

func peer(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	python := os.Getenv("BIRL_PEERS_PYTHON")
	if python == "" {
		tb.Fatal("BIRL_PEERS_PYTHON does not say which Python has torch and jax")
	}
	cmd := exec.Command(python, append([]string{filepath.FromSlash("../../cmd/qvirl/peers/step.py")}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestPeersComputeTheSameLoss(t *testing.T) {
	c := neural.Default()
	c.Steps, c.ReportEvery, c.Folds = 100, 100, 0
	m := neuraltest.Fit(t, paperTask(1))(New(c, DefaultObjective(1)))[0]
	b := neuraltest.NewBatch(40, 8, 4, 0.99, rand.New(rand.NewPCG(7, 8)))
	want, _, _, err := neuraltest.Evaluate(m, b)
	if err != nil {
		t.Fatal(err)
	}
	flat := func(rows [][]float64) npz.Array {
		return npz.Array{Shape: []int{40, 8}, Data: slices.Concat(rows...), Type: npz.Float32}
	}
	dir := t.TempDir()
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	batch := filepath.Join(dir, "batch.npz")
	err = npz.Write(batch, map[string]npz.Array{"state": flat(b.State), "next": flat(b.Next),
		"action":   npz.Ints(b.Action, 40),
		"discount": {Shape: []int{40}, Data: b.Discount, Type: npz.Float32}})
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range peers {
		out, err := peer(t, "check", library, filepath.Join(dir, "weights.npz"), batch).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			t.Fatal(err)
		}
		if !scalar.EqualWithinAbs(got, want, 1e-3*math.Abs(want)) { // distances by products, in single precision
			t.Errorf("the loss is %g, by %s %g", want, library, got)
		}
	}
}
