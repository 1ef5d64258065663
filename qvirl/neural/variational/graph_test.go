package variational

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/graphs/graphstest"
	"github.com/go-birl/birl/qvirl/neural"
)

// The graphs are tested in double precision on the pure Go backend, which every machine has.

// array is an input of a graph.
type array struct {
	data []float64
	dims []int
}

func random(rng *rand.Rand, scale float64, dims ...int) array {
	size := 1
	for _, d := range dims {
		size *= d
	}
	a := array{data: make([]float64, size), dims: dims}
	for i := range a.data {
		a.data[i] = scale * rng.NormFloat64()
	}
	return a
}

// evaluate runs f and returns its outputs flattened.
func evaluate(t *testing.T, f func(in []*Node) []*Node, inputs ...array) [][]float64 {
	t.Helper()
	args := make([]*tensors.Tensor, len(inputs))
	for i, x := range inputs {
		args[i] = graphstest.Tensor(x.data, x.dims...)
	}
	return graphstest.Evaluate(t, f, args...)
}

// checkGradients compares the derivatives of the sum of surrogate with the finite differences of the sum of value, in
// random directions of each input.
func checkGradients(t *testing.T, f func(in []*Node) (value, surrogate *Node), inputs ...array) {
	t.Helper()
	choice, err := backend.Get("go")
	if err != nil {
		t.Fatal(err)
	}
	exec := MustNewExec(choice.Backend, func(in []*Node) []*Node {
		value, surrogate := f(in)
		return append([]*Node{ReduceAllSum(value)}, Gradient(ReduceAllSum(surrogate), in...)...)
	})
	call := func() []*tensors.Tensor {
		args := make([]any, len(inputs))
		for i, x := range inputs {
			args[i] = tensors.FromFlatDataAndDimensions(x.data, x.dims...)
		}
		return exec.MustCall(args...)
	}
	rng := rand.New(rand.NewPCG(12, 12))
	gradients := call()[1:]
	for k, input := range inputs {
		gradient := tensors.MustCopyFlatData[float64](gradients[k])
		original := slices.Clone(input.data)
		for range 3 {
			direction := random(rng, 1, len(original)).data
			at := func(step float64) float64 {
				floats.AddScaledTo(input.data, original, step, direction)
				return tensors.ToScalar[float64](call()[0])
			}
			const step = 1e-5
			got, want := floats.Dot(gradient, direction), (at(step)-at(-step))/(2*step)
			// the second-order rest is far below
			if want == 0 || !scalar.EqualWithinAbs(got, want, 1e-6*max(floats.Norm(gradient, 2), 1)) {
				t.Errorf("input %d: the derivative is %g, finite differences give %g", k, got, want)
			}
		}
		copy(input.data, original)
	}
}

// kernel is k(p, q).
func kernel(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += (p[i] - q[i]) * (p[i] - q[i])
	}
	return math.Exp(-sum / 2)
}

func TestCombinationAgainstSums(t *testing.T) {
	const runs, points, n, d = 2, 3, 4, 2
	rng := rand.New(rand.NewPCG(1, 1))
	weight, point := random(rng, 1, runs, points, n), random(rng, 1, runs, points, n, d)
	got := evaluate(t, func(in []*Node) []*Node {
		cov, _ := combination{in[0], in[1]}.covariance()
		return []*Node{cov}
	}, weight, point)[0]
	at := func(run, p, i int) (float64, []float64) {
		k := (run*points+p)*n + i
		return weight.data[k], point.data[k*d : (k+1)*d]
	}
	for run := range runs {
		for i := range n {
			for j := range n {
				want := 0.0
				for p := range points {
					for q := range points {
						wp, ep := at(run, p, i)
						wq, eq := at(run, q, j)
						want += wp * wq * kernel(ep, eq)
					}
				}
				if g := got[(run*n+i)*n+j]; !scalar.EqualWithinAbs(g, want, 1e-10) {
					t.Errorf("run %d: covariance of %d and %d is %g, want %g", run, i, j, g, want)
				}
			}
		}
	}
}

func TestCombinationGradient(t *testing.T) {
	const runs, points, n, d = 2, 3, 3, 2
	rng := rand.New(rand.NewPCG(2, 3))
	slope := random(rng, 1, runs, n, n)
	for run := range runs { // symmetric
		s := slope.data[run*n*n:]
		for i := range n {
			for j := range i {
				s[i*n+j] = s[j*n+i]
			}
		}
	}
	checkGradients(t, func(in []*Node) (value, surrogate *Node) {
		c := combination{in[0], in[1]}
		cov, corr := c.covariance()
		slope := ConstTensor(in[0].Graph(), tensors.FromFlatDataAndDimensions(slope.data, slope.dims...))
		return Mul(cov, slope), c.pull(slope, corr)
	}, random(rng, 1, runs, points, n), random(rng, 1, runs, points, n, d))
}

