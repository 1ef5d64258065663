package exhibit

import (
	"math"
	"slices"
	"testing"
)

func TestOnly(t *testing.T) {
	all := Table{Title: "t", Rows: []Row{{Method: "a"}, {Method: "b"}, {Method: "c"}}}
	some := all.Only("c", "a", "none")
	if some.Title != "t" || len(some.Rows) != 2 || some.Rows[0].Method != "c" || some.Rows[1].Method != "a" ||
		len(all.Rows) != 3 {
		t.Errorf("%+v of %+v, want the rows c and a", some, all)
	}
}

// TestCurvesHaveAllErrorsOrNone: one that is not known leaves the curve without a band, whatever comes after it.
func TestCurvesHaveAllErrorsOrNone(t *testing.T) {
	for unknown := range 3 {
		var c Curve
		c.Add(-1, nil)
		for i := range 3 {
			e := Estimate{Mean: float64(i), StdErr: 0.5}
			if i == unknown {
				e.StdErr = math.NaN()
			}
			c.Add(float64(i), &e)
		}
		if c.StdErr != nil || !slices.Equal(c.X, []float64{0, 1, 2}) || !slices.Equal(c.Y, c.X) {
			t.Errorf("error %d is not known: %+v", unknown, c)
		}
	}
}
