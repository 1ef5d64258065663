package tabular

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/irl"
)

// sparseForm is the objective of closedForm for state-only rewards that are independent a priori, and a covariance of z
// that is diagonal but for a low rank, in which nothing is as large as S². In a batch's notation, with B = I − T C and
// L the prior's standard deviations,
//
//	cov z = (diag(d)⁻² + U Uᵀ)⁻¹ = diag(d)² − Y Yᵀ,   x = x₀ + B₀⁻¹ L z,
//
// the demonstrations' information, which is of low rank, is added to the precision: it takes variance from the values.
// The precision of the values is sparse but for that rank, and so is that of values and rewards together:
//
//	P = B₀ᵀ diag(l d)⁻² B₀ + Q Qᵀ,   Q = B₀ᵀ L⁻¹ U,   Σ_x = P⁻¹,
//	Σ = L⁻¹ B_w Σ_x B_wᵀ L⁻¹ + E,   E = diag(u² residual),   N = P + B_wᵀ H B_w,   H = L⁻¹ E⁻¹ L⁻¹,
//	log det Σ = log det E + log det N − log det P,
//
// B_w the operator of the policy w(a|s) that Clark's weights are. The trace of Σ and the moments of h need Σ_x between
// a state's neighbours only, which are within the band of the sparse part of P; Q is a few solves more.
type sparseForm struct {
	problem    *irl.Problem
	maximum    graphs.Maximum
	n, actions int
	rank       int
	unit, beta float64   // of reward, a power of two; β γ in it
	std, step  []float64 // l and the diagonal of T: [S]
	candidates [][]mdp.Transition
	states     []moments
	locals     []local

	reference, origin []float64 // π [S·A], x₀ [S]
	scaling           *scaling  // of points; nil: they are as they are

	// what the last evaluation leaves
	kl, logLikelihood           float64
	logDet                      float64     // of the values' covariance
	rise, residual              []float64   // [S]
	values, whitened            []float64   // B₀⁻¹ L z̄, μ: [S]
	valueVar, trace             []float64   // diagonals of Σ_x and of L⁻¹ B_w Σ_x B_wᵀ L⁻¹: [S]
	base, joint                 *bandMatrix // the sparse parts of P and N
	inverse, jointInverse       *bandMatrix // their inverses within the band
	slope, sandwich             *bandMatrix
	slopeValues                 []float64
	spread, jointSpread, turned *mat.Dense // Y_x with Σ_x = base⁻¹ − Y_x Y_xᵀ; of N likewise; base⁻¹ K Y_x: [S, rank]
}

// local is what one state of a sparseForm needs: itself and the successors of all its actions, in the coordinates of
// which the rest is.
type local struct {
	index   []int       // [k]
	own     []float64   // its row of B₀
	gaps    [][]float64 // E(a,s), a ≥ 1
	offsets []float64   // E(a,s)·x₀
	policy  []float64   // its row of B_w
	cov     []float64   // Σ_x [k, k]
	joint   []float64   // N⁻¹ [k, k]
}

// leastResidual is added to the whitened variances u² residual, which may be zero: the inverse of what is added enters
// sums with entries of size one, which then keep half of their digits.
const leastResidual = 1e-8

