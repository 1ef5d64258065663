package likelihood

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
)

func TestExactAgainstKnownValues(t *testing.T) {
	// without spread the expectation is the sigmoid itself: σ₁ = 1 and correlation 1 make the gap constant
	if got, want := (Point{1.5, 1, 1}).Exact(2), 1/(1+math.Exp(-3)); !scalar.EqualWithinAbs(got, want, 1e-12) {
		t.Errorf("constant gap: %g, want %g", got, want)
	}
	if got := (Point{0, 2, 0.3}).Exact(1); !scalar.EqualWithinAbs(got, 0.5, 1e-12) {
		t.Errorf("symmetric gap: %g, want ½", got)
	}
	// with spread, the means over many samples
	p := Point{1, 1, 0}
	mean, stdErr := p.MonteCarlo(1, 400_000, rand.New(rand.NewPCG(3, 0)))
	if exact := p.Exact(1); !scalar.EqualWithinAbs(mean, exact, 4*stdErr) || stdErr > 1e-3 || stdErr < 1e-5 {
		t.Errorf("exact %g, Monte Carlo %g ± %g", exact, mean, stdErr)
	}
	q := Point{-0.5, 2, -0.7}
	mean, stdErr = q.MonteCarlo(1, 400_000, rand.New(rand.NewPCG(4, 0)))
	if exact := q.Exact(1); !scalar.EqualWithinAbs(mean, exact, 4*stdErr) {
		t.Errorf("correlated: exact %g, Monte Carlo %g ± %g", exact, mean, stdErr)
	}
}

// The closed form is exact without spread, and within 0.021 of the truth on the map.
func TestErrorOfClosedForm(t *testing.T) {
	rows, err := Quick().errorMap()
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewErrorMap(rows)
	if err != nil {
		t.Fatal(err)
	}
	largest := 0.0
	for _, panel := range m.Errors {
		for _, v := range panel {
			largest = math.Max(largest, math.Abs(v))
		}
	}
	if !(largest > 0.005 && largest < 0.03) {
		t.Errorf("largest error %g", largest)
	}
	if closed, err := (Point{1.5, 1, 1}).ClosedForm(2); err != nil || !scalar.EqualWithinAbs(closed, 1/(1+math.Exp(-3)),
		1e-12) {
		t.Errorf("constant gap: %g, error %v", closed, err)
	}
}

func TestExperiment(t *testing.T) {
	rows, _, _ := experimenttest.Run(t, Name, Quick())
	report, err := Report(rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range report.Charts[0].Panels {
		if len(p.Curves) != 6 {
			t.Fatalf("panel %d has %d curves, want 3 levels by 2 methods", i, len(p.Curves))
		}
		for j, curve := range p.Curves {
			if len(curve.X) != 41 || curve.X[0] >= curve.X[40] {
				t.Errorf("panel %d, curve %s: %d points from %g", i, curve.Name, len(curve.X), curve.X[0])
			}
			other := p.Curves[(j+3)%6]
			for k := range curve.Y {
				if !scalar.EqualWithinAbs(curve.Y[k], other.Y[k], 0.04) || curve.Y[k] <= 0 {
					t.Errorf("panel %d: %s %g, %s %g", i, curve.Name, curve.Y[k], other.Name, other.Y[k])
				}
			}
		}
	}
	for i, p := range report.Charts[1].Panels {
		if len(p.Curves) != 3 {
			t.Fatalf("panel %d of the differences has %d curves, want one for each of 3 levels", i, len(p.Curves))
		}
		for j, curve := range p.Curves {
			for k := range curve.Y {
				both := report.Charts[0].Panels[i].Curves
				if want := both[j+3].Y[k] - both[j].Y[k]; !scalar.EqualWithinAbs(curve.Y[k], want, 1e-12) ||
					curve.StdErr[k] <= 0 {
					t.Errorf("panel %d, curve %s: difference %g ± %g, want %g", i, curve.Name, curve.Y[k],
						curve.StdErr[k], want)
				}
			}
		}
	}
	if len(report.Tables[0].Rows) != 3 || report.Tables[0].Rows[0].Cells[0].Estimate.Mean == 0 {
		t.Errorf("table %+v", report.Tables[0])
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, Quick, map[string]func(*Config){
		"Beta":            func(c *Config) { c.Beta = 0 },
		"Samples = 1":     func(c *Config) { c.Samples = 1 },
		"Means":           func(c *Config) { c.Means = []float64{1, 0} },
		"Stds[0]":         func(c *Config) { c.Stds = []float64{-1} },
		"Correlations[1]": func(c *Config) { c.Correlations = []float64{0, 2} },
	})
	if _, err := parsePoint("gridworld"); err == nil {
		t.Error("a foreign environment was accepted")
	}
}
