package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"gonum.org/v1/gonum/mat"
)

// array is a named constant or variational parameter of the objective, as it is before training.
type array struct {
	name      string
	dims      []int
	floats    []float64
	ints      []int32 // instead of floats
	trainable bool
}

// arrays lists everything that the objective of the batch reads.
func (b *batch) arrays(c Config) []array {
	size, n := b.size, b.dim
	one, two, row := b.flatIndices()
	step := []int{size, b.states}
	if !b.stateOnly {
		step = []int{size, n, b.states}
	}
	out := []array{
		{name: "neighbour", ints: one, dims: []int{size, b.neighbours, b.states}},
		{name: "neighbourPair", ints: two, dims: []int{size, b.neighbours, b.neighbours, b.states}},
		{name: "neighbourInRow", ints: row, dims: []int{size, b.neighbours, b.states}},
		{name: "mix", floats: b.mix, dims: []int{size, b.actions, b.neighbours, b.states}},
		{name: "step", floats: b.step, dims: step},
		{name: "distinct", floats: b.distinct, dims: []int{size, b.actions, b.states}},
		{name: "counts", floats: b.counts, dims: []int{size, b.actions, b.states}},
		{name: "qScale", floats: b.qScale, dims: []int{size, 1, 1}},
		{name: "beta", floats: b.beta, dims: []int{size, 1, 1, 1}},
		{name: "priorMean", floats: b.priorMean, dims: []int{size, n}},
		{name: "priorPrecision", floats: b.priorPrecision, dims: []int{size, n, n}},
		{name: "priorLogDet", floats: b.priorLogDet, dims: []int{size}},
		{name: "identity", floats: identities(1, b.states), dims: []int{b.states, b.states}},
		{name: "mean", floats: make([]float64, size*n), dims: []int{size, n}, trainable: true},
	}
	if c.Whiten {
		out = append(out,
			array{name: "basis", floats: b.basis, dims: []int{size, n, n}},
			array{name: "origin", floats: b.origin, dims: []int{size, n}})
	}
	if c.draws() {
		out = append(out, b.monteCarloArrays(c)...)
	}
	if c.Covariance == KernelCovariance {
		rng := rand.New(rand.NewPCG(c.Seed, 0))
		embedding := make([]float64, n*embeddingSize)
		for i := range embedding {
			embedding[i] = rng.NormFloat64()
		}
		repeated := make([]float64, 0, size*len(embedding)) // the same for each problem, whatever its place in the batch
		for i := 0; i < size; i++ {
			repeated = append(repeated, embedding...)
		}
		return append(out,
			array{name: "logStd", floats: make([]float64, size*n), dims: []int{size, n}, trainable: true},
			array{name: "embedding", floats: repeated, dims: []int{size, n, embeddingSize}, trainable: true})
	}
	return append(out, array{name: "factor", floats: identities(size, n), dims: []int{size, n, n}, trainable: true})
}

// monteCarloArrays lists what the MonteCarlo objective reads besides; ClosedDivergence needs the noise and the candidates of it.
func (b *batch) monteCarloArrays(c Config) []array {
	rng := rand.New(rand.NewPCG(c.Seed, 1))
	noise := make([]float64, noiseBank*b.dim)
	for i := range noise {
		noise[i] = rng.NormFloat64()
	}
	out := []array{
		{name: "noise", floats: noise, dims: []int{noiseBank, b.dim}},
		{name: "selfStep", floats: b.selfSteps(), dims: []int{b.size, b.actions, b.states}},
		{name: "inverseTemperature", floats: b.inverseTemperatures(), dims: []int{b.size, 1, 1, 1}},
	}
	if b.stateOnly {
		out = append(out, array{name: "candidates", floats: b.denseCandidates(), dims: []int{b.size, b.actions * b.states, b.dim}})
	}
	if c.Whiten {
		out = append(out, array{name: "basisLogDet", floats: b.basisLogDets(), dims: []int{b.size}})
	}
	return out
}

// denseCandidates returns the candidates as combinations of all values, [B, A·S, n].
func (b *batch) denseCandidates() []float64 {
	out := make([]float64, b.size*b.actions*b.states*b.dim)
	for i, weight := range b.mix {
		s := i % b.states
		k := i / b.states % b.neighbours
		row := i / (b.states * b.neighbours) // problem·A + a
		problem := row / b.actions
		value := b.neighbour[(problem*b.neighbours+k)*b.states+s]
		out[(row*b.states+s)*b.dim+int(value)] += weight
	}
	return out
}

// selfSteps returns γ p(s|s,a), [B, A, S].
func (b *batch) selfSteps() []float64 {
	out := make([]float64, 0, b.size*b.actions*b.states)
	for _, p := range b.problems {
		for a := 0; a < b.actions; a++ {
			for s := 0; s < b.states; s++ {
				next, prob := p.MDP.Row(s, a)
				stay := 0.0
				for k, to := range next {
					if int(to) == s {
						stay += prob[k]
					}
				}
				out = append(out, p.Discount*stay)
			}
		}
	}
	return out
}