// newSparseForm prepares the objective of a problem, with the uniform policy for a reference.
func newSparseForm(p *irl.Problem, c Config, rank int) (*sparseForm, error) {
	n, actions := p.MDP.States(), p.MDP.Actions()
	_, exponent := math.Frexp(floats.Max(p.Prior.Std))
	f := &sparseForm{problem: p, maximum: c.Maximum, n: n, actions: actions, rank: rank,
		unit: math.Ldexp(1, exponent-1), std: append([]float64(nil), p.Prior.Std...), step: make([]float64, n),
		candidates: candidatesOf(p), states: make([]moments, n), locals: make([]local, n),
		rise: make([]float64, n), residual: make([]float64, n), values: make([]float64, n),
		whitened: make([]float64, n), valueVar: make([]float64, n), trace: make([]float64, n),
		slopeValues: make([]float64, n)}
	floats.Scale(1/f.unit, f.std)
	f.beta = p.Beta * p.Discount * f.unit
	contrasts, counts := contrastsOf(f.candidates, actions), c.demoCounts(p)
	for s := range n {
		if !p.MDP.Terminal(s) {
			f.step[s] = p.Discount
		}
		m, l := newMoments(actions), &f.locals[s]
		place := map[int]int{s: 0}
		l.index = []int{s}
		for a := range actions {
			m.distinct[a], m.counts[a] = !repeats(f.candidates, s*actions, a), counts[s*actions+a]
			for _, t := range f.candidates[s*actions+a] {
				if _, ok := place[t.Next]; !ok {
					place[t.Next] = len(l.index)
					l.index = append(l.index, t.Next)
				}
			}
		}
		k := len(l.index)
		l.own, l.policy, l.offsets = make([]float64, k), make([]float64, k), make([]float64, actions-1)
		l.cov, l.joint = make([]float64, k*k), make([]float64, k*k)
		for a := range actions - 1 {
			gap := make([]float64, k)
			for _, t := range contrasts[s*(actions-1)+a] {
				gap[place[t.Next]] = t.Prob
			}
			l.gaps = append(l.gaps, gap)
		}
		f.states[s] = m
	}
	place, width := p.MDP.Numbering()
	for _, b := range []**bandMatrix{&f.base, &f.joint, &f.inverse, &f.jointInverse, &f.slope, &f.sandwich} {
		*b = newBandMatrix(place, width)
	}
	f.spread, f.jointSpread, f.turned = mat.NewDense(n, rank, nil), mat.NewDense(n, rank, nil),
		mat.NewDense(n, rank, nil)
	return f, f.refer(p.MDP.Uniform())
}

// refer makes a policy [S·A] the reference.
func (f *sparseForm) refer(policy []float64) error {
	var err error
	if f.origin, err = f.problem.MDP.PolicyValue(policy, f.problem.Prior.Mean, f.problem.Discount); err != nil {
		return fmt.Errorf("tabular: the reference policy: %w", err)
	}
	f.reference = policy
	floats.Scale(1/f.unit, f.origin)
	for s := range f.locals {
		l, reference := &f.locals[s], policy[s*f.actions:(s+1)*f.actions]
		copy(f.states[s].reference, reference)
		clear(l.own)
		l.own[0] = 1
		for a, p := range reference {
			for _, t := range f.candidates[s*f.actions+a] {
				for k, i := range l.index {
					if i == t.Next {
						l.own[k] -= f.step[s] * p * t.Prob
					}
				}
			}
		}
		for a, gap := range l.gaps {
			l.offsets[a] = 0
			for k, i := range l.index {
				l.offsets[a] += gap[k] * f.origin[i]
			}
		}
	}
	return nil
}

// operate returns B₀ y, y [S, k], or B₀ᵀ y.
func (f *sparseForm) operate(y *mat.Dense, transposed bool) *mat.Dense {
	_, k := y.Dims()
	out := mat.NewDense(f.n, k, nil)
	for s := range f.locals {
		for j, i := range f.locals[s].index {
			to, from := s, i
			if transposed {
				to, from = i, s
			}
			floats.AddScaled(out.RawRowView(to), f.locals[s].own[j], y.RawRowView(from))
		}
	}
	return out
}

// unpack returns the parts of a point: z̄ [S], log d [S] and U [S, rank].
func (f *sparseForm) unpack(x []float64) (mean, logStd []float64, factor *mat.Dense) {
	return x[:f.n], x[f.n : 2*f.n], mat.NewDense(f.n, f.rank, x[2*f.n:])
}

// precisions returns diag(l d)⁻².
func (f *sparseForm) precisions(logStd []float64) []float64 {
	out := make([]float64, f.n)
	for s, v := range logStd {
		out[s] = math.Exp(-2*v) / (f.std[s] * f.std[s])
	}
	return out
}

// factorize makes the sparse part of P, whose diagonal is given, and reports whether it is positive definite.
func (f *sparseForm) factorize(delta []float64) bool {
	f.base.zero()
	for s := range f.locals {
		f.base.addOuter(f.locals[s].index, delta[s], f.locals[s].own)
	}
	return f.base.factorize()
}

