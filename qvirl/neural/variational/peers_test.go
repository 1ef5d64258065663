//go:build peers

package variational

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/envs/peerbench"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

// Peers are the same training step in PyTorch and JAX (testdata/step.py), which the project does not install: these
// tests and benchmarks run with
//
//	BIRL_PEERS_PYTHON=/path/of/python go test -tags peers -run Peers -bench Peers ./qvirl/neural/variational
//
// where that Python has torch and jax.
var peers = []string{"torch", "jax"}

func peer(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	python := os.Getenv("BIRL_PEERS_PYTHON")
	if python == "" {
		tb.Fatal("BIRL_PEERS_PYTHON does not say which Python has torch and jax")
	}
	cmd := exec.Command(python, append([]string{filepath.Join("testdata", "step.py")}, args...)...)
	cmd.Stderr = os.Stderr
	return cmd
}

func TestPeersComputeTheSameLoss(t *testing.T) {
	c := neural.DefaultConfig()
	c.Steps, c.ReportEvery, c.Folds = 100, 100, 0
	l, err := New(c, DefaultObjective(1))
	if err != nil {
		t.Fatal(err)
	}
	models, err := l.Fit(context.Background(), paperTask(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := models[0].(*neural.Fitted)
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

// BenchmarkPeers takes turns with the peers: 50 steps each, of one run with 64 transitions of the demonstrator and 64
// auxiliary ones. The medians of their turns are compared.
func BenchmarkPeers(b *testing.B) {
	const steps, turns = 50, 9
	threads := "2"
	if v := os.Getenv("GOMAXPROCS"); v != "" {
		threads = v
	}
	c := neural.DefaultConfig()
	c.Steps, c.ReportEvery, c.Folds = 2*steps, steps, 0
	l, err := New(c, DefaultObjective(1))
	if err != nil {
		b.Fatal(err)
	}
	task := paperTask(1)
	var ours float64
	task.Watch = func(p neural.Point) { ours = 1000 / p.StepsPerSecond } // of the last steps, compiled long since
	var turn []func() time.Duration
	for i, library := range peers {
		turn = append(turn, peerbench.Start(b, peer(b, "time", library, strconv.Itoa(steps), threads)))
		turn[i]() // waits until it has compiled
	}
	milliseconds := make([][]float64, 1+len(peers))
	for b.Loop() {
		for range turns {
			if _, err := l.Fit(context.Background(), task, nil); err != nil {
				b.Fatal(err)
			}
			milliseconds[0] = append(milliseconds[0], ours)
			for i, take := range turn {
				milliseconds[1+i] = append(milliseconds[1+i], 1000*take().Seconds())
			}
		}
	}
	median := func(x []float64) float64 { return slices.Sorted(slices.Values(x))[len(x)/2] }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(milliseconds[0]), "ms/step")
	for i, library := range peers {
		b.ReportMetric(median(milliseconds[1+i]), library+"-ms/step")
		b.ReportMetric(median(milliseconds[0])/median(milliseconds[1+i]), "of-"+library)
	}
}
