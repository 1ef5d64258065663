package tabular

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/matmul"
)

// closedForm is the ClosedForm objective of one problem with FullCovariance and Whiten, in double precision, with its
// gradient by hand: a second implementation of newObjective's graph. In a batch's notation, with z ~ N(z̄, F Fᵀ) and
// the sparse contrasts E(a,s) = C_a(s) − C_0(s) of candidates with the first, so that E(a,s)·A₀ = D(a,s) − D(0,s),
//
//	W = A₀ F,   M(a,s) = E(a,s)·W,   h(a,s) ~ mean E(a,s)·A₀ z̄ + d(a,s) − d(0,s), covariances M(a,s)·M(b,s),
//	S(s) = Σ_a (w(a,s) − π(a,s)) M(a,s),   G = F − U S,   Σ = G Gᵀ + U diag(residual) Uᵀ,   μ = z̄ − U rise,
//	loss = ½ (tr Σ + |μ|² − log det Σ − n) − Σ counts·log p,
//
// where w, rise, residual and p follow from the moments of h, state by state (moments). Products of n × n matrices are
// all that grows as n³; contrasts are as sparse as transitions.
type closedForm struct {
	*batch
	maximum   graphs.Maximum
	contrasts [][]mdp.Transition // E: [S·(A−1)], index s·(A−1) + a − 1
	offsets   []float64          // d(a,s) − d(0,s), likewise
	states    []moments

	// what the last evaluation leaves: see objective
	kl, logLikelihood       float64
	rise, residual          []float64  // [S]
	values, whitened        []float64  // A₀ z̄, μ: [n]
	w, moved, surrogate     *mat.Dense // W [n, n], M [S·(A−1), n], S [S, n]
	gain, solved, inverse   *mat.Dense // G, R⁻ᵀG and then Σ⁻¹G, R⁻¹ or R⁻ᵀU with Σ = RᵀR
	lifted                  *mat.Dense // U √residual [n, S]; nil if diagonal
	cov                     *mat.SymDense
	slopeW, slopeMoved      *mat.Dense // derivatives of the loss, as all that follows
	slopeSurrogate          *mat.Dense
	slopeRise, slopeResidue []float64
	slopeValues             []float64

	factor      *mat.TriDense // F and its derivative, between at and evaluate
	slopeFactor *mat.Dense
}

// newClosedForm prepares the objective of a batch of one.
func newClosedForm(b *batch, maximum graphs.Maximum) *closedForm {
	n, states, others := b.dim, b.states, b.actions-1
	c := &closedForm{batch: b, maximum: maximum, states: make([]moments, states),
		rise: make([]float64, states), residual: make([]float64, states),
		values: make([]float64, n), whitened: make([]float64, n),
		w: mat.NewDense(n, n, nil), surrogate: mat.NewDense(states, n, nil),
		gain: mat.NewDense(n, n, nil), solved: mat.NewDense(n, n, nil), cov: mat.NewSymDense(n, nil),
		slopeW: mat.NewDense(n, n, nil), slopeSurrogate: mat.NewDense(states, n, nil),
		slopeRise: make([]float64, states), slopeResidue: make([]float64, states), slopeValues: make([]float64, n),
		factor: mat.NewTriDense(n, mat.Lower, nil), slopeFactor: mat.NewDense(n, n, nil)}
	c.moved, c.slopeMoved = mat.NewDense(states*max(others, 1), n, nil), mat.NewDense(states*max(others, 1), n, nil)
	if b.diagonal {
		c.inverse = mat.NewDense(n, n, nil)
	} else {
		c.inverse, c.lifted = mat.NewDense(n, states, nil), mat.NewDense(n, states, nil)
	}
	candidates := candidatesOf(b.problems[0])
	c.contrasts = contrastsOf(candidates, b.actions)
	for s := range states {
		c.states[s] = newMoments(b.actions)
		for a := range b.actions {
			c.states[s].distinct[a] = b.distinct[a*states+s] != 0
			c.states[s].counts[a] = b.counts[a*states+s]
			c.states[s].reference[a] = b.frames[0].reference[s*b.actions+a]
		}
		for a := range others {
			c.offsets = append(c.offsets, b.contrastOrigin[(a+1)*states+s]-b.contrastOrigin[s])
		}
	}
	return c
}

