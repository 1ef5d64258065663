//go:build installed

package expert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// poleConfig is that of a short run on CartPole.
func poleConfig() Config {
	c := Default("CartPole-v1")
	c.Environments, c.Steps, c.SegmentSteps, c.EpsilonSteps, c.Undisturbed = 8, 9600, 3200, 3200, 2
	c.Hidden, c.Quantiles, c.Batch, c.GradientSteps, c.LearnAfter = []int{32, 32}, 8, 32, 2, 400
	c.LearningRate, c.TargetRate, c.CurveEpisodes, c.EvaluationEpisodes, c.Replay = 2e-3, 0.02, 4, 8, 6000
	return c
}

func openPool(t *testing.T, c Config, workers int) *gym.Pool {
	t.Helper()
	g, err := c.Gym(workers)
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

// TestPilotThenPretraining: both are told of before the first step of the environments.
func TestPilotThenPretraining(t *testing.T) {
	c := LunarLander()
	c.PilotEpisodes, c.Pretraining, c.Hidden, c.Steps, c.SegmentSteps = 2, 3, []int{8}, 160, 160
	c.LearnAfter, c.CurveEpisodes, c.EvaluationEpisodes = 64, 1, 1
	var told []string
	_, err := Train(t.Context(), pureGo(t), openPool(t, c, 1), c, Options{
		Prelude: func(what string, done, total int) {
			told = append(told, fmt.Sprintf("%d of %d %s", done, total, what))
		},
		Progress: func(Progress) { told = append(told, "step") },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"1 of 2 episodes of the pilot", "2 of 2 episodes of the pilot", "1 of 3 steps of pretraining",
		"2 of 3 steps of pretraining", "3 of 3 steps of pretraining", "step"}
	if len(told) < len(want) || !slices.Equal(told[:len(want)], want) {
		t.Errorf("told %q, want %q first", told, want)
	}
}

func TestTrainsAndResumes(t *testing.T) {
	c := poleConfig()
	whole, err := Train(t.Context(), pureGo(t), openPool(t, c, 1), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if v := whole.Evaluations[0]; v.Returns.Mean < 60 { // at random, a pole falls after about 22 steps
		t.Errorf("the expert keeps the pole up for %.0f steps", v.Returns.Mean)
	}

	// A run that is stopped in the middle of each of its segments, with other processes, ends with the same expert.
	run := filepath.Join(t.TempDir(), "run.npz")
	var resumed *Expert
	told := 0
	for stop := 1600; resumed == nil; stop += c.SegmentSteps {
		ctx, cancel := context.WithCancel(t.Context())
		resumed, err = Train(ctx, pureGo(t), openPool(t, c, 2), c, Options{Checkpoint: run, Resumed: func() { told++ },
			Progress: func(p Progress) {
				if p.Steps == stop {
					cancel()
				}
			}})
		if stopped := errors.Is(err, context.Canceled); (err != nil) != stopped || stopped != (stop < c.Steps) {
			t.Fatalf("stopped at %d steps: error %v", stop, err)
		}
		cancel()
	}
	if want := c.Steps/c.SegmentSteps - 1; told != want { // not the first, nor the second, for which nothing was stored
		t.Errorf("%d runs are said to have gone on, want %d", told, want)
	}
	if !slices.Equal(whole.Curve, resumed.Curve) {
		t.Errorf("the curve is %v, of the run that was stopped %v", whole.Curve, resumed.Curve)
	}
	for i := range whole.network {
		if !slices.Equal(whole.network[i].weights, resumed.network[i].weights) {
			t.Errorf("the weights of layer %d differ from those of the run that was stopped", i)
		}
	}

	demonstrates(t, whole)
}

// Rewards of one's own: upright is good. The environment's rewards are of no use here, as each of its steps pays 1 and
// Options.Rewards is all that the learner is told; the pole stays up all the same.
func TestPlansOnOtherRewardsAndResumes(t *testing.T) {
	c := poleConfig()
	c.Norm, c.Double, c.Demonstrated, c.Beta, c.Discount, c.RewardScale = true, true, 8, 0, 0.95, 0.5
	upright := func(observations []float32, actions []int) ([]float64, error) {
		out := make([]float64, len(actions))
		for i := range out {
			lean := float64(observations[4*i+2]) / 0.1
			out[i] = math.Exp(-lean*lean) - 1
		}
		return out, nil
	}
	pool := openPool(t, c, 1)
	demos, err := gym.Collect(t.Context(), pool, gym.RandomPolicy(2), gym.CollectOptions{Episodes: 4})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Rewards: upright, Demonstrations: demos, Source: "upright"}
	whole, err := Train(t.Context(), pureGo(t), pool, c, o)
	if err != nil {
		t.Fatal(err)
	}
	best := whole.Curve[0]
	for _, p := range whole.Curve {
		if p.Objective > best.Objective {
			best = p
		}
	}
	played, err := play(t.Context(), pool, whole.Greedy(), c.CurveEpisodes, curveSeed)
	if err != nil {
		t.Fatal(err)
	}
	// At random, a pole falls after about 22 steps.
	if got := played.Returns().Mean; got != best.Return || got < 60 || !(best.Objective < 0) {
		t.Errorf("the pole stays up for %g steps, the best point of %+v has %g", got, whole.Curve, best.Return)
	}
	if last := whole.Curve[len(whole.Curve)-1]; last.Played < len(whole.Curve)*c.CurveEpisodes*8 {
		t.Errorf("the curve took %d steps", last.Played)
	}

	o.Checkpoint = filepath.Join(t.TempDir(), "run.npz")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Progress = func(p Progress) {
		if p.Steps == 4800 {
			cancel()
		}
	}
	if _, err := Train(ctx, pureGo(t), openPool(t, c, 2), c, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want a cancellation", err)
	}
	o.Progress = nil
	other := o
	other.Source = "another"
	if _, err := Train(t.Context(), pureGo(t), openPool(t, c, 2), c, other); err == nil {
		t.Error("a run went on with other rewards")
	}
	resumed, err := Train(t.Context(), pureGo(t), openPool(t, c, 2), c, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(whole.Curve, resumed.Curve) {
		t.Errorf("the curve is %v, of the run that was stopped %v", whole.Curve, resumed.Curve)
	}
	for i := range whole.network {
		if !slices.Equal(whole.network[i].weights, resumed.network[i].weights) {
			t.Errorf("the weights of layer %d differ from those of the run that was stopped", i)
		}
	}
}

func demonstrates(t *testing.T, e *Expert) {
	set, err := Demonstrate(t.Context(), openPool(t, e.Config, 2), e, DemonstrateOptions{Beta: 1, Episodes: 6, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "demos.npz")
	if err := set.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := demo.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	ll, ok := back.ExpertLogLikelihood()
	h := back.Statistics[ActionEntropy]
	if n := float64(back.Transitions()); !ok || !(h > 0.005) || ll+h > 0.2 || ll+h < -0.2 || n < 150 ||
		*back.Beta != 1 {
		t.Errorf("%g transitions at β = %g, log-likelihood %g, entropy %g: want the one to be about minus the other", n,
			*back.Beta, ll, h)
	}
	for i := range back.Trajectories {
		if back.Trajectories[i].Seed != int64(i) {
			t.Errorf("trajectory %d began with the seed %d", i, back.Trajectories[i].Seed)
		}
	}
	other := poleConfig()
	other.Environment = "Acrobot-v1"
	if _, err := Demonstrate(t.Context(), openPool(t, other, 1), e, DemonstrateOptions{Beta: 1,
		Episodes: 1}); err == nil {
		t.Error("an expert of CartPole demonstrated in Acrobot")
	}
}

// TestPilotThatFillsTheReplay: what is never forgotten would leave no room for what the learner does itself.
func TestPilotThatFillsTheReplay(t *testing.T) {
	c := LunarLander()
	c.PilotEpisodes, c.Demonstrated, c.Hidden, c.Steps, c.SegmentSteps = 1, 8, []int{8}, 160, 160
	c.Replay, c.LearnAfter = 60, 32 // a landing takes more than 60 steps
	_, err := Train(t.Context(), pureGo(t), openPool(t, c, 1), c, Options{})
	if err == nil || !strings.Contains(err.Error(), "replay = 60") || !strings.Contains(err.Error(), "raise replay") {
		t.Errorf("error %v, want one that asks for a larger Replay", err)
	}
}

// TestInterruptedDemonstrationsAreWhole: an interruption leaves the episodes that had ended, and no parts of others.
func TestInterruptedDemonstrationsAreWhole(t *testing.T) {
	c := poleConfig()
	c.Hidden = []int{8}
	e := &Expert{network: newNetwork(c.widths(4, 2), 7), Description: Description{Config: c, ObservationShape: []int{4},
		Actions: 2}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set, err := Demonstrate(ctx, openPool(t, c, 1), e, DemonstrateOptions{Episodes: 40, Progress: func(done int) {
		if done == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || set == nil || len(set.Trajectories) < 3 {
		t.Fatalf("error %v with the set %v, want a cancellation with at least 3 episodes", err, set)
	}
	for i := range set.Trajectories {
		if d := &set.Trajectories[i]; !d.Terminated && !d.Truncated {
			t.Errorf("of %d trajectories, number %d was cut off after %d steps", len(set.Trajectories), i, d.Len())
		}
	}
}
