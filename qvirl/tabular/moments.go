package tabular

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/graphs"
)

// moments are the Gaussian candidates h(a) of one state, and what follows from them: the surrogate of their maximum
// (Eq. clark-weights) and the closed-form likelihood (Eq. mean-field-action-prob), with derivatives. The first
// candidate is zero.
type moments struct {
	mean, cov                         []float64 // of h: [A], [A, A]
	distinct                          []bool    // [A], false where a candidate repeats an earlier one
	counts, reference                 []float64 // [A]: demonstrations; π
	weights, logProbs                 []float64 // [A]: w; log p
	rise, residual                    float64
	slopeMean, slopeCov, slopeWeights []float64 // derivatives of the loss in mean, cov and weights

	sweep  []pair    // of Clark's, [A]
	moved  []float64 // cov·w [A]
	shares []float64 // [A]
}

// pair is a step of Clark's sweep: what the maximum M of the candidates before has with the next one.
type pair struct {
	mean, variance, omega float64   // of M; the deviation of M − h
	floored, clamped      bool      // ω² or the variance of the new maximum is its floor
	density, upper        float64   // φ(ν), Φ(−ν) with ν the mean of M − h over ω
	weights               []float64 // of the candidates before
}

func newMoments(actions int) moments {
	vector := func() []float64 { return make([]float64, actions) }
	m := moments{mean: vector(), cov: make([]float64, actions*actions), distinct: make([]bool, actions),
		counts: vector(), reference: vector(), weights: vector(), logProbs: vector(), slopeMean: vector(),
		slopeCov: make([]float64, actions*actions), slopeWeights: vector(), sweep: make([]pair, actions),
		moved: vector(), shares: vector()}
	for i := range m.sweep {
		m.sweep[i].weights = vector()
	}
	return m
}

// evaluate finds rise, residual, weights and logProbs.
func (m *moments) evaluate(maximum graphs.Maximum, beta float64) {
	var mean, variance float64
	if maximum == graphs.MaxMean {
		best := floats.MaxIdx(m.mean)
		clear(m.weights)
		m.weights[best] = 1
		mean, variance = m.mean[best], m.at(best, best)
	} else {
		mean, variance = m.clark()
	}
	for a := range m.weights {
		m.moved[a] = floats.Dot(m.cov[a*len(m.mean):(a+1)*len(m.mean)], m.weights)
	}
	m.residual = max(variance-floats.Dot(m.weights, m.moved), 0)
	m.rise = mean - floats.Dot(m.reference, m.mean)

	for a := range m.mean {
		for b := range m.mean {
			_, _, m.shares[b] = m.exponent(a, b, beta)
		}
		m.logProbs[a] = -floats.LogSumExp(m.shares)
	}
}

func (m *moments) at(a, b int) float64 { return m.cov[a*len(m.mean)+b] }

// exponent returns the variance of h(a) − h(b), σ² = 1 + 3β²/π² of it, and −β/σ times its mean: minus the logarithm of
// p(a) is that of the sum of their exponentials over b.
func (m *moments) exponent(a, b int, beta float64) (variance, sigma, x float64) {
	variance = max(m.at(a, a)+m.at(b, b)-2*m.at(a, b), 0)
	sigma = math.Sqrt(1 + 3/(math.Pi*math.Pi)*beta*beta*variance)
	return variance, sigma, -beta * (m.mean[a] - m.mean[b]) / sigma
}

// clark returns the mean and the variance of the maximum by Clark's sweep (graphs.ClarkMax), and sets the weights.
func (m *moments) clark() (mean, variance float64) {
	w := m.weights
	clear(w)
	w[0], mean, variance = 1, m.mean[0], m.at(0, 0)
	for i := 1; i < len(w); i++ {
		if !m.distinct[i] {
			continue
		}
		p := &m.sweep[i]
		p.mean, p.variance = mean, variance
		copy(p.weights, w[:i])
		next := m.at(i, i)
		gap, omega2 := mean-m.mean[i], variance+next
		floor := leastVariance(omega2, gap)
		for j := range i {
			omega2 -= 2 * w[j] * m.at(j, i)
		}
		p.floored = omega2 <= floor
		p.omega = math.Sqrt(max(omega2, floor))
		nu := gap / p.omega
		p.density = math.Exp(-0.5*nu*nu) / math.Sqrt(2*math.Pi)
		p.upper = 0.5 * math.Erfc(nu/math.Sqrt2)
		lower, spread := 1-p.upper, p.omega*p.density
		mean = m.mean[i] + gap*lower + spread
		between := variance*lower + next*p.upper
		after := between + gap*gap*lower*p.upper + gap*spread*(p.upper-lower) - spread*spread
		least := leastVariance(between, 0)
		p.clamped = after <= least
		variance = max(after, least)
		for j := range i {
			w[j] *= lower
		}
		w[i] = p.upper
	}
	return mean, variance
}