// contrastsOf returns E(a,s) = C_a(s) − C_0(s) for a ≥ 1 as sparse combinations of values, index s·(A−1) + a − 1.
func contrastsOf(candidates [][]mdp.Transition, actions int) [][]mdp.Transition {
	var out [][]mdp.Transition
	for i, row := range candidates {
		first := candidates[i/actions*actions]
		if i%actions == 0 {
			continue
		}
		gap := append([]mdp.Transition(nil), row...)
	terms:
		for _, t := range first {
			for k := range gap {
				if gap[k].Next == t.Next {
					gap[k].Prob -= t.Prob
					continue terms
				}
			}
			gap = append(gap, mdp.Transition{Next: t.Next, Prob: -t.Prob})
		}
		out = append(out, gap)
	}
	return out
}

// at implements form: n means, then the rows of the triangle of F.
func (c *closedForm) at(x, gradient []float64) float64 {
	n, raw := c.dim, c.factor.RawTriangular()
	at := n
	for i := range n {
		at += copy(raw.Data[i*raw.Stride:i*raw.Stride+i+1], x[at:])
	}
	if gradient == nil {
		return c.evaluate(x[:n], c.factor, nil, nil)
	}
	loss := c.evaluate(x[:n], c.factor, gradient[:n], c.slopeFactor)
	at = n
	for i := range n {
		at += copy(gradient[at:], c.slopeFactor.RawRowView(i)[:i+1])
	}
	return loss
}

// reading returns what a posterior is made of, at the mean and the factor that were evaluated last.
func (c *closedForm) reading(loss float64, mean []float64, factor *mat.TriDense) *reading {
	n, states, raw := c.dim, c.batch.states, factor.RawTriangular()
	r := &reading{loss: loss, mean: mean, spread: make([]float64, n*n), rise: c.rise, residual: c.residual,
		weights: make([]float64, c.actions*states), logProbs: make([]float64, c.actions*states)}
	for i := range n {
		copy(r.spread[i*n:], raw.Data[i*raw.Stride:i*raw.Stride+i+1])
	}
	for s, m := range c.states {
		for a := range c.actions {
			r.weights[a*states+s], r.logProbs[a*states+s] = m.weights[a], m.logProbs[a]
		}
	}
	return r
}

// parts implements form.
func (c *closedForm) parts() (kl, logLikelihood float64) { return c.kl, c.logLikelihood }

