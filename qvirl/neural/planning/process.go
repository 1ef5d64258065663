package planning

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Pairs are n states with an action each.
type Pairs struct {
	Observations []float32 // [n, observation], in the environment's units
	Actions      []int     // [n]
}

// add appends a state with an action.
func (p *Pairs) add(observation []float32, action int) {
	p.Observations, p.Actions = append(p.Observations, observation...), append(p.Actions, action)
}

// at returns the pairs of the given indices.
func (p *Pairs) at(indices []int) Pairs {
	var out Pairs
	size := len(p.Observations) / max(1, len(p.Actions))
	for _, i := range indices {
		out.add(p.Observations[i*size:(i+1)*size], p.Actions[i])
	}
	return out
}

// Process is a Gaussian process over rewards r(s, a), given a Gaussian N(m, S) of its values at n pairs Z: with the
// prior's mean μ and covariances k, and K = k(Z, Z),
//
//	E r(x)   = μ + k(x, Z) K⁻¹ (m − μ),
//	Var r(x) = k(x, x) − k(x, Z) (K⁻¹ − K⁻¹ S K⁻¹) k(Z, x).
//
// Near the pairs it is what is known there, away from them the prior. It is safe for concurrent use.
type Process struct {
	prior   variational.Prior
	actions int
	points  *mat.Dense // [n, observation], in multiples of the lengthscales
	taken   []int      // [n]
	weights []float64  // K⁻¹ (m − μ) [n]
	spread  *mat.Dense // K⁻¹ − K⁻¹ S K⁻¹ [n, n]
}

