package variational

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

// walk returns trajectories of a state in the plane, of which actions 0 and 1 change the first coordinate by ∓½ and
// action 2 the second by ½, with noise. A demonstrator moves towards the line on which the first coordinate is 0;
// others act at random.
func walk(seed uint64, count int, demonstrator bool) []demo.Trajectory {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]demo.Trajectory, count)
	for i := range out {
		x, y := 3*rng.NormFloat64(), rng.NormFloat64()
		t := demo.Trajectory{Observations: []float32{float32(x), float32(y)}, Terminated: i%2 == 0}
		for range 20 {
			a := rng.IntN(3)
			if demonstrator && rng.IntN(10) > 0 {
				a = 1
				if x > 0 {
					a = 0
				}
			}
			x += []float64{-0.5, 0.5, 0}[a] + 0.1*rng.NormFloat64()
			y += []float64{0, 0, 0.5}[a] + 0.1*rng.NormFloat64()
			t.Actions = append(t.Actions, a)
			t.Observations = append(t.Observations, float32(x), float32(y))
		}
		out[i] = t
	}
	return out
}

// smallConfig is a training of a small network.
func smallConfig(steps int) neural.Config {
	c := neural.Default()
	c.Hidden, c.Batch, c.AuxBatch, c.Steps, c.ReportEvery, c.LearningRate, c.Folds, c.Backend = []int{16, 16}, 12, 12,
		steps, steps, 0.01, 0, "go"
	c.Unit, c.Range = 0, 2 // a plane has no unit
	return c
}

// planeTask is the task to learn from demonstrations on the plane.
func planeTask(runs int) *neural.Task {
	task := &neural.Task{Observation: 2, Actions: 3, Discount: 0.9, Beta: 2, HeldOut: walk(100, 5, true)}
	for r := range runs {
		task.Runs = append(task.Runs, neural.Run{Demos: walk(uint64(r), 4, true), Aux: walk(uint64(50+r), 4, false),
			Seed: uint64(r)})
	}
	return task
}

// train fits the runs of a task on the plane.
func train(t *testing.T, o Objective, steps, runs int) []*neural.Fitted {
	t.Helper()
	return fit(t, o, steps, planeTask(runs))
}

// fit fits the runs of a task.
func fit(t *testing.T, o Objective, steps int, task *neural.Task) []*neural.Fitted {
	t.Helper()
	return neuraltest.Fit(t, task)(New(smallConfig(steps), o))
}

func TestTrainingLearnsWhatIsDemonstrated(t *testing.T) {
	o := DefaultObjective(1)
	o.KLWeight = 0.1 // learns fast
	for _, m := range train(t, o, 120, 2) {
		point := m.Curve()[0]
		if *point.HeldOut < -0.75 { // log ⅓ = −1.10 for a guess; the demonstrator's is −0.44
			t.Errorf("held-out log-likelihood %g after training", *point.HeldOut)
		}
		if kl := point.Terms[neural.TermKL]; !(kl > 0 && kl < 10) {
			t.Errorf("weighted divergence %g, want one above 0", kl)
		}
	}
}

