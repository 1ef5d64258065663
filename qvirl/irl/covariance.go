package irl

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// factorCovariance factorises cov = D C D, with C the correlation matrix and D the standard deviations: L = D chol(C),
// and L = D V √Λ where C is singular, with C = V Λ Vᵀ, of which eigenvalues that rounding could have made are left
// out.
func factorCovariance(cov *mat.SymDense) (*mat.Dense, error) {
	n := cov.SymmetricDim()
	corr, std, err := correlation(cov)
	if err != nil {
		return nil, err
	}
	factor := mat.NewDense(n, n, nil)
	var chol mat.Cholesky
	if chol.Factorize(corr) {
		var lower mat.TriDense
		chol.LTo(&lower)
		factor.Copy(&lower)
	} else {
		if err := semidefinite(corr); err != nil {
			return nil, err
		}
		if factor, err = principal(corr); err != nil {
			return nil, err
		}
	}
	for i, s := range std {
		row := factor.RowView(i).(*mat.VecDense)
		row.ScaleVec(s, row)
	}
	return factor, nil
}

// principal returns V √Λ [n, rank] of a positive semi-definite C = V Λ Vᵀ without the eigenvalues that rounding could
// have made, the smallest first: with C = U Uᵀ by pivoted Cholesky, whose U has as many columns as C has rank, and
// Uᵀ U = W Λ Wᵀ, it is U W. Where the rank is low, that takes a small part of the time of the eigenvectors of C.
func principal(corr *mat.SymDense) (*mat.Dense, error) {
	n := corr.SymmetricDim()
	var pivoted mat.PivotedCholesky
	pivoted.Factorize(corr, -1)
	root, upper := mat.NewDense(n, pivoted.Rank(), nil), pivoted.RawU()
	for c, i := range pivoted.ColumnPivots(nil) {
		for k := range min(c+1, pivoted.Rank()) {
			root.Set(i, k, upper.At(k, c))
		}
	}
	var square mat.SymDense
	square.SymOuterK(1, root.T())
	var eig mat.EigenSym
	if !eig.Factorize(&square, true) {
		return nil, errEigen
	}
	values := eig.Values(nil)
	first := 0
	for values[first] <= float64(n)*0x1p-52*values[len(values)-1] {
		first++
	}
	var vectors, factor mat.Dense
	eig.VectorsTo(&vectors)
	factor.Mul(root, vectors.Slice(0, len(values), first, len(values)))
	return &factor, nil
}

// correlation splits a covariance into correlations [n, n] and standard deviations [n]. Where a variance is zero, so
// is the row of correlations.
func correlation(cov *mat.SymDense) (*mat.SymDense, []float64, error) {
	n := cov.SymmetricDim()
	std := make([]float64, n)
	for i := range std {
		v := cov.At(i, i)
		if v < 0 {
			return nil, nil, fmt.Errorf("irl: prior covariance[%d,%d] = %g, and a variance is not negative", i, i, v)
		}
		std[i] = math.Sqrt(v)
	}
	corr := mat.NewSymDense(n, nil)
	for i, a := range std {
		for j := i; j < n; j++ {
			switch b, c := std[j], cov.At(i, j); {
			case a > 0 && b > 0:
				corr.SetSym(i, j, c/a/b)
			case c != 0:
				return nil, nil, fmt.Errorf("irl: prior covariance[%d,%d] = %g beside a variance of zero: "+
					"it is not positive semi-definite", i, j, c)
			}
		}
	}
	return corr, std, nil
}

var errEigen = errors.New("irl: the eigenvalues of the prior covariance could not be computed")

// semidefinite refuses a correlation matrix C that is not positive semi-definite but for rounding. Of most that are,
// C + indefinite·I has a Cholesky factor, which is found sooner than eigenvalues.
func semidefinite(corr *mat.SymDense) error {
	n := corr.SymmetricDim()
	shifted := mat.NewSymDense(n, nil)
	shifted.CopySym(corr)
	largest := 0.0
	for i := range n {
		largest = max(largest, corr.At(i, i))
		shifted.SetSym(i, i, corr.At(i, i)+indefinite)
	}
	if largest == 0 {
		return errAllKnown
	}
	var chol mat.Cholesky
	if chol.Factorize(shifted) {
		return nil
	}
	var eig mat.EigenSym
	if !eig.Factorize(corr, false) {
		return errEigen
	}
	values := eig.Values(nil)
	if smallest, largest := values[0], values[n-1]; smallest < -indefinite*largest {
		return fmt.Errorf("irl: prior covariance is not positive semi-definite: of the correlations in it "+
			"the smallest eigenvalue is %.6g and the largest %.6g; rounding would excuse no less than %g of the "+
			"largest", smallest, largest, -indefinite)
	}
	return nil
}