// evaluate returns the loss at a mean z̄ [n] and a lower triangular factor F [n, n], and unless slopeMean is nil sets
// its derivatives in them; those above the diagonal mean nothing. Where Σ is not positive definite the loss is +Inf.
func (c *closedForm) evaluate(mean []float64, factor *mat.TriDense, slopeMean []float64,
	slopeFactor *mat.Dense) float64 {
	n := c.dim
	basis, f := c.frames[0].basis, factor.RawTriangular()
	blas64.Gemv(blas.NoTrans, 1, basis.RawMatrix(), vector(mean), 0, vector(c.values))
	timesTriangle(basis, f, c.w)
	c.moved.Zero()
	c.surrogate.Zero()
	inBlocks(c.batch.states, func(from, to int) {
		for s := from; s < to; s++ {
			c.evaluateState(s)
		}
	})
	c.logLikelihood = 0
	for s := range c.states {
		m := &c.states[s]
		c.rise[s], c.residual[s] = m.rise, m.residual
		for a, count := range m.counts {
			c.logLikelihood += count * m.logProbs[a]
		}
	}

	// G, Σ and μ
	copy(c.whitened, mean)
	c.gain.Zero()
	for i := range n {
		copy(c.gain.RawRowView(i)[:i+1], f.Data[i*f.Stride:])
	}
	if c.diagonal {
		for s, u := range c.pull {
			c.whitened[s] -= u * c.rise[s]
			floats.AddScaled(c.gain.RawRowView(s), -u, c.surrogate.RawRowView(s))
		}
	} else {
		pull := mat.NewDense(n, c.batch.states, c.pull).RawMatrix()
		blas64.Gemv(blas.NoTrans, -1, pull, vector(c.rise), 1, vector(c.whitened))
		matmul.Add(blas.NoTrans, blas.NoTrans, -1, pull, c.surrogate.RawMatrix(), c.gain.RawMatrix())
	}
	square(c.gain, 0, c.cov)
	if c.diagonal {
		for s, u := range c.pull {
			c.cov.SetSym(s, s, c.cov.At(s, s)+u*u*c.residual[s])
		}
	} else {
		c.lifted.Apply(func(i, s int, _ float64) float64 {
			return c.pull[i*c.batch.states+s] * math.Sqrt(c.residual[s])
		}, c.lifted)
		square(c.lifted, 1, c.cov)
	}
	trace := 0.0
	for i := range n {
		v := c.cov.At(i, i)
		v += jitter(true) * max(v, 1)
		c.cov.SetSym(i, i, v)
		trace += v
	}
	root, ok := cholesky(c.cov.RawSymmetric())
	if !ok {
		return math.Inf(1)
	}
	logDet := 0.0
	for i := range n {
		logDet += 2 * math.Log(root.Data[i*root.Stride+i])
	}
	c.kl = 0.5 * (trace + floats.Dot(c.whitened, c.whitened) - logDet - float64(n))
	if slopeMean != nil {
		c.differentiate(root, slopeMean, slopeFactor)
	}
	return c.kl - c.logLikelihood
}

// evaluateState finds M, the moments of h, what follows from them, and S of one state.
func (c *closedForm) evaluateState(s int) {
	m, others := &c.states[s], c.actions-1
	for a := range others {
		row := c.moved.RawRowView(s*others + a)
		m.mean[a+1] = c.offsets[s*others+a]
		for _, t := range c.contrasts[s*others+a] {
			floats.AddScaled(row, t.Prob, c.w.RawRowView(t.Next))
			m.mean[a+1] += t.Prob * c.values[t.Next]
		}
		for b := range a + 1 {
			dot := floats.Dot(row, c.moved.RawRowView(s*others+b))
			m.cov[(a+1)*c.actions+b+1], m.cov[(b+1)*c.actions+a+1] = dot, dot
		}
	}
	m.evaluate(c.maximum, c.beta[0])
	for a := range others {
		floats.AddScaled(c.surrogate.RawRowView(s), m.weights[a+1]-m.reference[a+1], c.moved.RawRowView(s*others+a))
	}
}