func TestDivergenceOfGaussians(t *testing.T) {
	const runs, n = 2, 5
	rng := rand.New(rand.NewPCG(3, 3))
	covariances := func() (array, []*mat.SymDense) {
		root := random(rng, 1, runs, n, n)
		out, syms := array{dims: root.dims}, []*mat.SymDense{}
		for run := range runs {
			r := mat.NewDense(n, n, root.data[run*n*n:(run+1)*n*n])
			var s mat.SymDense
			s.SymOuterK(1, r)
			for i := range n {
				s.SetSym(i, i, s.At(i, i)+1)
			}
			syms = append(syms, &s)
			out.data = append(out.data, mat.DenseCopyOf(&s).RawMatrix().Data...)
		}
		return out, syms
	}
	mean, priorMean := random(rng, 2, runs, n), random(rng, 2, runs, n)
	cov, covs := covariances()
	priorCov, priorCovs := covariances()
	got := evaluate(t, func(in []*Node) []*Node {
		kl, _, _ := gaussianKL(in[0], in[1], in[2], in[3])
		return []*Node{kl}
	}, mean, cov, priorMean, priorCov)[0]
	for run := range runs {
		q, _ := distmv.NewNormal(mean.data[run*n:(run+1)*n], covs[run], nil)
		p, _ := distmv.NewNormal(priorMean.data[run*n:(run+1)*n], priorCovs[run], nil)
		if want := (distmv.KullbackLeibler{}).DistNormal(q, p); !scalar.EqualWithinAbs(got[run], want, 1e-9) {
			t.Errorf("run %d: divergence %g, want %g", run, got[run], want)
		}
	}
}

// transitions of a test, and the network's outputs for them.
type example struct{ now, next, action, discount, state array }

const exampleEmbedding, exampleObservation = 2, 3

func newExample(rng *rand.Rand, runs, n, actions int) example {
	e := example{
		now: random(rng, 0.7, runs, n, actions, 2+exampleEmbedding), next: random(rng, 0.7, runs, n, actions,
			2+exampleEmbedding),
		action: random(rng, 0, runs, n, actions), discount: random(rng, 0, runs, n), state: random(rng, 1, runs, n,
			exampleObservation),
	}
	for i := range e.discount.data {
		e.action.data[i*actions+rng.IntN(actions)] = 1
		if i%n != 1 { // the second transition of each run terminates
			e.discount.data[i] = 0.9
		}
	}
	return e
}

// transitions makes nodes of the action and the discount.
func (e example) transitions(g *Graph) *neural.Transitions {
	node := func(a array) *Node { return ConstTensor(g, tensors.FromFlatDataAndDimensions(a.data, a.dims...)) }
	return &neural.Transitions{Action: node(e.action), Discount: node(e.discount), State: node(e.state)}
}

func TestRewardAgainstSampledMaxima(t *testing.T) {
	const n, actions = 3, 2
	rng := rand.New(rand.NewPCG(4, 4))
	e := newExample(rng, 1, n, actions)
	got := evaluate(t, func(in []*Node) []*Node {
		r := newReward(graphs.Clark, in[0], in[1], e.transitions(in[0].Graph()), nil)
		cov, _ := r.covariance()
		return []*Node{r.mean, addDiagonal(cov, r.lift)}
	}, e.now, e.next)
	mean, cov := got[0], got[1]

	checkRewards(t, "one successor", e, mean, cov, 5, func(x []float64, i int) float64 {
		return e.discount.data[i] * max(x[i*actions], x[i*actions+1])
	}, func(i, j int) bool { return i == j })
}

