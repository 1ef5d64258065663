package variational

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

// inducingObjective has more nugget than usual, so that single precision is far from what the tests look at.
func inducingObjective() Objective {
	o := DefaultObjective(1)
	o.Inducing, o.Nugget = 15, 1e-2
	return o
}

func TestSpreadTakesTheFarthest(t *testing.T) {
	d := &neural.Data{
		Scale: &neural.Scale{Mean: make([]float32, 1), Std: []float32{1}}, Actions: 2,
		State: []float32{0, 1, 10, 4, 0.5}, Action: []int32{0, 0, 0, 0, 1},
	}
	// 10 is farthest from 0, then 4; then 0.5, for its action, before 1
	if got := spread(d, 4); !slices.Equal(got, []int{0, 2, 3, 4}) {
		t.Errorf("spread over %v", got)
	}
}

// divergenceAt is the divergence at a model's inducing points in double precision, from what its posterior and prior
// say there.
func divergenceAt(t *testing.T, m *neural.Fitted) float64 {
	t.Helper()
	p, err := NewPosterior(m)
	if err != nil {
		t.Fatal(err)
	}
	o, spec, scale := p.objective, m.Spec(), m.Scale()
	size, n := spec.Observation, o.Inducing
	state, next, action := p.parameter(paramInducingState), p.parameter(paramInducingSuccessor),
		p.parameter(paramInducingAction)
	weight, displacement := p.parameter(paramInducingWeight), p.parameter(paramDisplacement)
	var q Transitions
	raw := func(x []float64, i, f int) float32 {
		return float32(x[i*size+f]+math.Tanh(climbRate*displacement[i*size+f]))*scale.Std[f] + scale.Mean[f]
	}
	for i := range n {
		for f := range size {
			q.Observations, q.Next = append(q.Observations, raw(state, i, f)), append(q.Next, raw(next, i, f))
		}
		q.Actions = append(q.Actions, slices.Index(action[i*spec.Actions:(i+1)*spec.Actions], 1))
		q.Terminated = append(q.Terminated, weight[i] == 0)
	}
	j, err := p.Rewards(q)
	if err != nil {
		t.Fatal(err)
	}
	learnt := p.Prior()
	nugget := o.Nugget * learnt.Std * learnt.Std
	mean, cov, under := make([]float64, n), mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	for i := range n {
		mean[i] = learnt.Mean
		for k := range i + 1 {
			distance := 0.0
			for f := range size {
				distance += math.Pow(float64(q.Observations[i*size+f]-q.Observations[k*size+f])/learnt.Lengthscales[f],
					2)
			}
			for a := range spec.Actions {
				distance += math.Pow((action[i*spec.Actions+a]-action[k*spec.Actions+a])/learnt.Lengthscales[size+a], 2)
			}
			own := 0.0
			if i == k {
				own = nugget
			}
			cov.SetSym(i, k, j.Cov.At(i, k)+own)
			under.SetSym(i, k, learnt.Std*learnt.Std*math.Exp(-distance/2)+own)
		}
	}
	posterior, ok := distmv.NewNormal(j.Mean, cov, nil)
	prior, ok2 := distmv.NewNormal(mean, under, nil)
	if !ok || !ok2 {
		t.Fatal("a covariance at the inducing points is singular")
	}
	return (distmv.KullbackLeibler{}).DistNormal(posterior, prior)
}

// moved returns the model with its displacements moved by a step of each.
func moved(t *testing.T, m *neural.Fitted, step []float64) *neural.Fitted {
	t.Helper()
	l, err := New(m.Config(), m.Objective().(Objective))
	if err != nil {
		t.Fatal(err)
	}
	parameters := m.Parameters()
	for i, p := range parameters {
		parameters[i].Value = slices.Clone(p.Value)
		if p.Name == paramDisplacement {
			for k := range p.Value {
				parameters[i].Value[k] += float32(step[k])
			}
		}
	}
	out, err := l.Model(m.Spec(), m.Scale(), parameters)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestLossAtInducingPoints(t *testing.T) {
	m := train(t, inducingObjective(), 30, 1)[0]
	rng := rand.New(rand.NewPCG(31, 31))
	b := neuraltest.NewBatch(8, 2, 3, 0.9, rng)
	total, terms, gradient, err := neuraltest.Evaluate(m, b)
	if err != nil {
		t.Fatal(err)
	}
	// of 8 in 80 demonstrated transitions; a batch knows nothing else of the divergence
	want := 8. / 80 * divergenceAt(t, m)
	if got := terms[neural.TermKL]; !scalar.EqualWithinAbs(got, want, 1e-4*want) || want < 0.1 { // float32
		t.Errorf("the divergence is %g, want %g", got, want)
	}
	_, again, _, err := neuraltest.Evaluate(m, neuraltest.NewBatch(8, 2, 3, 0.9, rng))
	if err != nil || !scalar.EqualWithinAbs(again[neural.TermKL], want, 1e-4*want) ||
		again[neural.TermLogLikelihood] == terms[neural.TermLogLikelihood] {
		t.Errorf("with another batch the terms are %v, want %g, error %v", again, want, err)
	}
	if want -= 8 * terms[neural.TermLogLikelihood]; !scalar.EqualWithinAbs(total, want, 1e-3) {
		t.Errorf("the loss is %g, want %g", total, want)
	}

	// the gradient in the displacements is the opposite of the divergence's: they climb
	for range 3 {
		direction, got := random(rng, 1, 30).data, 0.0
		for k, x := range gradient[paramDisplacement] {
			got -= x * direction[k]
		}
		const h = 1e-3 / climbRate
		at := func(step float64) float64 {
			d := make([]float64, len(direction))
			for k := range d {
				d[k] = step * direction[k]
			}
			return 8. / 80 * divergenceAt(t, moved(t, m, d))
		}
		// float32 values, by 2h
		if want := (at(h) - at(-h)) / (2 * h); !scalar.EqualWithinAbs(got, want, 1e-2*(0.1+math.Abs(want))) {
			t.Errorf("the displacements' gradient is reversed %g, finite differences give %g", got, want)
		}
	}
}

// What does not pass through a displacement keeps its gradient.
func TestDisplacementAloneIsReversed(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 32))
	slope := random(rng, 1, 4, 2)
	got := evaluate(t, func(in []*Node) []*Node {
		shift := climb(in[0])
		loss := ReduceAllSum(Mul(ConstTensor(in[0].Graph(), tensors.FromFlatDataAndDimensions(slope.data, 4, 2)),
			Add(shift, in[1])))
		return append([]*Node{shift}, Gradient(loss, in...)...)
	}, random(rng, 1./climbRate, 4, 2), random(rng, 1, 4, 2))
	for i, shift := range got[0] {
		if want := -climbRate * slope.data[i] * (1 - shift*shift); !scalar.EqualWithinAbs(got[1][i], want, 1e-12) ||
			got[2][i] != slope.data[i] || !(math.Abs(shift) < 1) || shift == 0 {
			t.Errorf("displacement %g of gradient %g, want %g; beside it %g, want %g", shift, got[1][i], want,
				got[2][i], slope.data[i])
		}
	}
}

