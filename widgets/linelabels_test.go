package widgets

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
	"pgregory.net/rapid"
)

// Labels keep their order, do not overlap, lie within the ends where these leave room, and stay where they are wanted
// if nothing is in their way.
func TestLabelsLieApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "n")
		wanted, heights, total := make([]vg.Length, n), make([]vg.Length, n), vg.Length(0)
		for i := range n {
			wanted[i] = vg.Length(rapid.Float64Range(0, 100).Draw(t, "wanted"))
			heights[i] = vg.Length(rapid.SampledFrom([]float64{11, 22}).Draw(t, "height"))
			total += heights[i]
		}
		slices.Sort(wanted)
		free := wanted[0] >= heights[0]/2 && wanted[n-1] <= 100-heights[n-1]/2
		for i := 1; i < n; i++ {
			free = free && wanted[i]-wanted[i-1] >= (heights[i]+heights[i-1])/2
		}
		got := apart(wanted, heights, 0, 100)
		for i, at := range got {
			if i > 0 && at-got[i-1] < (heights[i]+heights[i-1])/2-1e-9 {
				t.Fatalf("%v of heights %v overlap", got, heights)
			}
			if total <= 100 && (at < heights[i]/2-1e-9 || at > 100-heights[i]/2+1e-9) {
				t.Fatalf("%v of heights %v do not lie in 0..100", got, heights)
			}
			if free && (at-wanted[i] > 1e-9 || wanted[i]-at > 1e-9) {
				t.Fatalf("%v moved to %v without need", wanted, got)
			}
		}
	})
	if got := apart([]vg.Length{50, 50}, []vg.Length{10, 10}, 0, 100); got[0] != 45 || got[1] != 55 {
		t.Errorf("two labels for one place lie at %v, want 45 and 55", got)
	}
}

// Four curves are labelled at their ends, five in a legend; error bars stand in place of bands.
func TestLabelsOfCurves(t *testing.T) {
	names := []string{"qvirl", "bc", "iqlearn", "avril", "iqlearn-ensemble"}
	at := func(n int, bars bool) picture {
		panel := CurvePanel{XLabel: "x", YLabel: "y", Bars: bars}
		for i, name := range names[:n] {
			y := float64(i) * 1e-3 // nearly the same
			panel.Curves = append(panel.Curves, Curve{Name: name, X: []float64{1, 2}, Y: []float64{y, y},
				StdErr: []float64{0.5, 0.5}})
		}
		return parse(t, Curves{Panels: []CurvePanel{panel}})
	}
	for n, want := range map[int]int{4: 3, 5: 2} { // the line, and two pieces at its end, or one in the legend
		p := at(n, false)
		if got := p.stroked(paint(colorOf("qvirl"))); got != want || !p.hasText("IQ-Learn") {
			t.Errorf("%d curves: %d pieces of line, want %d", n, got, want)
		}
	}
	if got := at(5, true).stroked(paint(colorOf("qvirl"))); got != 4 { // two bars, the line, the legend
		t.Errorf("%d pieces of line with error bars, want 4", got)
	}
}
