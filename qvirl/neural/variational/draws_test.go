package variational

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
)

// TestDrawsAlongPathsAreJoint compares draws that grow state by state with the joint distribution of all values.
func TestDrawsAlongPathsAreJoint(t *testing.T) {
	for _, marginals := range []Marginals{Normal, SinhArcsinh} {
		o := DefaultObjective(1)
		o.Marginals = marginals
		p, err := NewPosterior(train(t, o, 5, 1)[0])
		if err != nil {
			t.Fatal(err)
		}
		if marginals == SinhArcsinh { // which hardly differ from normal ones after so few steps
			p.warp = newPlainWarp(0.4, 1)
		}
		const n = 40_000
		d, err := p.NewDraws(rand.New(rand.NewPCG(3, 4)), n, 2)
		if err != nil {
			t.Fatal(err)
		}
		path := [][]float32{{0.3, -1}, {0.35, -1}, {2, 0.5}} // the first two nearly alike
		var columns [][]float64
		for k, state := range path {
			got, err := d.Extend([]int{1, 0}, slices.Concat(state, path[(k+1)%3]))
			if err != nil {
				t.Fatal(err)
			}
			columns = append(columns, got[0].Draws...)
		}
		j, err := p.Values(slices.Concat(path...))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range columns {
			mean, std := stat.MeanStdDev(x, nil)
			if want := j.Std(i); !scalar.EqualWithinAbs(mean, j.Mean[i], 4*want/200) ||
				!scalar.EqualWithinAbs(std, want, 4*want/200) { // twice √½/200, for tails heavier than the Gaussian's
				t.Errorf("%s, value %d: %g ± %g, want %g ± %g", marginals, i, mean, std, j.Mean[i], want)
			}
			low, _, err := j.Interval(i, 0.8)
			if err != nil {
				t.Fatal(err)
			}
			below := 0.0
			for _, v := range x {
				if v < low {
					below += 1. / n
				}
			}
			if !scalar.EqualWithinAbs(below, 0.1, 4*0.3/200) {
				t.Errorf("%s, value %d: %g of the draws are below the interval of 0.8", marginals, i, below)
			}
			for k, y := range columns[:i] {
				want := j.Cov.At(i, k) / j.Std(i) / j.Std(k)
				// 1/200 is the standard error of a small correlation
				if got := stat.Correlation(x, y, nil); !scalar.EqualWithinAbs(got, want, 4./200) {
					t.Errorf("%s: the correlation of values %d and %d is %g, want %g", marginals, i, k, got, want)
				}
			}
		}
	}
}

func TestDrawsShareTheirRandomNumbers(t *testing.T) {
	p, err := NewPosterior(train(t, DefaultObjective(1), 5, 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	d, err := p.NewDraws(rand.New(rand.NewPCG(3, 4)), 100, 2)
	if err != nil {
		t.Fatal(err)
	}
	a, b := []float32{0.3, -1}, []float32{2, 0.5}
	first, err := d.Extend([]int{0}, a)
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.Extend([]int{0}, b)
	if err != nil {
		t.Fatal(err)
	}
	other, err := d.Extend([]int{1}, a)
	if err != nil {
		t.Fatal(err)
	}
	for action := range 3 {
		if !slices.Equal(first[0].Draws[action], other[0].Draws[action]) {
			t.Errorf("action %d: two paths begin with different draws of the same state", action)
		}
	}
	again, err := d.Extend([]int{0}, a) // back where the path has been: the same functions
	if err != nil {
		t.Fatal(err)
	}
	for action := range 3 {
		for j, x := range again[0].Draws[action] {
			if want := first[0].Draws[action][j]; math.Abs(x-want) > 1e-5 {
				t.Fatalf("draw %d of action %d is %g, and was %g", j, action, x, want)
			}
		}
	}
	if slices.Equal(second[0].Draws[0], first[0].Draws[0]) {
		t.Error("another state has the same draws")
	}
	for _, paths := range [][]int{{2, 0}, {-1, 0}, {0, 0}, {0}} {
		if _, err := d.Extend(paths, slices.Concat(a, b)); err == nil {
			t.Errorf("no error for two observations of the paths %v", paths)
		}
	}
	if _, err := p.NewDraws(nil, 0, 1); err == nil {
		t.Error("no error for no draws")
	}
}
