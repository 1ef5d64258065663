package tabular

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// CurvePoint is the objective at one training step, in nats.
type CurvePoint struct {
	Step              int     // of Adam, or iteration of L-BFGS, from 0 on
	ELBO              float64 // log-likelihood − KL divergence
	KL, LogLikelihood float64
}

// Gaussian is QVIRL's posterior: a Gaussian over optimal values, and what it implies for rewards. With a divergence in
// closed form that is a joint Gaussian of values and rewards, through the approximated maximum (Prop.
// reward-gaussian): Reward, Value, Sample and SampleRewards are of that one distribution. ImpliedSample draws the
// rewards that belong exactly to draws of values, which are distributed differently. With the MonteCarlo objective
// (ExactMaximum) these are the posterior, and all agree.
type Gaussian struct {
	exact       func() exactMarginals // of the MonteCarlo objective; nil in closed form
	problem     *irl.Problem
	meanX       []float64 // means of V(s), or of Q(s,a), and of log β if it is inferred; n of them
	meanR       []float64
	around      scatter   // of values and rewards from their means
	meanV, varV []float64 // [S]
	probs       []float64 // [S·A]
	curve       []CurvePoint
	elbo        float64
	converged   bool
	seconds     float64
	info        FitInfo
}

// FitInfo says how a posterior was computed.
type FitInfo struct {
	// Float64 says that training was in double precision: by LBFGS always, and by Adam because of Config.Float64,
	// because single precision failed, or because it would lose covariances or means. It would where, in deviations of
	// the prior, one choice of the expert moves a reward by more than 100, where the prior mean sets values (or β times
	// them) more than 1,000 apart, or where demonstrations raise the precision of differences of values more than
	// 100,000 times.
	Float64 bool
	// Why is the reason for double precision, in words; empty in single precision.
	Why         string
	Evaluations int // of the loss and its gradient, by LBFGS
	Rank        int // of LowRankCovariance; 0 of others
}

// Problem returns the problem that the posterior answers.
func (p *Gaussian) Problem() *irl.Problem { return p.problem }

// ExactMaximum reports whether the rewards are those that belong exactly to draws of values, as with the MonteCarlo
// objective, and not a Gaussian through an approximation of the maximum.
func (p *Gaussian) ExactMaximum() bool { return p.exact != nil }

// Reward returns the marginal posterior of reward i.
func (p *Gaussian) Reward(i int) irl.Marginal {
	if p.exact != nil {
		return p.exact().rewards[i]
	}
	return irl.NewMarginal(distuv.Normal{Mu: p.meanR[i], Sigma: math.Sqrt(p.around.rewardVar(i))})
}

// Value returns the marginal posterior of the optimal value of state s.
func (p *Gaussian) Value(s int) irl.Marginal {
	if p.exact != nil {
		return p.exact().values[s]
	}
	return irl.NewMarginal(distuv.Normal{Mu: p.meanV[s], Sigma: math.Sqrt(p.varV[s])})
}

// Beta returns the marginal posterior of β, which is log-normal, or nil if β is known.
func (p *Gaussian) Beta() irl.Marginal {
	if !p.problem.InfersBeta() {
		return nil
	}
	last := len(p.meanX) - 1
	return irl.NewMarginal(distuv.LogNormal{Mu: p.meanX[last], Sigma: math.Sqrt(p.around.valueVar(last))})
}

// RewardMean returns the posterior means of the rewards, [n].
func (p *Gaussian) RewardMean() []float64 { return append([]float64(nil), p.meanR...) }

// RewardCov returns the posterior covariance of the rewards, [n, n].
func (p *Gaussian) RewardCov() *mat.Dense { return p.around.rewardCov() }

// ActionProbs returns the posterior-predictive policy, [S·A]: in closed form (Eq. mean-field-action-prob), or with
// ExactMaximum the mean over draws.
func (p *Gaussian) ActionProbs() []float64 { return append([]float64(nil), p.probs...) }

// Curve returns the course of the objective during training, oldest first.
func (p *Gaussian) Curve() []CurvePoint { return append([]CurvePoint(nil), p.curve...) }

// ELBO returns the objective of the posterior, in nats: the highest that training began or ended a round with.
func (p *Gaussian) ELBO() float64 { return p.elbo }

// Converged reports whether the last round of training changed the ELBO by no more than the tolerance, up or down, and
// ended no further below the highest.
func (p *Gaussian) Converged() bool { return p.converged }

// Convergence is Converged, with the reason why not.
func (p *Gaussian) Convergence() (ok bool, reason string) {
	if !p.converged {
		return false, "training ended before it converged"
	}
	return true, ""
}

