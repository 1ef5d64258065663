package graphs

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
)

// LogActionProbs approximates the log of the expected Boltzmann policy under Gaussian Q-values, log p(a|s; θ), by the
// closed form of Lu et al. (2021) (Eq. mean-field-action-prob).
//
//	mean   [B, A, S]     means of Q(s, ·)
//	cov    [B, A, A, S]  their covariances
//	beta   [B, 1, 1, 1]  rationality coefficient
//	result [B, A, S]
func LogActionProbs(mean, cov, beta *Node) *Node {
	variance := ReduceSum(Mul(cov, actionIdentity(cov)), 2)                                 // [B, A, S]
	gapMean := Sub(ExpandAxes(mean, 2), ExpandAxes(mean, 1))                                // [B, a, b, S], μ_a − μ_b
	gapVar := Sub(Add(ExpandAxes(variance, 2), ExpandAxes(variance, 1)), MulScalar(cov, 2)) // Var(Q_a − Q_b)
	gapVar = Max(gapVar, ZerosLike(gapVar))
	scale := Sqrt(OnePlus(MulScalar(Mul(Square(beta), gapVar), 3/(math.Pi*math.Pi))))
	exponent := Neg(Div(Mul(beta, gapMean), scale))
	top := StopGradient(ReduceAndKeep(exponent, ReduceMax, 2)) // the largest is taken out of the sum of exponentials
	return Neg(Add(Squeeze(top, 2), Log(ReduceSum(Exp(Sub(exponent, top)), 2))))
}

// actionIdentity returns 1 where the two action axes of cov [B, A, A, S] agree, and 0 elsewhere, as [1, A, A, 1].
func actionIdentity(cov *Node) *Node {
	n := cov.Shape().Dim(1)
	return ExpandAxes(ConvertDType(Diagonal(cov.Graph(), n), cov.DType()), 0, -1)
}