// With values counted in 1/β, rewards in other units, with β and the prior in them, leave the first step's loss and,
// where the prior's constants are out of it, all that follows: but for rounding, in single precision.
func TestUnitsOfRewardsDoNotMatterPerBeta(t *testing.T) {
	const unit = 1e-3
	for _, c := range []struct {
		steps    int
		klWeight float64
		relative float64
	}{{1, 1, 1e-5}, {20, 0, 1e-3}} {
		var losses [2]float64
		var own [2][]float32
		var values [2]*Joint
		for i, scale := range []float64{1, unit} {
			o := DefaultObjective(3 * scale)
			o.PriorMean, o.PerBeta, o.KLWeight = -scale, true, c.klWeight
			task := planeTask(1)
			task.Beta /= scale
			m := fit(t, o, c.steps, task)[0]
			at := []float32{0.3, -1, -2, 0.5}
			prediction, err := m.Predict(at)
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPosterior(m)
			if err != nil {
				t.Fatal(err)
			}
			if values[i], err = p.Values(at); err != nil {
				t.Fatal(err)
			}
			losses[i], own[i] = m.Curve()[0].Loss, prediction.Own
		}
		if !scalar.EqualWithinRel(losses[0], losses[1], c.relative) {
			t.Errorf("%d steps: loss %g, and %g with rewards in units of %g", c.steps, losses[0], losses[1], unit)
		}
		for k := range own[0] {
			if !scalar.EqualWithinAbs(float64(own[0][k]), float64(own[1][k]), 10*c.relative) {
				t.Errorf("%d steps: log-probability %d is %g, and %g", c.steps, k, own[0][k], own[1][k])
			}
			std := math.Sqrt(values[0].Cov.At(k, k))
			if other := math.Sqrt(values[1].Cov.At(k, k)) / unit; !scalar.EqualWithinRel(std, other, 10*c.relative) {
				t.Errorf("%d steps: value %d has standard deviation %g, and %g", c.steps, k, std, other)
			}
			if other := values[1].Mean[k] / unit; !scalar.EqualWithinAbs(values[0].Mean[k], other, 10*c.relative) {
				t.Errorf("%d steps: value %d has mean %g, and %g", c.steps, k, values[0].Mean[k], other)
			}
		}
	}
}

func TestPosteriorOfNoModel(t *testing.T) {
	if _, err := NewPosterior(nil); err == nil || !strings.Contains(err.Error(), "the model is nil") {
		t.Errorf("error %v", err)
	}
}

func TestPosteriorOfValues(t *testing.T) {
	for _, marginals := range []Marginals{Normal, SinhArcsinh} {
		o := DefaultObjective(1)
		o.Marginals = marginals
		testValues(t, o, train(t, o, 5, 1)[0])
	}
}

func testValues(t *testing.T, o Objective, m *neural.Fitted) {
	p, err := NewPosterior(m)
	if err != nil {
		t.Fatal(err)
	}
	observations := []float32{0.3, -1, 2, 0.5}
	j, err := p.Values(observations)
	if err != nil {
		t.Fatal(err)
	}
	var outputs [][]float64
	for i := range 2 {
		var state []float64
		for _, x := range m.Scale().Apply(observations[2*i : 2*i+2]) {
			state = append(state, float64(x))
		}
		outputs = append(outputs, neuraltest.NewParameters(m).Network(network, neural.Heads, 3, state)...)
	}
	if len(j.Mean) != len(outputs) {
		t.Fatalf("%d values, want %d", len(j.Mean), len(outputs))
	}
	for i, a := range outputs {
		if !scalar.EqualWithinAbs(j.Mean[i], a[outMean], 1e-5) {
			t.Errorf("mean of value %d is %g, want %g", i, j.Mean[i], a[outMean])
		}
		for k, b := range outputs {
			want := math.Exp(a[outLogStd]+b[outLogStd]) * p.warp.correlation(kernel(a[outEmbedding:], b[outEmbedding:]))
			if got := j.Cov.At(i, k); !scalar.EqualWithinAbs(got, want, 1e-5) {
				t.Errorf("covariance of values %d and %d is %g, want %g", i, k, got, want)
			}
		}
	}

	draws, err := j.Sample(rand.New(rand.NewPCG(9, 9)), 40_000)
	if err != nil {
		t.Fatal(err)
	}
	for i := range j.Mean {
		column := make([]float64, 40_000)
		inside := 0.0
		low, high, err := j.Interval(i, 0.8)
		if err != nil {
			t.Fatal(err)
		}
		for k := range column {
			column[k] = draws.At(k, i)
			if low < column[k] && column[k] < high {
				inside += 1. / 40_000
			}
		}
		mean, std := stat.MeanStdDev(column, nil)
		if want := j.Std(i); !scalar.EqualWithinAbs(mean, j.Mean[i], 4*want/200) ||
			!scalar.EqualWithinAbs(std, want, 4*want/280) {
			t.Errorf("draws of value %d have mean %g and deviation %g, want %g and %g", i, mean, std, j.Mean[i], want)
		}
		if !scalar.EqualWithinAbs(inside, 0.8, 4*0.4/200) {
			t.Errorf("%g of the draws are within the interval of 0.8", inside)
		}
	}
	gaps := make([]float64, 40_000)
	for k := range gaps {
		gaps[k] = draws.At(k, 0) - draws.At(k, 2)
	}
	mean, std := stat.MeanStdDev(gaps, nil)
	if wantMean, want := j.Difference(0, 2); !scalar.EqualWithinAbs(mean, wantMean, 4*want/200) ||
		!scalar.EqualWithinAbs(std, want, 4*want/280) {
		t.Errorf("values 0 and 2 differ in draws by %g with deviation %g, want %g and %g", mean, std, wantMean, want)
	}
	if _, _, err := j.Interval(0, 1); err == nil {
		t.Error("no error for an interval of probability 1")
	}
}

