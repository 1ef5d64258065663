//go:build installed

package expert

import (
	"math"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// TestDemonstrationsByReplay: an expert that sees the memory plays, the stored seeds and actions lead through the same
// episodes on the screen, and the stored probabilities are those that the expert gives in view of the memory.
func TestDemonstrationsByReplay(t *testing.T) {
	c := Pong()
	c.Pilot, c.PilotEpisodes, c.Demonstrated, c.Pretraining, c.Hidden = "", 0, 0, 0, []int{8}
	c.Steps, c.SegmentSteps, c.LearnAfter, c.CurveEpisodes, c.EvaluationEpisodes = 160, 160, 64, 1, 1
	pool := openPool(t, c, 1)
	e, err := Train(t.Context(), pureGo(t), pool, c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	played, err := Demonstrate(t.Context(), pool, e, DemonstrateOptions{Beta: 1, Episodes: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := gym.Show(t.Context(), played, c.Shown(), gym.ReplayOptions{EnvsPerWorker: 2})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "demos.npz")
	if err := shown.Write(path); err != nil {
		t.Fatal(err)
	}
	set, err := gym.OpenDemos(t.Context(), path, gym.ReplayOptions{EnvsPerWorker: 2})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := demo.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.Trajectories {
		j, x := &stored.Trajectories[i], &played.Trajectories[i]
		if f := set.Trajectories[i].Frames; f == nil || len(f.Pixels) != (x.Len()+1)*84*84 {
			t.Fatalf("trajectory %d: no frames of %d steps", i, x.Len())
		}
		if j.Len() < 700 || j.Return() != x.Return() || j.Return() > 0 { // a player at random loses 21 points
			t.Errorf("trajectory %d: %d steps, return %g; played %g", i, j.Len(), j.Return(), x.Return())
		}
		want, err := e.LogProbs(x.Observations[:x.Len()*played.ObservationSize()], 1)
		if err != nil {
			t.Fatal(err)
		}
		for k := range want {
			if !scalar.EqualWithinAbs(want[k], float64(j.LogProbs[k]), 1e-6*(1+math.Abs(want[k]))) { // float32
				t.Fatalf("trajectory %d, log-probability %d is %g, the expert's %g", i, k, j.LogProbs[k], want[k])
			}
		}
	}
	lives := pool.Spec().Size() // one too many
	c.Lives = &lives
	if _, err := Train(t.Context(), pureGo(t), pool, c, Options{}); err == nil {
		t.Error("lives beyond the observation are accepted")
	}
}

// TestInvadersPilotLooksAhead: in 200 steps it scores 100 points, and loses no life. Of 40 random players 23 lost one,
// and they had 49 points in the mean.
func TestInvadersPilotLooksAhead(t *testing.T) {
	c := SpaceInvaders()
	c.Environments = 2
	pool := openPool(t, c, 1)
	const steps = 200
	played, err := gym.CollectPython(t.Context(), pool, c.Pilot, gym.CollectOptions{Episodes: 2, MaxSteps: steps})
	if err != nil {
		t.Fatal(err)
	}
	size := pool.Spec().Size()
	for i := range played {
		x := &played[i]
		if x.Len() != steps {
			t.Fatalf("game %d has %d steps, want %d", i, x.Len(), steps)
		}
		first, last := x.Observations[*c.Lives], x.Observations[steps*size+*c.Lives]
		t.Logf("game %d: %g points, lives %g", i, x.Return(), 255*last)
		if first != last || x.Return() < 100 {
			t.Errorf("game %d: %g points and %g of %g lives after %d steps, want 100 points and all lives", i,
				x.Return(), 255*last, 255*first, steps)
		}
	}
}
