package variational

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

// branching are transitions of a test with m successors each, whose values correlate unless apart.
type branching struct {
	example
	m      int
	weight array // [runs, n, m]
}

func newBranching(rng *rand.Rand, runs, n, m, actions int, apart bool) branching {
	b := branching{example: newExample(rng, runs, n, actions), m: m, weight: random(rng, 0, runs, n, m)}
	b.next = random(rng, 0.7, runs, n*m, actions, 2+exampleEmbedding)
	for i := range b.weight.data {
		if i%(m+1) != 1 { // some terminate
			b.weight.data[i] = 0.9 / float64(m)
		}
		for a := range actions {
			if apart {
				b.next.data[(i*actions+a)*4+outEmbedding] += 100 * float64(i+1)
			}
		}
	}
	return b
}

// reward returns the mean and covariance that the graph gives.
func (b branching) reward(t *testing.T, m graphs.Maximum) (mean, cov []float64) {
	t.Helper()
	got := evaluate(t, func(in []*Node) []*Node {
		r := newReward(m, in[0], in[1], b.transitions(in[0].Graph()), nil)
		cov, _ := r.covariance()
		return []*Node{r.mean, addDiagonal(cov, r.lift)}
	}, b.now, b.next)
	return got[0], got[1]
}

func (b branching) transitions(g *Graph) *neural.Transitions {
	t := b.example.transitions(g)
	t.Weight = ConstTensor(g, tensors.FromFlatDataAndDimensions(b.weight.data, b.weight.dims...))
	return t
}

func TestRewardOfSeveralSuccessorsAgainstSampledMaxima(t *testing.T) {
	const n, m, actions = 3, 3, 2
	for _, apart := range []bool{false, true} {
		b := newBranching(rand.New(rand.NewPCG(21, 21)), 1, n, m, actions, apart)
		mean, cov := b.reward(t, graphs.Clark)
		checkRewards(t, fmt.Sprintf("three successors, apart %t", apart), b.example, mean, cov, 22,
			func(x []float64, i int) (sum float64) {
				for k := range m {
					at := (i*m + k) * actions
					sum += b.weight.data[i*m+k] * max(x[at], x[at+1])
				}
				return sum
			}, func(int, int) bool { return apart }) // otherwise two successors of a transition have correlated maxima
	}
}

func TestOneSuccessorIsTheEmpiricalTransition(t *testing.T) {
	for _, maximum := range []graphs.Maximum{graphs.Clark, graphs.MaxMean} {
		b := newBranching(rand.New(rand.NewPCG(23, 23)), 2, 4, 1, 3, false)
		b.weight.data = b.discount.data
		mean, cov := b.reward(t, maximum)
		got := evaluate(t, func(in []*Node) []*Node {
			r := newReward(maximum, in[0], in[1], b.example.transitions(in[0].Graph()), nil)
			cov, _ := r.covariance()
			return []*Node{r.mean, addDiagonal(cov, r.lift)}
		}, b.now, b.next)
		if !slices.Equal(got[0], mean) || !slices.Equal(got[1], cov) || mean[0] == 0 || cov[0] == 0 {
			t.Errorf("%s: means %v and %v", maximum, got[0], mean)
		}
	}
}

func TestDivergenceGradientWithSeveralSuccessors(t *testing.T) {
	const runs, n, m, actions = 2, 3, 2, 3
	rng := rand.New(rand.NewPCG(24, 24))
	b := newBranching(rng, runs, n, m, actions, false)
	o := DefaultObjective(1)
	checkGradients(t, func(in []*Node) (value, surrogate *Node) {
		tr := b.transitions(in[0].Graph())
		p := prior{mean: in[2], std: Exp(in[3]), lengthscale: Exp(in[4])}
		return o.divergence(newReward(graphs.Clark, in[0], in[1], tr, newWarp(in[5], in[6])), p, tr)
	}, b.now, b.next, random(rng, 1, runs), random(rng, 0.3, runs), random(rng, 0.3, runs, exampleObservation+actions),
		random(rng, 0.3, runs), random(rng, 0.1, runs))
}

// copies returns m − 1 further successors of each transition of a run's demonstrations and auxiliary trajectories: the
// same as it led to, displaced by noise.
func copies(r neural.Run, m int, noise float32) neural.Run {
	rng := rand.New(rand.NewPCG(r.Seed, 9))
	for i := range r.Demos {
		for _, of := range []struct {
			t  []float32
			to *[]neural.Successors
			n  int
		}{{r.Demos[i].Observations, &r.Successors, r.Demos[i].Len()}, {r.Aux[i].Observations, &r.AuxSuccessors,
			r.Aux[i].Len()}} {
			var s neural.Successors
			for k := range of.n {
				for range m - 1 {
					for _, x := range of.t[2*k+2 : 2*k+4] {
						s.Observations = append(s.Observations, x+noise*float32(rng.NormFloat64()))
					}
					s.Terminated = append(s.Terminated, false)
				}
			}
			*of.to = append(*of.to, s)
		}
		for _, d := range []struct {
			ended bool
			s     []bool
		}{{r.Demos[i].Terminated, r.Successors[i].Terminated}, {r.Aux[i].Terminated, r.AuxSuccessors[i].Terminated}} {
			for k := range m - 1 {
				d.s[len(d.s)-1-k] = d.ended
			}
		}
	}
	return r
}

// Draws that all coincide with what happened, as where the dynamics are deterministic, leave training what it was.
func TestEqualSuccessorsChangeNothing(t *testing.T) {
	fit := func(m int, noise float32) []neural.CurvePoint {
		c := smallConfig(6)
		task := planeTask(2)
		for r := range task.Runs {
			if m > 1 {
				task.Runs[r] = copies(task.Runs[r], m, noise)
			}
		}
		models := neuraltest.Fit(t, task)(New(c, DefaultObjective(1)))
		return []neural.CurvePoint{models[0].Curve()[0], models[1].Curve()[0]}
	}
	one, equal, different := fit(1, 0), fit(4, 0), fit(4, 0.1)
	for r := range one {
		// float32; later, a batch of transitions that resemble each other magnifies it
		if !scalar.EqualWithinAbs(equal[r].Loss, one[r].Loss, 1e-5*math.Abs(one[r].Loss)) {
			t.Errorf("run %d: the loss is %g with four equal successors, %g with one", r, equal[r].Loss, one[r].Loss)
		}
		if math.Abs(different[r].Loss-one[r].Loss) < 1e-4*math.Abs(one[r].Loss) {
			t.Errorf("run %d: the loss is %g with four different successors, %g with one", r, different[r].Loss,
				one[r].Loss)
		}
	}
}
