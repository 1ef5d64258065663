//go:build installed

package online

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
)

// cartpole returns demonstrations and the backend to learn from them on.
func cartpole(t *testing.T) (*demo.Set, compute.Backend) {
	t.Helper()
	set, err := demo.Read("../../../results/expert-cartpole/demos.npz")
	if err != nil {
		t.Fatal(err)
	}
	on, err := compute.NewWithConfig("go")
	if err != nil {
		t.Fatal(err)
	}
	return set, on
}

// opened returns the environments of a learner, until the test ends.
func opened(t *testing.T, l *expert.Config) *gym.Pool {
	t.Helper()
	g, err := l.Gym(1)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := gym.Open(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pool.Close() })
	return pool
}

// Learns in CartPole from three demonstrations of an expert that holds the pole up for all 500 steps.
func TestLearnsAndIsStored(t *testing.T) {
	set, on := cartpole(t)
	task := &neural.Task{Environment: "CartPole-v1", Observation: 4, Actions: 2, Discount: 0.95, Beta: 1,
		Runs: []neural.Run{{Demos: set.Trajectories[:3], Seed: 2}}}
	for _, method := range []string{NameIQLearn, NameSQIL} {
		c := Default(method, task.Environment, task.Discount)
		l := &c.Learner
		l.Environments, l.Steps, l.SegmentSteps, l.Hidden = 8, 6400, 3200, []int{32, 32}
		l.Batch, l.Demonstrated = 32, 16
		l.GradientSteps, l.LearnAfter, l.LearningRate, l.FinalLearningRate, l.Replay = 2, 400, 2e-3, 1e-3, 6400
		l.TargetRate = 0.02
		pool := opened(t, l)
		m, err := Learn(t.Context(), on, pool, task, task.Runs[0], c, expert.Options{})
		if err != nil {
			t.Fatal(err)
		}
		played, err := neural.Rollout(t.Context(), pool, m, neural.RolloutOptions{Episodes: 8, Seed: 50})
		if err != nil {
			t.Fatal(err)
		}
		mean := 0.0
		for i := range played {
			mean += played[i].Return() / 8
		}
		t.Logf("%s: return %g", method, mean)
		if mean < 60 { // at random, a pole falls after about 22 steps
			t.Errorf("%s: the pole stays up for %g steps", method, mean)
		}
		dir := t.TempDir()
		if err := m.Save(dir); err != nil {
			t.Fatal(err)
		}
		stored, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		x := set.Trajectories[0].Observations[:80]
		want, err := m.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		q := npz.Widen(want.Values)
		mdp.LogBoltzmann(q, q, 2, 1/c.Temperature)
		if !floats.EqualApprox(npz.Widen(want.Own), q, 1e-3) {
			t.Errorf("%s: log-probabilities %v, those of the soft policy are %v", method, want.Own[:4], q[:4])
		}
		got, err := stored.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Values, want.Values) || !slices.Equal(got.Own, want.Own) || stored.Spec() != m.Spec() ||
			stored.Name() != method || slices.Max(got.Own) > 0 {
			t.Errorf("%s: stored, it has the values %v, before %v", method, got.Values[:4], want.Values[:4])
		}
	}
}

// A run that was stopped does not go on where the caller's Source is another, such as that of other environments.
func TestAnotherSourceIsAnotherRun(t *testing.T) {
	set, on := cartpole(t)
	c := Default(NameSQIL, "CartPole-v1", 0.95)
	l := &c.Learner
	l.Environments, l.Steps, l.SegmentSteps, l.Hidden, l.Replay, l.LearnAfter = 8, 800, 400, []int{8}, 800, 200
	pool := opened(t, l)
	o := expert.Options{Checkpoint: filepath.Join(t.TempDir(), "run.npz"), Source: "a short pole"}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p expert.Progress) {
		if p.Steps >= 500 { // a segment is in the checkpoint
			cancel()
		}
	}
	if _, err := Train(ctx, on, pool, set.Trajectories[:3], c, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	o.Progress, o.Source = nil, "a long pole"
	if _, err := Train(t.Context(), on, pool, set.Trajectories[:3], c, o); err == nil ||
		!strings.Contains(err.Error(), "a long pole") || !strings.Contains(err.Error(), "a short pole") {
		t.Errorf("error %v, want one that says both sources", err)
	}
}
