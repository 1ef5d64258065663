package neural

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/envs/demo"
)

func TestSuccessorsOfTransitions(t *testing.T) {
	trajectories := []demo.Trajectory{walk(0, 2, true, false), walk(10, 1, false, true)}
	further := []Successors{
		{Observations: []float32{1, 7, 5, 7, 2, 7, 2, 7}, Terminated: []bool{false, true, false, true}},
		{Observations: []float32{11, 7, 12, 7}, Terminated: []bool{false, false}},
	}
	d := newData(trajectories, further, Image{}, &Scale{Mean: []float32{0, 7}, Std: []float32{2, 1}}, 3, 0.9)
	if want := []float32{0.5, 0, 0.5, 0, 2.5, 0, 1, 0, 1, 0, 1, 0, 5.5, 0, 5.5, 0, 6, 0}; d.Successors != 3 ||
		!slices.Equal(d.Successor, want) {
		t.Errorf("%d successors %v, want %v", d.Successors, d.Successor, want)
	}
	// Of the first transition two coincide and one ends the episode; the second one ended it, but one that coincides
	// with it did not; of the third, two coincide.
	for i, want := range []float32{0.6, 0, 0, 0, 0.3, 0, 0.6, 0, 0.3} {
		if !(math.Abs(float64(d.Weight[i]-want)) <= 1e-7) {
			t.Errorf("weight of successor %d of transition %d is %g, want %g", i%3, i/3, d.Weight[i], want)
		}
	}
	if want := []float32{0.9, 0, 0.9}; !slices.Equal(d.Discount, want) {
		t.Errorf("discounts %v, want %v", d.Discount, want)
	}
	if without := newData(trajectories, nil, d.Image, d.Scale, 3,
		0.9); without.Successors != 0 || without.Weight != nil ||
		!slices.Equal(without.Next, d.Next) {
		t.Errorf("without further ones there are %d successors", without.Successors)
	}
}

// follower has the states that are led to tell their action, by all successors if there are further ones.
type follower struct{ classifier }

func (f follower) Loss(w *Weights, b *Batch) Loss {
	loss := f.classifier.Loss(w, b)
	for _, t := range []*Transitions{&b.Expert, b.Aux} {
		if t == nil || t.Successor == nil {
			continue
		}
		dims := t.Successor.Shape().Dimensions
		first := graph.Squeeze(graph.SliceAxis(t.Successor, 2, graph.AxisElem(0)), 2)
		apart := graph.ReduceSum(graph.Abs(graph.Sub(first, t.Next)), 1, 2)
		further := graph.Reshape(t.Successor, dims[0], dims[1]*dims[2], dims[3])
		logProbs := f.logProbs(w, further)
		weight := graph.Reshape(t.Weight, dims[0], dims[1]*dims[2], 1)
		loss.Total = graph.Sub(loss.Total, graph.ReduceSum(graph.Mul(logProbs, weight), 1, 2))
		loss.Terms = append(loss.Terms, Term{"apart", apart}, Term{"weight", graph.ReduceSum(t.Weight, 1, 2)})
	}
	return loss
}

// drawn returns m − 1 further successors of trajectories.
func drawn(of []demo.Trajectory, m int, seed uint64) []Successors {
	rng := random(seed, 101, 0)
	out := make([]Successors, len(of))
	for i := range of {
		for range of[i].Len() * (m - 1) {
			out[i].Observations = append(out[i].Observations, float32(rng.NormFloat64()), float32(rng.NormFloat64()), 3)
			out[i].Terminated = append(out[i].Terminated, rng.IntN(4) == 0)
		}
	}
	return out
}

// branchingTask is testTask with m successors of each transition.
func branchingTask(m int) *Task {
	t := testTask(2)
	for r := range t.Runs {
		run := &t.Runs[r]
		run.Successors = drawn(run.Demos, m, run.Seed)
	}
	return t
}

func TestSuccessorsAreDealtWithTheirTransitions(t *testing.T) {
	c := testConfig()
	one, three := fit(t, c, follower{}, testTask(2)), fit(t, c, follower{}, branchingTask(3))
	for r := range three {
		for _, p := range three[r].Curve() {
			// a batch of 4 has at most the weight 4 · 0.9
			if w := p.Terms["weight"]; p.Terms["apart"] != 0 || !(w > 1 && w < 3.6) {
				t.Errorf("run %d, step %d: terms %v", r, p.Step, p.Terms)
			}
		}
		if one[r].Curve()[4].Loss == three[r].Curve()[4].Loss {
			t.Errorf("run %d: further successors make no difference", r)
		}
	}
	// who has no use for them learns as without
	for r, m := range fit(t, c, classifier{}, branchingTask(3)) {
		sameCurve(t, "unused", m.Curve(), fit(t, c, classifier{}, testTask(2))[r].Curve(), 1e-5)
	}
	// auxiliary transitions have theirs
	task := branchingTask(3)
	for r := range task.Runs {
		task.Runs[r].Aux = task.HeldOut
		task.Runs[r].AuxSuccessors = drawn(task.HeldOut, 3, 5)
	}
	if with := fit(t, c, follower{}, task); with[0].Curve()[0].Terms["apart"] != 0 ||
		with[0].Curve()[4].Loss == three[0].Curve()[4].Loss {
		t.Errorf("with auxiliary ones: terms %v", with[0].Curve()[0].Terms)
	}
}

