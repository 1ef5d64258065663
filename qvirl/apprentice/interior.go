package apprentice

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// point is an iterate of a primal-dual interior-point method (Mehrotra, 1992) for
//
//	max ν − cap·Σ_i u_i   with  r_i·x − ν + u_i = w_i,  A x = ρ0,  x, u, w ≥ 0
//	min ρ0·V              with  Aᵀ V − Σ_i q_i r_i = s,  q_i + p_i = cap,  Σ q_i = 1,  s, q, p ≥ 0
//
// where x are the visits of state-action pairs, A x = ρ0 says that visits flow as the MDP has it, ν is the value at
// risk, q the weights of the samples, cap = 1/(alpha·n), and V bounds the optimal values under the weighted reward. All
// iterates are strictly feasible, so that x·s + w·q + u·p is the gap between the two; the method drives each of these
// products to zero at about the same speed. A step costs one factorisation of order S·A and one weighted covariance of
// the samples.
type point struct {
	game    *game
	actions int
	flow    blas64.General // Aᵀ, [S·A, S]
	group   []int          // index of each pair's reward, [S·A]

	x, s    []float64      // [S·A]
	w, q    []float64      // [n]
	u, p    []float64      // [n]
	theta   []float64      // [n]
	centred *mat.Dense     // rewards about their mean under theta, [n, RewardDim]
	factor  blas64.General // Cholesky factor of the reduced system in x, lower, [S·A, S·A]
	reduced blas64.General // factor⁻¹ Aᵀ, [S·A, S]
	schur   blas64.General // Cholesky factor of reducedᵀ reduced, lower, [S, S]
}

// reachable is the probability of starting anywhere that is added where some states cannot be reached: without any
// visits there would be no strictly feasible point. It moves the optimum by less than the tolerance, and the bounds,
// which are computed without it, stay valid.
const reachable = 1e-7

// stepFraction is how far a step goes towards the border of the feasible points.
const stepFraction = 0.995

func newPoint(g *game) (*point, error) {
	m := g.problem.MDP
	states, actions := m.States(), m.Actions()
	pairs := states * actions
	n, dim := g.rewards.Dims()
	y := &point{game: g, actions: actions, flow: general(pairs, states), group: make([]int, pairs),
		s: make([]float64, pairs), w: make([]float64, n), u: make([]float64, n), theta: make([]float64, n),
		centred: mat.NewDense(n, dim, nil), factor: general(pairs, pairs), reduced: general(pairs, states),
		schur: general(states, states)}
	for i := range y.group {
		y.group[i] = i
		if dim == states {
			y.group[i] = i / actions
		}
		y.flow.Data[i*states+i/actions] = 1
		next, prob := m.Row(i/actions, i%actions)
		for k, to := range next {
			y.flow.Data[i*states+int(to)] -= g.problem.Discount * prob[k]
		}
	}
	var err error
	if y.x, err = m.Occupancy(m.Uniform(), g.problem.Discount); err != nil {
		return nil, err
	}
	if floats.Min(y.x) <= 0 {
		floats.AddConst(reachable*floats.Sum(y.x)/float64(pairs), y.x)
	}

	returns := inner(g.rewards, y.visits(y.x))
	margin := math.Max(stat.PopStdDev(returns, nil), 1e-3*g.scale)
	centre := stat.Mean(returns, nil) // the first ν
	for i, r := range returns {
		y.w[i], y.u[i] = math.Max(r-centre, 0)+margin, math.Max(centre-r, 0)+margin
	}
	share := 1 / float64(n)
	y.q, y.p = slices.Repeat([]float64{share}, n), slices.Repeat([]float64{share/g.alpha - share}, n)
	values := append([]float64(nil), g.solution.V...) // optimal for these weights
	floats.AddConst(margin/(1-g.problem.Discount), values)
	mean := weighted(g.rewards, y.q)
	blas64.Gemv(blas.NoTrans, 1, y.flow, vector(values), 0, vector(y.s))
	for i := range y.s {
		y.s[i] -= mean[y.group[i]]
	}
	return y, nil
}

