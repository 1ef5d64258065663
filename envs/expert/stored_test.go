package expert

import (
	"path/filepath"
	"testing"
)

// results is where the project keeps what full runs have made.
const results = "../../results"

func TestStoredExpertsAreWhatTheirConfigsMake(t *testing.T) {
	for _, want := range []struct {
		folder            string
		config            Config
		greedy, boltzmann float64 // least mean returns
	}{
		{"expert-lunarlander", LunarLander(), 250, 240},
		{"expert-highway", Highway(), 21.5, 21.5}, // always idle gets 14.1, always slower 20.5
	} {
		e, err := Open(filepath.Join(results, want.folder, "expert.npz"))
		if err != nil {
			t.Fatal(err)
		}
		if name := difference(e.Config, want.config); name != "" {
			t.Errorf("%s was trained with another %q than the package's config", want.folder, name)
		}
		if n := len(e.Curve); n != e.Config.Steps/e.Config.SegmentSteps || e.Curve[n-1].Steps != e.Config.Steps {
			t.Errorf("%s: %d points of the learning curve, up to %d steps", want.folder, n, e.Curve[n-1].Steps)
		}
		if len(e.Evaluations) != 2 {
			t.Fatalf("%s: %d evaluations, want two", want.folder, len(e.Evaluations))
		}
		for i, least := range []float64{want.greedy, want.boltzmann} {
			if v := e.Evaluations[i]; v.Episodes < 100 || v.Returns.Mean < least {
				t.Errorf("%s, %s: mean return %.2f over %d episodes, want %g", want.folder, v.Policy, v.Returns.Mean, v.Episodes, least)
			}
		}
	}
}
