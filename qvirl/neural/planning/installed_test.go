//go:build installed

package planning

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Plans in CartPole from three demonstrations of an expert that holds the pole up for all 500 steps.
func TestPlansResumesAndIsStored(t *testing.T) {
	set, err := demo.Read("../../../results/expert-cartpole/demos.npz")
	if err != nil {
		t.Fatal(err)
	}
	on, err := compute.NewWithConfig("go")
	if err != nil {
		t.Fatal(err)
	}
	c := Default("CartPole-v1", 0.95)
	l := &c.Learner
	l.Environments, l.Steps, l.SegmentSteps, l.EpsilonSteps, l.Undisturbed = 8, 9600, 3200, 3200, 2
	l.Hidden, l.Quantiles, l.Batch, l.Demonstrated, l.GradientSteps, l.LearnAfter = []int{32, 32}, 8, 32, 8, 2, 400
	l.LearningRate, l.TargetRate, l.CurveEpisodes, l.Replay = 2e-3, 0.02, 4, 6000
	c.Rollouts, c.Inducing = 4, 60
	open := func() *gym.Pool {
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
	training := neural.Default()
	training.Hidden, training.Steps, training.ReportEvery, training.Folds, training.Backend = []int{32, 32}, 400, 100,
		0,
		"go"
	learner, err := variational.New(training, variational.DefaultObjective(1))
	if err != nil {
		t.Fatal(err)
	}
	demos := set.Trajectories[:3]
	pool := open()
	models, err := learner.Fit(t.Context(), &neural.Task{Environment: "CartPole-v1", Observation: 4, Actions: 2,
		Discount: 0.95, Beta: 1, Runs: []neural.Run{{Demos: demos}},
		Explore: neural.NewExplore(pool, neural.ExploreOptions{Every: 100, Keep: 20, Episodes: 4, Seed: 7000})}, nil)
	if err != nil {
		t.Fatal(err)
	}
	planned, err := Plan(t.Context(), on, pool, models[0], demos, c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := planned.Apprentice().Config; len(n.Center) != 4 || len(n.Scale) != 4 {
		t.Errorf("the network has the units %v and %v, want those of 4 numbers", n.Center, n.Scale)
	}
	played, err := neural.Rollout(t.Context(), pool, planned, neural.RolloutOptions{Episodes: 8, Seed: 50})
	if err != nil {
		t.Fatal(err)
	}
	mean := 0.0
	for i := range played {
		mean += played[i].Return() / 8
	}
	t.Logf("return %g, %d steps, curve %+v", mean, planned.EnvironmentSteps(), planned.Apprentice().Curve)
	if mean < 100 { // at random, a pole falls after about 22 steps
		t.Errorf("the pole stays up for %g steps", mean)
	}
	if steps := planned.EnvironmentSteps(); steps <= l.Steps {
		t.Errorf("%d steps of the environment, in training alone there were %d", steps, l.Steps)
	}

	o := Options{Checkpoint: filepath.Join(t.TempDir(), "run.npz")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p expert.Progress) {
		if p.Steps == 8000 {
			cancel()
		}
	}
	if _, err := Plan(ctx, on, open(), models[0], demos, c, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want a cancellation", err)
	}
	o.Progress = nil
	resumed, err := Plan(t.Context(), on, open(), models[0], demos, c, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := resumed.Save(dir); err != nil {
		t.Fatal(err)
	}
	stored, err := Load(dir, func(dir string) (neural.Model, error) {
		return neural.Load[variational.Objective](dir, "go")
	})
	if err != nil {
		t.Fatal(err)
	}
	x := demos[0].Observations[:80]
	want, err := planned.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	got, err := stored.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Values, want.Values) || !slices.Equal(got.Own, want.Own) ||
		stored.EnvironmentSteps() != planned.EnvironmentSteps() || stored.Name() != Name {
		t.Errorf("the apprentice that was stopped and stored has the values %v, the other %v", got.Values[:4],
			want.Values[:4])
	}
	// as an interruption leaves it that comes while one plan is stored in the place of another
	stored.details.Rolled++
	if err := atomicfile.WriteJSON(filepath.Join(dir, detailsFile), stored.details); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir, nil); err == nil || !strings.Contains(err.Error(), detailsFile) {
		t.Errorf("error %v for details of another plan", err)
	}
	base, err := models[0].Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.LogProbs, base.LogProbs) || slices.Equal(got.Values, base.Values) {
		t.Error("the probabilities are not those of the model that was planned on, or the values are")
	}
}
