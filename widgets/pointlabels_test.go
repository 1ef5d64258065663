package widgets

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestSpreadLabels: labels of points in a crowd at the edge of an area are in it, cover neither one another nor rings,
// and stand near their points.
func TestSpreadLabels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	area := rect(0, 0, 300, 200)
	var points []vg.Point
	for range 10 {
		points = append(points, vg.Point{X: vg.Length(150 + 20*rng.Float64()), Y: vg.Length(8 * rng.Float64())})
	}
	marked := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	labels := spread(area, points, marked, func(int) vg.Length { return 8 })
	for k, l := range labels {
		if b := l.box; b.Min.X < 0 || b.Max.X > 300 || b.Min.Y < 0 || b.Max.Y > 200 {
			t.Errorf("label %d at %v is outside", k, l.at)
		}
		for j, o := range labels[:k] {
			if a, b := l.box, o.box; a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y {
				t.Errorf("labels %d and %d overlap", j, k)
			}
		}
		for j, p := range points {
			if near(l.box, p) < ringRadius {
				t.Errorf("label %d covers the ring of point %d", k, j)
			}
		}
		if d := apartBy(l.at, points[k]); d > 70 {
			t.Errorf("label %d is %.0f from its point", k, float64(d))
		}
	}
	alone := spread(area, []vg.Point{{X: 100, Y: 100}}, []int{0}, func(int) vg.Length { return 8 })[0]
	if alone.leads() {
		t.Errorf("a line leads to the label of a single point, %v", alone.at)
	}
}