// checkRewards holds the means and covariances of the rewards of n transitions of one run with two actions against
// draws of the values, within 4 standard errors. future returns what follows transition i, given the successors' values
// in the order of e.next. Where a covariance is not exact, Clark's approximation may be 0.02 standard deviations off.
func checkRewards(t *testing.T, what string, e example, mean, cov []float64, seed uint64,
	future func(x []float64, i int) float64, exact func(i, j int) bool) {
	t.Helper()
	const actions, draws = 2, 50_000 // the moments of a maximum of two are exact
	n := len(mean)
	var points [][]float64 // all values: those taken, then those of the successors
	for i := range n {
		a := slices.Index(e.action.data[i*actions:(i+1)*actions], 1)
		points = append(points, e.now.data[(i*actions+a)*4:(i*actions+a+1)*4])
	}
	for k := range len(e.next.data) / 4 {
		points = append(points, e.next.data[k*4:(k+1)*4])
	}
	m, c := make([]float64, len(points)), mat.NewSymDense(len(points), nil)
	for i, p := range points {
		m[i] = p[outMean]
		for j, q := range points {
			c.SetSym(i, j, math.Exp(p[outLogStd]+q[outLogStd])*kernel(p[outEmbedding:], q[outEmbedding:]))
		}
	}
	normal, ok := distmv.NewNormal(m, c, rand.NewPCG(seed, seed))
	if !ok {
		t.Fatal("the values' covariance is singular")
	}
	sum, square, fourth := make([]float64, n), mat.NewDense(n, n, nil), mat.NewDense(n, n, nil)
	x, r := make([]float64, len(points)), make([]float64, n)
	for range draws {
		normal.Rand(x)
		for i := range n {
			r[i] = x[i] - future(x[n:], i) - mean[i]
			sum[i] += r[i]
		}
		for i := range n {
			for j := range n {
				p := r[i] * r[j]
				square.Set(i, j, square.At(i, j)+p/draws)
				fourth.Set(i, j, fourth.At(i, j)+p*p/draws)
			}
		}
	}
	for i := range n {
		if se := math.Sqrt(square.At(i, i) / draws); !(math.Abs(sum[i]/draws) <= 4*se) {
			t.Errorf("%s: mean of reward %d is %g off, want less than 4 standard errors of %g", what, i, sum[i]/draws,
				se)
		}
		for j := range n {
			tolerance := 4 * math.Sqrt((fourth.At(i, j)-square.At(i, j)*square.At(i, j))/draws)
			if !exact(i, j) {
				tolerance += 0.02 * math.Sqrt(square.At(i, i)*square.At(j, j))
			}
			if d := cov[i*n+j] - square.At(i, j); !(math.Abs(d) <= tolerance) {
				t.Errorf("%s: covariance of rewards %d and %d is %g, draws give %g ± %g", what, i, j, cov[i*n+j],
					square.At(i, j), tolerance)
			}
		}
	}
}

func TestTerminatedRewardIsTheValue(t *testing.T) {
	e := newExample(rand.New(rand.NewPCG(6, 6)), 1, 3, 3)
	got := evaluate(t, func(in []*Node) []*Node {
		r := newReward(graphs.Clark, in[0], in[1], e.transitions(in[0].Graph()), nil)
		cov, _ := r.covariance()
		return []*Node{r.mean, addDiagonal(cov, r.lift)}
	}, e.now, e.next)
	for a := range 3 {
		if e.action.data[3+a] == 1 {
			out := e.now.data[(3+a)*4:]
			if got[0][1] != out[outMean] || !scalar.EqualWithinAbs(got[1][4], math.Exp(2*out[outLogStd]), 1e-12) {
				t.Errorf("reward of mean %g and variance %g, the value's are %g and %g", got[0][1], got[1][4],
					out[outMean], math.Exp(2*out[outLogStd]))
			}
		}
	}
}

func TestDivergenceGradient(t *testing.T) {
	const runs, n, actions = 2, 4, 3
	rng := rand.New(rand.NewPCG(7, 7))
	e := newExample(rng, runs, n, actions)
	o := DefaultObjective(1)
	checkGradients(t, func(in []*Node) (value, surrogate *Node) {
		tr := e.transitions(in[0].Graph())
		p := prior{mean: in[2], std: Exp(in[3]), lengthscale: Exp(in[4])}
		w := newWarp(in[5], in[6])
		return o.divergence(newReward(graphs.Clark, in[0], in[1], tr, w), p, tr)
	}, e.now, e.next, random(rng, 1, runs), random(rng, 0.3, runs), random(rng, 0.3, runs, exampleObservation+actions),
		random(rng, 0.3, runs), random(rng, 0.1, runs))
}

func TestLengthscales(t *testing.T) {
	d := &neural.Data{
		Scale: &neural.Scale{Mean: make([]float32, 2), Std: []float32{1, 1}}, Actions: 3,
		State: []float32{0, 0.5, 3, 0.5, -1, 0.5000001, 100, 5, 102, 5}, Action: []int32{0, 1, 1, 0, 0},
		Starts: []int{0, 3},
	}
	// differences 3, −4 and 2; the jump to the second trajectory is none. Actions 0 and 1 change once. The rest does
	// not change, but for a rounding error.
	want := []float64{math.Sqrt(29. / 3), 1, math.Sqrt(1. / 3), math.Sqrt(1. / 3), 1}
	for f, l := range lengthscales(d) {
		if !scalar.EqualWithinAbs(l, want[f], 1e-12) {
			t.Errorf("lengthscale of feature %d is %g, want %g", f, l, want[f])
		}
	}
	for i := 0; i < len(d.State); i += 2 { // the prior does not depend on the unit and the origin of a feature
		d.State[i] = 10*d.State[i] - 7
	}
	if l := lengthscales(d)[0]; !scalar.EqualWithinAbs(l, 10*want[0], 1e-6) {
		t.Errorf("in a tenth of the unit the lengthscale of feature 0 is %g, want %g", l, 10*want[0])
	}
}