// differentiate runs the chain rule back through evaluate: with P = ½(I − Σ⁻¹) the divergence's derivative in Σ and μ
// that in μ,
//
//	∂G = 2 P G,   ∂residual(s) = u_sᵀ P u_s,   ∂rise = −Uᵀ μ,   ∂S = −Uᵀ ∂G,   ∂F = ∂G + A₀ᵀ ∂W,   ∂z̄ = μ + A₀ᵀ ∂(A₀ z̄),
//	∂M(a,s) = (w(a,s) − π(a,s)) ∂S(s) + Σ_b (∂cov(a,b) + ∂cov(b,a)) M(b,s),   ∂w(a,s) = ∂S(s)·M(a,s),
//
// u_s the columns of U, ∂W and ∂(A₀ z̄) the sums of Eᵀ(a,s) ∂M(a,s) and of Eᵀ(a,s) ∂mean(a,s).
func (c *closedForm) differentiate(root blas64.Triangular, slopeMean []float64, slopeFactor *mat.Dense) {
	n, others := c.dim, c.actions-1
	inBlocks(n, func(from, to int) {
		columns := c.solved.Slice(0, n, from, to).(*mat.Dense)
		gain := c.gain.Slice(0, n, from, to)
		columns.Copy(gain)
		solve(blas.Trans, root, columns.RawMatrix())
		solve(blas.NoTrans, root, columns.RawMatrix())
		slopeFactor.Slice(0, n, from, to).(*mat.Dense).Sub(gain, columns)
	})
	if c.diagonal {
		invert(root, c.inverse)
		for s, u := range c.pull {
			row := c.inverse.RawRowView(s)[s:]
			c.slopeResidue[s] = 0.5 * u * u * (1 - floats.Dot(row, row))
			c.slopeRise[s] = -u * c.whitened[s]
			floats.ScaleTo(c.slopeSurrogate.RawRowView(s), -u, slopeFactor.RawRowView(s))
		}
	} else {
		pull := mat.NewDense(n, c.batch.states, c.pull)
		c.inverse.Copy(pull)
		solve(blas.Trans, root, c.inverse.RawMatrix())
		clear(c.slopeResidue)
		for i := range n {
			for s, u := range pull.RawRowView(i) {
				v := c.inverse.At(i, s)
				c.slopeResidue[s] += 0.5 * (u*u - v*v)
			}
		}
		blas64.Gemv(blas.Trans, -1, pull.RawMatrix(), vector(c.whitened), 0, vector(c.slopeRise))
		c.slopeSurrogate.Zero()
		matmul.Add(blas.Trans, blas.NoTrans, -1, pull.RawMatrix(), slopeFactor.RawMatrix(),
			c.slopeSurrogate.RawMatrix())
	}

	inBlocks(c.batch.states, func(from, to int) {
		for s := from; s < to; s++ {
			c.differentiateState(s)
		}
	})
	clear(c.slopeValues)
	for i, contrast := range c.contrasts {
		for _, t := range contrast {
			c.slopeValues[t.Next] += t.Prob * c.states[i/others].slopeMean[i%others+1]
		}
	}
	basis := c.frames[0].basis
	inBlocks(n, func(from, to int) {
		columns := c.slopeW.Slice(0, n, from, to).(*mat.Dense)
		columns.Zero()
		for i, contrast := range c.contrasts {
			for _, t := range contrast {
				floats.AddScaled(columns.RawRowView(t.Next), t.Prob, c.slopeMoved.RawRowView(i)[from:to])
			}
		}
	})
	inBlocks(n, func(from, to int) { // the lower triangle
		matmul.Add(blas.Trans, blas.NoTrans, 1, basis.Slice(0, n, from, to).(*mat.Dense).RawMatrix(),
			c.slopeW.Slice(0, n, 0, to).(*mat.Dense).RawMatrix(),
			slopeFactor.Slice(from, to, 0, to).(*mat.Dense).RawMatrix())
	})
	copy(slopeMean, c.whitened)
	blas64.Gemv(blas.Trans, 1, basis.RawMatrix(), vector(c.slopeValues), 1, vector(slopeMean))
}

// differentiateState finds the derivatives in the moments of one state and in its rows of M.
func (c *closedForm) differentiateState(s int) {
	m, others, through := &c.states[s], c.actions-1, c.slopeSurrogate.RawRowView(s)
	for a := range others {
		m.slopeWeights[a+1] = floats.Dot(through, c.moved.RawRowView(s*others+a))
	}
	m.differentiate(c.maximum, c.beta[0], c.slopeRise[s], c.slopeResidue[s])
	for a := range others {
		row := c.slopeMoved.RawRowView(s*others + a)
		floats.ScaleTo(row, m.weights[a+1]-m.reference[a+1], through)
		for b := range others {
			slope := m.slopeCov[(a+1)*c.actions+b+1] + m.slopeCov[(b+1)*c.actions+a+1]
			floats.AddScaled(row, slope, c.moved.RawRowView(s*others+b))
		}
	}
}
