package tabular

import (
	"math/rand/v2"

	"github.com/go-birl/birl/qvirl/graphs"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

const (
	// drawsPerStep is the number of values drawn in a step, in antithetic pairs.
	drawsPerStep = 16
	// noiseBank is the number of standard normal vectors that the draws are made of. They are drawn once, for all
	// problems.
	noiseBank = 4096
	// evaluations is the number of steps' draws, always the same, that the ELBO is averaged over at the end of a round.
	evaluations = 64
	// loopTemperature softens the greedy policy in the stand-in for the determinant, as a fraction of the prior's
	// standard deviation.
	loopTemperature = 0.05
)

// newMonteCarloObjective builds the loss of the MonteCarlo objective. With R(x) the rewards that have the optimal
// values x, it is the KL divergence over rewards, by a change of variables,
//
//	KL = −H[q] − E_q[log p₀(R(x)) + log|det ∂R/∂x|],
//
// less E_q[Σ log p(a|s; x)], or Σ log E_q[p(a|s; x)] with Config.LogExpected, all expectations over draws z = z̄ ± F
// ε, and log p₀(R) = −½ |L⁻¹(R − m)|² up to constants. Nothing is approximated but the determinant: det(I − γ P_π) is
// piecewise constant in x, without a gradient, and its place takes the product of the diagonal under a policy that is
// a sharp softmax instead of greedy. (The determinant is a sum over cycles of the greedy policy, and those seldom
// cycle other than by staying in place.)
//
//	rows [drawsPerStep/2]  which rows of the noise the draws are made of
func newMonteCarloObjective(scope *model.Scope, rows *Node, b shape, c Config) objective {
	g := rows.Graph()
	get := func(name string) *Node { return scope.GetVariable(name).NodeValue(g) }
	mean, factor := get("mean"), latentSpread(get, c)
	z, candidates, top := drawValues(get, rows, b, mean, factor)
	// The gradient of the maximum goes to the best candidate, the first of equal ones.
	best := Mul(ConvertDType(Equal(candidates, top), mean.DType()), ExpandAxes(get("distinct"), -1))
	best = StopGradient(Div(best, ReduceAndKeep(best, ReduceSum, 1)))
	rise := ReduceSum(Mul(Sub(best, ExpandAxes(get("reference"), -1)), candidates), 1) // [B, S, M]
	if !c.Whiten {
		z = Add(MatMul(get("map0"), z), ExpandAxes(get("reward0"), -1))
	}
	pull := get("pull")
	var whitened *Node // [B, n, M]
	if b.diagonal {
		whitened = Sub(z, Mul(ExpandAxes(pull, -1), rise))
	} else {
		whitened = Sub(z, MatMul(pull, rise))
	}
	logPrior := MulScalar(overDraws(ReduceSum(Square(whitened), 1, 2)), -0.5)

	behind := Sub(candidates, top)
	soft := Exp(Mul(get("inverseTemperature"), behind)) // [B, A, S, M]
	stay := Div(ReduceSum(Mul(soft, ExpandAxes(get("selfStep"), -1)), 1), ReduceSum(soft, 1))
	logDet := overDraws(ReduceSum(Log(OneMinus(stay)), 1, 2))

	diagonal := ReduceSum(Mul(factor, graphs.IdentityLike(factor)), -1)
	entropy := AddScalar(ReduceSum(Log(Abs(diagonal)), -1), 0.5*float64(b.dim)) // of z, less ½ n log 2π as logPrior
	// to units of the prior: log|det A₀| − log|det L|
	entropy = Sub(entropy, get("logDet"))

	logLikelihood := drawnLikelihood(get, behind, c)
	kl := Neg(Add(Add(entropy, logPrior), logDet))
	loss := Sub(kl, logLikelihood)
	return objective{loss: loss, gradient: ReduceAllSum(loss), kl: kl, logLikelihood: logLikelihood,
		mean: mean, spread: factor}
}

// drawValues draws latent values z = mean ± factor·ε [B, n, M], with the candidates for the maximum in each state that
// belong to them, less the first [B, A, S, M], and the highest of these [B, 1, S, M], which has no gradient.
func drawValues(get func(name string) *Node, rows *Node, b shape, mean, factor *Node) (z, candidates, top *Node) {
	noise := Gather(get("noise"), ExpandAxes(rows, -1)) // [M/2, n]
	noise = BroadcastToDims(ExpandAxes(noise, 0), b.size, drawsPerStep/2, b.dim)
	gap := MatMul(factor, graphs.SwapLast(noise)) // [B, n, M/2]
	column := ExpandAxes(mean, -1)
	z = Concatenate([]*Node{Add(column, gap), Sub(column, gap)}, -1)
	candidates = Reshape(MatMul(get("contrast"), z), b.size, -1, b.states, drawsPerStep)
	candidates = b.withFirst(Add(candidates, ExpandAxes(get("contrastOrigin"), -1)), 1)
	return z, candidates, StopGradient(ReduceAndKeep(candidates, ReduceMax, 1))
}

// drawnLikelihood returns the mean of Σ log p(a|s; x) over draws, or Σ log of the mean of p(a|s; x) with
// Config.LogExpected, [B]. behind [B, A, S, M] are the candidates less the highest.
func drawnLikelihood(get func(name string) *Node, behind *Node, c Config) *Node {
	logits := Mul(get("beta"), behind)
	logProbs := Sub(logits, ReduceAndKeep(Log(ReduceAndKeep(Exp(logits), ReduceSum, 1)), ReduceSum, 1))
	if c.LogExpected {
		highest := StopGradient(ReduceAndKeep(logProbs, ReduceMax, -1))
		expected := Add(Squeeze(highest, -1), Log(overDraws(ReduceSum(Exp(Sub(logProbs, highest)), -1)))) // [B, A, S]
		return ReduceSum(Mul(get("counts"), expected), 1, 2)
	}
	return overDraws(ReduceSum(Mul(ExpandAxes(get("counts"), -1), logProbs), 1, 2, 3))
}

// overDraws turns a sum over the draws of a step into their mean.
func overDraws(sum *Node) *Node { return MulScalar(sum, 1.0/drawsPerStep) }

// Random streams of a fit with an objective that draws values, beside that of the noise.
const (
	trainingDraws   = 2
	evaluationDraws = 3
	answerDraws     = 4
)

// noiseRows returns what chooses the rows of the noise that the next step uses, the same for all problems, from one of
// the streams: none for an objective that draws nothing.
func (c Config) noiseRows(stream uint64) func() []int32 {
	if !c.draws() {
		return func() []int32 { return nil }
	}
	rng := rand.New(rand.NewPCG(c.Seed, stream))
	return func() []int32 {
		rows := make([]int32, drawsPerStep/2)
		for i := range rows {
			rows[i] = int32(rng.IntN(noiseBank))
		}
		return rows
	}
}
