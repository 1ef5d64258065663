package neural

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/irl"
)

// classifier is the cross-entropy of a small network, with a parameter of its own and noise.
type classifier struct {
	// Break is the value of the parameter "drift", which grows by the learning rate in each step, at which the term
	// "broken" stops being a number. 0 for never.
	Break float64
}

func (classifier) Networks() []Network { return []Network{{Name: "logits", Outputs: 1}} }

func (classifier) Parameters(d *Data) ([]Parameter, error) {
	return []Parameter{
		{Name: "drift", Value: []float32{0}, NoDecay: true},
		{Name: "weight", Dims: []int{2}, Value: []float32{float32(d.Len()), 1}, Fixed: true},
	}, nil
}

func (classifier) Noise(expert, aux, actions int) int { return 1 }

func (c classifier) Loss(w *Weights, b *Batch) Loss {
	logProbs := c.logProbs(w, b.Expert.State)
	logLikelihood := graph.ReduceMean(graph.ReduceSum(graph.Mul(logProbs, b.Expert.Action), -1), -1)
	drift := w.Parameter("drift")
	noise := graph.MulScalar(graph.Reshape(b.Noise, w.Runs), 1e-2)
	l := Loss{Total: graph.Sub(graph.Add(graph.Neg(logLikelihood), noise), drift),
		Terms: []Term{{TermLogLikelihood, logLikelihood}, {"drift", drift}}}
	if b.Aux != nil { // what is done there is to be unlikely
		aux := c.logProbs(w, b.Aux.State)
		l.Total = graph.Add(l.Total, graph.MulScalar(graph.ReduceMean(graph.ReduceSum(graph.Mul(aux, b.Aux.Action), -1),
			-1), 0.1))
	}
	if c.Break > 0 {
		// one run only: the one with the most data
		heavy := graph.Squeeze(graph.SliceAxis(w.Parameter("weight"), 1, graph.AxisElem(0)), 1)
		room := graph.AddScalar(graph.Neg(graph.Mul(drift, graph.MulScalar(heavy, 1.0/12))), c.Break)
		l.Terms = append(l.Terms, Term{"broken", graph.Log(room)})
	}
	return l
}

func (classifier) logProbs(w *Weights, states *graph.Node) *graph.Node {
	return graph.LogSoftmax(graph.Squeeze(w.Network("logits", states), -1), -1)
}

func (classifier) Predictor(c Constants) Predictor { return Boltzmann(c.Actions, 1) }

// testTask is one in which the sign of the first feature is the action, with runs of different data.
func testTask(runs int) *Task {
	random := rand.New(rand.NewPCG(7, 7))
	trajectory := func(n int) demo.Trajectory {
		d := demo.Trajectory{Terminated: true}
		for range n + 1 {
			d.Observations = append(d.Observations, float32(random.NormFloat64()), float32(random.NormFloat64()), 3)
		}
		for i := range n {
			action := 0
			if d.Observations[3*i] > 0 {
				action = 1
			}
			d.Actions = append(d.Actions, action)
		}
		return d
	}
	t := &Task{Environment: "signs", Observation: 3, Actions: 2, Discount: 0.9, Beta: 1,
		HeldOut: []demo.Trajectory{trajectory(50), trajectory(30)}}
	for r := range runs {
		t.Runs = append(t.Runs, Run{Demos: []demo.Trajectory{trajectory(12 + r), trajectory(5)}, Seed: uint64(r)})
	}
	return t
}

func testConfig() Config {
	c := Default()
	c.Hidden, c.Batch, c.Steps, c.ReportEvery, c.LearningRate, c.Folds, c.Backend = []int{8, 6}, 4, 50, 10, 0.01, 0,
		"go"
	c.Cosine = false // where a test counts steps, each moves as far
	return c
}

func fit(t *testing.T, c Config, o Objective, task *Task) []*Fitted {
	t.Helper()
	l, err := NewLearner("test", c, o)
	if err != nil {
		t.Fatal(err)
	}
	models, err := l.Fit(context.Background(), task, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*Fitted, len(models))
	for i, m := range models {
		out[i] = m.(*Fitted)
	}
	return out
}