// information returns Q [S, rank].
func (f *sparseForm) information(factor *mat.Dense) *mat.Dense {
	scaled := mat.DenseCopyOf(factor)
	for s := range f.n {
		floats.Scale(1/f.std[s], scaled.RawRowView(s))
	}
	return f.operate(scaled, true)
}

// at implements form, in the coordinates of the scaling: z̄ and log d, then the rows of U.
func (f *sparseForm) at(y, gradient []float64) float64 {
	if f.scaling == nil {
		return f.evaluate(y, gradient)
	}
	loss := f.evaluate(f.point(y), gradient)
	if gradient != nil {
		copy(gradient, f.point(gradient))
	}
	return loss
}

// evaluate is at for points as they are.
func (f *sparseForm) evaluate(x, gradient []float64) float64 {
	mean, logStd, factor := f.unpack(x)
	n, rank := f.n, f.rank
	delta := f.precisions(logStd)
	if !f.factorize(delta) {
		return math.Inf(1)
	}

	// base⁻¹ [Q, B₀ᵀ diag(l d)⁻² L z̄], of which the last is B₀⁻¹ L z̄
	information := f.information(factor)
	scaled := mat.NewDense(n, 1, nil)
	for s := range n {
		scaled.Set(s, 0, delta[s]*f.std[s]*mean[s])
	}
	solved := mat.NewDense(n, rank+1, nil)
	solved.Augment(information, f.operate(scaled, true))
	f.base.solve(solved)
	mat.Col(f.values, rank, solved)
	root, logDet := lowRankRoot(information, solved.Slice(0, n, 0, rank).(*mat.Dense), f.spread)
	if root == nil {
		return math.Inf(1)
	}
	f.base.invert(f.inverse)

	inBlocks(n, func(from, to int) {
		for s := from; s < to; s++ {
			f.evaluateState(s)
		}
	})
	f.logLikelihood, f.logDet = 0, 2*float64(n)*math.Log(f.unit)-f.base.logDet-logDet
	f.kl = -f.base.logDet - logDet
	f.joint.zero()
	for s := range f.locals {
		m, l := &f.states[s], &f.locals[s]
		for a, count := range m.counts {
			f.logLikelihood += count * m.logProbs[a]
		}
		u := f.step[s] / f.std[s]
		f.rise[s], f.residual[s], f.whitened[s] = m.rise, m.residual, mean[s]-u*m.rise
		own := u*u*m.residual + leastResidual
		f.kl += math.Log(own) - f.trace[s] - own - f.whitened[s]*f.whitened[s] + 1 // −2 of the divergence, as it grows
		f.joint.addOuter(l.index, delta[s], l.own)
		f.joint.addOuter(l.index, 1/(own*f.std[s]*f.std[s]), l.policy)
	}
	if !f.joint.factorize() {
		return math.Inf(1)
	}
	jointSolved := mat.DenseCopyOf(information)
	f.joint.solve(jointSolved)
	jointRoot, jointLogDet := lowRankRoot(information, jointSolved, f.jointSpread)
	if jointRoot == nil {
		return math.Inf(1)
	}
	f.kl = -0.5 * (f.kl + f.joint.logDet + jointLogDet)
	if gradient != nil {
		f.differentiate(delta, root, jointRoot, gradient)
	}
	return f.kl - f.logLikelihood
}

// lowRankRoot sets spread to base⁻¹ Q R⁻¹ with RᵀR = I + Qᵀ base⁻¹ Q, given Q and base⁻¹ Q, so that (base + Q Qᵀ)⁻¹ is
// base⁻¹ − spread spreadᵀ. It returns R, nil if there is none, and log det RᵀR.
func lowRankRoot(q, solved, spread *mat.Dense) (root *blas64.Triangular, logDet float64) {
	_, rank := q.Dims()
	spread.Copy(solved)
	gram := mat.NewDense(rank, rank, nil)
	gram.Mul(q.T(), solved)
	for i := range rank {
		gram.Set(i, i, gram.At(i, i)+1)
	}
	r, ok := lapack64.Potrf(blas64.Symmetric{N: rank, Stride: rank, Data: gram.RawMatrix().Data, Uplo: blas.Upper})
	if !ok {
		return nil, 0
	}
	for i := range rank {
		logDet += 2 * math.Log(gram.At(i, i))
	}
	blas64.Trsm(blas.Right, blas.NoTrans, 1, r, spread.RawMatrix())
	return &r, logDet
}

