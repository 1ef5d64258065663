package exact

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"
)

// moments are weighted sums of powers of quantities x, from which their means and standard deviations follow, and the
// errors of these under self-normalised importance sampling:
//
//	μ = Σ w x / Σ w,              var μ ≈ Σ w² (x − μ)² / (Σ w)²
//	σ² = Σ w (x − μ)² / Σ w,      var σ ≈ Σ w² ((x − μ)² − σ²)² / (2 σ Σ w)²
//
// The powers are of t = (x − centre)/scale, so that nothing cancels where x is far from zero.
type moments struct {
	centre, scale []float64
	top           float64 // log weight by which all weights are divided
	w, ww         float64 // Σ w, Σ w²
	first, second []float64
	square        [4][]float64 // Σ w² t^k, k = 1 … 4
}

func newMoments(centre, scale []float64) *moments {
	m := &moments{centre: centre, scale: scale, top: math.Inf(-1), first: make([]float64, len(centre)),
		second: make([]float64, len(centre))}
	for k := range m.square {
		m.square[k] = make([]float64, len(centre))
	}
	return m
}

// rescale divides the weights by exp(top) from now on, if that is more than before.
func (m *moments) rescale(top float64) {
	if top <= m.top {
		return
	}
	f := math.Exp(m.top - top) // 0 at first
	m.top = top
	m.w *= f
	m.ww *= f * f
	floats.Scale(f, m.first)
	floats.Scale(f, m.second)
	for _, sums := range m.square {
		floats.Scale(f*f, sums)
	}
}

// add adds quantities x with a log weight.
func (m *moments) add(logWeight float64, x []float64) {
	m.rescale(logWeight)
	w := math.Exp(logWeight - m.top)
	if w == 0 {
		return
	}
	m.w += w
	m.ww += w * w
	for i, v := range x {
		t := (v - m.centre[i]) / m.scale[i]
		m.first[i] += w * t
		m.second[i] += w * t * t
		p := w * w
		for k := range m.square {
			p *= t
			m.square[k][i] += p
		}
	}
}

// merge adds the sums of other, which has the same centre and scale.
func (m *moments) merge(other *moments) {
	m.rescale(other.top)
	f := math.Exp(other.top - m.top)
	m.w += f * other.w
	m.ww += f * f * other.ww
	floats.AddScaled(m.first, f, other.first)
	floats.AddScaled(m.second, f, other.second)
	for k, sums := range m.square {
		floats.AddScaled(sums, f*f, other.square[k])
	}
}

// effectiveSize is (Σ w)² / Σ w².
func (m *moments) effectiveSize() float64 { return m.w * m.w / m.ww }

// estimates returns mean and standard deviation of each quantity, with their errors.
func (m *moments) estimates() estimates {
	e := newEstimates(len(m.first))
	for i := range m.first {
		mu := m.first[i] / m.w
		variance := max(m.second[i]/m.w-mu*mu, 0)
		s1, s2, s3, s4 := m.square[0][i], m.square[1][i], m.square[2][i], m.square[3][i]
		c2 := s2 - 2*mu*s1 + mu*mu*m.ww
		c4 := s4 - 4*mu*s3 + 6*mu*mu*s2 - 4*mu*mu*mu*s1 + mu*mu*mu*mu*m.ww
		e.mean[i], e.std[i] = m.centre[i]+m.scale[i]*mu, m.scale[i]*math.Sqrt(variance)
		e.meanError[i] = m.scale[i] * math.Sqrt(max(c2, 0)) / m.w
		if variance > 0 {
			e.stdError[i] = m.scale[i] * math.Sqrt(max(c4-2*variance*c2+variance*variance*m.ww,
				0)) / (2 * math.Sqrt(variance) * m.w)
		}
	}
	return e
}

// estimates are means and standard deviations of quantities with their errors.
type estimates struct{ mean, std, meanError, stdError []float64 }

func newEstimates(n int) estimates {
	return estimates{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

// summary arranges the estimates of likelihood's quantities as an answer.
func (e estimates) summary(p *irl.Problem) summary.Summary {
	s := arrange(p, e.mean, e.std)
	errors := arrange(p, e.meanError, e.stdError)
	s.Error = &errors
	return s
}

func arrange(p *irl.Problem, mean, std []float64) summary.Summary {
	n, states := p.RewardDim(), p.MDP.States()
	last := n + states + states*p.MDP.Actions()
	s := summary.Summary{RewardMean: mean[:n], RewardStd: std[:n], ValueMean: mean[n : n+states],
		ValueStd: std[n : n+states], Policy: mean[n+states : last]}
	if p.InfersBeta() {
		s.BetaMean, s.BetaStd = mean[last], std[last]
	}
	return s
}
