package variational

import (
	"errors"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/neural"
)

// The methods' names in result rows.
const (
	Name         = "qvirl"
	NameEnsemble = "qvirl-ensemble"
)

const (
	// network is the name of the encoder.
	network = "q"
	// paramTransitions is N, the number of demonstrated transitions of a run.
	paramTransitions = "demonstrated_transitions"
)

// Objective is the loss of continuous QVIRL (Appendix "KL and the loss"),
//
//	λ/|B_all| KL(q_R(R_B_all) ‖ p(R_B_all)) − Σ_B_expert log p(a|s),
//
// with B_all the expert's and the auxiliary transitions of a batch, or |B_expert|/N KL(q_R(R_Z) ‖ p(R_Z)) in place of
// the first term with inducing points Z.
type Objective struct {
	// KLWeight is the weight of the divergence in relation to the one that Bayes' theorem gives it where the rewards of
	// a batch, or those at the inducing points, determine all others. The paper's λ, for which it has no value, is
	// KLWeight · |B_expert| · |B_all| / N for N demonstrated transitions.
	KLWeight float64 `json:"kl_weight"`
	// Embedding is the dimension of the latent embedding; the paper's is 4.
	Embedding int `json:"embedding"`
	// Inducing is the number of trainable inducing points at which the divergence is computed, instead of at the
	// transitions of a batch, where auxiliary ones then are of no use; the paper mentions them, but has 0, for none.
	// There have to be as many demonstrated transitions.
	Inducing int `json:"inducing,omitempty"`
	// Maximum is the approximation of the maximum over the successor's actions; the paper's is graphs.Clark.
	Maximum graphs.Maximum `json:"maximum"`
	// PriorMean, PriorStd are the constant mean and the standard deviation σ_0 of the prior over rewards that training
	// starts from; the paper's are −1, and 50 on Lunar Lander or 1 on Highway. They are learnt, and so are the
	// lengthscales.
	PriorMean float64 `json:"prior_mean"`
	PriorStd  float64 `json:"prior_std"`
	// Image is the prior's kernel where observations are images, of which nothing is learnt; zeros for PongPrior("").
	// The paper's PriorMean and PriorStd are 0 and 0.5 there. There can be no inducing points.
	Image ImagePrior `json:"image,omitzero"`
	// ValueStd is the standard deviation of the optimal values that training starts from, in relation to PriorStd, or
	// to 1/β with PerBeta.
	ValueStd float64 `json:"value_std"`
	// PerBeta lets the network count values in 1/β, the difference that a demonstrator can tell, instead of in units of
	// rewards. Where β · PriorStd is in the hundreds training takes thousands of steps to become as sure of values as
	// the demonstrator was, otherwise. The posterior that it aims at is the same.
	PerBeta bool `json:"per_beta,omitempty"`
	// Likelihood is how training computes the log-likelihood; the paper's is ClosedForm.
	Likelihood Likelihood `json:"likelihood"`
	// Draws is the number of draws of each state's values in a step with Sampled; nothing else reads it.
	Draws int `json:"draws"`
	// Marginals is the family of the optimal values' marginal distributions; the paper's is Normal. ClosedForm
	// goes by the values' moments alone, to which another family makes a difference only by its correlations; Sampled
	// by all of it.
	Marginals Marginals `json:"marginals"`
	// Nugget is the variance of each reward, in relation to PriorStd², that is independent of all others, under the
	// prior and under the posterior: transitions that are alike otherwise leave no inverse.
	Nugget float64 `json:"nugget"`
}

// DefaultObjective returns the paper's choices, and ours for KLWeight, with a prior over rewards of the given standard
// deviation; the paper's is 50 on Lunar Lander and 1 on Highway.
func DefaultObjective(priorStd float64) Objective {
	return Objective{KLWeight: 1, Embedding: 4, Maximum: graphs.Clark, Likelihood: ClosedForm, Draws: 8,
		Marginals: Normal, PriorMean: -1, PriorStd: priorStd, ValueStd: 1, Nugget: 1e-4}
}

// Validate reports the first field that is out of range, by its key in JSON.
func (o Objective) Validate() error {
	return check.First(check.All("variational", check.NotNegative("kl_weight", o.KLWeight),
		check.AtLeast(1, "embedding", o.Embedding), check.AtLeast(0, "inducing", o.Inducing),
		check.OneOf("maximum", o.Maximum, graphs.Clark, graphs.MaxMean),
		check.OneOf("likelihood", o.Likelihood, ClosedForm, Sampled),
		check.That(o.Likelihood != Sampled || o.Draws >= 1, "draws = %d, want at least 1", o.Draws),
		check.OneOf("marginals", o.Marginals, Normal, SinhArcsinh),
		check.That(!math.IsNaN(o.PriorMean) && !math.IsInf(o.PriorMean, 0), "prior_mean = %g, want a finite number",
			o.PriorMean),
		check.Positive("prior_std value_std nugget", o.PriorStd, o.ValueStd, o.Nugget)), o.Image.validate())
}

