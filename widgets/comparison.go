package widgets

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Comparison compares posteriors, or models, by how well they predict each decision from all others (leave-one-out
// cross-validation): by how much each is behind the best, with the standard error of the difference over decisions; and
// for each decision k̂, above whose threshold the estimate is not to be trusted.
type Comparison struct {
	Title  string
	Models []exhibit.LOO // the same decisions in each
}

// difference returns how much less all decisions are predicted by a than by b, in nats, with its standard error
// √(n Var(aᵢ − bᵢ)), NaN of one decision.
func difference(a, b []float64) (sum, stdErr float64) {
	each := floats.SubTo(make([]float64, len(a)), a, b)
	return floats.Sum(each), math.Sqrt(float64(len(a)) * stat.Variance(each, nil))
}

// Figure implements Drawing.
func (m Comparison) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	var names []string
	best, highest := 0, math.Inf(-1)
	sums := make([]float64, len(m.Models))
	for j, model := range m.Models {
		names = append(names, model.Method)
		sums[j] = floats.Sum(model.Pointwise)
		if sums[j] > highest {
			best, highest = j, sums[j]
		}
	}
	behind := DotPanel{Title: fmt.Sprintf("behind the best, %s (nats)", Label(names[best]))}
	total := DotPanel{Title: "log predictive density (nats)"}
	shape := CurvePanel{XLabel: "decision", YLabel: "Pareto k̂", Levels: []Level{{Name: "threshold",
		Y: m.Models[0].Threshold}}}
	for j, model := range m.Models {
		d, e := difference(model.Pointwise, m.Models[best].Pointwise)
		if j == best {
			e = math.NaN()
		}
		behind.Estimates = append(behind.Estimates, Value(d, e))
		_, e = difference(model.Pointwise, make([]float64, len(model.Pointwise)))
		total.Estimates = append(total.Estimates, Value(sums[j], e))
		curve := Curve{Name: model.Method, Points: true}
		for i, k := range model.KHat {
			if !finite(k) { // no ratio stands out, or too few to say
				k = math.NaN()
			}
			curve.X, curve.Y = append(curve.X, float64(i)), append(curve.Y, k)
		}
		shape.Curves = append(shape.Curves, curve)
	}
	return Stack{Title: m.Title, Rows: [][]Drawing{
		{Dots{Methods: names, Panels: []DotPanel{total, behind}}},
		{Curves{Panels: []CurvePanel{shape}}}}}.Figure()
}

func (m Comparison) validate() error {
	if len(m.Models) == 0 {
		return fmt.Errorf("widgets: Comparison has no models")
	}
	n := len(m.Models[0].Pointwise)
	return forEach("Comparison.Models", m.Models, func(field string, model exhibit.LOO) error {
		return check.First(refuse(n == 0, "%s has no decisions", field),
			checkLength(field+".Pointwise", len(model.Pointwise), n, "one for each decision"),
			checkLength(field+".KHat", len(model.KHat), n, "one for each decision"),
			checkFinite(field+".Pointwise", model.Pointwise),
			forEach(field+".KHat", model.KHat, func(field string, k float64) error {
				return refuse(math.IsNaN(k), "%s = %g is not a number", field, k)
			}), refuse(!finite(model.Threshold), "%s.Threshold = %g is not finite", field, model.Threshold),
			checkMethods(model.Method))
	})
}