func TestExplorersDrawSuccessors(t *testing.T) {
	exploring := func() *Task {
		task := branchingTask(3)
		task.Explore = exploringTask(&dreamer{}).Explore
		task.Explore.Successors = func(_ context.Context, run, round int, of []demo.Trajectory) ([]Successors, error) {
			return drawn(of, 3, uint64(10*run+round)), nil
		}
		return task
	}
	c := testConfig()
	whole := fit(t, c, follower{}, exploring())
	if whole[0].Curve()[4].Loss == fit(t, c, follower{}, branchingTask(3))[0].Curve()[4].Loss {
		t.Error("exploration makes no difference")
	}
	if apart := whole[0].Curve()[4].Terms["apart"]; apart != 0 {
		t.Errorf("the first successors are %g from those that the transitions led to", apart)
	}
	// a state that was kept goes on with the successors of the auxiliary trajectories
	task := exploring()
	task.Checkpoint = t.TempDir()
	l, j := newTestJob(t, c, follower{}, task)
	ctx, cancel := context.WithCancel(context.Background())
	_ = j.train(ctx, func(p Point) {
		if p.Step == 30 {
			cancel()
		}
	})
	points := 0
	task.Watch = func(Point) { points++ }
	for r, m := range fit(t, c, follower{}, task) {
		sameCurve(t, "resumed", m.Curve(), whole[r].Curve(), 0)
	}
	if points != 3 {
		t.Errorf("after the interruption training reported %d points, want 3", points)
	}
	task = exploring()
	task.Explore.Successors = func(_ context.Context, run, round int, of []demo.Trajectory) ([]Successors, error) {
		return drawn(of, 2, 0), nil
	}
	if _, err := l.Fit(context.Background(), task, nil); err == nil || !strings.Contains(err.Error(), "round 0") {
		t.Errorf("error %v for explorers with fewer successors", err)
	}
}

func TestSuccessorsAreChecked(t *testing.T) {
	if err := branchingTask(3).Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Task){
		"further successors of 1 trajectories": func(t *Task) { t.Runs[1].Successors = t.Runs[1].Successors[:1] },
		"further successors of 0 trajectories": func(t *Task) { t.Runs[1].Successors = nil },
		"run 1: demonstrations: trajectory 0":  func(t *Task) { t.Runs[1].Successors = drawn(t.Runs[1].Demos, 4, 0) },
		"at least one, of 3 numbers":           func(t *Task) { t.Runs[0].Successors = make([]Successors, 2) },
		"[2][1] is NaN": func(t *Task) {
			t.Runs[0].Successors[0].Observations[7] = float32(math.NaN())
		},
		"auxiliary trajectories: further": func(t *Task) { t.Runs[0].Aux, t.Runs[1].Aux = t.HeldOut, t.HeldOut },
		"Task.Explore":                    func(t *Task) { t.Explore = exploringTask(&dreamer{}).Explore },
	} {
		task := branchingTask(3)
		spoil(task)
		if err := task.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

func TestSuccessorsArePartOfATrainingsIdentity(t *testing.T) {
	l, err := NewLearner("test", testConfig(), follower{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for name, task := range map[string]*Task{"none": testTask(2), "2": branchingTask(2), "3": branchingTask(3)} {
		identities := []*Task{task}
		if task.successors() > 1 {
			other := branchingTask(task.successors())
			other.Runs[1].Successors[0].Terminated[0] = !other.Runs[1].Successors[0].Terminated[0]
			another := branchingTask(task.successors())
			another.Runs[0].Successors[1].Observations[2]++
			identities = append(identities, other, another)
		}
		for _, task := range identities {
			identity, err := l.identity(task, 0, 2)
			if err != nil {
				t.Fatal(err)
			}
			if before, ok := seen[identity]; ok {
				t.Errorf("trainings with %s and %s successors have one identity", before, name)
			}
			seen[identity] = name
		}
	}
}

func TestSuccessorsOfEpisodesWithoutASeedAreRefused(t *testing.T) {
	of := []demo.Trajectory{{Seed: 3}, {Seed: demo.NoSeed}}
	if _, err := SampleSuccessors(t.Context(), nil, of, 2, BranchOptions{}); err == nil ||
		!strings.Contains(err.Error(), "trajectory 1: its environment's seed is not known") {
		t.Errorf("error %v", err)
	}
	if _, err := SampleSuccessors(t.Context(), nil, of, 1, BranchOptions{}); err == nil {
		t.Error("no error for one successor")
	}
}