// New returns continuous QVIRL with the given training and objective.
func New(c neural.Config, o Objective) (*neural.Learner, error) {
	return neural.NewLearner(Name, c, o)
}

// Networks returns the encoder.
func (o Objective) Networks() []neural.Network {
	bias := make([]float32, outEmbedding+o.Embedding)
	start := o.ValueStd
	if !o.PerBeta {
		start *= o.PriorStd
	}
	bias[outLogStd] = float32(math.Log(start))
	return []neural.Network{{Name: network, Outputs: len(bias), Bias: bias}}
}

// Parameters returns the prior's, and the number of demonstrated transitions.
func (o Objective) Parameters(d *neural.Data) ([]neural.Parameter, error) {
	images := d.Image != (neural.Image{})
	out := []neural.Parameter{
		{Name: paramPriorMean, Value: []float32{float32(o.PriorMean)}, Fixed: images, NoDecay: true},
		{Name: paramPriorLogStd, Value: []float32{float32(math.Log(o.PriorStd))}, Fixed: images, NoDecay: true},
	}
	if !images && o.Image != (ImagePrior{}) {
		return nil, errors.New("variational: the objective's image is a prior for images, bytes [frames, height, " +
			"width], which observations are not: leave it out")
	}
	if images {
		if err := o.Image.check(d.Image, d.Actions); err != nil {
			return nil, err
		}
		if o.Inducing > 0 {
			return nil, fmt.Errorf("variational: inducing = %d, but there are no inducing points between images",
				o.Inducing)
		}
		scales := imageScales(d)
		out = append(out, neural.Parameter{Name: paramImageScales, Dims: []int{len(scales)}, Value: scales,
			Fixed: true})
	} else {
		scales := lengthscales(d)
		logScales := make([]float32, len(scales))
		for i, l := range scales {
			logScales[i] = float32(math.Log(l))
		}
		out = append(out, neural.Parameter{Name: paramLengthscales, Dims: []int{len(scales)}, Value: logScales,
			NoDecay: true})
	}
	out = append(out, neural.Parameter{Name: paramTransitions, Value: []float32{float32(d.Len())}, Fixed: true})
	if o.Marginals == SinhArcsinh {
		out = append(out, neural.Parameter{Name: paramSkew, Value: []float32{0}, NoDecay: true},
			neural.Parameter{Name: paramLogTail, Value: []float32{0}, NoDecay: true})
	}
	if o.Inducing > 0 {
		points, err := inducingPoints(d, o.Inducing)
		if err != nil {
			return nil, err
		}
		out = append(out, points...)
	}
	return out, nil
}

// Noise returns how many numbers the draws of a step take.
func (o Objective) Noise(expert, aux, actions int) int {
	if o.Likelihood == Sampled {
		return o.Draws * actions * expert
	}
	return 0
}

// Numbers returns how many numbers a step holds of the correlations between all values that the n rewards are made of:
// the value of the action taken, and those of all actions in m successors. The factor was measured.
func (o Objective) Numbers(n, m, actions int) float64 {
	points := float64(n) * float64(1+m*actions)
	return 45 * points * points
}

// Unroll returns 1: the graph is large.
func (o Objective) Unroll() int { return 1 }

// Loss returns the loss. Its surrogate's gradient in the displacements of inducing points is the opposite of the loss's
// (see inducing).
func (o Objective) Loss(w *neural.Weights, b *neural.Batch) neural.Loss {
	at := b.Expert // where the divergence is computed
	switch {
	case o.Inducing > 0:
		at = inducing(w)
	case b.Aux != nil:
		at = join(b.Expert, *b.Aux)
	}
	n, expert := at.Len(), b.Expert.Len()
	states := []*Node{at.State, successorStates(&at)}
	if o.Inducing > 0 {
		states = append(states, b.Expert.State)
	}
	out := o.network(w, Concatenate(states, 1)) // [runs, …, actions, 2 + d]
	rows := func(from, count int) *Node { return SliceAxis(out, 1, AxisRange(from, from+count)) }
	now, next := rows(0, n), rows(n, states[1].Shape().Dim(1))
	demonstrated := rows(0, expert)
	if o.Inducing > 0 {
		demonstrated = SliceAxis(out, 1, AxisRange(n+states[1].Shape().Dim(1)))
	}

	p, q := o.newPrior(w), o.warp(w)
	kl, klSurrogate := o.divergence(newReward(o.Maximum, now, next, &at, q), p, &at)
	weight := Div(ConstAs(kl, o.KLWeight*float64(expert)), w.Parameter(paramTransitions)) // λ/|B_all|
	kl, klSurrogate = Mul(kl, weight), Mul(klSurrogate, weight)

	logLikelihood := o.logLikelihood(newValues(demonstrated, q), w, b)
	return neural.Loss{
		Total: Sub(kl, logLikelihood), Surrogate: Sub(klSurrogate, logLikelihood),
		Terms: []neural.Term{
			{Name: neural.TermKL, Value: kl},
			{Name: neural.TermLogLikelihood, Value: MulScalar(logLikelihood, 1/float64(expert))},
			{Name: "prior_std", Value: p.std},
		},
	}
}