// policy returns the policy that has the visits x.
func (y *point) policy() []float64 {
	out := append([]float64(nil), y.x...)
	for i := 0; i < len(out); i += y.actions {
		row := out[i : i+y.actions]
		floats.Scale(1/floats.Sum(row), row)
	}
	return out
}

// visits adds visits up to the length of a reward.
func (y *point) visits(x []float64) []float64 {
	_, dim := y.game.rewards.Dims()
	out := make([]float64, dim)
	for i, v := range x {
		out[y.group[i]] += v
	}
	return out
}

// direction is a step of all variables.
type direction struct{ x, s, w, q, u, p []float64 }

// advance makes one iteration. It reports false when rounding stops it.
func (y *point) advance() bool {
	if !y.factorise() {
		return false
	}
	// predictor: straight to the solution of the linearised conditions
	affine := y.solve(missing(0, y.x, y.s, nil, nil), missing(0, y.w, y.q, nil, nil), missing(0, y.u, y.p, nil, nil))
	primal, dual := y.longest(affine)
	primal, dual = math.Min(primal, 1), math.Min(dual, 1)
	count := float64(len(y.x) + 2*len(y.q))
	before, after := 0.0, 0.0
	for i := range y.x {
		before += y.x[i] * y.s[i]
		after += (y.x[i] + primal*affine.x[i]) * (y.s[i] + dual*affine.s[i])
	}
	for i := range y.q {
		before += y.w[i]*y.q[i] + y.u[i]*y.p[i]
		after += (y.w[i]+primal*affine.w[i])*(y.q[i]+dual*affine.q[i]) +
			(y.u[i]+primal*affine.u[i])*(y.p[i]+dual*affine.p[i])
	}
	// corrector: towards the centre, less the error of the linearisation that the predictor would have made
	centre := math.Pow(after/before, 3) * before / count
	step := y.solve(missing(centre, y.x, y.s, affine.x, affine.s), missing(centre, y.w, y.q, affine.w, affine.q),
		missing(centre, y.u, y.p, affine.u, affine.p))
	primal, dual = y.longest(step)
	primal, dual = math.Min(stepFraction*primal, 1), math.Min(stepFraction*dual, 1)
	if math.IsNaN(primal+dual) || primal+dual < 1e-8 {
		return false
	}
	floats.AddScaled(y.x, primal, step.x)
	floats.AddScaled(y.w, primal, step.w)
	floats.AddScaled(y.u, primal, step.u)
	floats.AddScaled(y.s, dual, step.s)
	floats.AddScaled(y.q, dual, step.q)
	floats.AddScaled(y.p, dual, step.p)
	return true
}

// longest returns the longest steps of the primal and of the dual variables that keep them from being negative.
func (y *point) longest(d *direction) (primal, dual float64) {
	limit := func(at, step []float64) float64 {
		longest := math.Inf(1)
		for i, change := range step {
			if change < 0 {
				longest = math.Min(longest, -at[i]/change)
			}
		}
		return longest
	}
	primal = min(limit(y.x, d.x), limit(y.w, d.w), limit(y.u, d.u))
	dual = min(limit(y.s, d.s), limit(y.q, d.q), limit(y.p, d.p))
	return primal, dual
}

// missing returns what the products a∘b, less the second-order terms da∘db if there are any, lack to the centre.
func missing(centre float64, a, b, da, db []float64) []float64 {
	out := make([]float64, len(a))
	for i := range out {
		out[i] = centre - a[i]*b[i]
		if da != nil {
			out[i] -= da[i] * db[i]
		}
	}
	return out
}

