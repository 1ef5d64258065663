package neural

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
)

// walk is a trajectory of two features: a position that grows by one, and a constant.
func walk(from, steps int, terminated, truncated bool) demo.Trajectory {
	t := demo.Trajectory{Terminated: terminated, Truncated: truncated}
	for i := range steps + 1 {
		t.Observations = append(t.Observations, float32(from+i), 7)
	}
	for i := range steps {
		t.Actions = append(t.Actions, (from+i)%3)
	}
	return t
}

func TestOnlyTerminationEndsTheFuture(t *testing.T) {
	trajectories := []demo.Trajectory{walk(0, 2, true, false), walk(10, 2, false, true), walk(20, 1, false, false),
		walk(30, 1, true, true)}
	scale := &Scale{Mean: []float32{0, 0}, Std: []float32{1, 1}}
	d := newData(trajectories, nil, Image{}, scale, 3, 0.9)
	if want := []float32{0.9, 0, 0.9, 0.9, 0.9, 0}; !slices.Equal(d.Discount, want) {
		t.Errorf("discounts %v, want %v", d.Discount, want)
	}
	if want := []int32{0, 1, 1, 2, 2, 0}; !slices.Equal(d.Action, want) {
		t.Errorf("actions %v, want %v", d.Action, want)
	}
	if want := []int32{1, -1, 2, -1, -1, -1}; !slices.Equal(d.NextAction, want) {
		t.Errorf("next actions %v, want %v", d.NextAction, want)
	}
	if want := []int{0, 2, 4, 5}; !slices.Equal(d.Starts, want) {
		t.Errorf("starts %v, want %v", d.Starts, want)
	}
	if want := []float32{0, 7, 1, 7, 10, 7, 11, 7, 20, 7, 30, 7}; !slices.Equal(d.State, want) {
		t.Errorf("states %v, want %v", d.State, want)
	}
	if want := []float32{1, 7, 2, 7, 11, 7, 12, 7, 21, 7, 31, 7}; !slices.Equal(d.Next, want) {
		t.Errorf("next states %v, want %v", d.Next, want)
	}
}

func TestScaleSurvivesConstantFeatures(t *testing.T) {
	s := standard(moments([]demo.Trajectory{walk(0, 4, true, false)}, 2))
	std := float32(math.Sqrt(1.25)) // of 0, 1, 2, 3; the final state is not acted in
	if s.Mean[0] != 1.5 || !(math.Abs(float64(s.Std[0]-std)) <= 1e-6) || s.Mean[1] != 7 || s.Std[1] != 1 {
		t.Errorf("scale %+v, want means 1.5 and 7, deviations %g and 1", s, std)
	}
	got := s.Apply([]float32{1.5, 7, 1.5 + std, 8})
	for i, want := range []float32{0, 0, 1, 1} {
		if !(math.Abs(float64(got[i]-want)) <= 1e-6) {
			t.Errorf("standardised %v, want 0 0 1 1", got)
		}
	}
}

func TestScaleTakesRoundingForConstancy(t *testing.T) {
	d := walk(0, 3, true, false)
	d.Observations[1], d.Observations[3] = 1e6, 1e6+0.0625 // the least step of float32 there
	d.Observations[5] = 1e6
	if s := standard(moments([]demo.Trajectory{d}, 2)); s.Std[1] != 1 {
		t.Errorf("the deviation of rounding errors is %g, want 1", s.Std[1])
	}
}

func TestUnitScalesWhatIsOfOrderOne(t *testing.T) {
	demos := []demo.Trajectory{walk(0, 4, true, false), walk(4, 4, false, false)} // positions 0 to 7
	for i := range demos {
		for k := range demos[i].Observations {
			demos[i].Observations[k] /= 8 // root mean squares of 0.5 and 0.9
		}
	}
	if s := (Config{Unit: 0.5}).scale(demos, 2, Image{}); !slices.Equal(s.Mean, []float32{0, 0}) ||
		!slices.Equal(s.Std, []float32{0.5, 0.5}) {
		t.Errorf("scale %+v, want that of multiples of 0.5", s)
	}
	if s, want := (Config{}).scale(demos, 2, Image{}), standard(moments(demos, 2)); !slices.Equal(s.Mean, want.Mean) ||
		!slices.Equal(s.Std, want.Std) {
		t.Errorf("without a unit the scale is %+v, want %+v", s, want)
	}
	for i := range demos {
		for k := 0; k < len(demos[i].Observations); k += 2 {
			demos[i].Observations[k] = 100 + 20*demos[i].Observations[k]
		}
	}
	s, standard := (Config{Unit: 0.5}).scale(demos, 2, Image{}), standard(moments(demos, 2))
	if s.Mean[0] != standard.Mean[0] || s.Std[0] != standard.Std[0] || s.Mean[1] != 0 || s.Std[1] != 0.5 {
		t.Errorf("scale %+v, want the first feature standardised, in multiples of half of two deviations, and the "+
			"second as it is", s)
	}
}

