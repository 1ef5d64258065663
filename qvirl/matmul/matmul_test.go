package matmul

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// random is a matrix in rows longer than it is wide.
func random(rng *rand.Rand, rows, cols int) blas64.General {
	g := blas64.General{Rows: rows, Cols: cols, Stride: cols + 3, Data: make([]float64, rows*(cols+3))}
	for i := range g.Data {
		g.Data[i] = rng.NormFloat64()
	}
	return g
}

// TestAdd compares with gonum on sizes that fill tiles and blocks, and that leave rests of them.
func TestAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, size := range [][3]int{{1, 1, 1}, {129, 130, 131}, {4, 12, 300}, {3, 200, 5}, {200, 11, 257},
		{97, 133, 513}} {
		m, n, k := size[0], size[1], size[2]
		for _, tA := range []blas.Transpose{blas.NoTrans, blas.Trans} {
			for _, tB := range []blas.Transpose{blas.NoTrans, blas.Trans} {
				a, b, got := random(rng, m, k), random(rng, k, n), random(rng, m, n)
				if tA == blas.Trans {
					a = random(rng, k, m)
				}
				if tB == blas.Trans {
					b = random(rng, n, k)
				}
				want := got
				want.Data = append([]float64(nil), got.Data...)
				Add(tA, tB, -1.5, a, b, got)
				blas64.Gemm(tA, tB, -1.5, a, b, 1, want)
				for i, v := range want.Data { // sums of k products of size one; what lies between the rows stays
					if !(math.Abs(got.Data[i]-v) <= 1e-14*float64(k+10)) {
						t.Fatalf("%v, %c %c: number %d is %g, want %g", size, tA, tB, i, got.Data[i], v)
					}
				}
			}
		}
	}
}

// TestCovariance compares with gonum's, of quantities far from 0.
func TestCovariance(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for _, n := range []int{1, 3, 70, 400} {
		draws := mat.NewDense(150, n, nil)
		draws.Apply(func(_, j int, _ float64) float64 { return float64(j+10) + rng.NormFloat64() }, draws)
		var want mat.SymDense
		stat.CovarianceMatrix(&want, draws, nil)
		if got := Covariance(draws); !mat.EqualApprox(got, &want, 1e-12) {
			t.Errorf("of %d quantities, the covariances are off", n)
		}
	}
}

// BenchmarkAdd reports billions of multiplications a second, of this package and of gonum, on one core.
func BenchmarkAdd(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, n := range []int{256, 1024} {
		x, y, z := random(rng, n, n), random(rng, n, n), random(rng, n, n)
		for name, f := range map[string]func(){
			"here":  func() { Add(blas.NoTrans, blas.NoTrans, 1, x, y, z) },
			"gonum": func() { blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, x, y, 1, z) },
		} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(n*n*n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}
