package tabular

import (
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// priorJitter is added to the diagonal of Σ_R, relative to the prior variance, before it is inverted.
const priorJitter = 1e-6

// kernelNugget is added to the correlations' diagonal: n points in a space of few dimensions leave the kernel matrix close
// to singular.
const kernelNugget = 1e-4

// embeddingSize is the dimension of the latent embedding of Eq. q-mean-cov; the paper's value.
const embeddingSize = 4

// objective are the parts of the loss of a batch, and the posterior that it belongs to.
type objective struct {
	loss          *Node // [B], the negative ELBO (Eq. elbo)
	gradient      *Node // scalar with the gradient of the summed loss; its value means nothing
	kl            *Node // [B]
	logLikelihood *Node // [B]
	meanX, covX   *Node // [B, n], [B, n, n]: the variational values
	meanR, covR   *Node // [B, n], [B, n, n]: the reward they imply
	meanV, varV   *Node // [B, S]: state values
	logProbs      *Node // [B, A, S]: log p(a|s; θ), Eq. mean-field-action-prob
} // those from meanR on are not of the MonteCarlo objective

// newObjective builds the configured loss (Eq. elbo) from the arrays in scope (see batch.arrays).
//
//	rows [drawsPerStep/2]  which rows of the noise the draws of a step are made of; nil for ClosedForm, which has none
func newObjective(scope *model.Scope, g *Graph, rows *Node, b shape, c Config) objective {
	if c.Objective == MonteCarlo {
		return newMonteCarloObjective(scope, rows, b, c)
	}
	get := func(name string) *Node { return scope.GetVariable(name).NodeValue(g) }
	meanX, covX := values(get, c)

	// The candidates' moments, [B, A, S] and [B, A, A, S], from those of each state's neighbours.
	mix := get("mix")                                                     // [B, A, K, S]
	near := gatherFlat(meanX, get("neighbour"))                           // [B, K, S]
	nearCov := gatherFlat(covX, get("neighbourPair"))                     // [B, K, K, S]
	meanH := ReduceSum(Mul(mix, ExpandAxes(near, 1)), 2)                  // Σ_k mix(a,k) x_k
	half := ReduceSum(Mul(ExpandAxes(mix, 3), ExpandAxes(nearCov, 1)), 2) // [B, A, K, S], Σ_k mix(a,k) Cov(x_k, x_l)
	covH := ReduceSum(Mul(ExpandAxes(half, 2), ExpandAxes(mix, 1)), 3)
	keep := graphs.Materializer(get("identity"))
	meanH, covH = keep(meanH), keep(covH)

	meanMax, varMax, weights := c.Maximum.Graph(meanH, covH, get("distinct"), keep)

	// R = x − T max h is linear in x once the maximum is replaced by its surrogate Σ_a w(a,s) h(a,s), whose variance
	// falls short of the maximum's by the residual, clamped at zero (Appendix "Positive semi-definiteness").
	residual := Sub(varMax, graphs.SurrogateVariance(covH, weights))
	residual = Max(residual, ZerosLike(residual))
	pull := ReduceSum(Mul(mix, ExpandAxes(weights, 2)), 1) // [B, K, S], the surrogate's weights on the neighbours
	surrogate := scatterFlat(pull, get("neighbourInRow"), b.size, b.states, b.dim)
	t := get("step")
	var meanR, bellman, lift *Node
	if b.stateOnly {
		meanR = Sub(meanX, Mul(t, meanMax))
		bellman = Mul(ExpandAxes(t, -1), surrogate)
		lift = diagonalMatrix(Mul(Square(t), residual))
	} else {
		meanR = Sub(meanX, matVec(t, meanMax))
		bellman = MatMul(t, surrogate)
		// a successor that two rewards share is one random variable, so its residual enters their covariance too
		lift = MatMul(Mul(t, ExpandAxes(residual, 1)), graphs.SwapLast(t))
	}
	bellman = Sub(graphs.IdentityLike(bellman), bellman)
	covR := Add(MatMul(MatMul(bellman, covX), graphs.SwapLast(bellman)), lift)

	qScale := get("qScale")
	logProbs := graphs.LogActionProbs(Mul(qScale, meanH), Mul(ExpandAxes(Square(qScale), 1), covH), get("beta"))
	var logLikelihood *Node
	if c.Objective == ClosedDivergence {
		mean, factor := meanAndFactor(get, c)
		_, candidates, top := drawValues(get, rows, b, mean, factor)
		logLikelihood = drawnLikelihood(get, Sub(candidates, top), c)
	} else {
		logLikelihood = ReduceSum(Mul(get("counts"), logProbs), 1, 2)
	}
	kl, klGradient := gaussianKL(meanR, covR, get("priorMean"), get("priorPrecision"), get("priorLogDet"))
	o := objective{
		loss: Sub(kl, logLikelihood), gradient: ReduceAllSum(Sub(klGradient, logLikelihood)),
		kl: kl, logLikelihood: logLikelihood, logProbs: logProbs,
		meanX: meanX, covX: covX, meanR: meanR, covR: covR, meanV: meanMax, varV: varMax,
	}
	if b.stateOnly {
		o.meanV, o.varV = meanX, ReduceSum(Mul(covX, graphs.IdentityLike(covX)), -1)
	}
	return o
}

// values returns the variational mean [B, n] and covariance [B, n, n] of x, made of the variational parameters: the mean
// and a lower triangular factor of the latent z, or the means, standard deviations and embeddings of Eq. q-mean-cov.
func values(get func(name string) *Node, c Config) (mean, cov *Node) {
	if c.Covariance == FullCovariance {
		mean, factor := meanAndFactor(get, c)
		return mean, MatMul(factor, graphs.SwapLast(factor))
	}
	mean, cov = get("mean"), kernelCovariance(get("logStd"), get("embedding"))
	if c.Whiten {
		mean = Add(get("origin"), matVec(get("basis"), mean))
		cov = MatMul(MatMul(get("basis"), cov), graphs.SwapLast(get("basis")))
	}
	return mean, cov
}

// meanAndFactor returns the variational mean [B, n] and a factor [B, n, n] of the variational FullCovariance of x.
func meanAndFactor(get func(name string) *Node, c Config) (mean, factor *Node) {
	mean, factor = get("mean"), TakeLowerTriangular(get("factor"), 0)
	if c.Whiten {
		mean = Add(get("origin"), matVec(get("basis"), mean))
		factor = MatMul(get("basis"), factor)
	}
	return mean, factor
}

// gaussianKL returns KL(N(mean, cov) ‖ prior) [B] (Eq. kl-gaussians), and a node [B] that has the divergence's gradient but
// not its value: the gradient in the covariance is ½(Σ₀⁻¹ − Σ⁻¹), so none needs to run through the inverse.
//
//	mean [B, n], cov [B, n, n]                                   the variational reward posterior
//	priorMean [B, n], priorPrecision [B, n, n], priorLogDet [B]  the prior, log-determinant of its covariance
func gaussianKL(mean, cov, priorMean, priorPrecision, priorLogDet *Node) (kl, gradient *Node) {
	n := mean.Shape().Dim(-1)
	priorVariance := Reciprocal(ReduceMean(ReduceSum(Mul(priorPrecision, graphs.IdentityLike(cov)), -1), -1)) // [B]
	jitter := MulScalar(ExpandAxes(priorVariance, -1, -2), priorJitter)
	cov = Add(cov, Mul(jitter, graphs.IdentityLike(cov)))
	inverse, logDet := graphs.SPDInverse(StopGradient(cov))
	inverse, logDet = StopGradient(inverse), StopGradient(logDet)
	gap := Sub(mean, priorMean)
	quadratic := ReduceSum(Mul(gap, matVec(priorPrecision, gap)), -1)
	trace := ReduceSum(Mul(priorPrecision, cov), -1, -2)
	kl = MulScalar(Add(Add(trace, quadratic), Sub(priorLogDet, AddScalar(logDet, float64(n)))), 0.5)
	slope := MulScalar(Sub(priorPrecision, inverse), 0.5)
	return kl, Add(ReduceSum(Mul(slope, cov), -1, -2), MulScalar(quadratic, 0.5))
}

// kernelCovariance returns Σ = [σ_i σ_j k(e_i, e_j)] with k the radial basis function of unit length (Eq. q-mean-cov).
//
//	logStd    [..., n]
//	embedding [..., n, d]
//	result    [..., n, n]
func kernelCovariance(logStd, embedding *Node) *Node {
	squares := ReduceSum(Square(embedding), -1)
	distance2 := Sub(Add(ExpandAxes(squares, -1), ExpandAxes(squares, -2)), MulScalar(MatMul(embedding, graphs.SwapLast(embedding)), 2))
	distance2 = Max(distance2, ZerosLike(distance2))
	std := Exp(logStd)
	correlation := Exp(MulScalar(distance2, -0.5))
	nugget := MulScalar(diagonalMatrix(OnesLike(std)), kernelNugget)
	return Mul(Mul(ExpandAxes(std, -1), ExpandAxes(std, -2)), Add(correlation, nugget))
}

// diagonalMatrix returns the matrices [B, n, n] with the given diagonals [B, n].
func diagonalMatrix(d *Node) *Node {
	column := ExpandAxes(d, -1)
	return Mul(column, graphs.IdentityLike(BroadcastToDims(column, d.Shape().Dim(0), d.Shape().Dim(1), d.Shape().Dim(1))))
}

// matVec returns the products [B, r] of matrices a [B, r, c] and vectors x [B, c].
func matVec(a, x *Node) *Node { return Squeeze(MatMul(a, ExpandAxes(x, -1)), -1) }

// scatterFlat returns zeros of the given dimensions with the values added at the given indices into them, flattened.
func scatterFlat(values, indices *Node, dims ...int) *Node {
	size := 1
	for _, d := range dims {
		size *= d
	}
	count := values.Shape().Size()
	flat := Scatter(Reshape(indices, count, 1), Reshape(values, count), shapes.Make(values.DType(), size), false, false)
	return Reshape(flat, dims...)
}