// unit returns what the network counts values in, in units of rewards.
func (o Objective) unit(beta float64) float64 {
	if o.PerBeta {
		return 1 / beta
	}
	return 1
}

// network returns the network's outputs [runs, n, actions, 2 + d] at states, in units of rewards.
func (o Objective) network(w *neural.Weights, states *Node) *Node {
	return o.inRewards(w, w.Network(network, states))
}

// inRewards returns the network's outputs in units of rewards.
func (o Objective) inRewards(w *neural.Weights, out *Node) *Node {
	if !o.PerBeta {
		return out
	}
	unit := o.unit(w.Beta)
	width := outEmbedding + o.Embedding
	factor, offset := slices.Repeat([]float64{1}, width), make([]float64, width)
	factor[outMean], offset[outLogStd] = unit, math.Log(unit)
	each := func(x []float64) *Node {
		return ExpandLeftToRank(ConstAsDType(out.Graph(), out.DType(), x), out.Rank())
	}
	return Add(Mul(out, each(factor)), each(offset))
}

// warp returns the warp of the values' marginals, or nil if they are normal.
func (o Objective) warp(w *neural.Weights) *warp {
	if o.Marginals == Normal {
		return nil
	}
	return newWarp(w.Parameter(paramSkew), w.Parameter(paramLogTail))
}

// Predictor returns the log of the expected Boltzmann policy (Eq. mean-field-action-prob), normalised, and the
// posterior means of the optimal values.
func (o Objective) Predictor(c neural.Constants) neural.Predictor {
	var w *plainWarp
	if o.Marginals == SinhArcsinh {
		w = newPlainWarp(float64(c.Parameter(paramSkew)[0]), math.Exp(float64(c.Parameter(paramLogTail)[0])))
	}
	return func(outputs, logProbs, values []float32) {
		means, all := make([]float64, c.Actions), make([]float64, c.Actions)
		for points := range slices.Chunk(o.points(outputs, c.Beta), c.Actions) {
			for a, p := range points {
				means[a] = p.mean
			}
			total := graphs.PlainLogActionProbs(all, means, func(a, b int) float64 {
				p, q := points[a], points[b]
				return p.std*p.std + q.std*q.std - 2*p.covariance(q, w)
			}, c.Beta)
			log := math.Log(total)
			for a, l := range all {
				logProbs[a], values[a] = float32(l-log), float32(means[a])
			}
			logProbs, values = logProbs[c.Actions:], values[c.Actions:]
		}
	}
}

// Predictions implements neural.InGraph.
func (o Objective) Predictions(w *neural.Weights, outputs *Node) (logProbs, mean *Node) {
	v := newValues(o.inRewards(w, outputs), o.warp(w))
	logs := graphs.LogActionProbs(v.mean, v.covariance(), Scalar(v.mean.Graph(), v.mean.DType(), w.Beta))
	return Transpose(LogSoftmax(logs, 1), 1, 2), Transpose(v.mean, 1, 2)
}

// logLikelihood returns Σ log p(a|s) [runs] over the expert transitions of a batch, given the values at their states.
func (o Objective) logLikelihood(v values, w *neural.Weights, b *neural.Batch) *Node {
	action := Transpose(b.Expert.Action, 1, 2) // [runs, actions, n]
	if o.Likelihood == ClosedForm {
		beta := Scalar(v.mean.Graph(), v.mean.DType(), w.Beta)
		return ReduceSum(Mul(graphs.LogActionProbs(v.mean, v.covariance(), beta), action), 1, 2)
	}
	noise := Reshape(b.Noise, w.Runs, o.Draws, w.Actions, b.Expert.Len())
	return sampledLogLikelihood(v, action, noise, w.Beta)
}

// join returns the transitions of both.
func join(a, b neural.Transitions) neural.Transitions {
	both := func(x, y *Node) *Node { return Concatenate([]*Node{x, y}, 1) }
	out := neural.Transitions{
		State: both(a.State, b.State), Next: both(a.Next, b.Next), Action: both(a.Action, b.Action),
		NextAction: both(a.NextAction, b.NextAction), Discount: both(a.Discount, b.Discount),
	}
	if a.Weight != nil {
		out.Successor, out.Weight = both(a.Successor, b.Successor), both(a.Weight, b.Weight)
	}
	return out
}
