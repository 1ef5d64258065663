package irl

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
)

const (
	// minScale and maxScale bound the standard deviations of rewards and β, and maxScale the sizes of prior means:
	// within them the largest thing that methods compute of them, (β·σ/(1−γ))², is a float64 for every γ that one can
	// write down.
	minScale, maxScale = 1e-60, 1e60
	// maxBetaLogStd keeps β and its square finite.
	maxBetaLogStd = 10
	// indefinite is how far below zero the smallest eigenvalue of a correlation matrix may be, relative to the
	// largest, for the matrix to count as positive semi-definite. Rounding leaves about n·1e-16, and a thousandfold in
	// products such as A·Aᵀ.
	indefinite = 1e-10
	// maxCondition is the largest condition number of a correlation matrix that is inverted: the inverse has no more
	// than about 12 of the 16 digits to lose.
	maxCondition = 1e12
)

// ErrSingularPrior is the error of methods that need the inverse of the prior covariance where it has none.
var ErrSingularPrior = errors.New("the prior covariance is singular to working precision, as where rewards, or sums " +
	"of rewards, are known; the method reference allows that")

// ErrNoDensity is the error of what compares densities where a posterior has none.
var ErrNoDensity = errors.New("there is no density")

// errAllKnown is the error of a prior under which there is nothing to infer.
var errAllKnown = errors.New("irl: prior covariance is zero everywhere: all rewards would be known; give at least " +
	"one a standard deviation, and all a tiny one to infer β alone")

// Prior is a Gaussian prior N(m, Σ) over the reward vector: one number a state (state-only rewards, n = S), or one a
// state-action pair (n = S·A, index s·A + a). The covariance is given in one of three forms:
//
//	Σ = diag(Std²)              Std alone: independent rewards
//	Σ = Cov                     any positive semi-definite matrix, a singular one included
//	Σ = W Wᵀ + diag(Std²)       LowRank W; without Std the diagonal is zero, and its elements may be zero
//
// Standard deviations of rewards lie between 1e-60 and 1e60; where Cov or LowRank give a reward none, it is known.
// DiagonalPrior makes the prior of independent rewards of which some are known, KernelPrior
// that of a Gaussian process.
type Prior struct {
	Mean    []float64     // m, [n]
	Std     []float64     // [n]
	Cov     *mat.SymDense // [n, n]
	LowRank *mat.Dense    // W, [n, k] of any k
}

// IndependentPrior returns the prior under which n rewards are independent N(mean, std²).
func IndependentPrior(n int, mean, std float64) Prior {
	p := Prior{Mean: make([]float64, n), Std: make([]float64, n)}
	for i := range p.Mean {
		p.Mean[i], p.Std[i] = mean, std
	}
	return p
}

// DiagonalPrior returns the prior N(mean, diag(std²)), both [n]. Standard deviations of zero are those of rewards that
// are known: the covariance is singular then, and given as a low-rank factor with a diagonal.
func DiagonalPrior(mean, std []float64) Prior {
	p := Prior{Mean: mean, Std: std}
	if !slices.Contains(std, 0) {
		return p
	}
	p.Std, p.LowRank = slices.Clone(std), mat.NewDense(len(std), 1, nil)
	if i := slices.IndexFunc(std, func(s float64) bool { return s > 0 }); i >= 0 {
		p.LowRank.Set(i, 0, std[i])
		p.Std[i] = 0
	}
	return p
}

// Independent reports whether the prior is given by Std alone.
func (p Prior) Independent() bool { return p.Cov == nil && p.LowRank == nil }

// Covariance returns the prior covariance Σ, [n, n]. The caller must not change it.
func (p Prior) Covariance() *mat.SymDense {
	if p.Cov != nil {
		return p.Cov
	}
	cov := mat.NewSymDense(len(p.Mean), nil)
	if p.LowRank != nil {
		cov.SymOuterK(1, p.LowRank)
	}
	for i, s := range p.Std {
		cov.SetSym(i, i, cov.At(i, i)+s*s)
	}
	return cov
}

