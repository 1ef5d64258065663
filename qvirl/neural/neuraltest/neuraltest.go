// Package neuraltest has what tests of learners share: above all, what objectives build graphs of, in plain Go.
package neuraltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
)

// Parameters are the parameters of a model by name, in double precision.
type Parameters map[string][]float64

// configRange is the name under which Parameters keep Config.Range.
const configRange = "config.range"

// NewParameters copies a model's parameters.
func NewParameters(m *neural.Fitted) Parameters {
	out := Parameters{configRange: {m.Config().Range}}
	for _, p := range m.Parameters() {
		out[p.Name] = npz.Widen(p.Value)
	}
	return out
}

// Fit returns the models of a task's runs by a method that was made without an error: Fit(t, task)(cloning.New(c)).
func Fit(t testing.TB, task *neural.Task) func(neural.Method, error) []*neural.Fitted {
	return func(m neural.Method, err error) []*neural.Fitted {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		models, err := m.Fit(t.Context(), task, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := make([]*neural.Fitted, len(models))
		for i, m := range models {
			out[i] = m.(*neural.Fitted)
		}
		return out
	}
}

// Demos returns a trajectory of 20 random actions at random observations.
func Demos(random *rand.Rand, observation, actions int) []demo.Trajectory {
	d := demo.Trajectory{Observations: make([]float32, 21*observation), Actions: make([]int, 20)}
	for i := range d.Observations {
		d.Observations[i] = float32(random.NormFloat64())
	}
	for i := range d.Actions {
		d.Actions[i] = random.IntN(actions)
	}
	return []demo.Trajectory{d}
}

// Network returns the outputs [actions][outputs] of a network with two hidden layers at a standardised state.
func (p Parameters) Network(name string, a neural.Architecture, actions int, state []float64) [][]float64 {
	get := func(part string) []float64 { return p[name+"."+part] }
	state = saturate(state, p[configRange][0])
	out := make([][]float64, actions)
	for action := range out {
		hidden := affine(state, get("weight0"), get("bias0"))
		if a == neural.Pairs {
			units := len(hidden)
			for i := range hidden {
				hidden[i] += get("action")[action*units+i]
			}
		}
		hidden = elu(affine(elu(hidden), get("weight1"), get("bias1")))
		out[action] = affine(hidden, get("weight"), get("bias"))
		if a == neural.Heads {
			each := len(out[action]) / actions
			out[action] = out[action][action*each : (action+1)*each]
		}
	}
	return out
}

// saturate returns features that saturate at ±span; 0 for no limit.
func saturate(x []float64, span float64) []float64 {
	if span == 0 {
		return x
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = span * math.Tanh(v/span)
	}
	return out
}

// affine returns x W + b, with W [len(x), len(b)].
func affine(x, w, b []float64) []float64 {
	out := append([]float64(nil), b...)
	for i, v := range x {
		for j := range out {
			out[j] += v * w[i*len(b)+j]
		}
	}
	return out
}

func elu(x []float64) []float64 {
	for i, v := range x {
		if v < 0 {
			x[i] = math.Expm1(v)
		}
	}
	return x
}

// Batch is a batch of one run in plain Go: standardised states, and transitions as neural.Data has them.
type Batch struct {
	State, Next        [][]float64
	Action, NextAction []int // −1 where the trajectory ends
	Discount           []float64
}

// NewBatch draws a batch of n transitions at random: of each kind of end there are some.
func NewBatch(n, observation, actions int, discount float64, random *rand.Rand) *Batch {
	b := &Batch{}
	state := func() []float64 {
		s := make([]float64, observation)
		for i := range s {
			s[i] = float64(float32(random.NormFloat64()))
		}
		return s
	}
	for i := range n {
		b.State, b.Next = append(b.State, state()), append(b.Next, state())
		next, factor := random.IntN(actions), discount
		switch i % 5 {
		case 3: // terminated
			next, factor = -1, 0
		case 4: // truncated
			next = -1
		}
		b.Action, b.NextAction, b.Discount = append(b.Action, random.IntN(actions)), append(b.NextAction, next),
			append(b.Discount, factor)
	}
	return b
}

// Evaluate computes an objective of a model, which has one run, on the batch: its value, its terms, and its gradient in
// every parameter of the networks and the objective that is not fixed.
func Evaluate(m *neural.Fitted, b *Batch) (total float64, terms map[string]float64, gradient Parameters, err error) {
	actions := m.Spec().Actions
	oneHot := func(indices []int) *tensors.Tensor {
		out := make([]float32, len(indices)*actions)
		for i, a := range indices {
			if a >= 0 {
				out[i*actions+a] = 1
			}
		}
		return tensors.FromFlatDataAndDimensions(out, 1, len(indices), actions)
	}
	discount := npz.Narrow[float32](b.Discount)
	var names []string // of the terms, then of the parameters
	count := 0
	out, err := m.Evaluate(func(w *neural.Weights, in []*graph.Node) []*graph.Node {
		loss := m.Objective().Loss(w, &neural.Batch{
			Expert: neural.Transitions{State: in[0], Next: in[1], Action: in[2], NextAction: in[3], Discount: in[4]},
		})
		from := loss.Total
		if loss.Surrogate != nil {
			from = loss.Surrogate
		}
		results := []*graph.Node{loss.Total}
		for _, t := range loss.Terms {
			names, results = append(names, t.Name), append(results, t.Value)
		}
		count = len(loss.Terms)
		var wrt []*graph.Node
		for _, p := range m.Parameters() {
			if !p.Fixed {
				names, wrt = append(names, p.Name), append(wrt, w.Parameter(p.Name))
			}
		}
		return append(results, graph.Gradient(graph.ReduceAllSum(from), wrt...)...)
	}, matrix(b.State), matrix(b.Next), oneHot(b.Action), oneHot(b.NextAction),
		tensors.FromFlatDataAndDimensions(discount, 1, len(discount)))
	if err != nil {
		return 0, nil, nil, err
	}
	terms, gradient = map[string]float64{}, Parameters{}
	for i, t := range out {
		values, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return 0, nil, nil, fmt.Errorf("reading output %d: %w", i, err)
		}
		switch {
		case i == 0:
			total = float64(values[0])
		case i <= count:
			terms[names[i-1]] = float64(values[0])
		default:
			gradient[names[i-1]] = npz.Widen(values)
		}
	}
	return total, terms, gradient, nil
}

// matrix returns rows as a tensor [1, len(rows), …].
func matrix(rows [][]float64) *tensors.Tensor {
	flat := npz.Narrow[float32](slices.Concat(rows...))
	return tensors.FromFlatDataAndDimensions(flat, 1, len(rows), len(rows[0]))
}

// Difference returns the derivative of f, a function of the parameters, in entry i of the named one, by central
// differences.
func (p Parameters) Difference(name string, i int, f func(Parameters) float64) float64 {
	const h = 1e-5
	at := p[name][i]
	p[name][i] = at + h
	above := f(p)
	p[name][i] = at - h
	below := f(p)
	p[name][i] = at
	return (above - below) / (2 * h)
}