// TestUnitScalesWhatVariesLittleAboutAnOffset: such features are standardised first, of whatever size, and large ones
// are; not constant ones, nor those whose offset does not hide how they vary.
func TestUnitScalesWhatVariesLittleAboutAnOffset(t *testing.T) {
	features := []func(x float32) float32{
		func(x float32) float32 { return 0.9 + 0.01*x },
		func(x float32) float32 { return -0.02 + 1e-4*x },
		func(x float32) float32 { return 5 + 0.5*x },
		func(float32) float32 { return 0.9 },
		func(x float32) float32 { return 0.9 + 0.1*x },
		func(x float32) float32 { return 1e-4 * x },
	}
	var d demo.Trajectory
	for i := range 100 {
		for _, f := range features {
			d.Observations = append(d.Observations, f(float32(i%2)-0.5))
		}
		d.Actions = append(d.Actions, i%2)
	}
	d.Observations = append(d.Observations, d.Observations[:len(features)]...)
	demos := []demo.Trajectory{d}
	const unit = 0.1
	s := (Config{Unit: unit}).scale(demos, len(features), Image{})
	for f, first := range Standardised(demos, len(features)) {
		if first != (f < 3) {
			t.Errorf("feature %d is standardised: %v", f, first)
		}
		mean, std := float32(0), float32(unit)
		if of := standard(moments(demos, len(features))); f < 3 {
			mean, std = of.Mean[f], of.Std[f]*2*unit
		}
		if s.Mean[f] != mean || s.Std[f] != std {
			t.Errorf("feature %d has scale %g, %g, want %g, %g", f, s.Mean[f], s.Std[f], mean, std)
		}
	}
}

func TestStepsGetNoArraysBesideTransitionsAndNoise(t *testing.T) {
	scale := &Scale{Mean: []float32{0, 0}, Std: []float32{1, 1}}
	d := newData([]demo.Trajectory{walk(0, 4, true, false)}, nil, Image{}, scale, 2, 0.9)
	for noise, want := range map[int]int{0: transitionInputs, 3: transitionInputs + 1} {
		if got := newSampler([]*Data{d}, nil, []uint64{1}, 2, 0, noise).draw(0, 1); len(got) != want {
			t.Errorf("%d arrays with %d numbers of noise, want %d", len(got), noise, want)
		}
	}
}

// Auxiliary transitions come in an order of their own, and each step has noise of its own.
func TestStepsDrawIndependently(t *testing.T) {
	scale := &Scale{Mean: []float32{0, 0}, Std: []float32{1, 1}}
	d := []*Data{newData([]demo.Trajectory{walk(0, 40, true, false)}, nil, Image{}, scale, 2, 0.9)}
	numbers := func(from, count, input int) []float32 {
		t.Helper()
		out, err := tensors.CopyFlatData[float32](newSampler(d, d, []uint64{1}, 20, 20, 3).draw(from, count)[input])
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if expert, aux := numbers(0, 1, 0), numbers(0, 1, transitionInputs); slices.Equal(expert, aux) {
		t.Error("the same transitions stand in the batch of the expert's and in that of auxiliary ones")
	}
	noise := numbers(0, 2, 2*transitionInputs)
	if slices.Equal(noise[:3], noise[3:]) || !slices.Equal(noise[3:], numbers(1, 1, 2*transitionInputs)) {
		t.Errorf("the noise of steps 0 and 1 is %v, of step 1 alone %v", noise, numbers(1, 1, 2*transitionInputs))
	}
}

func TestOrderDealsEverythingOnceAnEpochByTheStepAlone(t *testing.T) {
	const n, batch = 10, 4
	o := newOrder(3, streamOrder, n)
	var given []int
	for step := range 5 { // two epochs
		b := make([]int, batch)
		o.batch(step, b)
		given = append(given, b...)
	}
	for epoch := range 2 {
		part := slices.Clone(given[epoch*n : (epoch+1)*n])
		slices.Sort(part)
		for i := range part {
			if part[i] != i {
				t.Fatalf("epoch %d gives %v", epoch, given[epoch*n:(epoch+1)*n])
			}
		}
	}
	if slices.Equal(given[:n], given[n:]) {
		t.Error("both epochs have the same order")
	}
	late := make([]int, batch)
	newOrder(3, streamOrder, n).batch(2, late)
	if !slices.Equal(late, given[2*batch:3*batch]) {
		t.Errorf("step 2 gives %v when it comes first, %v otherwise", late, given[2*batch:3*batch])
	}
	other := make([]int, batch)
	newOrder(4, streamOrder, n).batch(0, other)
	if slices.Equal(other, given[:batch]) {
		t.Error("another seed gives the same")
	}
}

func TestTasksThatCannotBeLearntFromAreRefused(t *testing.T) {
	good := func() *Task {
		return &Task{Observation: 2, Actions: 3, Discount: 0.9, Beta: 1,
			Runs: []Run{{Demos: []demo.Trajectory{walk(0, 3, true, false)}}}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Task){
		"no runs":        func(t *Task) { t.Runs = nil },
		"no demos":       func(t *Task) { t.Runs[0].Demos = nil },
		"discount 1":     func(t *Task) { t.Discount = 1 },
		"beta NaN":       func(t *Task) { t.Beta = math.NaN() },
		"one action":     func(t *Task) { t.Actions = 1 },
		"action range":   func(t *Task) { t.Actions = 2 },
		"infinite":       func(t *Task) { t.Runs[0].Demos[0].Observations[3] = float32(math.Inf(1)) },
		"observation":    func(t *Task) { t.Observation = 3 },
		"aux of one run": func(t *Task) { t.Runs = append(t.Runs, t.Runs[0]); t.Runs[1].Aux = t.Runs[0].Demos },
		"held out":       func(t *Task) { t.HeldOut = []demo.Trajectory{{}} },
	} {
		task := good()
		spoil(task)
		if task.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
