// Package likelihood measures the closed form that approximates the likelihood of a demonstrated action under Gaussian
// Q-values (App. "Likelihood Approximation"), against Monte Carlo estimates as the paper does, and exactly.
//
// There are two actions with jointly Gaussian Q-values; Q₂ is standard normal. The probability of a₁ depends on the gap
// D = Q₁ − Q₂ ~ N(d, s²) alone, s² = σ₁² + 1 − 2ρσ₁: its exact value is the one-dimensional integral E[1/(1 +
// exp(−βD))].
package likelihood

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/graphs"
)

// Name is the experiment's name in result rows.
const Name = "likelihood"

// The methods, by their names in result rows.
const (
	ClosedForm = "lu2021"      // the approximation of Lu et al. (2021)
	MonteCarlo = "monte-carlo" // the mean over samples
	Exact      = "exact"       // quadrature
)

// The metrics, which the registry of package metric explains.
const (
	Prob   = "action_prob"
	StdErr = "action_prob_stderr"
	Error  = "error"
)

// Config determines the rows of the experiment.
type Config struct {
	Beta    float64 // 1; another β is the same as Q-values in other units
	Samples int     // Monte Carlo samples of each point; 10,000
	Seed    uint64

	Means        []float64 // left panel: means of Q₁ along the horizontal axis
	Stds         []float64 // left panel: standard deviations of Q₁, a curve each; the correlation is 0
	Correlations []float64 // right panel: along the horizontal axis
	Gaps         []float64 // right panel: means of Q₁, a curve each; the standard deviation is 1

	MapGaps, MapStds []float64 // error map: means and standard deviations of Q₁
	MapCorrelations  []float64 // a panel each
}

// Paper returns the config of the paper's figure, and of a map of the error that the paper does not show. The paper
// does not give its levels.
func Paper() Config {
	return Config{
		Beta: 1, Samples: 10_000,
		Means: grid(-5, 5, 41), Stds: []float64{0.5, 1, 3}, Correlations: grid(-0.99, 0.99, 41),
		Gaps:    []float64{0.5, 1, 2},
		MapGaps: grid(-8, 8, 65), MapStds: grid(0, 8, 41), MapCorrelations: []float64{-0.9, 0, 0.9},
	}
}

// Quick returns the same figure with coarser grids.
func Quick() Config {
	c := Paper()
	c.MapGaps, c.MapStds = grid(-8, 8, 33), grid(0, 8, 21)
	return c
}

// grid returns n equidistant numbers from low to high.
func grid(low, high float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		t := float64(i) / float64(n-1)
		out[i] = math.Round((low*(1-t)+high*t)*1e6) / 1e6
	}
	return out
}

// Validate reports the first field that is out of range.
func (c Config) Validate() error {
	if !(c.Beta > 0) || c.Samples < 2 {
		return fmt.Errorf("likelihood: Beta = %g, Samples = %d: want a positive number and at least 2", c.Beta,
			c.Samples)
	}
	for name, list := range map[string][]float64{"Means": c.Means, "Stds": c.Stds, "Correlations": c.Correlations,
		"Gaps": c.Gaps, "MapGaps": c.MapGaps, "MapStds": c.MapStds, "MapCorrelations": c.MapCorrelations} {
		if len(list) == 0 || !slices.IsSorted(list) || len(slices.Compact(slices.Clone(list))) != len(list) {
			return fmt.Errorf("likelihood: %s = %v: want ascending numbers", name, list)
		}
		for i, v := range list {
			bad := math.IsNaN(v) || math.IsInf(v, 0)
			switch name {
			case "Stds", "MapStds":
				bad = bad || v < 0
			case "Correlations", "MapCorrelations":
				bad = bad || math.Abs(v) > 1
			}
			if bad {
				return fmt.Errorf("likelihood: %s[%d] = %g is out of range", name, i, v)
			}
		}
	}
	return nil
}

// Point is a pair of jointly Gaussian Q-values: Q₁ ~ N(Mean, Std²), Q₂ ~ N(0, 1), and their correlation.
type Point struct{ Mean, Std, Correlation float64 }

// ClosedForm returns the approximated probability of a₁.
func (p Point) ClosedForm(beta float64) (float64, error) {
	cov := mat.NewSymDense(2, []float64{p.Std * p.Std, p.Correlation * p.Std, p.Correlation * p.Std, 1})
	probs, err := graphs.ActionProbs([]float64{p.Mean, 0}, cov, beta)
	if err != nil {
		return 0, err
	}
	return probs[0], nil
}