// Computation implements irl.Computed.
func (p *Gaussian) Computation() map[string]float64 {
	out := map[string]float64{metric.Converged: npz.Indicator(p.converged)}
	if len(p.curve) > 0 {
		out[metric.ELBO] = p.elbo
	}
	if n := p.info.Evaluations; n > 0 {
		out[metric.Evaluations] = float64(n)
	}
	return out
}

// Info says how the posterior was computed. It is not kept by Save.
func (p *Gaussian) Info() FitInfo { return p.info }

// Seconds returns the wall time of the fit of the whole batch that the problem was part of.
func (p *Gaussian) Seconds() float64 { return p.seconds }

// Sample draws from the posterior: values, returned as Q-values, and rewards jointly with them. In closed form the
// rewards belong to the values through the linear surrogate of the maximum and its residual, so that their marginals
// are what Reward says, and Value's are those of the values (Prop. reward-gaussian).
func (p *Gaussian) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	if p.exact != nil {
		return p.ImpliedSample(rng, n)
	}
	if n <= 0 {
		return nil, fmt.Errorf("tabular: cannot draw %d samples", n)
	}
	values, rewards := p.around.draw(rng, n)
	samples := p.problem.SamplesOfValues(shift(values, p.meanX))
	samples.Reward = shift(rewards, p.meanR)
	return samples, nil
}

// ImpliedSample draws values from the variational posterior and returns them as Q-values, with the rewards that belong
// to them exactly (Eq. bellman-reward; no approximation of the maximum). For the same rng the Q-values are those of
// Sample.
func (p *Gaussian) ImpliedSample(rng *rand.Rand, n int) (*irl.Samples, error) {
	x, err := p.SampleValues(rng, n)
	if err != nil {
		return nil, err
	}
	return p.problem.SamplesOfValues(x), nil
}

// ImpliedSamples draws from a posterior as it follows from its distribution over values, where that implies another
// for the rewards than the posterior's own (Gaussian.ImpliedSample), and as Sample does otherwise.
func ImpliedSamples(post irl.Posterior, rng *rand.Rand, n int) (*irl.Samples, error) {
	if g, ok := post.(*Gaussian); ok {
		return g.ImpliedSample(rng, n)
	}
	return post.Sample(rng, n)
}

// SampleRewards draws rewards [n, RewardDim] alone, from the same distribution as Sample's, whose marginals Reward
// gives.
func (p *Gaussian) SampleRewards(rng *rand.Rand, n int) (*mat.Dense, error) {
	if n <= 0 {
		return nil, fmt.Errorf("tabular: cannot draw %d rewards", n)
	}
	if p.exact != nil {
		samples, err := p.Sample(rng, n)
		if err != nil {
			return nil, err
		}
		return samples.Reward, nil
	}
	rewards, err := p.around.drawRewards(rng, n)
	if err != nil {
		return nil, err
	}
	return shift(rewards, p.meanR), nil
}

// posterior makes the posterior of problem i of a batch from the best round of its training, in double precision:
//
//	x = x₀ + A₀ z,  R = m + L(z₀ − U·rise + G ε + U √residual η),  z₀ = z̄ and G = (I − U Σ_a w_a D_a) F.
func (b *batch) posterior(i int, c Config, t *course, info FitInfo) (*Gaussian, error) {
	n, states := b.dim, b.states
	f, r := b.frames[i], t.best[i]
	p := &Gaussian{problem: b.problems[i], curve: t.curves[i], elbo: -r.loss, converged: t.converged[i], info: info}
	spread := mat.NewDense(n, n, r.spread)
	if c.Covariance == KernelCovariance {
		var err error
		if spread, err = covarianceRoot(spread); err != nil {
			return nil, err
		}
	}
	var root mat.Dense // of the values' covariance
	root.Mul(f.basis, spread)
	root.Scale(f.unit, &root)
	mean := mat.NewVecDense(n, nil)
	mean.MulVec(f.basis, mat.NewVecDense(n, r.mean))
	mean.AddVec(mean, mat.NewVecDense(n, f.origin))
	mean.ScaleVec(f.unit, mean)
	around := &full{rootX: triangularRoot(&root), covX: squareOf(&root)}
	p.meanX, p.around = mean.RawVector().Data, around
	if c.Objective == MonteCarlo {
		return p, p.setExact()
	}
	rewards := b.rewards(i, c, r, spread, p)

	// The joint distribution by one triangular factor of values and rewards; its leading block is rootX.
	stacked := mat.NewDense(2*n, n+states, nil)
	stacked.Slice(0, n, 0, n).(*mat.Dense).Copy(&root)
	stacked.Slice(n, 2*n, 0, n+states).(*mat.Dense).Copy(rewards)
	around.covR, around.joint = squareOf(rewards), mat.DenseCopyOf(triangularRoot(stacked).Slice(n, 2*n, 0, 2*n))
	b.maxima(i, r, &root, p)
	return p, nil
}

