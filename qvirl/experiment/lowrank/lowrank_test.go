package lowrank

import (
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/metric"
)

// TestExperiment: with a rank of all states but one the posterior is the full one but for Monte Carlo error; with rank
// 1 it is not, and its objective is less.
func TestExperiment(t *testing.T) {
	c := Quick()
	c.Posteriors.Draws, c.Sizes = 2000, []Size{{4, 2}}
	at := func(rank int) (w1, gap float64) {
		c.LowRank.Rank = rank
		rows, _, _ := experimenttest.Run(t, Name, c)
		if r, err := Report(rows, nil); err != nil || len(r.Tables) != 1 || len(r.Tables[0].Rows) != 2 {
			t.Errorf("report %+v, error %v", r, err)
		}
		mean := func(name, of string) float64 { return experiment.Average(rows, name, of).Mean }
		if n := mean(LowRank, metric.Evaluations); !(n > 10 && n < 1000) {
			t.Errorf("rank %d: %g evaluations", rank, n)
		}
		return mean(LowRank, metric.W1), mean(worlds.QVIRL, metric.ELBO) - mean(LowRank, metric.ELBO)
	}
	w1, gap := at(15)
	least, most := at(1)
	if !(w1 < 0.1 && gap > -0.02 && gap < 0.05 && most > gap+0.05 && least > w1) {
		t.Errorf("W₁ %.3f and %.3f nats of rank 15, %.3f and %.3f of rank 1", w1, gap, least, most)
	}
}
