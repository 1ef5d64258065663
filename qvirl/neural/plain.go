package neural

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// plainStates is the number of states up to which networks are evaluated in plain Go: as long as the call of a compiled
// program takes longer than its work.
const plainStates = 8

// outputs returns what Weights.Network does, of one run: a network's outputs [n, actions, outputs] at states [n,
// observation] that are no images, in units of the run's scale.
func (e *encoder) outputs(network Network, states []float32, parameter func(name string) []float32) []float32 {
	rows := len(states) / e.observation
	x := make([]float32, len(states))
	for i, v := range states {
		x[i] = v
		if e.Range > 0 {
			x[i] = float32(e.Range * math.Tanh(float64(v)/e.Range))
		}
	}
	of := func(part string) []float32 { return parameter(network.Name + "." + part) }
	for i, units := range e.Hidden {
		x = affine(x, rows, of(fmt.Sprintf("weight%d", i)), of(fmt.Sprintf("bias%d", i)), units)
		if i == 0 && e.Architecture == Pairs {
			x = e.withActions(x, of("action"), units)
			rows *= e.actions
		}
		for k, v := range x {
			if v < 0 { // the exponential linear unit
				x[k] = float32(math.Expm1(float64(v)))
			}
		}
	}
	bias := of("bias")
	return affine(x, rows, of("weight"), bias, len(bias))
}

// withActions returns x [n, units] with each action's row of y [actions, units] added, [n, actions, units].
func (e *encoder) withActions(x, y []float32, units int) []float32 {
	out := make([]float32, 0, len(x)*e.actions)
	for from := 0; from < len(x); from += units {
		for k, v := range y {
			out = append(out, x[from+k%units]+v)
		}
	}
	return out
}

// affine returns x y + bias, [rows, columns], for x [rows, inputs], y [inputs, columns] and bias [columns].
func affine(x []float32, rows int, y, bias []float32, columns int) []float32 {
	inputs := len(x) / rows
	out := make([]float32, 0, rows*columns)
	for range rows {
		out = append(out, bias...)
	}
	matrix := func(data []float32, columns int) blas32.General {
		return blas32.General{Rows: len(data) / columns, Cols: columns, Stride: columns, Data: data}
	}
	blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, matrix(x, inputs), matrix(y, columns), 1, matrix(out, columns))
	return out
}