// rewards sets the rewards' means, and returns a factor of their covariance, [n, n + S]:
//
//	L⁻¹(R − m) = z₀ − U·rise, with the covariance's factor [G, U √residual].
func (b *batch) rewards(i int, c Config, r *reading, spread *mat.Dense, p *Gaussian) *mat.Dense {
	n, states, actions, f := b.dim, b.states, b.actions, b.frames[i]
	own := &batch{shape: b.shape, pull: part(b.pull, i, b.size)}
	pull := own.densePull()
	whitened := mat.NewVecDense(n, append([]float64(nil), r.mean...))
	start := spread
	if !c.Whiten {
		map0 := mat.NewDense(n, n, part(b.map0, i, b.size))
		whitened.MulVec(map0, mat.NewVecDense(n, r.mean))
		whitened.AddVec(whitened, mat.NewVecDense(n, part(b.reward0, i, b.size)))
		start = &mat.Dense{}
		start.Mul(map0, spread)
	}
	var back mat.VecDense
	back.MulVec(pull, mat.NewVecDense(states, r.rise))
	whitened.SubVec(whitened, &back)
	contrast := part(b.contrast, i, b.size)   // [S, A, n]
	surrogate := mat.NewDense(states, n, nil) // Σ_a w_a D_a
	for s := range states {
		for a := range actions {
			floats.AddScaled(surrogate.RawRowView(s), r.weights[a*states+s],
				contrast[(s*actions+a)*n:(s*actions+a+1)*n])
		}
	}
	var moved, gain, residual, both mat.Dense
	moved.Mul(surrogate, spread)
	gain.Mul(pull, &moved)
	gain.Sub(start, &gain)
	residual.Apply(func(_, s int, u float64) float64 { return u * math.Sqrt(r.residual[s]) }, pull)
	both.Augment(&gain, &residual)
	var rewards mat.Dense
	rewards.Mul(f.factor, &both)
	rewards.Scale(f.unit, &rewards)
	meanR := mat.NewVecDense(n, nil)
	meanR.MulVec(f.factor, whitened)
	p.meanR = meanR.RawVector().Data
	floats.Scale(f.unit, p.meanR)
	floats.Add(p.meanR, p.problem.Prior.Mean)
	return &rewards
}

// maxima sets the moments of the state values and the policy, with the factor of the values' covariance.
func (b *batch) maxima(i int, r *reading, root *mat.Dense, p *Gaussian) {
	n, states, actions, f := b.dim, b.states, b.actions, b.frames[i]
	p.meanV, p.varV, p.probs = make([]float64, states), make([]float64, states), make([]float64, states*actions)
	candidates := candidatesOf(p.problem)
	follow := mat.NewVecDense(n, nil)
	for s := range states {
		if b.stateOnly {
			p.meanV[s], p.varV[s] = p.meanX[s], p.around.valueVar(s)
		} else {
			follow.Zero()
			p.meanV[s] = f.unit * r.rise[s]
			for a := range actions {
				for _, to := range candidates[s*actions+a] {
					p.meanV[s] += f.reference[s*actions+a] * to.Prob * p.meanX[to.Next]
					follow.SetVec(to.Next, follow.AtVec(to.Next)+r.weights[a*states+s]*to.Prob)
				}
			}
			var moved mat.VecDense
			moved.MulVec(root.T(), follow)
			p.varV[s] = mat.Dot(&moved, &moved) + f.unit*f.unit*r.residual[s]
		}
		total := 0.0 // the closed form's probabilities sum to one only approximately
		for a := range actions {
			p.probs[s*actions+a] = math.Exp(r.logProbs[a*states+s])
			total += p.probs[s*actions+a]
		}
		floats.Scale(1/total, p.probs[s*actions:(s+1)*actions])
	}
}

// part returns problem i's part of an array of size problems.
func part(x []float64, i, size int) []float64 {
	length := len(x) / size
	return x[i*length : (i+1)*length : (i+1)*length]
}

// densePull returns U [n, S] of a batch of one.
func (b *batch) densePull() *mat.Dense {
	if !b.diagonal {
		return mat.NewDense(b.dim, b.states, b.pull)
	}
	u := mat.NewDense(b.dim, b.states, nil)
	for s, v := range b.pull {
		u.Set(s, s, v)
	}
	return u
}