// Variances returns the diagonal of the prior covariance, [n].
func (p Prior) Variances() []float64 {
	out := make([]float64, len(p.Mean))
	for i := range out {
		if p.Cov != nil {
			out[i] = p.Cov.At(i, i)
			continue
		}
		if p.Std != nil {
			out[i] = p.Std[i] * p.Std[i]
		}
		if p.LowRank != nil {
			row := p.LowRank.RowView(i)
			out[i] += mat.Dot(row, row)
		}
	}
	return out
}

// Factor returns an L [n, k], k ≤ n, with L Lᵀ = Σ, so that m + L z has the prior's distribution where z ~ N(0, I) has
// k elements. Each element of L Lᵀ is right to a few roundings of σᵢσⱼ, whatever the scales of the other rewards. L is
// diagonal for independent rewards, lower triangular where Cov is given and positive definite to working precision, or
// where LowRank and Std have more columns than there are rewards, and otherwise neither.
func (p Prior) Factor() (*mat.Dense, error) {
	n := len(p.Mean)
	switch {
	case p.Cov != nil:
		return factorCovariance(p.Cov)
	case p.LowRank != nil:
		return p.factorLowRank(), nil
	}
	factor := mat.NewDense(n, n, nil)
	for i, s := range p.Std {
		factor.Set(i, i, s)
	}
	return factor, nil
}

// factorLowRank returns B = [W diag(Std)] without the columns of zero standard deviations, or where that has more
// columns than rows the Rᵀ of Bᵀ = Q R: then B Bᵀ = Rᵀ R, and Σ itself, whose small eigenvalues rounding would take, is
// never formed.
func (p Prior) factorLowRank() *mat.Dense {
	n, k := p.LowRank.Dims()
	columns := k
	for _, s := range p.Std {
		if s > 0 {
			columns++
		}
	}
	transposed := mat.NewDense(columns, n, nil)
	transposed.Slice(0, k, 0, n).(*mat.Dense).Copy(p.LowRank.T())
	for i, s := range p.Std {
		if s > 0 {
			transposed.Set(k, i, s)
			k++
		}
	}
	if columns <= n {
		return mat.DenseCopyOf(transposed.T())
	}
	var qr mat.QR
	var r mat.Dense
	qr.Factorize(transposed)
	qr.RTo(&r)
	return mat.DenseCopyOf(r.Slice(0, n, 0, n).T())
}

// Condition returns the condition number of the prior's correlation matrix, 1 for independent rewards, and +Inf for one
// that is singular to working precision.
func (p Prior) Condition() float64 {
	if p.Independent() {
		return 1
	}
	corr, _, err := correlation(p.Covariance())
	var chol mat.Cholesky
	if err != nil || !chol.Factorize(corr) {
		return math.Inf(1)
	}
	return chol.Cond()
}

// Precision returns Σ⁻¹ [n, n] and log det Σ, or an ErrSingularPrior where they are not known to working precision.
func (p Prior) Precision() (precision mat.Symmetric, logDet float64, err error) {
	n := len(p.Mean)
	if p.Independent() {
		diagonal := mat.NewDiagDense(n, nil)
		for i, s := range p.Std {
			diagonal.SetDiag(i, 1/(s*s))
			logDet += 2 * math.Log(s)
		}
		return diagonal, logDet, nil
	}
	corr, std, err := correlation(p.Covariance())
	if err != nil {
		return nil, 0, err
	}
	var chol mat.Cholesky
	var inverse mat.SymDense
	if !chol.Factorize(corr) || chol.Cond() > maxCondition {
		return nil, 0, fmt.Errorf("irl: %w", ErrSingularPrior)
	}
	if err := chol.InverseTo(&inverse); err != nil {
		return nil, 0, fmt.Errorf("irl: %w: %w", ErrSingularPrior, err)
	}
	logDet = chol.LogDet() // Σ = D C D has the inverse D⁻¹ C⁻¹ D⁻¹
	for i, s := range std {
		logDet += 2 * math.Log(s)
		for j := i; j < n; j++ {
			inverse.SetSym(i, j, inverse.At(i, j)/s/std[j])
		}
	}
	return &inverse, logDet, nil
}

// Draw draws a reward vector [n] from the prior, whose Factor is given.
func (p Prior) Draw(rng *rand.Rand, factor *mat.Dense) []float64 {
	_, k := factor.Dims()
	noise := make([]float64, k)
	for i := range noise {
		noise[i] = rng.NormFloat64()
	}
	out := make([]float64, len(p.Mean))
	sum := mat.NewVecDense(len(out), out)
	sum.MulVec(factor, mat.NewVecDense(k, noise))
	sum.AddVec(sum, mat.NewVecDense(len(out), p.Mean))
	return out
}

