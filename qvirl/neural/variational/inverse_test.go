package variational

import (
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

func TestInverse(t *testing.T) {
	for _, n := range []int{3, 8, 16, 29, 64} {
		const batch, rank = 2, 5 // far from full rank: condition numbers of 10⁵
		rng := rand.New(rand.NewPCG(8, uint64(n)))
		x := array{dims: []int{batch, n, n}}
		for range batch {
			root := mat.NewDense(n, rank, random(rng, 1, n, rank).data)
			var s mat.SymDense
			s.SymOuterK(1, root)
			for i := range n {
				s.SetSym(i, i, s.At(i, i)+1e-3)
			}
			x.data = append(x.data, mat.DenseCopyOf(&s).RawMatrix().Data...)
		}
		got := evaluate(t, func(in []*Node) []*Node {
			inverse, logDet := spdInverse(in[0])
			return []*Node{inverse, logDet}
		}, x)
		for b := range batch {
			var chol mat.Cholesky
			if !chol.Factorize(mat.NewSymDense(n, x.data[b*n*n:(b+1)*n*n])) {
				t.Fatal("the test's matrix is not positive definite")
			}
			if want := chol.LogDet(); !scalar.EqualWithinAbs(got[1][b], want, 1e-8) {
				t.Errorf("n = %d: log-determinant %g, want %g", n, got[1][b], want)
			}
			var want mat.SymDense
			if err := chol.InverseTo(&want); err != nil {
				t.Fatal(err)
			}
			var off mat.Dense
			off.Sub(mat.NewDense(n, n, got[0][b*n*n:(b+1)*n*n]), &want)
			if d := mat.Norm(&off, 2) / mat.Norm(&want, 2); d > 1e-7 { // 10⁵ times the rounding of a double, with room
				t.Errorf("n = %d: the inverse is %g off, in relation to itself", n, d)
			}
		}
	}
}