func TestInducingPointsClimb(t *testing.T) {
	c := smallConfig(120)
	c.LearningRate, c.Cosine = 1e-3, true
	models := neuraltest.Fit(t, planeTask(2))(New(c, inducingObjective()))
	for r := range models {
		m := models[r]
		p, err := NewPosterior(m)
		if err != nil {
			t.Fatal(err)
		}
		back, far := p.parameter(paramDisplacement), 0.0
		for k, x := range back {
			far = max(far, math.Abs(x))
			back[k] = -x
		}
		here, there := divergenceAt(t, m), divergenceAt(t, moved(t, m, back))
		if far < 0.1/climbRate || here < 1.1*there {
			t.Errorf("run %d: a point is displaced by %g, the divergence is %g at the points and %g where they came "+
				"from", r, far, here, there)
		}
	}
}

func TestInducingPointsAreStored(t *testing.T) {
	o := inducingObjective()
	together := train(t, o, 5, 2)
	m := together[0]
	// float32
	if alone := train(t, o, 5, 1)[0]; !scalar.EqualWithinAbs(alone.Curve()[0].Loss, m.Curve()[0].Loss,
		1e-4*math.Abs(m.Curve()[0].Loss)) {
		t.Errorf("a run's loss is %g by itself, %g beside another", alone.Curve()[0].Loss, m.Curve()[0].Loss)
	}
	loaded := stored(t, m)
	if !reflect.DeepEqual(loaded.Objective(), m.Objective()) {
		t.Errorf("loaded %+v, want %+v", loaded.Objective(), m.Objective())
	}
	moved := false
	for i, p := range loaded.Parameters() {
		want := m.Parameters()[i]
		if p.Name != want.Name || p.Fixed != want.Fixed || p.NoDecay != want.NoDecay ||
			!slices.Equal(p.Value, want.Value) {
			t.Errorf("loaded %+v, want %+v", p, want)
		}
		if p.Name == paramDisplacement {
			moved = p.NoDecay && !p.Fixed && slices.ContainsFunc(p.Value, func(x float32) bool { return x != 0 })
		}
	}
	if got := divergenceAt(t, loaded); !moved || got != divergenceAt(t, m) {
		t.Errorf("moved %t; the divergence is %g after loading, was %g", moved, got, divergenceAt(t, m))
	}
}

func TestInducingPointsNeedDemonstrations(t *testing.T) {
	o := inducingObjective()
	o.Inducing = 81
	l, err := New(smallConfig(1), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fit(context.Background(), planeTask(1), nil); err == nil ||
		!strings.Contains(err.Error(), "only 80 demonstrated transitions") {
		t.Errorf("error %v for 81 points", err)
	}
	o.Inducing = -1
	if _, err := New(smallConfig(1), o); err == nil || !strings.Contains(err.Error(), "inducing = -1") {
		t.Errorf("error %v for −1 points", err)
	}
}

// With several successors, those of a point are displaced with it.
func TestInducingPointsWithSeveralSuccessors(t *testing.T) {
	task := planeTask(2)
	for r := range task.Runs {
		task.Runs[r] = copies(task.Runs[r], 3, 0)
	}
	models := neuraltest.Fit(t, task)(New(smallConfig(5), inducingObjective()))
	want := train(t, inducingObjective(), 5, 2)
	for r, m := range models {
		if got, one := m.Curve()[0].Loss, want[r].Curve()[0].Loss; !scalar.EqualWithinAbs(got, one,
			1e-5*math.Abs(one)) {
			t.Errorf("run %d: the loss is %g with three equal successors, %g with one", r, got, one)
		}
		for _, p := range m.Parameters() {
			if p.Name == paramInducingSuccessor && !slices.Equal(p.Dims, []int{15, 3, 2}) {
				t.Errorf("run %d: successors %v", r, p.Dims)
			}
		}
	}
}