// leastVariance is the floor under variances that rounding may turn negative, as in graphs.ClarkMax.
func leastVariance(sum, gap float64) float64 { return 1e-10*max(sum, 0) + 1e-12*gap*gap + 1e-290 }

// differentiate sets slopeMean and slopeCov, whose entries are each of one entry of cov, given the loss's derivatives
// in rise, residual and slopeWeights, which it overwrites. The loss has minus the log-likelihood.
func (m *moments) differentiate(maximum graphs.Maximum, beta, slopeRise, slopeResidual float64) {
	n := len(m.mean)
	clear(m.slopeCov)
	for a, p := range m.reference {
		m.slopeMean[a] = -slopeRise * p
	}
	if maximum == graphs.MaxMean { // the weights are constant, and leave no residual
		floats.AddScaled(m.slopeMean, slopeRise, m.weights)
	} else {
		slopeVar := 0.0
		if m.residual > 0 { // residual = varMax − wᵀ cov w
			slopeVar = slopeResidual
			for a, w := range m.weights {
				m.slopeWeights[a] -= 2 * slopeResidual * m.moved[a]
				floats.AddScaled(m.slopeCov[a*n:(a+1)*n], -slopeResidual*w, m.weights)
			}
		}
		m.clarkBack(slopeRise, slopeVar)
	}

	// −log p(a) = log Σ_b exp x_b, x_b = −β (mean_a − mean_b)/σ, dσ = 3β²/(2π²σ) d(variance)
	for a, count := range m.counts {
		if count == 0 {
			continue
		}
		for b := range n {
			variance, sigma, x := m.exponent(a, b, beta)
			share := count * math.Exp(x+m.logProbs[a])
			m.slopeMean[a] -= share * beta / sigma
			m.slopeMean[b] += share * beta / sigma
			if variance > 0 {
				slope := -share * x / (sigma * sigma) * 1.5 / (math.Pi * math.Pi) * beta * beta
				m.slopeCov[a*n+a] += slope
				m.slopeCov[b*n+b] += slope
				m.slopeCov[a*n+b] -= 2 * slope
			}
		}
	}
}

// clarkBack runs Clark's sweep backwards, from the loss's derivatives in the mean and the variance of the maximum and
// in its weights.
func (m *moments) clarkBack(slopeMean, slopeVar float64) {
	n, slopeW := len(m.mean), m.slopeWeights
	for i := n - 1; i > 0; i-- {
		if !m.distinct[i] {
			continue
		}
		p := &m.sweep[i]
		gap, next, upper, lower := p.mean-m.mean[i], m.at(i, i), p.upper, 1-p.upper
		spread := p.omega * p.density

		// w_j → w_j·lower, w_i = upper; mean → mean_i + gap·lower + spread
		slopeUpper, slopeLower := slopeW[i], floats.Dot(slopeW[:i], p.weights[:i])
		floats.Scale(lower, slopeW[:i])
		m.slopeMean[i] += slopeMean
		slopeGap, slopeSpread := slopeMean*lower, slopeMean
		slopeLower += slopeMean * gap

		// variance → variance·lower + next·upper + gap²·lower·upper + gap·spread·(upper − lower) − spread²
		slopeBefore := 0.0
		if !p.clamped {
			slopeBefore = slopeVar * lower
			m.slopeCov[i*n+i] += slopeVar * upper
			slopeLower += slopeVar * (p.variance + gap*gap*upper - gap*spread)
			slopeUpper += slopeVar * (next + gap*gap*lower + gap*spread)
			slopeGap += slopeVar * (2*gap*lower*upper + spread*(upper-lower))
			slopeSpread += slopeVar * (gap*(upper-lower) - 2*spread)
		}

		// upper = Φ(−ν), lower = 1 − upper, spread = ω φ(ν), ν = gap/ω
		nu := gap / p.omega
		slopeNu := -(slopeUpper-slopeLower)*p.density - slopeSpread*spread*nu
		slopeOmega := slopeSpread*p.density - slopeNu*nu/p.omega
		slopeGap += slopeNu / p.omega
		if !p.floored { // ω² = variance + next − 2 Σ_j w_j cov(j,i)
			slope := slopeOmega / (2 * p.omega)
			slopeBefore += slope
			m.slopeCov[i*n+i] += slope
			for j := range i {
				slopeW[j] -= 2 * slope * m.at(j, i)
				m.slopeCov[j*n+i] -= 2 * slope * p.weights[j]
			}
		}
		m.slopeMean[i] -= slopeGap
		slopeMean, slopeVar = slopeGap, slopeBefore
	}
	m.slopeMean[0] += slopeMean
	m.slopeCov[0] += slopeVar
}
