package neural

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/demo"
)

// dreamer rolls out in an environment that leads anywhere, and remembers which rounds there were.
type dreamer struct {
	mutex  sync.Mutex
	rounds []string
	fail   int // the round that fails; 0 for none
}

func (d *dreamer) rollout(ctx context.Context, run, round int, m Model) ([]demo.Trajectory, error) {
	if d.fail > 0 && round == d.fail {
		return nil, errors.New("the engine is on fire")
	}
	d.mutex.Lock()
	d.rounds = append(d.rounds, fmt.Sprintf("%d/%d", run, round))
	d.mutex.Unlock()
	t := demo.Trajectory{}
	states := random(uint64(run), 100, round)
	for range 9 {
		t.Observations = append(t.Observations, float32(states.NormFloat64()), float32(states.NormFloat64()), 3)
	}
	p, err := m.Predict(t.Observations)
	if err != nil {
		return nil, err
	}
	for i := range 8 {
		action := 0
		if p.Values[2*i+1] > p.Values[2*i] {
			action = 1
		}
		t.Actions = append(t.Actions, action)
	}
	return []demo.Trajectory{t}, ctx.Err()
}

// exploringTask is testTask with rollouts every 20 steps.
func exploringTask(d *dreamer) *Task {
	t := testTask(2)
	t.Explore = &Explore{Every: 20, Keep: 2, Rollout: d.rollout}
	return t
}

func TestExplorationDependsOnStepsAlone(t *testing.T) {
	c := testConfig() // 50 steps, points every 10
	first := &dreamer{}
	whole := fit(t, c, classifier{}, exploringTask(first))
	slices.Sort(first.rounds)
	// at steps 0 and 20; training ends before one of step 40 would be taken up
	if want := []string{"0/0", "0/1", "1/0", "1/1"}; !slices.Equal(first.rounds, want) {
		t.Errorf("rounds %v, want %v", first.rounds, want)
	}
	for r, m := range fit(t, c, classifier{}, exploringTask(&dreamer{})) {
		sameCurve(t, "again", m.Curve(), whole[r].Curve(), 0)
	}
	without := fit(t, c, classifier{}, testTask(2))
	if without[0].Curve()[4].Loss == whole[0].Curve()[4].Loss {
		t.Error("auxiliary transitions make no difference")
	}

	task := exploringTask(&dreamer{})
	task.Checkpoint = t.TempDir()
	l, j := newTestJob(t, c, classifier{}, task)
	ctx, cancel := context.WithCancel(context.Background())
	err := j.train(ctx, func(p Point) {
		if p.Step == 30 { // the state of step 20, where a round was taken up, is kept
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	points := 0
	task.Watch = func(Point) { points++ }
	for r, m := range fit(t, c, classifier{}, task) {
		sameCurve(t, "resumed", m.Curve(), whole[r].Curve(), 0)
	}
	if points != 3 { // from step 20 on
		t.Errorf("after the interruption training reported %d points, want 3", points)
	}
	task.Explore.Source = "elsewhere"
	if _, err := l.Fit(context.Background(), task, nil); err == nil ||
		!strings.Contains(err.Error(), "other data, settings or seeds") {
		t.Errorf("error %v for a checkpoint of explorers of another environment", err)
	}
}

func TestFailingExplorationStopsTraining(t *testing.T) {
	l, err := NewLearner("test", testConfig(), classifier{})
	if err != nil {
		t.Fatal(err)
	}
	task := exploringTask(&dreamer{fail: 1})
	task.Checkpoint = t.TempDir()
	_, err = l.Fit(context.Background(), task, nil)
	if err == nil || !strings.Contains(err.Error(), "round 1") || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("error %v, want one that names round 1 and its cause", err)
	}
	if kept, _ := filepath.Glob(filepath.Join(task.Checkpoint, "*.checkpoint")); len(kept) == 0 {
		t.Error("what was learnt before is lost")
	}
	for name, spoil := range map[string]func(*Task){
		"Every":     func(t *Task) { t.Explore.Every = 15 },
		"Keep":      func(t *Task) { t.Explore.Keep = 0 },
		"Rollout":   func(t *Task) { t.Explore.Rollout = nil },
		"auxiliary": func(t *Task) { t.Runs[0].Aux, t.Runs[1].Aux = t.HeldOut, t.HeldOut },
	} {
		task := exploringTask(&dreamer{})
		spoil(task)
		if _, err := l.Fit(context.Background(), task, nil); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestEndOfTrainingCancelsNoRound: a training that ends without an error leaves the environments of its rollouts alone,
// whether it ends after its last step or early, with a round under way.
func TestEndOfTrainingCancelsNoRound(t *testing.T) {
	var rounds, cancelled atomic.Int32
	d := &dreamer{}
	slow := func(ctx context.Context, run, round int, m Model) ([]demo.Trajectory, error) {
		rounds.Add(1)
		select {
		case <-ctx.Done():
			cancelled.Add(1)
		case <-time.After(100 * time.Millisecond):
		}
		return d.rollout(ctx, run, round, m)
	}
	whole, early := testConfig(), testConfig()
	whole.Steps = 70
	early.Steps, early.Patience = 400, 1
	for name, c := range map[string]struct {
		config Config
		every  int
	}{"after the last step": {whole, 50}, "early": {early, 10}} {
		task := testTask(1)
		for _, h := range task.HeldOut {
			for k := range h.Actions { // labels that no model predicts: the best one is an early one
				h.Actions[k] = (k / 3) % 2
			}
		}
		task.Explore = &Explore{Every: c.every, Keep: 2, Rollout: slow}
		points := len(fit(t, c.config, classifier{}, task)[0].Curve())
		if stopped := points < c.config.Steps/c.config.ReportEvery; stopped != (name == "early") {
			t.Errorf("%s: training ended after %d points", name, points)
		}
		if n := cancelled.Swap(0); n > 0 {
			t.Errorf("%s: %d of %d rounds were cancelled", name, n, rounds.Swap(0))
		}
	}
}

// TestTheLastExploredTrajectoriesAreKept, Explore.Keep of them, with their successors.
func TestTheLastExploredTrajectoriesAreKept(t *testing.T) {
	all := explored{Trajectories: make([]demo.Trajectory, 5), Successors: make([]Successors, 5)}
	for i := range all.Trajectories {
		all.Trajectories[i].Seed, all.Successors[i].Terminated = int64(i), make([]bool, i)
	}
	for n, want := range map[int]int{2: 2, 5: 5, 9: 5} {
		kept := all.last(n)
		if len(kept.Trajectories) != want || len(kept.Successors) != want ||
			kept.Trajectories[0].Seed != int64(5-want) || len(kept.Successors[0].Terminated) != 5-want {
			t.Errorf("the last %d of 5 are %+v", n, kept)
		}
	}
}