// factorise prepares the Newton system. Eliminating all but x and V leaves
//
//	(S/X + Cov_θ) Δx + Aᵀ ΔV = g,   A Δx = 0,   θ_i = 1/(u_i/p_i + w_i/q_i)
//
// where Cov_θ is the unnormalised covariance of the samples under the weights θ.
func (y *point) factorise() bool {
	n, dim := y.game.rewards.Dims()
	for i := range y.theta {
		y.theta[i] = 1 / (y.u[i]/y.p[i] + y.w[i]/y.q[i])
	}
	mean := weighted(y.game.rewards, y.theta)
	floats.Scale(1/floats.Sum(y.theta), mean)
	scaled := mat.NewDense(n, dim, nil)
	for i := range n {
		row, about, root := y.game.rewards.RawRowView(i), y.centred.RawRowView(i), scaled.RawRowView(i)
		weight := math.Sqrt(y.theta[i])
		for j, r := range row {
			about[j] = r - mean[j]
			root[j] = weight * about[j]
		}
	}
	cov := mat.NewSymDense(dim, nil)
	cov.SymOuterK(1, scaled.T())
	pairs := len(y.x)
	for i := range pairs {
		for j := 0; j <= i; j++ {
			y.factor.Data[i*pairs+j] = cov.At(y.group[i], y.group[j])
		}
		y.factor.Data[i*pairs+i] += y.s[i] / y.x[i]
	}
	if _, ok := lapack64.Potrf(lower(y.factor)); !ok {
		return false
	}
	copy(y.reduced.Data, y.flow.Data)
	blas64.Trsm(blas.Left, blas.NoTrans, 1, triangular(y.factor), y.reduced)
	blas64.Syrk(blas.Trans, 1, y.reduced, 0, lower(y.schur))
	_, ok := lapack64.Potrf(lower(y.schur))
	return ok
}

// solve returns the direction in which the products x∘s, w∘q and u∘p change to first order by the given amounts.
func (y *point) solve(xs, wq, up []float64) *direction {
	n := len(y.q)
	d := &direction{x: make([]float64, len(y.x)), s: make([]float64, len(y.x)), w: make([]float64, n),
		q: make([]float64, n), u: make([]float64, n), p: make([]float64, n)}
	change := make([]float64, n) // of q if x and ν stayed, and then weighted by theta
	total := 0.0
	for i := range change {
		change[i] = y.theta[i] * (wq[i]/y.q[i] - up[i]/y.p[i])
		total += change[i]
	}
	pull := weighted(y.centred, change)
	for i := range d.x {
		d.x[i] = xs[i]/y.x[i] + pull[y.group[i]]
	}
	blas64.Trsv(blas.NoTrans, triangular(y.factor), vector(d.x))
	values := make([]float64, y.flow.Cols) // ΔV
	blas64.Gemv(blas.Trans, 1, y.reduced, vector(d.x), 0, vector(values))
	blas64.Trsv(blas.NoTrans, triangular(y.schur), vector(values))
	blas64.Trsv(blas.Trans, triangular(y.schur), vector(values))
	blas64.Gemv(blas.NoTrans, -1, y.reduced, vector(values), 1, vector(d.x))
	blas64.Trsv(blas.Trans, triangular(y.factor), vector(d.x))

	moved := inner(y.centred, y.visits(d.x)) // r_i·Δx about its mean under theta
	mean := total / floats.Sum(y.theta)
	for i := range d.q {
		d.q[i] = change[i] - y.theta[i]*(moved[i]+mean)
		d.w[i] = (wq[i] - y.w[i]*d.q[i]) / y.q[i]
		d.p[i] = -d.q[i]
		d.u[i] = (up[i] - y.u[i]*d.p[i]) / y.p[i]
	}
	for i := range d.s {
		d.s[i] = (xs[i] - y.s[i]*d.x[i]) / y.x[i]
	}
	return d
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// lower and triangular see the lower triangle of a square matrix as a symmetric and as a triangular one.
func lower(a blas64.General) blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Lower, N: a.Rows, Stride: a.Stride, Data: a.Data}
}

func triangular(a blas64.General) blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: a.Rows, Stride: a.Stride, Data: a.Data}
}
