package expert

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats/scalar"
)

// pureGo is the backend of the tests, which is always there.
func pureGo(t testing.TB) compute.Backend {
	t.Helper()
	b, err := compute.NewWithConfig("go")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// plainLoss is Eq. 10 written out: rows of n quantiles and of m targets.
func plainLoss(quantiles, target []float64, n, m int, kappa float64) float64 {
	rows := len(quantiles) / n
	sum := 0.0
	for b := range rows {
		for i := range n {
			level := (2*float64(i) + 1) / float64(2*n)
			for j := range m {
				u := target[b*m+j] - quantiles[b*n+i]
				huber := kappa * (math.Abs(u) - kappa/2)
				if math.Abs(u) <= kappa {
					huber = u * u / 2
				}
				below := 0.0
				if u < 0 {
					below = 1
				}
				sum += math.Abs(level-below) * huber / kappa / float64(m)
			}
		}
	}
	return sum / float64(rows)
}

func normals(seed uint64, n int, scale float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float64, n)
	for i := range out {
		out[i] = scale * r.NormFloat64()
	}
	return out
}

func TestQuantileHuberLossAndGradient(t *testing.T) {
	const rows, n, m = 3, 5, 4
	quantiles, target := normals(1, rows*n, 2), normals(2, rows*m, 2)
	for _, kappa := range []float64{0.1, 1, 3} {
		out, err := CallOnceN(pureGo(t), func(q, z *Node) []*Node {
			loss := quantileHuberLoss(q, z, kappa)
			return append([]*Node{loss}, Gradient(loss, q)...)
		}, tensors.FromFlatDataAndDimensions(quantiles, rows, n), tensors.FromFlatDataAndDimensions(target, rows, m))
		if err != nil {
			t.Fatal(err)
		}
		loss, want := tensors.MustCopyFlatData[float64](out[0])[0], plainLoss(quantiles, target, n, m, kappa)
		if !(want > 0.1) || !scalar.EqualWithinAbs(loss, want, 1e-6) { // the levels are single precision
			t.Errorf("κ = %g: loss %.9f, want %.9f", kappa, loss, want)
		}
		const h = 1e-6
		for i, got := range tensors.MustCopyFlatData[float64](out[1]) {
			up, down := append([]float64{}, quantiles...), append([]float64{}, quantiles...)
			up[i], down[i] = up[i]+h, down[i]-h
			want := (plainLoss(up, target, n, m, kappa) - plainLoss(down, target, n, m, kappa)) / (2 * h)
			if !scalar.EqualWithinAbs(got, want, 1e-6) {
				t.Errorf("κ = %g: ∂loss/∂quantile[%d] = %.8f, by finite differences %.8f", kappa, i, got, want)
			}
		}
	}
}

func TestBellmanTargetFollowsTheBestMean(t *testing.T) {
	// In row 0 action 1 has the greater mean and the smaller maximum; row 1 has ended.
	on, next := pureGo(t), []float32{0, 5, 3, 4, 1, 1, 2, 2}
	target := func(chooser []float32) (*tensors.Tensor, error) {
		of := func(quantiles []float32) *tensors.Tensor {
			return tensors.FromFlatDataAndDimensions(quantiles, 2, 2, 2)
		}
		return CallOnce(on, func(reward, discount, next, chooser *Node) *Node {
			return bellmanTarget(reward, discount, next, chooser, 0)
		}, []float32{10, 20}, []float32{0.5, 0}, of(next), of(chooser))
	}
	out, err := target(next)
	if err != nil {
		t.Fatal(err)
	}
	want := []float32{11.5, 12, 20, 20}
	for i, got := range tensors.MustCopyFlatData[float32](out) {
		if got != want[i] {
			t.Errorf("target[%d] = %g, want %g", i, got, want[i])
		}
	}
	// Another chooser prefers action 0 in row 0: its quantiles there are 0 and 5.
	if out, err = target([]float32{9, 9, 1, 1, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	want = []float32{10, 12.5, 20, 20}
	for i, got := range tensors.MustCopyFlatData[float32](out) {
		if got != want[i] {
			t.Errorf("with another chooser, target[%d] = %g, want %g", i, got, want[i])
		}
	}
}

// TestBellmanTargetOfTheBoltzmannPolicy: the mean of the target is the expectation, computed from the means.
func TestBellmanTargetOfTheBoltzmannPolicy(t *testing.T) {
	on, beta := pureGo(t), 2.5
	next := [][][]float64{{{0, 5}, {3, 4}}, {{1, 1.5}, {2, -2}}} // [batch][action][quantile]
	reward, discount := []float64{10, 20}, []float64{0.5, 0.9}
	out, err := CallOnce(on, func(reward, discount, next *Node) *Node {
		return ReduceMean(bellmanTarget(reward, discount, next, next, beta), 1)
	}, reward, discount, next)
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range tensors.MustCopyFlatData[float64](out) {
		a, b := (next[i][0][0]+next[i][0][1])/2, (next[i][1][0]+next[i][1][1])/2
		p := 1 / (1 + math.Exp(beta*(b-a)))
		if want := reward[i] + discount[i]*(p*a+(1-p)*b); !scalar.EqualWithinAbs(got, want, 1e-12) {
			t.Errorf("row %d: %g, want %g", i, got, want)
		}
	}
}