// gather sets block [k, k] to the entries of inverse − spread spreadᵀ at the rows and columns of index.
func gather(block []float64, index []int, inverse *bandMatrix, spread *mat.Dense) {
	for k, i := range index {
		for l := range k + 1 {
			v := inverse.at(i, index[l]) - floats.Dot(spread.RawRowView(i), spread.RawRowView(index[l]))
			block[k*len(index)+l], block[l*len(index)+k] = v, v
		}
	}
}

// times sets out to block·v, block [k, k].
func times(out, block, v []float64) {
	for i := range out {
		out[i] = floats.Dot(block[i*len(v):(i+1)*len(v)], v)
	}
}

// evaluateState finds the moments of h, what follows from them, and the row of B_w of one state.
func (f *sparseForm) evaluateState(s int) {
	m, l := &f.states[s], &f.locals[s]
	gather(l.cov, l.index, f.inverse, f.spread)
	f.valueVar[s] = l.cov[0]
	moved := make([]float64, len(l.index))
	for a, gap := range l.gaps {
		m.mean[a+1] = l.offsets[a]
		for k, i := range l.index {
			m.mean[a+1] += gap[k] * f.values[i]
		}
		times(moved, l.cov, gap)
		for b := range a + 1 {
			dot := floats.Dot(moved, l.gaps[b])
			m.cov[(a+1)*f.actions+b+1], m.cov[(b+1)*f.actions+a+1] = dot, dot
		}
	}
	m.evaluate(f.maximum, f.beta)
	copy(l.policy, l.own)
	for a, gap := range l.gaps {
		floats.AddScaled(l.policy, -f.step[s]*(m.weights[a+1]-m.reference[a+1]), gap)
	}
	times(moved, l.cov, l.policy)
	f.trace[s] = floats.Dot(moved, l.policy) / (f.std[s] * f.std[s])
}

