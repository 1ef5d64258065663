package tabular

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/irl"
)

// How a descent with a covariance of low rank goes: the reference policy is replaced settlings times before it begins,
// and then turns times after turnSteps iterations.
const (
	settlings, turns, turnSteps = 3, 5, 10
	// startNoise is the length of the columns of U at the start; where a column is zero, so is the derivative in it.
	startNoise = 1.
	// toleranceStates is the number of states from which Config.Tolerance grows with them:
	// the loss is a sum over states.
	toleranceStates = 16
	// lowRankStore is the number of pairs that L-BFGS keeps.
	lowRankStore = 30
)

// fitLowRank fits a problem by L-BFGS with a covariance of low rank. Its family depends on the reference policy: where
// that is the policy of the weights of the maximum, z are the rewards in prior standard deviations, which without
// demonstrations are independent but for what the maximum leaves. So the reference follows these weights, as they stand
// at the prior and then at the posterior so far.
func (m *Variational) fitLowRank(ctx context.Context, index int, p *irl.Problem,
	progress irl.Progress) (*Gaussian, error) {
	n, rank := p.MDP.States(), m.config.rankOf(p)
	f, err := newSparseForm(p, m.config, rank)
	if err != nil {
		return nil, fmt.Errorf("tabular: problem %d: %w", index, err)
	}
	x := make([]float64, n*(2+rank))
	for range settlings {
		if loss := f.at(x, nil); !(loss < math.Inf(1)) {
			break // which the first evaluation of the descent reports
		}
		if err := f.turn(x); err != nil {
			return nil, fmt.Errorf("tabular: problem %d: %w", index, err)
		}
	}
	rng := rand.New(rand.NewPCG(m.config.Seed, 2))
	_, _, factor := f.unpack(x)
	factor.Apply(func(int, int, float64) float64 { return startNoise / math.Sqrt(float64(n)) * rng.NormFloat64() },
		factor)
	x = f.scale(x)
	d := m.begin(ctx, f, x, progress)
	d.config.Tolerance *= max(1, float64(n)/toleranceStates)
	if math.IsInf(d.loss, 1) {
		return nil, fmt.Errorf("%w: prior standard deviations or the prior mean are too far apart for sparse algebra",
			&diverged{problem: index, loss: d.loss, kl: f.kl, logLikelihood: f.logLikelihood})
	}
	d.store = lowRankStore
	most := m.config.Rounds * m.config.Steps
	for turn := 1; turn <= turns && turn*turnSteps < most; turn++ {
		if x, err = d.run(x, turn*turnSteps); err != nil {
			return nil, err
		}
		x = f.point(x)
		if err := f.turn(x); err != nil {
			return nil, fmt.Errorf("tabular: problem %d: %w", index, err)
		}
		x = f.scale(x)
		d.restart(x)
	}
	if x, err = d.run(x, most); err != nil {
		return nil, err
	}
	d.end()
	g, err := f.posterior(f.point(x))
	if err != nil {
		return nil, fmt.Errorf("tabular: problem %d: %w", index, err)
	}
	g.elbo, g.converged, g.curve = -d.loss, d.converged, d.curve
	g.info = FitInfo{Float64: true, Why: "L-BFGS computes in double precision", Evaluations: d.evaluations, Rank: rank}
	return g, nil
}

// widestStd is how many times the smallest prior standard deviation the largest may be: the precision of values, whose
// entries are as far apart as their squares, is inverted in double precision.
const widestStd = 1e4

// checkSparse refuses what a covariance of low rank cannot serve.
func checkSparse(problems []*irl.Problem, start []*Gaussian) error {
	if start != nil {
		return fmt.Errorf("tabular: a covariance of low rank, as for more than %d states, cannot start from a "+
			"posterior", LargestFull)
	}
	for i, p := range problems {
		if err := CheckLowRank(p); err != nil {
			return fmt.Errorf("tabular: problem %d: %w", i, err)
		}
	}
	return nil
}

// CheckLowRank reports why a covariance of low rank, as on more than LargestFull states, cannot serve a problem.
func CheckLowRank(p *irl.Problem) error {
	refused := func(format string, about ...any) error {
		return fmt.Errorf("a covariance of low rank, as for more than %d states, needs %s; the method reference does "+
			"not", LargestFull, fmt.Sprintf(format, about...))
	}
	n := float64(p.RewardDim())
	switch {
	case !p.Prior.Independent():
		return refused("rewards that are independent a priori, none of them known: a prior with a covariance of %d "+
			"rewards takes %.3g GB, and a factor of the posterior's as much", p.RewardDim(), 8*n*n/1e9)
	case !p.StateOnly():
		return refused("rewards of states alone, not %d of state-action pairs", p.RewardDim())
	}
	if least, most := floats.Min(p.Prior.Std), floats.Max(p.Prior.Std); most > widestStd*least {
		return refused("prior standard deviations within a factor of %g, got %g to %g", widestStd, least, most)
	}
	return nil
}

