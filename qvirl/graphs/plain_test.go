package graphs

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/graphs/graphstest"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// The functions on plain numbers agree with those on graphs, on random states of five actions.
func TestPlainAgainstGraph(t *testing.T) {
	const states, actions, beta = 20, 5, 1.7
	rng := rand.New(rand.NewPCG(8, 0))
	means, covs := make([][]float64, states), make([]*mat.SymDense, states)
	for s := range means {
		means[s] = make([]float64, actions)
		for a := range means[s] {
			means[s][a] = 2*rng.NormFloat64() + 30
		}
		covs[s] = graphstest.RandomCovariance(rng, actions, 1.5)
	}
	mean, cov := packed(means, covs)
	distinct, identity := slices.Repeat([]float64{1}, actions*states), make([]float64, states*states)
	for i := range states {
		identity[i*states+i] = 1
	}
	out := graphstest.Evaluate(t, func(in []*Node) []*Node {
		m, v, w := clarkMax(in[0], in[1], in[2], Materializer(in[3]))
		return []*Node{m, v, w, LogActionProbs(in[0], in[1], in[4])}
	}, graphstest.Tensor(mean, 1, actions, states), graphstest.Tensor(cov, 1, actions, actions, states),
		graphstest.Tensor(distinct, 1, actions, states),
		graphstest.Tensor(identity, states, states), graphstest.Tensor([]float64{beta}, 1, 1, 1, 1))
	for s := range means {
		m, v, w, err := ClarkMax(means[s], covs[s])
		if err != nil {
			t.Fatal(err)
		}
		p, err := ActionProbs(means[s], covs[s], beta)
		if err != nil {
			t.Fatal(err)
		}
		const tolerance = 1e-10 // float64 algebra
		if !scalar.EqualWithinAbs(m, out[0][s], tolerance) || !scalar.EqualWithinAbs(v, out[1][s], tolerance) {
			t.Errorf("state %d: maximum N(%g, %g), on the graph N(%g, %g)", s, m, v, out[0][s], out[1][s])
		}
		for a := range p {
			if got := out[2][a*states+s]; !scalar.EqualWithinAbs(w[a], got, tolerance) {
				t.Errorf("state %d: weight %d is %g, on the graph %g", s, a, w[a], got)
			}
			if got := math.Exp(out[3][a*states+s]); !scalar.EqualWithinAbs(p[a], got, tolerance) || p[a] <= 0 {
				t.Errorf("state %d: probability %d is %g, on the graph %g", s, a, p[a], got)
			}
		}
	}
}

func TestPlainRefuses(t *testing.T) {
	one := mat.NewSymDense(1, []float64{1})
	for want, err := range map[string]error{
		"2 means":      second(ActionProbs([]float64{1, 2}, one, 1)),
		"0 means":      second(ActionProbs(nil, one, 1)),
		"mean[0]":      second(ActionProbs([]float64{math.NaN()}, one, 1)),
		"β = 0":        second(ActionProbs([]float64{1}, one, 0)),
		"not finite":   second(ActionProbs([]float64{1}, mat.NewSymDense(1, []float64{math.Inf(1)}), 1)),
		"is negative":  second(ActionProbs([]float64{1}, mat.NewSymDense(1, []float64{-1}), 1)),
		"of 1 variabl": fourth(ClarkMax([]float64{1, 2}, one)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func second(_ []float64, err error) error               { return err }
func fourth(_, _ float64, _ []float64, err error) error { return err }

// Leads whose exponentials are infinite: of values that are known, log p_a = β (m_a − max m) to rounding.
func TestPlainLogActionProbsOfSteepLeads(t *testing.T) {
	mean, beta := []float64{3000, -2000, 1000}, 5.0
	log := make([]float64, len(mean))
	if total := PlainLogActionProbs(log, mean, func(int, int) float64 { return 0 }, beta); total != 1 {
		t.Errorf("the probabilities sum to %g, want 1", total)
	}
	onGraph := graphstest.Evaluate(t, func(in []*Node) []*Node {
		return []*Node{LogActionProbs(in[0], in[1], in[2])}
	}, graphstest.Tensor(mean, 1, 3, 1), graphstest.Tensor(make([]float64, 9), 1, 3, 3, 1),
		graphstest.Tensor([]float64{beta}, 1, 1, 1, 1))[0]
	for a, got := range log {
		if want := beta * (mean[a] - 3000); got != want || onGraph[a] != want {
			t.Errorf("log probability of action %d is %g, on the graph %g, want %g", a, got, onGraph[a], want)
		}
	}
}