// validate checks the prior against the two lengths that a reward vector may have.
func (p Prior) validate(states, actions int) error {
	n := len(p.Mean)
	if n != states && n != states*actions {
		return fmt.Errorf("irl: prior mean: got %d numbers, want %d (one a state) or %d (one a state-action pair)",
			n, states, states*actions)
	}
	if err := check.Finite("irl: prior mean", p.Mean); err != nil {
		return err
	}
	for i, m := range p.Mean {
		if math.Abs(m) > maxScale {
			return fmt.Errorf("irl: prior mean[%d] = %g, want a number between %g and %g; choose a larger unit of "+
				"reward", i, m, -maxScale, maxScale)
		}
	}
	if p.Std != nil && len(p.Std) != n {
		return fmt.Errorf("irl: prior std: got %d numbers, want %d as in the prior mean", len(p.Std), n)
	}
	switch {
	case p.Cov != nil && (p.Std != nil || p.LowRank != nil):
		return fmt.Errorf("irl: prior: want exactly one of a covariance, standard deviations, and a low-rank factor " +
			"with or without them")
	case p.Cov != nil:
		return p.validateCovariance()
	case p.LowRank != nil:
		return p.validateLowRank()
	case p.Std == nil:
		return fmt.Errorf("irl: prior: want exactly one of a covariance, standard deviations, and a low-rank factor; " +
			"it has none")
	}
	for i, s := range p.Std {
		if err := checkStd(i, s); err != nil {
			return err
		}
	}
	return nil
}

func (p Prior) validateCovariance() error {
	n := len(p.Mean)
	if p.Cov.SymmetricDim() != n {
		return fmt.Errorf("irl: prior covariance: got %d×%d, want %d×%d as in the prior mean",
			p.Cov.SymmetricDim(), p.Cov.SymmetricDim(), n, n)
	}
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			if v := p.Cov.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("irl: prior covariance[%d,%d] = %g is not finite", i, j, v)
			}
		}
		if v := p.Cov.At(i, i); v > 0 {
			if err := checkScale(fmt.Sprintf("square root of prior covariance[%d,%d]", i, i),
				math.Sqrt(v)); err != nil {
				return err
			}
		}
	}
	corr, _, err := correlation(p.Cov)
	if err != nil {
		return err
	}
	return semidefinite(corr)
}

func (p Prior) validateLowRank() error {
	n, k := p.LowRank.Dims()
	if n != len(p.Mean) {
		return fmt.Errorf("irl: prior low-rank factor: got %d×%d, want %d rows as in the prior mean", n, k, len(p.Mean))
	}
	largest := 0.0
	for i := 0; i < n; i++ {
		row := mat.Row(nil, i, p.LowRank)
		if err := check.Finite(fmt.Sprintf("irl: prior low-rank factor[%d]", i), row); err != nil {
			return err
		}
		scale := floats.Norm(row, 2)
		if p.Std != nil {
			if s := p.Std[i]; s != 0 {
				if err := checkStd(i, s); err != nil {
					return err
				}
				scale = math.Hypot(scale, s)
			}
		}
		if scale > 0 {
			if err := checkScale(fmt.Sprintf("length of row %d of the prior low-rank factor", i), scale); err != nil {
				return err
			}
		}
		largest = math.Max(largest, scale)
	}
	if largest == 0 {
		return errAllKnown
	}
	return nil
}

// checkStd is checkScale of the standard deviation of a reward that is not known.
func checkStd(i int, s float64) error {
	if err := checkScale(fmt.Sprintf("prior std[%d]", i), s); err != nil {
		return fmt.Errorf("%w, or 0 for a known reward (in Go by DiagonalPrior)", err)
	}
	return nil
}

// checkScale refuses a standard deviation or a rationality coefficient that methods cannot compute with.
func checkScale(what string, x float64) error {
	if !(x >= minScale && x <= maxScale) {
		return fmt.Errorf("irl: %s = %g, want a number from %g to %g", what, x, minScale, maxScale)
	}
	return nil
}
