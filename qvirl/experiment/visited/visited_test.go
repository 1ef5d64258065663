package visited

import (
	"math"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
)

// TestExperiment computes the rows of two small worlds, of which the exact ones are known by the other sampler, too.
func TestExperiment(t *testing.T) {
	c := Quick()
	c.Posteriors.Seeds, c.Posteriors.Chunk, c.Training.Steps = experiment.Seeds(1000, 2), 2, 100
	c.Posteriors.World.Width, c.Posteriors.World.Height = 5, 5
	c.Methods = []string{worlds.ValueWalk, worlds.QVIRLMatched}
	rows, _, _ := experimenttest.Run(t, Name, c)
	if len(rows) != 2*4*2 {
		t.Fatalf("%d rows, want two metrics of four methods in two worlds", len(rows))
	}
	for _, metric := range []string{Gain, GainOther} {
		exact, matched := experiment.Average(rows, worlds.ValueWalk, metric), experiment.Average(rows,
			worlds.QVIRLMatched, metric)
		if math.Abs(exact.Mean-matched.Mean) > 0.1 || exact.Mean == 0 {
			t.Errorf("%s: %g exactly, %g matched", metric, exact.Mean, matched.Mean)
		}
		alone, with := experiment.Average(rows, Network, metric), experiment.Average(rows, Branches, metric)
		if math.Abs(alone.Mean) > 3 || alone.Mean == with.Mean {
			t.Errorf("%s: %g by the network, %g with branches", metric, alone.Mean, with.Mean)
		}
	}
	if r, err := Report(rows, nil); err != nil || len(r.Tables) != 1 || len(r.Tables[0].Rows) != 4 {
		t.Errorf("report %+v, error %v", r, err)
	}
}