// sameCurve compares curves; equal programs give equal numbers, others the same up to float32 rounding that grows with
// training.
func sameCurve(t *testing.T, what string, got, want []CurvePoint, tolerance float64) {
	t.Helper()
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("%s: %d points, want %d", what, len(got), len(want))
	}
	for i := range got {
		close := func(a, b float64) bool { return math.Abs(a-b) <= tolerance*(1+math.Abs(b)) }
		if got[i].Step != want[i].Step || !close(got[i].Loss, want[i].Loss) ||
			!close(*got[i].HeldOut, *want[i].HeldOut) {
			t.Fatalf("%s: point %d is step %d, loss %g, held out %g; want %d, %g, %g", what, i, got[i].Step,
				got[i].Loss, *got[i].HeldOut,
				want[i].Step, want[i].Loss, *want[i].HeldOut)
		}
		for name, x := range want[i].Terms {
			if !close(got[i].Terms[name], x) {
				t.Fatalf("%s: point %d: %s is %g, want %g", what, i, name, got[i].Terms[name], x)
			}
		}
	}
}

func TestTrainingLearns(t *testing.T) {
	for _, a := range []Architecture{Heads, Pairs} {
		c := testConfig()
		c.Architecture, c.Steps, c.ReportEvery = a, 200, 50
		for r, m := range fit(t, c, classifier{}, testTask(2)) {
			curve := m.Curve()
			last := *curve[len(curve)-1].HeldOut
			if last < -0.4 || curve[len(curve)-1].Loss > curve[0].Loss { // chance is −0.69
				t.Errorf("%s, run %d: the held-out log-likelihood is %g in the end, the loss %g after %g", a, r, last,
					curve[len(curve)-1].Loss, curve[0].Loss)
			}
			s, err := Score(m, testTask(2).HeldOut, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !scalar.EqualWithinAbs(s.LogLikelihood, last, 1e-5) || s.Transitions != 80 {
				t.Errorf("%s, run %d: Score has %g on %d, the curve %g", a, r, s.LogLikelihood, s.Transitions, last)
			}
		}
	}
}

func TestRunsInOneProgramAreRunsByThemselves(t *testing.T) {
	c := testConfig()
	task := testTask(3)
	together := fit(t, c, classifier{}, task)
	for r := range task.Runs {
		alone := *task
		alone.Runs = task.Runs[r : r+1]
		sameCurve(t, "run by itself", fit(t, c, classifier{}, &alone)[0].Curve(), together[r].Curve(), 1e-4)
	}
	if together[0].Curve()[0].Loss == together[1].Curve()[0].Loss {
		t.Error("runs of different data and seeds are the same")
	}
}

func TestKilledTrainingGoesOnAsIfNothingHadHappened(t *testing.T) {
	t.Run("numbers", func(t *testing.T) {
		testResumption(t, testConfig(), func() *Task { return testTask(2) })
	})
	t.Run("images", func(t *testing.T) {
		testResumption(t, smallEncoder(), func() *Task { return imageTask(smallImage, 2) })
	})
}

func testResumption(t *testing.T, c Config, newTask func() *Task) {
	c.Patience = 100 // keeps the best parameters, too
	whole := fit(t, c, classifier{}, newTask())

	task := newTask()
	task.Checkpoint = t.TempDir()
	var resumed atomic.Int32
	task.Resumed = func() { resumed.Add(1) }
	l, j := newTestJob(t, c, classifier{}, task)
	ctx, cancel := context.WithCancel(context.Background())
	err := j.train(ctx, func(p Point) {
		if p.Step == 30 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	if resumed.Load() != 0 {
		t.Error("training from the start is said to have gone on")
	}
	for i, states := range j.heldOut.states {
		if states.Ok() {
			t.Errorf("block %d of the held-out states is still held when training has ended", i)
		}
	}
	if _, err := os.Stat(filepath.Join(task.Checkpoint, "runs-000.checkpoint")); err != nil {
		t.Fatal(err)
	}
	steps := 0
	task.Watch = func(Point) { steps++ }
	again := fit(t, c, classifier{}, task)
	if steps != 2 { // the first three of five points were there
		t.Errorf("after the interruption training reported %d points, want 2", steps)
	}
	if resumed.Load() == 0 {
		t.Error("nobody was told that training went on")
	}
	for r := range again {
		sameCurve(t, "resumed", again[r].Curve(), whole[r].Curve(), 0)
		if !slices.Equal(again[r].trained, whole[r].trained) {
			t.Errorf("run %d: the resumed training ends with other parameters", r)
		}
	}
	task.Runs[0].Seed = 99
	if _, err := l.Fit(context.Background(), task, nil); err == nil ||
		!strings.Contains(err.Error(), "other data, settings or seeds") {
		t.Errorf("error %v for a checkpoint of another seed", err)
	}
	if err := os.WriteFile(filepath.Join(task.Checkpoint, "runs-000.checkpoint"), []byte("damaged"),
		0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fit(context.Background(), task, nil); !errors.Is(err, ErrCheckpoint) ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("error %v for a damaged checkpoint", err)
	}
}

// newTestJob returns a learner, and its job of two runs of a task.
func newTestJob(t *testing.T, c Config, o Objective, task *Task) (*Learner, *job) {
	t.Helper()
	l, err := NewLearner("test", c, o)
	if err != nil {
		t.Fatal(err)
	}
	j, err := l.newJob(goBackend(t), task, 0, 2, newClock())
	if err != nil {
		t.Fatal(err)
	}
	return l, j
}

// lasting is a context that ends when it has been asked a number of times whether it has.
type lasting struct {
	context.Context
	times int
}

func (c *lasting) Err() error {
	if c.times--; c.times < 0 {
		return context.Canceled
	}
	return nil
}

// TestInterruptedBeforeTheFirstPoint: nothing is lost, and the curve is that of a training without an interruption.
// TestIdentityHasAllThatTrainingDependsOn, and nothing else.
func TestIdentityHasAllThatTrainingDependsOn(t *testing.T) {
	model := func(seed uint64) *Fitted {
		c, task := testConfig(), testTask(1)
		c.Steps, c.ReportEvery, task.Runs[0].Seed = 1, 1, seed
		return fit(t, c, classifier{}, task)[0]
	}
	from, other := model(1), model(2)
	otherScale := *from
	otherScale.scale = &Scale{Mean: []float32{1, 0, 3}, Std: []float32{1, 1, 1}}
	identity := func(change func(task *Task, c *Config, o *classifier)) string {
		t.Helper()
		task, c, o := testTask(2), testConfig(), classifier{}
		task.Explore = &Explore{Every: 10, Keep: 2, Source: "here"}
		task.Runs[0].From = from
		change(task, &c, &o)
		l, err := NewLearner("test", c, o)
		if err != nil {
			t.Fatal(err)
		}
		out, err := l.identity(task, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	nothing := identity(func(*Task, *Config, *classifier) {})
	for name, change := range map[string]func(task *Task, c *Config, o *classifier){
		"backend":    func(_ *Task, c *Config, _ *classifier) { c.Backend = "xla:cpu" },
		"watch":      func(task *Task, _ *Config, _ *classifier) { task.Watch = func(Point) {} },
		"checkpoint": func(task *Task, _ *Config, _ *classifier) { task.Checkpoint = "elsewhere" },
	} {
		if identity(change) != nothing {
			t.Errorf("%s: another identity", name)
		}
	}
	seen := map[string]string{nothing: "nothing"}
	for name, change := range map[string]func(task *Task, c *Config, o *classifier){
		"learning rate":  func(_ *Task, c *Config, _ *classifier) { c.LearningRate *= 2 },
		"objective":      func(_ *Task, _ *Config, o *classifier) { o.Break = 5 },
		"discount":       func(task *Task, _ *Config, _ *classifier) { task.Discount = 0.8 },
		"beta":           func(task *Task, _ *Config, _ *classifier) { task.Beta = 2 },
		"actions":        func(task *Task, _ *Config, _ *classifier) { task.Actions = 3 },
		"seed":           func(task *Task, _ *Config, _ *classifier) { task.Runs[1].Seed = 7 },
		"observation":    func(task *Task, _ *Config, _ *classifier) { task.Runs[1].Demos[1].Observations[4]++ },
		"action":         func(task *Task, _ *Config, _ *classifier) { task.Runs[1].Demos[1].Actions[2] ^= 1 },
		"end":            func(task *Task, _ *Config, _ *classifier) { task.Runs[1].Demos[1].Terminated = false },
		"auxiliary":      func(task *Task, _ *Config, _ *classifier) { task.Runs[1].Aux = task.HeldOut[:1] },
		"held out":       func(task *Task, _ *Config, _ *classifier) { task.HeldOut = task.HeldOut[:1] },
		"from":           func(task *Task, _ *Config, _ *classifier) { task.Runs[0].From = other },
		"from afresh":    func(task *Task, _ *Config, _ *classifier) { task.Runs[0].From = nil },
		"units of from":  func(task *Task, _ *Config, _ *classifier) { task.Runs[0].From = &otherScale },
		"rounds":         func(task *Task, _ *Config, _ *classifier) { task.Explore.Every = 20 },
		"kept":           func(task *Task, _ *Config, _ *classifier) { task.Explore.Keep = 3 },
		"source":         func(task *Task, _ *Config, _ *classifier) { task.Explore.Source = "there" },
		"no exploration": func(task *Task, _ *Config, _ *classifier) { task.Explore = nil },
	} {
		is := identity(change)
		if before, ok := seen[is]; ok {
			t.Errorf("%s and %s: one identity", before, name)
		}
		seen[is] = name
	}
}

func TestInterruptedBeforeTheFirstPoint(t *testing.T) {
	c := testConfig()
	c.Steps, c.ReportEvery = 3*defaultUnroll, 3*defaultUnroll
	whole := fit(t, c, classifier{}, testTask(2))
	task := testTask(2)
	task.Checkpoint = t.TempDir()
	_, j := newTestJob(t, c, classifier{}, task)
	if err := j.train(&lasting{context.Background(), 2}, nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the context", err)
	}
	var resumed atomic.Bool
	task.Resumed = func() { resumed.Store(true) }
	again := fit(t, c, classifier{}, task)
	if !resumed.Load() {
		t.Error("training did not go on from the step that it had come to")
	}
	for r := range again {
		sameCurve(t, "resumed", again[r].Curve(), whole[r].Curve(), 0)
		if !slices.Equal(again[r].trained, whole[r].trained) {
			t.Errorf("run %d: the resumed training ends with other parameters", r)
		}
	}
}

// TestSecondsOutliveAnInterruption: a checkpoint keeps how long training has taken, and the model has all of it.
// Programs of a training that goes on tell what each kept last: the last of all counts, and not their sum.
func TestSecondsOfSeveralPrograms(t *testing.T) {
	c := newClock()
	for _, kept := range []float64{30, 50, 40} {
		c.goOn(kept)
	}
	if got := c.seconds(); !(got >= 50 && got < 60) {
		t.Errorf("%g seconds, want 50 and the time since", got)
	}
}

func TestSecondsOutliveAnInterruption(t *testing.T) {
	task := testTask(2)
	task.Checkpoint = t.TempDir()
	first := fit(t, testConfig(), classifier{}, task)[0]
	_, j := newTestJob(t, testConfig(), classifier{}, task)
	j.Curves = make([][]CurvePoint, 2)
	if err := j.checkpoint.load(&j.state); err != nil {
		t.Fatal(err)
	}
	if !(j.Seconds > 0 && j.Seconds <= first.Seconds()) {
		t.Errorf("the checkpoint says %g seconds, the model %g", j.Seconds, first.Seconds())
	}
	j.Seconds += 1000
	if err := j.checkpoint.keep(&j.state, true); err != nil {
		t.Fatal(err)
	}
	again := fit(t, testConfig(), classifier{}, task)[0].Seconds()
	if !(again >= j.Seconds && again < j.Seconds+100) {
		t.Errorf("the model says %g seconds, %g of them before the interruption", again, j.Seconds)
	}
}

// TestOneFlippedBitIsNoCheckpoint: whichever bit of a checkpoint is flipped, it is not resumed from, and neither is a
// cut-off one.
func TestOneFlippedBitIsNoCheckpoint(t *testing.T) {
	c := newCheckpoint(t.TempDir(), 0, "this")
	numbers := func() []float32 { return []float32{1, -2, 3.5, 0} }
	want := state{Step: 7, Trained: numbers(), Moment1: numbers(), Moment2: numbers(), Curves: make([][]CurvePoint, 1)}
	if err := c.keep(&want, true); err != nil {
		t.Fatal(err)
	}
	load := func() (*state, error) {
		got := &state{Trained: make([]float32, 4), Curves: make([][]CurvePoint, 1)}
		return got, c.load(got)
	}
	if got, err := load(); err != nil || got.Step != 7 || !slices.Equal(got.Trained, numbers()) {
		t.Fatalf("the whole checkpoint: %+v, error %v", got, err)
	}
	whole, err := os.ReadFile(c.path)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(whole) {
		text := slices.Clone(whole)
		text[bit/8] ^= 1 << (bit % 8)
		if bit%5 == 0 {
			text = whole[:bit/8]
		}
		if err := os.WriteFile(c.path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := load(); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Fatalf("bit %d: error %v", bit, err)
		}
	}
}

func TestNaNStopsTrainingAndNamesStepRunAndTerm(t *testing.T) {
	// Adam moves "drift", whose gradient is constant, by 0.01 a step: it is 0.01 k at step k. Of two runs with 17 and
	// 18 transitions, the logarithm's argument 0.2 − drift · n/12 turns negative at step 15 and 14.
	// An argument that float32 takes as 0 is none of the learning rate's doing.
	for at, want := range map[float64]string{
		0.2:   `run 1: the term "broken" is NaN at step 14 (.*); a smaller LearningRate or a less extreme prior, `,
		1e-60: `run 0: the term "broken" is -Inf at step 0 (.*); a less extreme prior, β or scale of rewards may help`,
	} {
		l, err := NewLearner("test", testConfig(), classifier{Break: at})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = l.Fit(t.Context(), testTask(2), nil); !regexp.MustCompile(want).MatchString(fmt.Sprint(err)) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestEarlyStoppingKeepsTheBestModel(t *testing.T) {
	task := testTask(2)
	// labels that have nothing to do with the demonstrations': the best model is an early one
	for i := range task.HeldOut {
		for k := range task.HeldOut[i].Actions {
			task.HeldOut[i].Actions[k] = (k / 3) % 2
		}
	}
	c := testConfig()
	c.Steps, c.Patience = 400, 3
	latest, points := 0, 0 // of the runs' best points, and in all
	for r, m := range fit(t, c, classifier{}, task) {
		best := math.Inf(-1)
		at := 0
		for i, p := range m.Curve() {
			if *p.HeldOut > best {
				best, at = *p.HeldOut, i
			}
		}
		s, err := Score(m, task.HeldOut, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !scalar.EqualWithinAbs(s.LogLikelihood, best, 1e-5) {
			t.Errorf("run %d: the model has %g, the best point of its curve %g", r, s.LogLikelihood, best)
		}
		latest, points = max(latest, at), len(m.Curve())
	}
	if points == 40 || points != latest+1+c.Patience {
		t.Errorf("training ended after %d points, the last run's best was point %d", points, latest)
	}
	c.Patience = 1
	task.HeldOut = nil
	l, err := NewLearner("test", c, classifier{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fit(context.Background(), task, nil); err == nil || !strings.Contains(err.Error(), "held-out") {
		t.Errorf("error %v for early stopping with nothing held out", err)
	}
}

func TestProgressCountsAllPrograms(t *testing.T) {
	c := testConfig()
	l, err := NewLearner("test", c, classifier{})
	if err != nil {
		t.Fatal(err)
	}
	last, calls := 0, 0
	var status string
	_, err = l.Fit(context.Background(), testTask(groupSize+1), irl.Progress(func(done, total int, s string) {
		if total != 2*c.Steps || done < last {
			t.Errorf("progress %d of %d after %d", done, total, last)
		}
		last, status = done, s
		calls++
	}))
	if err != nil {
		t.Fatal(err)
	}
	if last != 2*c.Steps || calls != 11 || !strings.Contains(status, "held out") || strings.Contains(status, "KL") {
		t.Errorf("progress ends at %d after %d calls with %q", last, calls, status)
	}
}

func TestProgressAveragesRuns(t *testing.T) {
	point := func(loss, kl, likelihood float64) CurvePoint {
		return CurvePoint{Loss: loss, Terms: map[string]float64{TermKL: kl, TermLogLikelihood: likelihood}}
	}
	p := Point{Step: 20, StepsPerSecond: 90, Runs: []CurvePoint{point(3, 2, -1), point(5, 4, -0.5)}}
	if got, want := p.status(), "step 20, loss 4, KL 3, log-likelihood -0.750, 90 steps/s"; got != want {
		t.Errorf("status %q, want %q", got, want)
	}
}
