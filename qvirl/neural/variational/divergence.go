package variational

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/graphs"
)

// gaussianKL returns KL(N(mean, cov) ‖ N(priorMean, priorCov)) [runs] (Eq. kl-gaussians), all of it with gradients in
// the means but none in the covariances: those are slope = ½(Σ₂⁻¹ − Σ₁⁻¹) in cov and priorSlope = ½(Σ₂⁻¹ − Σ₂⁻¹(Σ₁ +
// δδᵀ)Σ₂⁻¹) in priorCov, with Σ₁, Σ₂ the covariances and δ the difference of the means.
//
// It computes in double precision: transitions that are nearly alike leave matrices that single precision cannot
// invert.
//
//	mean, priorMean    [runs, n]
//	cov, priorCov      [runs, n, n], positive definite
//	slope, priorSlope  [runs, n, n]
func gaussianKL(mean, cov, priorMean, priorCov *Node) (kl, slope, priorSlope *Node) {
	runs, n := mean.Shape().Dim(0), mean.Shape().Dim(1)
	dtype := mean.DType()
	mean, priorMean = wide(mean), wide(priorMean)
	cov, priorCov = wide(StopGradient(cov)), wide(StopGradient(priorCov))
	// one chain of operations inverts both
	inverses, logDets := graphs.SPDInverse(Concatenate([]*Node{cov, priorCov}, 0))
	inverses, logDets = StopGradient(inverses), StopGradient(logDets)
	first, second := AxisRange(0, runs), AxisRange(runs)
	precision, priorPrecision := SliceAxis(inverses, 0, first), SliceAxis(inverses, 0, second)
	logDet, priorLogDet := SliceAxis(logDets, 0, first), SliceAxis(logDets, 0, second)

	gap := ExpandAxes(Sub(mean, priorMean), -1)
	quadratic := ReduceSum(Mul(gap, MatMul(priorPrecision, gap)), 1, 2)
	trace := ReduceSum(Mul(priorPrecision, cov), 1, 2)
	kl = MulScalar(Add(Add(trace, quadratic), Sub(priorLogDet, AddScalar(logDet, float64(n)))), 0.5)

	gap = StopGradient(gap)
	spread := Add(cov, MatMul(gap, Transpose(gap, -2, -1)))
	sandwich := MatMul(MatMul(priorPrecision, spread), priorPrecision)
	slope = MulScalar(Sub(priorPrecision, precision), 0.5)
	priorSlope = MulScalar(Sub(priorPrecision, sandwich), 0.5)
	narrow := func(x *Node) *Node { return ConvertDType(x, dtype) }
	return narrow(kl), narrow(slope), narrow(priorSlope)
}

// wide converts to double precision.
func wide(x *Node) *Node { return ConvertDType(x, dtypes.Float64) }
