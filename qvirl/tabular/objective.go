package tabular

import (
	"github.com/go-birl/birl/qvirl/graphs"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// jitter is added to the diagonal of the whitened Σ_R, relative to it or to the prior's if that is larger, before it is
// inverted: a few roundings of the precision.
func jitter(double bool) float64 {
	if double {
		return 1e-14
	}
	return 1e-6
}

// kernelNugget is added to the correlations' diagonal: n points in a space of few dimensions leave the kernel matrix
// close to singular.
const kernelNugget = 1e-4

// embeddingSize is the dimension of the latent embedding of Eq. q-mean-cov; the paper's value.
const embeddingSize = 4

// objective are the parts of the loss of a batch, and what the posterior that it belongs to is made of.
type objective struct {
	loss          *Node // [B], the negative ELBO (Eq. elbo)
	gradient      *Node // scalar with the gradient of the summed loss; its value means nothing
	kl            *Node // [B]
	logLikelihood *Node // [B]
	mean          *Node // [B, n]: of z
	spread        *Node // [B, n, n]: a factor of the covariance of z, or with KernelCovariance the covariance itself
	weights       *Node // [B, A, S]: w of the surrogate of the maximum
	rise          *Node // [B, S]: the mean of the maximum less that of π's candidates
	residual      *Node // [B, S]: the maximum's variance less the surrogate's
	logProbs      *Node // [B, A, S]: log p(a|s; θ), Eq. mean-field-action-prob
} // those from weights on are not of the MonteCarlo objective

// newObjective builds the configured loss (Eq. elbo) from the arrays in scope (see batch and batch.arrays).
//
//	rows [drawsPerStep/2]  which rows of the noise the draws of a step are made of; nil for ClosedForm, which has none
func newObjective(scope *model.Scope, g *Graph, rows *Node, b shape, c Config) objective {
	if c.Objective == MonteCarlo {
		return newMonteCarloObjective(scope, rows, b, c)
	}
	get := func(name string) *Node { return scope.GetVariable(name).NodeValue(g) }
	mean, spread := get("mean"), latentSpread(get, c)
	keep := graphs.Materializer(get("identity"))
	meanH, covH, other := b.candidateMoments(get, mean, spread, c)
	meanH, covH = keep(meanH), keep(covH)

	// max h is replaced by its surrogate Σ_a w(a,s) h(a,s), whose variance falls short of the maximum's by the
	// residual, clamped at zero (Appendix "Positive semi-definiteness"). The clamp and the moments of the maximum
	// commute with taking the same variable from all candidates.
	reference := get("reference")
	meanMax, varMax, weights := c.Maximum.Graph(meanH, covH, get("distinct"), keep)
	rise := Sub(meanMax, ReduceSum(Mul(reference, meanH), 1))
	residual := Sub(varMax, graphs.SurrogateVariance(covH, weights))
	residual = Max(residual, ZerosLike(residual))

	whitened, cov := b.whitenedReward(get, mean, spread, other, Sub(weights, reference), rise, residual, c)
	logProbs := graphs.LogActionProbs(meanH, covH, get("beta"))
	var logLikelihood *Node
	if c.Objective == ClosedDivergence {
		_, candidates, top := drawValues(get, rows, b, mean, spread)
		logLikelihood = drawnLikelihood(get, Sub(candidates, top), c)
	} else {
		logLikelihood = ReduceSum(Mul(get("counts"), logProbs), 1, 2)
	}
	kl, klGradient := whitenedKL(whitened, cov, jitter(b.float64))
	return objective{
		loss: Sub(kl, logLikelihood), gradient: ReduceAllSum(Sub(klGradient, logLikelihood)),
		kl: kl, logLikelihood: logLikelihood, mean: mean, spread: spread,
		weights: weights, rise: rise, residual: residual, logProbs: logProbs,
	}
}

// candidateMoments returns the moments of the candidates less the first, [B, A, S] and [B, A, A, S]: with D the
// contrasts, means D z̄ + d and covariance (D F)(D F)ᵀ; and D F, or D with KernelCovariance, [B, A−1, S, n].
func (b shape) candidateMoments(get func(string) *Node, mean, spread *Node, c Config) (meanH, covH, other *Node) {
	contrast := get("contrast") // [B, (A−1)·S, n]
	byAction := func(x *Node) *Node { return Reshape(x, b.size, -1, b.states, b.dim) }
	meanH = Reshape(matVec(contrast, mean), get("contrastOrigin").Shape().Dimensions...)
	meanH = b.withFirst(Add(meanH, get("contrastOrigin")), 1)
	moved := byAction(MatMul(contrast, spread)) // D F or D Σ, [B, A−1, S, n]
	other = moved
	if c.Covariance == KernelCovariance {
		other = byAction(contrast)
		covH = Einsum("basn,bcsn->bacs", moved, other)
	} else {
		half := Einsum("basn,bcsn->bacs", moved, StopGradient(moved)) // the covariance, with half of its gradient
		covH = Sub(Add(half, Transpose(half, 1, 2)), StopGradient(half))
	}
	return meanH, b.withFirst(b.withFirst(covH, 1), 2), other
}

// whitenedReward returns the moments of the whitened R, [B, n] and [B, n, n], which is linear in z: its mean is
// z̄ − U·rise, its covariance G Gᵀ + U diag(residual) Uᵀ with
//
//	G = (I − U Σ_a (w_a − π_a) D_a) F,  excess = w − π.
func (b shape) whitenedReward(get func(string) *Node, mean, spread, other, excess, rise, residual *Node, c Config) (
	whitened, cov *Node) {
	pull := get("pull")
	if b.actions > 1 {
		excess = SliceAxis(excess, 1, AxisRange(1))
	}
	surrogate := ReduceSum(Mul(ExpandAxes(excess, -1), other), 1) // [B, S, n]: (Σ_a (w_a − π_a) D_a) F
	whitened = mean
	start := graphs.IdentityLike(spread) // where the expert follows the reference policy
	if c.Covariance == FullCovariance {
		start = spread
	}
	if !c.Whiten {
		map0 := get("map0")
		whitened, start = Add(matVec(map0, mean), get("reward0")), map0
		if c.Covariance == FullCovariance {
			start = MatMul(map0, spread)
		}
	}
	var root, lift *Node // [B, n, n]
	if b.diagonal {
		whitened = Sub(whitened, Mul(pull, rise))
		root = Sub(start, Mul(surrogate, ExpandAxes(pull, -1)))
		lift = diagonalMatrix(Mul(Square(pull), residual))
	} else {
		whitened = Sub(whitened, matVec(pull, rise))
		root = Sub(start, MatMul(pull, surrogate))
		lift = MatMul(Mul(pull, ExpandAxes(residual, 1)), graphs.SwapLast(pull))
	}
	if c.Covariance == KernelCovariance {
		cov = MatMul(MatMul(root, spread), graphs.SwapLast(root))
	} else {
		cov = MatMul(root, graphs.SwapLast(StopGradient(root)))
		// the divergence's gradient in it is symmetric: half of it twice
		cov = Sub(MulScalar(cov, 2), StopGradient(cov))
	}
	return whitened, Add(cov, lift)
}

// withFirst puts the first action before the others in an axis of x: zeros, as it is less itself.
func (b shape) withFirst(x *Node, axis int) *Node {
	if b.actions == 1 {
		return x // zeros already: see againstFirst
	}
	return Concatenate([]*Node{ZerosLike(SliceAxis(x, axis, AxisRange(0, 1))), x}, axis)
}

// latentSpread returns what the variational parameters make of the covariance of z: a lower triangular factor [B, n,
// n], or with KernelCovariance the covariance of Eq. q-mean-cov.
func latentSpread(get func(name string) *Node, c Config) *Node {
	if c.Covariance == KernelCovariance {
		return kernelCovariance(get("logStd"), get("embedding"))
	}
	return TakeLowerTriangular(get("factor"), 0)
}

// whitenedKL returns KL(N(mean, cov) ‖ N(0, I)) [B] (Eq. kl-gaussians), and a node [B] that has the divergence's
// gradient but not its value: the gradient in the covariance is ½(I − Σ⁻¹), so none needs to run through the inverse.
//
//	mean [B, n], cov [B, n, n]  the variational reward posterior in the prior's whitened coordinates
func whitenedKL(mean, cov *Node, jitter float64) (kl, gradient *Node) {
	identity := graphs.IdentityLike(cov)
	variance := ReduceSum(Mul(cov, identity), -1)
	lift := StopGradient(MulScalar(Max(variance, OnesLike(variance)), jitter))
	cov = Add(cov, Mul(ExpandAxes(lift, -1), identity))
	inverse, logDet := graphs.SPDInverse(StopGradient(cov))
	inverse, logDet = StopGradient(inverse), StopGradient(logDet)
	quadratic := ReduceSum(Square(mean), -1)
	trace := ReduceSum(Mul(cov, identity), -1, -2)
	n := float64(mean.Shape().Dim(-1))
	kl = MulScalar(Sub(Add(trace, quadratic), AddScalar(logDet, n)), 0.5)
	slope := MulScalar(Sub(identity, inverse), 0.5)
	return kl, Add(ReduceSum(Mul(slope, cov), -1, -2), MulScalar(quadratic, 0.5))
}

// kernelCovariance returns Σ = [σ_i σ_j k(e_i, e_j)] with k the radial basis function of unit length (Eq. q-mean-cov).
//
//	logStd    [..., n]
//	embedding [..., n, d]
//	result    [..., n, n]
func kernelCovariance(logStd, embedding *Node) *Node {
	squares := ReduceSum(Square(embedding), -1)
	distance2 := Sub(Add(ExpandAxes(squares, -1), ExpandAxes(squares, -2)),
		MulScalar(MatMul(embedding, graphs.SwapLast(embedding)), 2))
	distance2 = Max(distance2, ZerosLike(distance2))
	std := Exp(logStd)
	correlation := Exp(MulScalar(distance2, -0.5))
	nugget := MulScalar(diagonalMatrix(OnesLike(std)), kernelNugget)
	return Mul(Mul(ExpandAxes(std, -1), ExpandAxes(std, -2)), Add(correlation, nugget))
}

// diagonalMatrix returns the matrices [B, n, n] with the given diagonals [B, n].
func diagonalMatrix(d *Node) *Node {
	column := ExpandAxes(d, -1)
	return Mul(column, graphs.IdentityLike(BroadcastToDims(column, d.Shape().Dim(0), d.Shape().Dim(1),
		d.Shape().Dim(1))))
}

// matVec returns the products [B, r] of matrices a [B, r, c] and vectors x [B, c].
func matVec(a, x *Node) *Node { return Squeeze(MatMul(a, ExpandAxes(x, -1)), -1) }