// digest tells processes apart: the start of the SHA-256 of their numbers.
func (p *Process) digest() string {
	h := sha256.New()
	fmt.Fprintln(h, p.prior, p.taken, p.weights, p.points.RawMatrix().Data, p.spread.RawMatrix().Data)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// jitter is added to the diagonal of K, in relation to the prior's variance, so that it has a factor in double
// precision.
const jitter = 1e-6

// NewProcess returns the process with the given prior, whose lengthscales are those of the observation's numbers and
// then of the one-hot action, given the distribution of the rewards of pairs.
func NewProcess(prior variational.Prior, actions int, at Pairs, mean []float64, cov mat.Symmetric) (*Process, error) {
	p, err := newProcess(prior, actions, at)
	if err != nil {
		return nil, err
	}
	n := len(at.Actions)
	if len(mean) != n || cov.SymmetricDim() != n {
		return nil, fmt.Errorf("planning: %d means and %d covariances of the rewards of %d pairs", len(mean),
			cov.SymmetricDim(), n)
	}
	var factor mat.Cholesky
	if !factor.Factorize(p.between()) {
		return nil, fmt.Errorf("planning: the prior's covariances of the rewards of %d pairs are not positive "+
			"definite", n)
	}
	apart := mat.NewVecDense(n, nil)
	for i, m := range mean {
		apart.SetVec(i, m-prior.Mean)
	}
	w := mat.NewVecDense(n, p.weights)
	if err := solved(factor.SolveVecTo(w, apart)); err != nil {
		return nil, err
	}
	// K⁻¹ − K⁻¹ S K⁻¹
	var inverse, half, product mat.Dense
	identity := mat.NewDiagDense(n, nil)
	for i := range n {
		identity.SetDiag(i, 1)
	}
	if err := solved(factor.SolveTo(&inverse, identity)); err != nil {
		return nil, err
	}
	half.Mul(&inverse, cov)
	product.Mul(&half, &inverse)
	p.spread.Sub(&inverse, &product)
	return p, nil
}

// solved passes errors but that of a matrix that is nearly singular, which the jitter bounds.
func solved(err error) error {
	if _, near := errors.AsType[mat.Condition](err); near {
		return nil
	}
	return err
}

// newProcess checks the prior and the pairs, and places them.
func newProcess(prior variational.Prior, actions int, at Pairs) (*Process, error) {
	n := len(at.Actions)
	size := len(prior.Lengthscales) - actions
	switch {
	case actions < 1 || size < 1:
		return nil, fmt.Errorf("planning: %d lengthscales for %d actions, want those of the observation and of the "+
			"actions", len(prior.Lengthscales), actions)
	case n == 0 || len(at.Observations) != n*size:
		return nil, fmt.Errorf("planning: %d pairs with %d numbers of observations, want at least one pair of %d "+
			"numbers", n, len(at.Observations), size)
	case !(prior.Std > 0) || math.IsInf(prior.Std, 0) || math.IsNaN(prior.Mean) || math.IsInf(prior.Mean, 0):
		return nil, fmt.Errorf("planning: the prior's mean and standard deviation are %g and %g, want finite numbers, "+
			"the second positive", prior.Mean, prior.Std)
	}
	for i, l := range prior.Lengthscales {
		if !(l > 0) {
			return nil, fmt.Errorf("planning: lengthscale[%d] is %g, want a positive number", i, l)
		}
	}
	for i, a := range at.Actions {
		if a < 0 || a >= actions {
			return nil, fmt.Errorf("planning: action[%d] is %d, want 0 to %d", i, a, actions-1)
		}
	}
	p := &Process{prior: prior, actions: actions, taken: at.Actions, weights: make([]float64, n),
		spread: mat.NewDense(n, n, nil)}
	p.points = p.scaled(at.Observations)
	return p, nil
}

// scaled returns observations in multiples of the lengthscales.
func (p *Process) scaled(observations []float32) *mat.Dense {
	size := len(p.prior.Lengthscales) - p.actions
	out := mat.NewDense(len(observations)/size, size, nil)
	data := out.RawMatrix().Data
	for i, x := range observations {
		data[i] = float64(x) / p.prior.Lengthscales[i%size]
	}
	return out
}

// alike returns the correlation of the rewards of two actions in the same state, exp(−½ Σ_c (1[a = c] − 1[b =
// c])²/ℓ_c²).
func (p *Process) alike(a, b int) float64 {
	if a == b {
		return 1
	}
	scales := p.prior.Lengthscales[len(p.prior.Lengthscales)-p.actions:]
	return math.Exp(-0.5 * (1/(scales[a]*scales[a]) + 1/(scales[b]*scales[b])))
}

// near returns the correlation of the rewards of an action in two states, exp(−½ Σ_f (a_f − b_f)²/ℓ_f²).
func (p *Process) near(a, b []float32) float64 {
	distance := 0.0
	for f := range a {
		d := float64(a[f]-b[f]) / p.prior.Lengthscales[f]
		distance += d * d
	}
	return math.Exp(-distance / 2)
}

// covariances returns k(X, Z) [k, n] of scaled observations X with actions.
func (p *Process) covariances(states *mat.Dense, actions []int) *mat.Dense {
	n, size := p.points.Dims()
	out := mat.NewDense(len(actions), n, nil)
	variance := p.prior.Std * p.prior.Std
	alike := make([]float64, p.actions)
	for i, a := range actions {
		for b := range alike {
			alike[b] = variance * p.alike(a, b)
		}
		x, row := states.RawRowView(i), out.RawRowView(i)
		for j := range row {
			z := p.points.RawRowView(j)
			distance := 0.0
			for f := range size {
				d := x[f] - z[f]
				distance += d * d
			}
			row[j] = alike[p.taken[j]] * math.Exp(-distance/2)
		}
	}
	return out
}

// between returns K, with the jitter.
func (p *Process) between() *mat.SymDense {
	n := len(p.taken)
	k := mat.NewSymDense(n, p.covariances(p.points, p.taken).RawMatrix().Data)
	for i := range n {
		k.SetSym(i, i, k.At(i, i)+jitter*p.prior.Std*p.prior.Std)
	}
	return k
}

// Rewards returns the mean rewards [k] of pairs, and their standard deviations [k] if they are asked for.
func (p *Process) Rewards(at Pairs, deviations bool) (mean, std []float64) {
	k := p.covariances(p.scaled(at.Observations), at.Actions)
	mean = make([]float64, len(at.Actions))
	for i := range mean {
		mean[i] = p.prior.Mean + floats.Dot(k.RawRowView(i), p.weights)
	}
	if !deviations {
		return mean, nil
	}
	var half mat.Dense
	half.Mul(k, p.spread)
	std = make([]float64, len(mean))
	for i := range std {
		std[i] = math.Sqrt(math.Max(0, p.prior.Std*p.prior.Std-floats.Dot(half.RawRowView(i), k.RawRowView(i))))
	}
	return mean, std
}

// Averse returns mean − risk · standard deviation of the rewards of pairs [k].
func (p *Process) Averse(at Pairs, risk float64) []float64 {
	mean, std := p.Rewards(at, risk != 0)
	for i := range std {
		mean[i] -= risk * std[i]
	}
	return mean
}

// distinct is the variance, in relation to the prior's, that a pair must have left given those chosen before it to be
// chosen itself.
const distinct = 1e-3

// Inducing returns the indices of at most limit pairs that tell most about the rewards of all: each is the one of the
// greatest variance under the prior given those before it (a pivoted Cholesky factorisation, Harbrecht et al. 2012).
func Inducing(prior variational.Prior, actions int, of Pairs, limit int) ([]int, error) {
	p, err := newProcess(prior, actions, of)
	if err != nil {
		return nil, err
	}
	n, variance := len(of.Actions), prior.Std*prior.Std
	left := slices.Repeat([]float64{variance}, n)
	var chosen []int
	var rows [][]float64 // of the factor
	for len(chosen) < min(limit, n) {
		i := floats.MaxIdx(left)
		if left[i] < distinct*variance {
			break
		}
		row := p.covariances(mat.NewDense(1, p.points.RawMatrix().Cols, p.points.RawRowView(i)),
			p.taken[i:i+1]).RawRowView(0)
		for _, before := range rows {
			floats.AddScaled(row, -before[i], before)
		}
		floats.Scale(1/math.Sqrt(left[i]), row)
		for j, x := range row {
			left[j] -= x * x
		}
		left[i] = 0
		chosen, rows = append(chosen, i), append(rows, row)
	}
	return chosen, nil
}

// Regress returns the process given observed rewards y [n] of pairs, with independent noise of the given variances [n],
// by way of at most limit inducing pairs U (Titsias 2009): with K = k(U, U), K_f = k(U, F) and N the diagonal of the
// noise,
//
//	Σ = K + K_f N⁻¹ K_fᵀ,
//	r(U) ~ N(μ + K Σ⁻¹ K_f N⁻¹ (y − μ), K Σ⁻¹ K),
//
// which is exact if U is F.
func Regress(prior variational.Prior, actions int, of Pairs, y, noise []float64, limit int) (*Process, error) {
	if len(y) != len(of.Actions) || len(noise) != len(y) || limit < 1 {
		return nil, fmt.Errorf("planning: %d rewards with %d variances of %d pairs, by way of %d: want as many, and "+
			"at least one", len(y), len(noise), len(of.Actions), limit)
	}
	for i, v := range noise {
		if !(v > 0) {
			return nil, fmt.Errorf("planning: the variance of the noise[%d] is %g, want a positive number", i, v)
		}
	}
	chosen, err := Inducing(prior, actions, of, limit)
	if err != nil {
		return nil, err
	}
	u := of.at(chosen)
	p, err := newProcess(prior, actions, u)
	if err != nil {
		return nil, err
	}
	n := len(chosen)
	cross := p.covariances(p.scaled(of.Observations), of.Actions) // k(F, U)
	apart := mat.NewVecDense(len(y), nil)                         // N^(−½) (y − μ)
	for i, v := range y {
		scale := 1 / math.Sqrt(noise[i])
		floats.Scale(scale, cross.RawRowView(i))
		apart.SetVec(i, (v-prior.Mean)*scale)
	}
	k := p.between()
	sum := mat.NewSymDense(n, nil)
	sum.SymOuterK(1, cross.T())
	sum.AddSym(sum, k)
	var factor mat.Cholesky
	if !factor.Factorize(sum) {
		return nil, fmt.Errorf("planning: the covariances of %d observed rewards are not positive definite", len(y))
	}
	var told, weights, mean mat.VecDense
	told.MulVec(cross.T(), apart)
	if err := solved(factor.SolveVecTo(&weights, &told)); err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	mean.MulVec(k, &weights)
	floats.AddConst(prior.Mean, mean.RawVector().Data)
	var half, cov mat.Dense
	if err := solved(factor.SolveTo(&half, k)); err != nil {
		return nil, fmt.Errorf("planning: %w", err)
	}
	cov.Mul(k, &half)
	sym := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			sym.SetSym(i, j, (cov.At(i, j)+cov.At(j, i))/2)
		}
	}
	return NewProcess(prior, actions, u, mean.RawVector().Data, sym)
}