// inverseTemperatures returns what loopTemperature means for each problem.
func (b *batch) inverseTemperatures() []float64 {
	out := make([]float64, b.size)
	for i, p := range b.problems {
		out[i] = 1 / (loopTemperature * math.Sqrt(mat.Trace(p.Prior.Covariance())/float64(b.dim)))
	}
	return out
}

// basisLogDets returns log|det A₀| of each problem.
func (b *batch) basisLogDets() []float64 {
	out, n := make([]float64, b.size), b.dim
	for i := range out {
		out[i], _ = mat.LogDet(mat.NewDense(n, n, b.basis[i*n*n:(i+1)*n*n]))
	}
	return out
}

// startFrom makes the variational parameters among the arrays those of the given posteriors.
func (b *batch) startFrom(start []*Gaussian, arrays []array, c Config) error {
	if c.Covariance != FullCovariance {
		return fmt.Errorf("qvirl: training can start from a posterior only with Covariance %q, not %q", FullCovariance, c.Covariance)
	}
	n := b.dim
	var means, factors []float64
	for i, from := range start {
		if from == nil || len(from.meanX) != n {
			return fmt.Errorf("qvirl: posterior %d to start from is not one of %d values", i, n)
		}
		root, err := covarianceRoot(from.covX)
		if err != nil {
			return err
		}
		mean := mat.NewVecDense(n, append([]float64(nil), from.meanX...))
		if c.Whiten { // z = A₀⁻¹(x − x₀)
			var lu mat.LU
			lu.Factorize(mat.NewDense(n, n, b.basis[i*n*n:(i+1)*n*n]))
			mean.SubVec(mean, mat.NewVecDense(n, b.origin[i*n:(i+1)*n]))
			var z mat.VecDense
			var r mat.Dense
			if err := lu.SolveVecTo(&z, false, mean); err != nil {
				return fmt.Errorf("qvirl: posterior %d to start from: %w", i, err)
			}
			if err := lu.SolveTo(&r, false, root); err != nil {
				return fmt.Errorf("qvirl: posterior %d to start from: %w", i, err)
			}
			mean, root = &z, &r
		}
		var qr mat.QR // of rootᵀ: its upper triangle transposed is the lower triangular factor of root·rootᵀ
		qr.Factorize(root.T())
		var upper mat.Dense
		qr.RTo(&upper)
		means = append(means, mean.RawVector().Data...)
		factors = append(factors, mat.DenseCopyOf(upper.T()).RawMatrix().Data...)
	}
	for i := range arrays {
		switch arrays[i].name {
		case "mean":
			arrays[i].floats = means
		case "factor":
			arrays[i].floats = factors
		}
	}
	return nil
}

// flatIndices returns where the values next to each state stand in arrays flattened over the whole batch: one [B, K, S]
// in an array [B, n], pairs of them two [B, K, K, S] in an array [B, n, n], and row [B, K, S] in row s of an array
// [B, S, n].
func (b *batch) flatIndices() (one, two, row []int32) {
	one, row = make([]int32, len(b.neighbour)), make([]int32, len(b.neighbour))
	two = make([]int32, 0, len(b.neighbour)*b.neighbours)
	for i, v := range b.neighbour {
		problem, s := i/(b.neighbours*b.states), i%b.states
		one[i] = int32(problem*b.dim) + v
		row[i] = int32((problem*b.states+s)*b.dim) + v
	}
	for problem := 0; problem < b.size; problem++ {
		of := one[problem*b.neighbours*b.states : (problem+1)*b.neighbours*b.states]
		for k := 0; k < b.neighbours; k++ {
			for l := 0; l < b.neighbours; l++ {
				for s := 0; s < b.states; s++ {
					column := of[l*b.states+s] - int32(problem*b.dim)
					two = append(two, of[k*b.states+s]*int32(b.dim)+column)
				}
			}
		}
	}
	return one, two, row
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
		var value *tensors.Tensor
		if a.ints != nil {
			value = tensors.FromFlatDataAndDimensions(a.ints, a.dims...)
		} else {
			value = c.tensor(a.floats, a.dims...)
		}
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
	narrow := make([]float32, len(data))
	for i, v := range data {
		narrow[i] = float32(v)
	}
	return tensors.FromFlatDataAndDimensions(narrow, dims...)
}

// wide returns the numbers of a tensor in double precision.
func (c Config) wide(t *tensors.Tensor) ([]float64, error) {
	if c.Float64 {
		return tensors.CopyFlatData[float64](t)
	}
	narrow, err := tensors.CopyFlatData[float32](t)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(narrow))
	for i, v := range narrow {
		out[i] = float64(v)
	}
	return out, nil
}

// gatherFlat returns the elements of x, flattened, at the given indices, in the indices' shape.
func gatherFlat(x, indices *graph.Node) *graph.Node {
	return graph.Gather(graph.Reshape(x, x.Shape().Size()), graph.ExpandAxes(indices, -1))
}
