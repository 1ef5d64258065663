package exact

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// gaussian is N(μ, C Cᵀ).
type gaussian struct {
	mean   []float64
	chol   []float64 // C, lower triangular, row by row [d, d]
	logDet float64   // of C
}

// fitGaussian returns the Gaussian of weighted points with its covariance inflated, or false if that is singular.
func fitGaussian(points [][]float64, weights []float64, inflation float64, add *mat.SymDense,
	addWeight float64) (*gaussian, *mat.SymDense, bool) {
	d := len(points[0])
	mean, total := make([]float64, d), floats.Sum(weights)
	for i, z := range points {
		floats.AddScaled(mean, weights[i]/total, z)
	}
	cov := mat.NewSymDense(d, nil)
	raw := cov.RawSymmetric()
	t := make([]float64, d)
	for i, z := range points {
		w := weights[i] / (total + addWeight)
		if w == 0 {
			continue
		}
		floats.SubTo(t, z, mean)
		for j, a := range t {
			floats.AddScaled(raw.Data[j*raw.Stride+j:j*raw.Stride+d], w*a, t[j:])
		}
	}
	if add != nil {
		var scaled mat.SymDense
		scaled.ScaleSym(addWeight/(total+addWeight), add)
		cov.AddSym(cov, &scaled)
	} else if cov = clipped(cov, total*total/floats.Dot(weights, weights)); cov == nil {
		return nil, nil, false
	}
	g, ok := newGaussian(mean, cov, inflation)
	return g, cov, ok
}

// clipped returns the covariance of n points with those eigenvalues set to 1 that differ from it no more than those of
// n draws of N(0, I) would (Marčenko and Pastur, 1967): in most directions a posterior is the prior. It is nil if there
// are no eigenvalues.
func clipped(cov *mat.SymDense, n float64) *mat.SymDense {
	var eigen mat.EigenSym
	if !eigen.Factorize(cov, true) {
		return nil
	}
	d := cov.SymmetricDim()
	values, ratio := eigen.Values(nil), math.Sqrt(float64(d)/n)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for j, v := range values {
		if v > (1-ratio)*(1-ratio) && v < (1+ratio)*(1+ratio) || n < float64(d) {
			v = 1
		}
		for i := range d {
			vectors.Set(i, j, vectors.At(i, j)*math.Sqrt(max(v, 0)))
		}
	}
	var out mat.SymDense
	out.SymOuterK(1, &vectors)
	return &out
}

