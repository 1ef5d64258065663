package variational

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// A feature that varied by rounding alone in the demonstrations is some 10^10 of its standard deviations away from them
// elsewhere. In single precision, as training has it, the lengthscales' gradients are to be those of a sum in double
// precision all the same.
func TestPriorGradientWhereFeaturesAreHuge(t *testing.T) {
	const n, features, actions = 6, 2, 2
	rng := rand.New(rand.NewPCG(31, 31))
	state, action := random(rng, 1, 1, n, features), array{dims: []int{1, n, actions}}
	for i := range n {
		state.data[i*features+1] = []float64{0, 0, 1e-6, -2e10, 1e25, 1e25}[i]
		action.data = append(action.data, []float64{1, 0, 0, 1}[i%2*2:i%2*2+2]...)
	}
	slope := random(rng, 1, 1, n, n)
	logScale := array{data: []float64{-0.3, math.Log(3e-6), 0.2, 0.1}, dims: []int{1, features + actions}}
	logStd := array{data: []float64{0.4}, dims: []int{1}}

	got := evaluate(t, func(in []*Node) []*Node {
		single := make([]*Node, len(in))
		for i, x := range in {
			single[i] = ConvertDType(x, dtypes.Float32)
		}
		p := prior{std: Exp(single[4]), lengthscale: Exp(single[3])}
		return Gradient(ReduceAllSum(Mul(single[2], p.covariance(single[0], single[1]))), in[3], in[4])
	}, state, action, slope, logScale, logStd)

	want := make([]float64, features+actions)
	total := 0.0
	for i := range n {
		for j := range n {
			at := func(i int) []float64 {
				return slices.Concat(state.data[i*features:(i+1)*features], action.data[i*actions:(i+1)*actions])
			}
			apart := make([]float64, features+actions)
			distance := 0.0
			for k := range apart {
				apart[k] = math.Pow((at(i)[k]-at(j)[k])/math.Exp(logScale.data[k]), 2)
				distance += apart[k]
			}
			x := slope.data[i*n+j] * math.Exp(2*logStd.data[0]-distance/2)
			total += x
			for k := range want {
				if apart[k] > 0 {
					want[k] += x * apart[k]
				}
			}
		}
	}
	for k := range want {
		if !(math.Abs(got[0][k]-want[k]) <= 1e-5*math.Abs(total)) || want[k] == 0 {
			t.Errorf("the derivative in log lengthscale %d is %g, want %g", k, got[0][k], want[k])
		}
	}
	if !(math.Abs(got[1][0]-2*total) <= 1e-5*math.Abs(total)) {
		t.Errorf("the derivative in the log standard deviation is %g, want %g", got[1][0], 2*total)
	}
}
