package variational

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Draws are n joint draws of the optimal values along paths: sequences of observations that grow one by one, such as an
// episode as it goes on. Draw j of a path is one function Q_j wherever the path has been. With the correlations K of
// the values along a path and their Cholesky factor K = LLᵀ,
//
//	Q_j(i) = μ_i + σ_i Σ_k L_ik z_jk,
//
// so that an observation more adds rows to L and leaves what was drawn before it. All paths share the standard normal
// numbers z, by which what they differ in is theirs and not chance.
type Draws struct {
	posterior *Posterior
	rng       *rand.Rand
	n         int
	noise     [][]float64 // z: of each value along a path [n]
	paths     []path
}

// path is what is known of the values along a path.
type path struct {
	points []point
	factor [][]float64 // L, row by row
}

// ValuesAt are the values of all actions in one observation of a path.
type ValuesAt struct {
	Mean  []float64   // [actions]
	Draws [][]float64 // [actions][n]
}

// NewDraws returns n joint draws along so many paths, all of which are empty.
func (p *Posterior) NewDraws(rng *rand.Rand, n, paths int) (*Draws, error) {
	if n < 1 || paths < 1 {
		return nil, fmt.Errorf("variational: %d draws along %d paths, want at least 1", n, paths)
	}
	return &Draws{posterior: p, rng: rng, n: n, paths: make([]path, paths)}, nil
}

// Extend adds an observation to each of the given paths, [len(paths), observation], and returns the values there.
func (d *Draws) Extend(paths []int, observations []float32) ([]ValuesAt, error) {
	actions := d.posterior.model.Spec().Actions
	if len(observations) != len(paths)*d.posterior.model.Spec().Observation {
		return nil, fmt.Errorf("variational: %d numbers as observations of %d paths", len(observations), len(paths))
	}
	for i, at := range paths {
		if at < 0 || at >= len(d.paths) || slices.Contains(paths[:i], at) {
			return nil, fmt.Errorf("variational: paths[%d] is %d, want each once, from 0 to %d", i, at, len(d.paths)-1)
		}
	}
	points, err := d.posterior.points(observations)
	if err != nil {
		return nil, err
	}
	out := make([]ValuesAt, len(paths))
	for i, at := range paths {
		for _, p := range points[i*actions : (i+1)*actions] {
			out[i].Mean = append(out[i].Mean, p.mean)
			out[i].Draws = append(out[i].Draws, d.draw(&d.paths[at], p))
		}
	}
	return out, nil
}

// noPivot is the variance of a value of unit variance, given those before it, below which it is their function: about
// the rounding errors of a correlation.
const noPivot = 1e-12

// draw adds a point to a path and returns the draws of its value.
func (d *Draws) draw(p *path, at point) []float64 {
	row := make([]float64, len(p.points)+1)
	rest := 1.0
	for k, before := range p.points {
		if pivot := p.factor[k][k]; pivot > 0 {
			row[k] = (at.correlation(before) - floats.Dot(row[:k], p.factor[k][:k])) / pivot
			rest -= row[k] * row[k]
		}
	}
	if rest > noPivot {
		row[len(p.points)] = math.Sqrt(rest)
	}
	p.points, p.factor = append(p.points, at), append(p.factor, row)
	out := make([]float64, d.n)
	for k, weight := range row {
		floats.AddScaled(out, weight, d.normal(k))
	}
	for j, z := range out {
		if w := d.posterior.warp; w != nil {
			z = w.apply(z)
		}
		out[j] = at.mean + at.std*z
	}
	return out
}

// normal returns the standard normal numbers of value k of a path, which are drawn when a path is first so long.
func (d *Draws) normal(k int) []float64 {
	for len(d.noise) <= k {
		z := make([]float64, d.n)
		for j := range z {
			z[j] = d.rng.NormFloat64()
		}
		d.noise = append(d.noise, z)
	}
	return d.noise[k]
}