func newGaussian(mean []float64, cov *mat.SymDense, inflation float64) (*gaussian, bool) {
	var chol mat.Cholesky
	var scaled mat.SymDense
	scaled.ScaleSym(inflation, cov)
	for i := range mean { // against rounding where points nearly lie in a plane
		scaled.SetSym(i, i, scaled.At(i, i)*(1+1e-10))
	}
	if !chol.Factorize(&scaled) {
		return nil, false
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	return &gaussian{mean: mean, chol: mat.DenseCopyOf(&lower).RawMatrix().Data, logDet: chol.LogDet() / 2}, true
}

// draw writes mean + C e for standard normal e to z.
func (g *gaussian) draw(rng *rand.Rand, z []float64) {
	d := len(z)
	for i := range z {
		z[i] = rng.NormFloat64()
	}
	for i := d - 1; i >= 0; i-- {
		z[i] = g.mean[i] + floats.Dot(g.chol[i*d:i*d+i+1], z[:i+1])
	}
}

// log is the log density at z up to the constant d/2 · log 2π. scratch has the length of z.
func (g *gaussian) log(z, scratch []float64) float64 {
	d, sum := len(z), 0.0
	for i := range z {
		row := g.chol[i*d : i*d+i+1]
		v := (z[i] - g.mean[i] - floats.Dot(row[:i], scratch[:i])) / row[i]
		scratch[i] = v
		sum += v * v
	}
	return -sum/2 - g.logDet
}

// mixture is a proposal: Gaussians, and a share of the prior that keeps weights bounded.
type mixture struct {
	parts []*gaussian
	share []float64 // of each part; the prior has the rest
}

// defence is the share of the prior in a mixture.
const defence = 0.05

func (m *mixture) draw(rng *rand.Rand, z []float64) {
	u := rng.Float64()
	for k, share := range m.share {
		if u -= share; u < 0 {
			m.parts[k].draw(rng, z)
			return
		}
	}
	priorProposal{}.draw(rng, z)
}

func (m *mixture) logRatio(z []float64) float64 {
	prior := -floats.Dot(z, z) / 2
	logs := []float64{prior + math.Log(defence)}
	scratch := make([]float64, len(z))
	for k, part := range m.parts {
		logs = append(logs, part.log(z, scratch)+math.Log(m.share[k]))
	}
	return prior - floats.LogSumExp(logs)
}

// fitMixture fits Gaussians to weighted points by expectation maximisation (Dempster, Laird and Rubin, 1977). The
// covariances are shrunk a little to that of all points, and inflated.
func fitMixture(points [][]float64, weights []float64, parts int, inflation float64, rng *rand.Rand) (*mixture, bool) {
	d := len(points[0])
	all, cov, ok := fitGaussian(points, weights, inflation, nil, 0)
	if !ok {
		return nil, false
	}
	single := &mixture{parts: []*gaussian{all}, share: []float64{1 - defence}}
	if parts == 1 {
		return single.withTails(), true
	}
	total, square := floats.Sum(weights), floats.Dot(weights, weights)
	size := total * total / square // effective number of points
	resp := make([][]float64, parts)
	for k := range resp {
		resp[k] = make([]float64, len(points))
	}
	// Points belong at first to the nearest of a few that are drawn by weight.
	cumulative := floats.CumSum(make([]float64, len(weights)), weights)
	centres := make([][]float64, parts)
	for k := range centres {
		i := 0
		for u := rng.Float64() * total; i < len(cumulative)-1 && cumulative[i] < u; i++ {
		}
		centres[k] = points[i]
	}
	scratch := make([]float64, d)
	for i, z := range points {
		best, bestK := math.Inf(-1), 0
		for k, c := range centres {
			if v := (&gaussian{mean: c, chol: all.chol}).log(z, scratch); v > best {
				best, bestK = v, k
			}
		}
		resp[bestK][i] = 1
	}
	m, w := &mixture{}, make([]float64, len(points))
	logs := make([]float64, parts)
	for range 20 {
		m.parts, m.share = nil, nil
		for k := range resp {
			mass := 0.0
			for i, r := range resp[k] {
				w[i] = weights[i] * r * size / total
				mass += w[i]
			}
			if mass < float64(2*d+2) {
				continue
			}
			if g, _, ok := fitGaussian(points, w, 1, cov, float64(d)/4); ok {
				m.parts, m.share = append(m.parts, g), append(m.share, mass)
			}
		}
		if len(m.parts) == 0 {
			return single.withTails(), true
		}
		floats.Scale((1-defence)/floats.Sum(m.share), m.share)
		logs, resp = logs[:len(m.parts)], resp[:len(m.parts)]
		for i, z := range points {
			for k, g := range m.parts {
				logs[k] = g.log(z, scratch) + math.Log(m.share[k])
			}
			sum := floats.LogSumExp(logs)
			for k := range logs {
				resp[k][i] = math.Exp(logs[k] - sum)
			}
		}
	}
	for k, g := range m.parts {
		m.parts[k] = g.inflated(inflation)
	}
	return m.withTails(), true
}

// withTails gives each Gaussian a wider copy with a quarter of its share, since posteriors have longer tails than it.
func (m *mixture) withTails() *mixture {
	out := &mixture{}
	for k, g := range m.parts {
		out.parts = append(out.parts, g, g.inflated(1+2/math.Sqrt(float64(len(g.mean)))))
		out.share = append(out.share, 0.75*m.share[k], 0.25*m.share[k])
	}
	return out
}

// inflated returns the Gaussian with its covariance multiplied by factor.
func (g *gaussian) inflated(factor float64) *gaussian {
	root := math.Sqrt(factor)
	out := &gaussian{mean: g.mean, chol: make([]float64, len(g.chol)),
		logDet: g.logDet + float64(len(g.mean))*math.Log(root)}
	floats.ScaleTo(out.chol, root, g.chol)
	return out
}
