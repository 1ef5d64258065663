//go:build peers

package variational

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

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
	neuraltest.CheckPeers(t, "step.py", m, map[string]npz.Array{"state": flat(b.State), "next": flat(b.Next),
		"action":   npz.Ints(b.Action, 40),
		"discount": {Shape: []int{40}, Data: b.Discount, Type: npz.Float32}}, want)
}
