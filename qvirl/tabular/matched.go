package tabular

import (
	"fmt"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/irl"
	"gonum.org/v1/gonum/mat"
)

// NewGaussian returns the posterior under which the optimal values are N(mean, cov), mean [ValueDim] and cov [ValueDim,
// ValueDim], positive definite: V*(s) for state-only rewards, Q*(s,a) for state-action rewards, and then log β if it is
// inferred. Rewards and everything else follow from draws of values through the exact maximum, as with the MonteCarlo
// objective. converged is what Converged will report.
func NewGaussian(problem *irl.Problem, mean []float64, cov mat.Symmetric, converged bool) (*Gaussian, error) {
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	n := problem.ValueDim()
	if len(mean) != n || cov.SymmetricDim() != n {
		return nil, fmt.Errorf("tabular: a Gaussian over values: got %d means and a covariance of %d, want %d of both",
			len(mean), cov.SymmetricDim(), n)
	}
	if err := check.Finite("tabular: mean of the values", mean); err != nil {
		return nil, err
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return nil, fmt.Errorf("tabular: a Gaussian over values: the covariance is not positive definite")
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	p := &Gaussian{problem: problem, meanX: append([]float64(nil), mean...), converged: converged,
		around: &full{covX: mat.DenseCopyOf(cov), rootX: mat.DenseCopyOf(&lower)}}
	return p, p.setExact()
}
