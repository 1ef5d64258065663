package tabular

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/npz"
)

// array is a named constant or variational parameter of the objective, as it is before training.
type array struct {
	name      string
	dims      []int
	floats    []float64
	trainable bool
}

// arrays lists everything that the objective of the batch reads.
func (b *batch) arrays(c Config) []array {
	size, n := b.size, b.dim
	contrast, origin, reference := b.againstFirst()
	pull := []int{size, b.states}
	if !b.diagonal {
		pull = []int{size, n, b.states}
	}
	out := []array{
		{name: "contrast", floats: contrast, dims: []int{size, max(b.actions-1, 1) * b.states, n}},
		{name: "contrastOrigin", floats: origin, dims: []int{size, max(b.actions-1, 1), b.states}},
		{name: "reference", floats: reference, dims: []int{size, b.actions, b.states}},
		{name: "pull", floats: b.pull, dims: pull},
		{name: "distinct", floats: b.distinct, dims: []int{size, b.actions, b.states}},
		{name: "counts", floats: b.counts, dims: []int{size, b.actions, b.states}},
		{name: "beta", floats: b.beta, dims: []int{size, 1, 1, 1}},
		{name: "identity", floats: identities(1, b.states), dims: []int{b.states, b.states}},
		{name: "mean", floats: make([]float64, size*n), dims: []int{size, n}, trainable: true},
	}
	if !c.Whiten {
		out = append(out, array{name: "map0", floats: b.map0, dims: []int{size, n, n}},
			array{name: "reward0", floats: b.reward0, dims: []int{size, n}})
	}
	if c.draws() {
		out = append(out, b.monteCarloArrays(c)...)
	}
	if c.Covariance == KernelCovariance {
		embedding := normals(rand.New(rand.NewPCG(c.Seed, 0)), n, embeddingSize).RawMatrix().Data
		return append(out,
			array{name: "logStd", floats: make([]float64, size*n), dims: []int{size, n}, trainable: true},
			array{name: "embedding", floats: slices.Repeat(embedding, size), // the same for each problem of the batch
				dims: []int{size, n, embeddingSize}, trainable: true})
	}
	return append(out, array{name: "factor", floats: identities(size, n), dims: []int{size, n, n}, trainable: true})
}

// againstFirst returns the contrasts with the first action, D(a,s) − D(0,s) and d(a,s) − d(0,s) for a ≥ 1 as [B, A−1,
// S, n] and [B, A−1, S], and the reference policy π [B, A, S]: what training computes with, a variable fewer a state.
// Of a single action, they are zeros.
func (b *batch) againstFirst() (contrast, origin, reference []float64) {
	others := max(b.actions-1, 1)
	for i, f := range b.frames {
		all, d := part(b.contrast, i, b.size), part(b.contrastOrigin, i, b.size)
		row := func(s, a int) []float64 { return all[(s*b.actions+a)*b.dim : (s*b.actions+a+1)*b.dim] }
		for a := range others {
			for s := range b.states {
				gap, shift := make([]float64, b.dim), 0.0
				if b.actions > 1 {
					floats.SubTo(gap, row(s, a+1), row(s, 0))
					shift = d[(a+1)*b.states+s] - d[s]
				}
				contrast, origin = append(contrast, gap...), append(origin, shift)
			}
		}
		for a := range b.actions {
			for s := range b.states {
				reference = append(reference, f.reference[s*b.actions+a])
			}
		}
	}
	return contrast, origin, reference
}

// monteCarloArrays lists what the MonteCarlo objective reads besides; ClosedDivergence needs the noise of it.
func (b *batch) monteCarloArrays(c Config) []array {
	noise := normals(rand.New(rand.NewPCG(c.Seed, 1)), noiseBank, b.dim).RawMatrix().Data
	var selfSteps, inverseTemperatures, logDets []float64
	for i, p := range b.problems {
		for a := range b.actions {
			for s := range b.states {
				selfSteps = append(selfSteps, p.Discount*p.MDP.Stay(s, a)) // γ p(s|s,a)
			}
		}
		f := b.frames[i]
		// what loopTemperature means in the problem's unit of reward
		inverseTemperatures = append(inverseTemperatures,
			math.Sqrt(float64(b.dim))/(loopTemperature*mat.Norm(f.factor, 2)))
		logDets = append(logDets, f.logDet)
	}
	return []array{
		{name: "noise", floats: noise, dims: []int{noiseBank, b.dim}},
		{name: "selfStep", floats: selfSteps, dims: []int{b.size, b.actions, b.states}},
		{name: "inverseTemperature", floats: inverseTemperatures, dims: []int{b.size, 1, 1, 1}},
		{name: "logDet", floats: logDets, dims: []int{b.size}},
	}
}