func TestTransitionsOfATrajectory(t *testing.T) {
	d := demo.Trajectory{Observations: []float32{1, 2, 3, 4, 5, 6}, Actions: []int{2, 0}, Terminated: true}
	want := Transitions{Observations: []float32{1, 2, 3, 4}, Next: []float32{3, 4, 5, 6}, Actions: []int{2, 0},
		Terminated: []bool{false, true}}
	if got := TransitionsOf(&d); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPosteriorOfRewardsIsThatOfTheLoss(t *testing.T) {
	for _, o := range []Objective{DefaultObjective(1), {Maximum: graphs.MaxMean}, {Marginals: SinhArcsinh},
		{PerBeta: true}} {
		maximum, marginals, perBeta := o.Maximum, o.Marginals, o.PerBeta
		o = DefaultObjective(1)
		o.PerBeta = perBeta
		if maximum != "" {
			o.Maximum = maximum
		}
		if marginals != "" {
			o.Marginals = marginals
		}
		m := train(t, o, 5, 1)[0]
		p, err := NewPosterior(m)
		if err != nil {
			t.Fatal(err)
		}
		q := Transitions{Observations: []float32{0.3, -1, 2, 0.5, 0, 0}, Next: []float32{0.8, -1, 1.4, 0.5, 0, 0.5},
			Actions: []int{1, 0, 2}, Terminated: []bool{false, true, false}}
		j, err := p.Rewards(q)
		if err != nil {
			t.Fatal(err)
		}
		array := func(x []float32) *tensors.Tensor {
			return tensors.FromFlatDataAndDimensions(m.Scale().Apply(x), 1, 3, 2)
		}
		oneHot := tensors.FromFlatDataAndDimensions([]float32{0, 1, 0, 1, 0, 0, 0, 0, 1}, 1, 3, 3)
		discount := tensors.FromFlatDataAndDimensions([]float32{0.9, 0, 0.9}, 1, 3)
		out, err := m.Evaluate(func(w *neural.Weights, in []*Node) []*Node {
			r := newReward(o.Maximum, o.network(w, in[0]), o.network(w, in[1]),
				&neural.Transitions{Action: in[2], Discount: in[3]}, o.warp(w))
			cov, _ := r.covariance()
			return []*Node{r.mean, addDiagonal(cov, r.lift)}
		}, array(q.Observations), array(q.Next), oneHot, discount)
		if err != nil {
			t.Fatal(err)
		}
		checkAgainstLoss(t, fmt.Sprintf("%+v", o), j, out[0], out[1])
		testSeveralSuccessors(t, o, m, q, j)
		q.Actions[1] = 3
		if _, err := p.Rewards(q); err == nil {
			t.Error("no error for action 3 of 3")
		}
	}
}

// checkAgainstLoss holds the posterior of three rewards against the means [1, 3] and covariances [1, 3, 3] that the
// loss has.
func checkAgainstLoss(t *testing.T, what string, j *Joint, means, covariances *tensors.Tensor) {
	t.Helper()
	mean, cov := tensors.MustCopyFlatData[float32](means), tensors.MustCopyFlatData[float32](covariances)
	for i := range mean {
		if !scalar.EqualWithinAbs(float64(mean[i]), j.Mean[i], 1e-5) {
			t.Errorf("%s: mean of reward %d is %g, that of the loss %g", what, i, j.Mean[i], mean[i])
		}
		for k := range mean {
			if c := float64(cov[i*3+k]); !scalar.EqualWithinAbs(c, j.Cov.At(i, k), 1e-5) {
				t.Errorf("%s: covariance of rewards %d and %d is %g, that of the loss %g", what, i, k, j.Cov.At(i, k),
					c)
			}
		}
	}
}

// testSeveralSuccessors holds the rewards of transitions of which each has three successors against the loss. The first
// transition has two equal ones and one that ends the episode; the second one's are all equal, and all end it; the
// third one's are all different.
func testSeveralSuccessors(t *testing.T, o Objective, m *neural.Fitted, q Transitions, one *Joint) {
	p, err := NewPosterior(m)
	if err != nil {
		t.Fatal(err)
	}
	q.Next = []float32{0.8, -1, 0.9, 0, 0.8, -1, 1.4, 0.5, 1.4, 0.5, 1.4, 0.5, 0, 0.5, 0.1, 0.3, -0.2, 0.7}
	q.Terminated = []bool{false, true, false, true, true, true, false, false, false}
	j, err := p.Rewards(q)
	if err != nil {
		t.Fatal(err)
	}
	array := func(x []float32, n int) *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(m.Scale().Apply(x), 1, n, 2)
	}
	oneHot := tensors.FromFlatDataAndDimensions([]float32{0, 1, 0, 1, 0, 0, 0, 0, 1}, 1, 3, 3)
	weight := tensors.FromFlatDataAndDimensions([]float32{0.6, 0, 0, 0, 0, 0, 0.3, 0.3, 0.3}, 1, 3, 3)
	out, err := m.Evaluate(func(w *neural.Weights, in []*Node) []*Node {
		r := newReward(o.Maximum, o.network(w, in[0]), o.network(w, in[1]),
			&neural.Transitions{Action: in[2], Weight: in[3]}, o.warp(w))
		cov, _ := r.covariance()
		return []*Node{r.mean, addDiagonal(cov, r.lift)}
	}, array(q.Observations, 3), array(q.Next, 9), oneHot, weight)
	if err != nil {
		t.Fatal(err)
	}
	checkAgainstLoss(t, fmt.Sprintf("%+v, three successors", o), j, out[0], out[1])
	if j.Mean[1] != one.Mean[1] || j.Cov.At(1, 1) != one.Cov.At(1, 1) || j.Mean[2] == one.Mean[2] {
		t.Errorf("%+v: means %v with three successors, %v with one, of which the second has to be the same", o, j.Mean,
			one.Mean)
	}
	q.Terminated = q.Terminated[:8]
	if _, err := p.Rewards(q); err == nil {
		t.Error("no error for 8 flags of 9 successors")
	}
}

// stored returns a model as it is after it was saved and loaded.
func stored(t *testing.T, m *neural.Fitted) *neural.Fitted {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "model")
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := neural.Load[Objective](dir, "go")
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

func TestStoredModel(t *testing.T) {
	m := train(t, DefaultObjective(1), 5, 1)[0]
	loaded := stored(t, m)
	p, err := NewPosterior(loaded)
	if err != nil {
		t.Fatal(err)
	}
	again, err := loaded.Predict([]float32{0.3, -1})
	if err != nil {
		t.Fatal(err)
	}
	prediction, err := m.Predict([]float32{0.3, -1})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for a, x := range again.Own {
		sum += math.Exp(float64(x))
		if x != prediction.LogProbs[a] {
			t.Errorf("log probability of action %d is %g after loading, was %g", a, x, prediction.LogProbs[a])
		}
	}
	if !scalar.EqualWithinAbs(sum, 1, 1e-6) {
		t.Errorf("the probabilities sum to %g", sum)
	}
	if prior := p.Prior(); prior.Std <= 0 || len(prior.Lengthscales) != 5 {
		t.Errorf("the stored prior is %+v", prior)
	}
}
