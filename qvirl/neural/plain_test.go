package neural

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// TestPlainNetworksAreThoseOfGraphs compares what few states get, in plain Go, with what the same states get among
// many, from the compiled graph. Both round in single precision, over sums of at most 130 terms.
func TestPlainNetworksAreThoseOfGraphs(t *testing.T) {
	for _, architecture := range []Architecture{Heads, Pairs} {
		for _, span := range []float64{0, 2} {
			c := testConfig()
			c.Architecture, c.Hidden, c.Range = architecture, []int{128, 16}, span
			m := fit(t, c, classifier{}, testTask(1))[0]
			states, normal := make([]float32, 3*(plainStates+5)), random(3, 1, 0)
			for i := range states {
				states[i] = float32(3 * normal.NormFloat64())
			}
			want, err := m.Outputs(states)
			if err != nil {
				t.Fatal(err)
			}
			const few = plainStates - 3
			got, err := m.Outputs(states[:3*few])
			if err != nil {
				t.Fatal(err)
			}
			if len(want) != 2*len(states)/3 || len(got) != 2*few {
				t.Fatalf("%s: %d and %d outputs", architecture, len(want), len(got))
			}
			spread := 0.0
			for i, x := range got {
				spread = max(spread, math.Abs(float64(x-got[0])))
				if math.Abs(float64(x-want[i])) > 1e-5 {
					t.Errorf("%s, range %g: output %d is %g, of the graph %g", architecture, span, i, x, want[i])
				}
			}
			if spread < 0.1 {
				t.Errorf("%s: all outputs are alike", architecture)
			}
		}
	}
}

func TestBoltzmann(t *testing.T) {
	q := []float32{0, 0, 0, 1000, 1001, -1000}
	all, values := make([]float32, len(q)), make([]float32, len(q))
	Boltzmann(3, 2)(q, all, values)
	if !slices.Equal(values, q) || math.Abs(float64(all[0])+math.Log(3)) > 1e-6 {
		t.Errorf("got %v and values %v for %v", all, values, q)
	}
	sum, got := 0.0, all[3:]
	for _, l := range got {
		sum += math.Exp(float64(l))
	}
	if math.Abs(sum-1) > 1e-6 || math.Abs(float64(got[1]-got[0])-2) > 1e-5 || got[2] > -4000 {
		t.Errorf("got %v, whose probabilities sum to %g", got, sum)
	}
}

// BenchmarkOutputs evaluates a network of the paper's size on states of Lunar Lander, in plain Go and compiled.
func BenchmarkOutputs(b *testing.B) {
	c := Default()
	l, err := NewLearner("test", c, classifier{})
	if err != nil {
		b.Fatal(err)
	}
	e := encoder{Config: c, observation: 8, actions: 4}
	n := Network{Name: "logits", Outputs: 1}
	parameters := append(e.parameters(n, random(1, 1, 0)), Parameter{Name: "drift", Value: []float32{0}},
		Parameter{Name: "weight", Dims: []int{2}, Value: []float32{1, 1}, Fixed: true})
	layout, trained, fixed, err := newLayout(parameters)
	if err != nil {
		b.Fatal(err)
	}
	f := &Fitted{learner: l, layout: layout, trained: trained, fixed: fixed, device: newResident(),
		spec: Spec{Observation: 8, Actions: 4, Beta: 3}}
	p, release, err := l.inference(f)
	if err != nil {
		b.Fatal(err)
	}
	defer release()
	t, x, err := f.weights(p.shape.on)
	if err != nil {
		b.Fatal(err)
	}
	for _, rows := range []int{1, plainStates} {
		states := make([]float32, 8*rows)
		b.Run(fmt.Sprintf("plain, %d states", rows), func(b *testing.B) {
			for b.Loop() {
				e.outputs(n, states, f.parameter)
			}
		})
		b.Run(fmt.Sprintf("compiled, %d states", rows), func(b *testing.B) {
			scale := &Scale{Mean: make([]float32, 8), Std: []float32{1, 1, 1, 1, 1, 1, 1, 1}}
			compiled := func() {
				in, err := unscaled(Image{}, scale, states, rows)
				if err == nil {
					_, err = p.of(t, x, in)
				}
				if err != nil {
					b.Fatal(err)
				}
				in.MustFinalizeAll()
			}
			compiled() // the first time, it is
			for b.Loop() {
				compiled()
			}
		})
	}
}