// turn makes the weights of the maximum, as the last evaluation left them, the reference policy, and moves the point to
// where it stands for the same means of values and the same Q.
func (f *sparseForm) turn(x []float64) error {
	mean, logStd, factor := f.unpack(x)
	policy := make([]float64, 0, f.n*f.actions)
	for s := range f.states {
		policy = append(policy, f.states[s].weights...)
	}
	information := f.information(factor)
	values := append([]float64(nil), f.values...)
	floats.Add(values, f.origin)
	if err := f.refer(policy); err != nil {
		return err
	}
	rewards := f.operate(mat.NewDense(f.n, 1, values), false)
	for s := range mean { // z̄ = L⁻¹ (B₀ x̄ − m)
		mean[s] = (rewards.At(s, 0) - f.problem.Prior.Mean[s]/f.unit) / f.std[s]
	}
	// U = L B₀⁻ᵀ Q, and B₀⁻ᵀ is diag(l d)⁻² B₀ base⁻¹
	delta := f.precisions(logStd)
	if !f.factorize(delta) {
		return nil // as the next evaluation finds
	}
	f.base.solve(information)
	factor.Copy(f.operate(information, false))
	for s := range f.n {
		floats.Scale(f.std[s]*delta[s], factor.RawRowView(s))
	}
	return nil
}

// scaling is coordinates of z̄ and U in which the loss is about as curved in all directions: with the eigenvectors V of
// U Uᵀ where the coordinates were made, z̄ is (I + U Uᵀ)^−½ of them, and U is (I + U Uᵀ)^½.
type scaling struct {
	vectors         *mat.Dense // V [S, rank]
	shrink, stretch []float64  // (1 + λ)^∓½ − 1 of the eigenvalues λ
}

// scale makes the scaling of a point, which it returns in its coordinates.
func (f *sparseForm) scale(x []float64) []float64 {
	_, _, factor := f.unpack(x)
	var svd mat.SVD
	svd.Factorize(factor, mat.SVDThin)
	f.scaling = &scaling{vectors: &mat.Dense{}}
	svd.UTo(f.scaling.vectors)
	for _, v := range svd.Values(nil) {
		root := math.Sqrt(1 + v*v)
		f.scaling.shrink, f.scaling.stretch = append(f.scaling.shrink, 1/root-1), append(f.scaling.stretch, root-1)
	}
	return f.transform(x, f.scaling.stretch, f.scaling.shrink)
}

// point returns the point that coordinates stand for, and of the loss's gradient in it, that in the coordinates.
func (f *sparseForm) point(y []float64) []float64 {
	return f.transform(y, f.scaling.shrink, f.scaling.stretch)
}

// transform returns a point with (I + V diag(·) Vᵀ) before its z̄ and its U.
func (f *sparseForm) transform(x, ofMean, ofFactor []float64) []float64 {
	out := append([]float64(nil), x...)
	mean, _, factor := f.unpack(out)
	apply := func(y *mat.Dense, scale []float64) {
		var inner, outer mat.Dense
		inner.Mul(f.scaling.vectors.T(), y)
		for k, v := range scale {
			floats.Scale(v, inner.RawRowView(k))
		}
		outer.Mul(f.scaling.vectors, &inner)
		y.Add(y, &outer)
	}
	apply(mat.NewDense(f.n, 1, mean), ofMean)
	apply(factor, ofFactor)
	return out
}

// posterior makes the posterior of the point that was evaluated last.
func (f *sparseForm) posterior(x []float64) (*Gaussian, error) {
	_, logStd, factor := f.unpack(x)
	n, p := f.n, f.problem
	d := &lowRank{problem: p, reference: f.reference, factor: mat.DenseCopyOf(factor), std: make([]float64, n),
		residual: make([]float64, n), varX: make([]float64, n), varR: make([]float64, n), logDet: f.logDet}
	g := &Gaussian{problem: p, around: d, meanX: make([]float64, n), meanR: make([]float64, n)}
	for s := range f.states {
		l := f.unit * f.std[s]
		d.std[s] = math.Exp(logStd[s])
		d.residual[s] = f.unit * f.unit * f.step[s] * f.step[s] * f.residual[s]
		d.varX[s], d.varR[s] = f.unit*f.unit*f.valueVar[s], l*l*f.trace[s]+d.residual[s]
		g.meanX[s], g.meanR[s] = f.unit*(f.origin[s]+f.values[s]), p.Prior.Mean[s]+l*f.whitened[s]
		d.weights = append(d.weights, f.states[s].weights...)
		probs, total := f.states[s].logProbs, 0.0
		for _, v := range probs { // the closed form's probabilities sum to one only approximately
			total += math.Exp(v)
		}
		for _, v := range probs {
			g.probs = append(g.probs, math.Exp(v)/total)
		}
	}
	g.meanV, g.varV = g.meanX, d.varX
	return g, d.prepare()
}