// Exact returns the probability of a₁ by the trapezoidal rule, which converges geometrically for analytic integrands
// that vanish at both ends: with the step of 1/80 standard deviations its error is below 1e-10 for βs up to about 20.
func (p Point) Exact(beta float64) float64 {
	std := math.Sqrt(math.Max(p.Std*p.Std+1-2*p.Correlation*p.Std, 0))
	const reach, step = 9.0, 1.0 / 80
	sum, mass := 0.0, 0.0
	for z := -reach; z <= reach; z += step {
		density := math.Exp(-0.5 * z * z)
		mass += density
		sum += density / (1 + math.Exp(-beta*(p.Mean+std*z)))
	}
	return sum / mass
}

// MonteCarlo estimates the probability of a₁ from n samples, with the estimate's standard error.
func (p Point) MonteCarlo(beta float64, n int, rng *rand.Rand) (mean, stdErr float64) {
	sum, squares := 0.0, 0.0
	for i := 0; i < n; i++ {
		second := rng.NormFloat64()
		first := p.Mean + p.Std*(p.Correlation*second+math.Sqrt(1-p.Correlation*p.Correlation)*rng.NormFloat64())
		v := 1 / (1 + math.Exp(-beta*(first-second)))
		sum += v
		squares += v * v
	}
	mean = sum / float64(n)
	return mean, math.Sqrt(math.Max(squares/float64(n)-mean*mean, 0) / float64(n-1))
}

// environment returns the point's name in result rows.
func (p Point) environment() string {
	return fmt.Sprintf("gaussian-mean_%+g-std_%g-corr_%+g", p.Mean, p.Std, p.Correlation)
}

// parsePoint is the inverse of environment.
func parsePoint(environment string) (Point, error) {
	var p Point
	if _, err := fmt.Sscanf(environment, "gaussian-mean_%g-std_%g-corr_%g", &p.Mean, &p.Std,
		&p.Correlation); err != nil {
		return p, fmt.Errorf("likelihood: environment %q is not one of this experiment", environment)
	}
	return p, nil
}

// Units returns the units of the experiment: the two panels of the figure, and the error map.
func (c Config) Units(string) ([]experiment.Unit, error) {
	unit := func(name string, compute func() ([]experiment.Row, error), owns func(experiment.Row) bool,
		on ...any) experiment.Unit {
		return experiment.Unit{Name: name, On: append(on, c.Beta, c.Seed), Owns: owns,
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				rows, err := compute()
				return &experiment.Result{Rows: rows}, err
			}}
	}
	return []experiment.Unit{
		unit("panels", c.panels, func(r experiment.Row) bool { return r.Metric != Error }, c.Samples, c.Means, c.Stds,
			c.Correlations, c.Gaps),
		unit("map", c.errorMap, func(r experiment.Row) bool { return r.Metric == Error }, c.MapGaps, c.MapStds,
			c.MapCorrelations),
	}, nil
}

// panels computes the points of the figure.
func (c Config) panels() ([]experiment.Row, error) {
	var points []Point
	for _, std := range c.Stds {
		for _, mean := range c.Means {
			points = append(points, Point{mean, std, 0})
		}
	}
	for _, gap := range c.Gaps {
		for _, correlation := range c.Correlations {
			if p := (Point{gap, 1, correlation}); !slices.Contains(points, p) { // the panels may meet
				points = append(points, p)
			}
		}
	}
	var out []experiment.Row
	for i, p := range points {
		closed, err := p.ClosedForm(c.Beta)
		if err != nil {
			return nil, err
		}
		mean, stdErr := p.MonteCarlo(c.Beta, c.Samples, rand.New(rand.NewPCG(c.Seed, uint64(i))))
		row := experiment.Row{Environment: p.environment(), Seed: c.Seed}
		for _, r := range []struct {
			method, metric string
			value          float64
		}{{ClosedForm, Prob, closed}, {MonteCarlo, Prob, mean}, {MonteCarlo, StdErr, stdErr},
			{Exact, Prob, p.Exact(c.Beta)}} {
			row.Method, row.Metric, row.Value = r.method, r.metric, r.value
			out = append(out, row)
		}
	}
	return out, nil
}

// errorMap computes the error of the closed form over the grid of the map.
func (c Config) errorMap() ([]experiment.Row, error) {
	var out []experiment.Row
	for _, correlation := range c.MapCorrelations {
		for _, std := range c.MapStds {
			for _, gap := range c.MapGaps {
				p := Point{gap, std, correlation}
				closed, err := p.ClosedForm(c.Beta)
				if err != nil {
					return nil, err
				}
				out = append(out, experiment.Row{Environment: p.environment(), Method: ClosedForm, Seed: c.Seed,
					Metric: Error, Value: closed - p.Exact(c.Beta)})
			}
		}
	}
	return out, nil
}