// startPoint returns the variational parameters of the given posteriors, means [B, n] and factors [B, n, n].
func (b *batch) startPoint(start []*Gaussian, indices []int, c Config) (means, factors []float64, err error) {
	if c.Covariance != FullCovariance {
		return nil, nil, fmt.Errorf("tabular: training can start from a posterior only with Covariance %q, not %q",
			FullCovariance, c.Covariance)
	}
	n := b.dim
	for i, from := range start {
		if from == nil || len(from.meanX) != n {
			return nil, nil, fmt.Errorf("tabular: problem %d: the posterior to start from is not one of %d values",
				indices[i], n)
		}
		around, ok := from.around.(*full)
		if !ok {
			return nil, nil, fmt.Errorf("tabular: problem %d: the posterior to start from has a covariance of low rank",
				indices[i])
		}
		f := b.frames[i]
		mean := mat.NewVecDense(n, append([]float64(nil), from.meanX...)) // z = A₀⁻¹(x − x₀)
		mean.ScaleVec(1/f.unit, mean)
		mean.SubVec(mean, mat.NewVecDense(n, f.origin))
		root := mat.DenseCopyOf(around.rootX)
		root.Scale(1/f.unit, root)
		if c.Whiten {
			var lu mat.LU
			lu.Factorize(f.basis)
			var z mat.VecDense
			var r mat.Dense
			if err := lu.SolveVecTo(&z, false, mean); err != nil && !isCondition(err) {
				return nil, nil, fmt.Errorf("tabular: problem %d: the posterior to start from: %w", indices[i], err)
			}
			if err := lu.SolveTo(&r, false, root); err != nil && !isCondition(err) {
				return nil, nil, fmt.Errorf("tabular: problem %d: the posterior to start from: %w", indices[i], err)
			}
			mean, root = &z, &r
		}
		means = append(means, mean.RawVector().Data...)
		factors = append(factors, triangularRoot(root).RawMatrix().Data...)
	}
	return means, factors, nil
}

// setTrainable makes the variational parameters of FullCovariance among the arrays the given ones.
func setTrainable(arrays []array, means, factors []float64) {
	for i := range arrays {
		switch arrays[i].name {
		case "mean":
			arrays[i].floats = means
		case "factor":
			arrays[i].floats = factors
		}
	}
}

// isCondition reports whether a linear solve has only warned that its result may be inaccurate.
func isCondition(err error) bool {
	var condition mat.Condition
	return errors.As(err, &condition)
}

// identities returns size identity matrices of n rows, row-major.
func identities(size, n int) []float64 {
	out := make([]float64, size*n*n)
	for i := 0; i < size*n; i++ {
		out[i*n+i%n] = 1
	}
	return out
}

// load puts the arrays into the scope's variables, which it makes on the first call.
func (c Config) load(scope *model.Scope, arrays []array) error {
	for _, a := range arrays {
		value := c.tensor(a.floats, a.dims...)
		if v := scope.GetVariable(a.name); v != nil {
			if err := v.SetValue(value); err != nil {
				return err
			}
			continue
		}
		v, err := scope.CreateVariable(a.name, value)
		if err != nil {
			return err
		}
		v.SetTrainable(a.trainable)
	}
	return nil
}

// tensor returns data as a tensor in the configured precision.
func (c Config) tensor(data []float64, dims ...int) *tensors.Tensor {
	if c.Float64 {
		return tensors.FromFlatDataAndDimensions(data, dims...)
	}
	return tensors.FromFlatDataAndDimensions(npz.Narrow[float32](data), dims...)
}

// wide returns the numbers of a tensor in double precision.
func (c Config) wide(t *tensors.Tensor) ([]float64, error) {
	if c.Float64 {
		return tensors.CopyFlatData[float64](t)
	}
	narrow, err := tensors.CopyFlatData[float32](t)
	return npz.Widen(narrow), err
}
