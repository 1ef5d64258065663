package tabular

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// Everything that the band matrix computes is what dense algebra computes, for bands narrower and wider than a block,
// of rows in any order.
func TestBandMatrixIsTheDense(t *testing.T) {
	for _, c := range []struct{ n, width int }{{1, 0}, {5, 4}, {64, 3}, {130, 7}, {200, 70}, {150, 149}} {
		rng := rand.New(rand.NewPCG(uint64(c.n), uint64(c.width)))
		order, place := rng.Perm(c.n), make([]int32, c.n)
		for r, i := range order {
			place[i] = int32(r)
		}
		random := func(diagonal float64) (*bandMatrix, *mat.Dense) {
			b, dense := newBandMatrix(place, c.width), mat.NewDense(c.n, c.n, nil)
			for r, i := range order {
				for _, j := range order[max(0, r-c.width) : r+1] {
					v := rng.NormFloat64()
					if i == j {
						v += diagonal
					}
					b.add(i, j, v)
					dense.Set(i, j, v)
					dense.Set(j, i, v)
				}
			}
			return b, dense
		}
		p, dense := random(6 + 4*float64(c.width))
		k, direction := random(0)
		if !p.factorize() {
			t.Fatalf("%+v: not positive definite", c)
		}
		var inverse, product, both mat.Dense
		if err := inverse.Inverse(dense); err != nil {
			t.Fatal(err)
		}
		if want, _ := mat.LogDet(dense); !scalar.EqualWithinRel(p.logDet, want, 1e-12) {
			t.Errorf("%+v: log-determinant %.15g, want %.15g", c, p.logDet, want)
		}
		x := mat.NewDense(c.n, 3, nil)
		x.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, x)
		product.Mul(&inverse, x)
		p.solve(x)
		if !mat.EqualApprox(x, &product, 1e-12) {
			t.Errorf("%+v: a solution is wrong", c)
		}
		z, sandwich := newBandMatrix(place, c.width), newBandMatrix(place, c.width)
		p.invert(z)
		p.sandwich(z, k, sandwich)
		both.Product(&inverse, direction, &inverse)
		for r, i := range order {
			for _, j := range order[max(0, r-c.width) : r+1] {
				if got, want := z.at(i, j), inverse.At(i, j); !scalar.EqualWithinAbs(got, want, 1e-13) {
					t.Fatalf("%+v: inverse [%d,%d] is %g, want %g", c, i, j, got, want)
				}
				if got, want := sandwich.at(i, j), both.At(i, j); !scalar.EqualWithinAbs(got, want, 1e-13) {
					t.Fatalf("%+v: sandwich [%d,%d] is %g, want %g", c, i, j, got, want)
				}
			}
		}
	}
	indefinite := newBandMatrix([]int32{0, 1, 2}, 1)
	indefinite.addOuter([]int{0, 1}, 1, []float64{1, 2})
	if indefinite.factorize() {
		t.Error("a singular matrix was factorized")
	}
}

func BenchmarkBandMatrix(b *testing.B) {
	const n, width = 10_000, 200
	place := make([]int32, n)
	for i := range place {
		place[i] = int32(i)
	}
	p, z := newBandMatrix(place, width), newBandMatrix(place, width)
	k, x := newBandMatrix(place, width), newBandMatrix(place, width)
	for b.Loop() {
		p.zero()
		for i := range n {
			p.add(i, i, 4)
			for _, j := range []int{i - 1, i - width} {
				if j >= 0 {
					p.add(i, j, -1)
				}
			}
		}
		p.factorize()
		p.invert(z)
		k.zero()
		p.sandwich(z, k, x)
	}
}