// differentiate runs the chain rule back through at. With K the loss's derivative in the entries of Σ_x that states
// have seen, that in P and in what P is made of is
//
//	Γ = ½ (Σ_x − N⁻¹) − Σ_x K Σ_x,   ∂ log d = −2 (l d)⁻² diag(B₀ Γ B₀ᵀ),   ∂U = 2 L⁻¹ B₀ Γ Q,
//	∂z̄ = μ + L B₀⁻ᵀ ∂values.
func (f *sparseForm) differentiate(delta []float64, root, jointRoot *blas64.Triangular, gradient []float64) {
	n, rank := f.n, f.rank
	slopeMean, slopeLogStd, slopeFactor := f.unpack(gradient)
	f.joint.invert(f.jointInverse)
	outer := make([][]float64, n) // each state's part of K
	slopes := make([][]float64, n)
	inBlocks(n, func(from, to int) {
		for s := from; s < to; s++ {
			outer[s], slopes[s] = f.differentiateState(s)
		}
	})
	// K, ∂values, and K Y_x
	f.slope.zero()
	clear(f.slopeValues)
	right := mat.NewDense(n, rank+1, nil)
	for s := range f.locals {
		index := f.locals[s].index
		for k, i := range index {
			f.slopeValues[i] += slopes[s][k]
			for l, j := range index {
				v := outer[s][k*len(index)+l]
				if i >= j {
					f.slope.add(i, j, v)
				}
				floats.AddScaled(right.RawRowView(i)[:rank], v, f.spread.RawRowView(j))
			}
		}
	}
	var curvature mat.Dense // Y_xᵀ K Y_x
	curvature.Mul(f.spread.T(), right.Slice(0, n, 0, rank))
	right.SetCol(rank, f.slopeValues)
	f.base.solve(right)
	f.turned.Copy(right.Slice(0, n, 0, rank))
	f.base.sandwich(f.inverse, f.slope, f.sandwich)

	// Γ is ½ (inverse − jointInverse) − sandwich within the band, and of low rank beside it
	rows, jointRows, turnedRows := f.operate(f.spread, false), f.operate(f.jointSpread, false),
		f.operate(f.turned, false)
	var bent mat.Dense
	bent.Mul(rows, &curvature)
	adjoint := f.operate(mat.NewDense(n, 1, mat.Col(nil, rank, right)), false)
	for s := range f.locals {
		l, sum := &f.locals[s], 0.0
		for k, i := range l.index {
			for m, j := range l.index {
				sum += l.own[k] * l.own[m] * (0.5*(f.inverse.at(i, j)-f.jointInverse.at(i, j)) - f.sandwich.at(i, j))
			}
		}
		y := rows.RawRowView(s)
		sum += 0.5*(floats.Dot(jointRows.RawRowView(s), jointRows.RawRowView(s))-floats.Dot(y, y)) +
			2*floats.Dot(turnedRows.RawRowView(s), y) - floats.Dot(bent.RawRowView(s), y)
		slopeLogStd[s] = -2 * delta[s] * sum
		slopeMean[s] = f.whitened[s] + f.std[s]*delta[s]*adjoint.At(s, 0)
	}

	// Γ Q = (½ Y_x − base⁻¹ K Y_x + Y_x Y_xᵀ K Y_x) R⁻ᵀ − ½ Y_N R_N⁻ᵀ
	bent.Sub(&bent, turnedRows)
	rows.Scale(0.5, rows)
	rows.Add(rows, &bent)
	blas64.Trsm(blas.Right, blas.Trans, 1, *root, rows.RawMatrix())
	blas64.Trsm(blas.Right, blas.Trans, 0.5, *jointRoot, jointRows.RawMatrix())
	rows.Sub(rows, jointRows)
	for s := range n {
		floats.ScaleTo(slopeFactor.RawRowView(s), 2/f.std[s], rows.RawRowView(s))
	}
}

// differentiateState returns the derivatives of the loss in Σ_x and in the values at one state's neighbours, apart from
// those through P.
func (f *sparseForm) differentiateState(s int) (outer, values []float64) {
	m, l := &f.states[s], &f.locals[s]
	k := len(l.index)
	gather(l.joint, l.index, f.jointInverse, f.jointSpread)
	precision := 1 / (f.std[s] * f.std[s])
	u := f.step[s] / f.std[s]
	own := u*u*f.residual[s] + leastResidual
	moved, jointly := make([]float64, k), make([]float64, k)
	times(moved, l.cov, l.policy)
	times(jointly, l.joint, l.policy)
	slopeOwn := 0.5 * (1 - 1/own + floats.Dot(jointly, l.policy)*precision/(own*own))
	floats.Scale(precision, moved) // the derivative in the row of B_w
	floats.AddScaled(moved, -precision/own, jointly)
	for a, gap := range l.gaps {
		m.slopeWeights[a+1] = -f.step[s] * floats.Dot(gap, moved)
	}
	m.slopeWeights[0] = 0
	m.differentiate(f.maximum, f.beta, -u*f.whitened[s], u*u*slopeOwn)
	outer, values = make([]float64, k*k), make([]float64, k)
	add := func(scale float64, x, y []float64) {
		for i, v := range x {
			floats.AddScaled(outer[i*k:(i+1)*k], scale*v, y)
		}
	}
	add(0.5*precision, l.policy, l.policy)
	for a, gap := range l.gaps {
		floats.AddScaled(values, m.slopeMean[a+1], gap)
		for b, other := range l.gaps {
			slope := 0.5 * (m.slopeCov[(a+1)*f.actions+b+1] + m.slopeCov[(b+1)*f.actions+a+1])
			add(slope, gap, other)
		}
	}
	return outer, values
}

// parts implements form.
func (f *sparseForm) parts() (kl, logLikelihood float64) { return f.kl, f.logLikelihood }
