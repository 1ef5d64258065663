package qvirl

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"
)

func TestZZDump(t *testing.T) {
	path := os.Getenv("DUMP")
	if path == "" {
		t.Skip()
	}
	c := DefaultConfig()
	if os.Getenv("DUMP64") != "" {
		c.Float64 = true
	}
	m, _ := New(c)
	began := time.Now()
	posts, err := m.Fit(context.Background(), paperProblems(t, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began))
	type row struct{ Mean, Std, Probs, VMean, VStd, Q []float64; ELBO float64; Steps int; Conv bool }
	var out []row
	for i, p := range posts {
		g := p.(*Gaussian)
		r := row{Mean: g.RewardMean(), Probs: g.ActionProbs(), Conv: g.Converged()}
		for j := range r.Mean {
			r.Std = append(r.Std, g.Reward(j).StdDev())
			r.VMean = append(r.VMean, g.Value(j).Mean())
			r.VStd = append(r.VStd, g.Value(j).StdDev())
		}
		c := g.Curve()
		r.ELBO, r.Steps = c[len(c)-1].ELBO, c[len(c)-1].Step
		_ = math.Pi
		_ = i
		out = append(out, r)
	}
	data, _ := json.Marshal(out)
	os.WriteFile(path, data, 0o644)
}
