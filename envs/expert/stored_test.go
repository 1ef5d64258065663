package expert

import (
	"math"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
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
		{"expert-highway", Highway(), 21.5, 21.5},           // always idle gets 14.1, always slower 20.5
		{"expert-spaceinvaders", SpaceInvaders(), 550, 480}, // at random about 150
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
				t.Errorf("%s, %s: mean return %.2f over %d episodes, want %g", want.folder, v.Policy, v.Returns.Mean,
					v.Episodes, least)
			}
		}
	}
}

func TestStoredDemonstrationsAreTheExperts(t *testing.T) {
	for folder, beta := range map[string]float64{"expert-lunarlander": 3, "expert-highway": 5} {
		e, err := Open(filepath.Join(results, folder, "expert.npz"))
		if err != nil {
			t.Fatal(err)
		}
		set, err := demo.Read(filepath.Join(results, folder, "demos.npz"))
		if err != nil {
			t.Fatal(err)
		}
		if len(set.Trajectories) != 1000 || set.Environment != e.Config.Environment || set.Beta == nil ||
			*set.Beta != beta {
			t.Errorf("%s: %d trajectories of %s, want 1000 at β = %g", folder, len(set.Trajectories), set.Environment,
				beta)
		}
		for _, i := range []int{0, len(set.Trajectories) - 1} {
			j := &set.Trajectories[i]
			want, err := e.LogProbs(j.Observations[:j.Len()*set.ObservationSize()], beta)
			if err != nil {
				t.Fatal(err)
			}
			for k := range want {
				// Single precision leaves values of about 100 uncertain by 1e-5, and the order of a sum varies with the
				// machine.
				if !scalar.EqualWithinAbs(want[k], float64(j.LogProbs[k]), 2e-3*(1+math.Abs(want[k]))) {
					t.Fatalf("%s: trajectory %d, log-probability %d is %g, the expert's %g", folder, i, k,
						j.LogProbs[k], want[k])
				}
			}
		}
		ll, ok := set.ExpertLogLikelihood()
		if !ok || !scalar.EqualWithinAbs(ll, set.Statistics[LogLikelihood], 1e-6) {
			t.Errorf("%s: the log-likelihood is %g, the description says %g", folder, ll, set.Statistics[LogLikelihood])
		}
		// The expectation of −log π(a|s) is the entropy.
		if h := set.Statistics[ActionEntropy]; !(h > 0.1) || !(math.Abs(ll+h) <= 0.02) {
			t.Errorf("%s: the log-likelihood %g is not minus the entropy %g", folder, ll, h)
		}
	}
}
