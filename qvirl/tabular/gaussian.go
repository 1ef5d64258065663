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
)

// CurvePoint is the objective at one training step, in nats.
type CurvePoint struct {
	Step              int
	ELBO              float64 // log-likelihood − KL divergence
	KL, LogLikelihood float64
}

// Gaussian is QVIRL's posterior: a Gaussian over optimal values, and what it implies for rewards. With a divergence in closed form that
// is a Gaussian over rewards, through the approximated maximum (Prop. reward-gaussian); with the MonteCarlo objective it is the
// distribution of the rewards that belong exactly to draws of values.
type Gaussian struct {
	exact       *exactMarginals // of the MonteCarlo objective; nil in closed form
	problem     *irl.Problem
	meanX       []float64  // means of V(s), or of Q(s,a), and of log β if it is inferred; n of them
	covX        *mat.Dense // [n, n]
	meanR       []float64
	covR        *mat.Dense
	meanV, varV []float64 // [S]
	probs       []float64 // [S·A]
	curve       []CurvePoint
	converged   bool
	seconds     float64
}

// Problem returns the problem that the posterior answers.
func (p *Gaussian) Problem() *irl.Problem { return p.problem }

// ExactMaximum reports whether the rewards are those that belong exactly to draws of values, as with the MonteCarlo objective, and not
// a Gaussian through an approximation of the maximum.
func (p *Gaussian) ExactMaximum() bool { return p.exact != nil }

// Reward returns the marginal posterior of reward i.
func (p *Gaussian) Reward(i int) irl.Marginal {
	if p.exact != nil {
		return p.exact.of(p).rewards[i]
	}
	return distuv.Normal{Mu: p.meanR[i], Sigma: math.Sqrt(p.covR.At(i, i))}
}

// Value returns the marginal posterior of the optimal value of state s.
func (p *Gaussian) Value(s int) irl.Marginal {
	if p.exact != nil {
		return p.exact.of(p).values[s]
	}
	return distuv.Normal{Mu: p.meanV[s], Sigma: math.Sqrt(p.varV[s])}
}

// Beta returns the marginal posterior of β, which is log-normal, or nil if β is known.
func (p *Gaussian) Beta() irl.Marginal {
	if !p.problem.InfersBeta() {
		return nil
	}
	last := len(p.meanX) - 1
	return distuv.LogNormal{Mu: p.meanX[last], Sigma: math.Sqrt(p.covX.At(last, last))}
}

// RewardMean returns the posterior means of the rewards, [n].
func (p *Gaussian) RewardMean() []float64 { return append([]float64(nil), p.meanR...) }

// RewardCov returns the posterior covariance of the rewards, [n, n].
func (p *Gaussian) RewardCov() *mat.Dense { return mat.DenseCopyOf(p.covR) }

// ActionProbs returns the posterior-predictive policy, [S·A]: in closed form (Eq. mean-field-action-prob), or with
// ExactMaximum the mean over draws.
func (p *Gaussian) ActionProbs() []float64 { return append([]float64(nil), p.probs...) }

// Curve returns the course of the objective during training, oldest first.
func (p *Gaussian) Curve() []CurvePoint { return append([]CurvePoint(nil), p.curve...) }

// Converged reports whether the last round of training changed the ELBO by no more than the tolerance.
func (p *Gaussian) Converged() bool { return p.converged }

// Convergence is Converged, with the reason why not.
func (p *Gaussian) Convergence() (ok bool, reason string) {
	if !p.converged {
		return false, "training ended before it converged"
	}
	return true, ""
}

// Seconds returns the wall time of the fit of the whole batch that the problem was part of.
func (p *Gaussian) Seconds() float64 { return p.seconds }

// Sample draws values from the variational posterior and returns them as Q-values, with the rewards that belong to them
// exactly (Eq. bellman-reward; no approximation of the maximum).
func (p *Gaussian) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	if n <= 0 {
		return nil, fmt.Errorf("qvirl: cannot draw %d samples", n)
	}
	x, err := drawGaussian(rng, n, p.meanX, p.covX)
	if err != nil {
		return nil, err
	}
	return p.problem.SamplesOfValues(x), nil
}

// SampleRewards draws rewards [n, RewardDim] from the Gaussian over rewards (Prop. reward-gaussian), whose marginals Reward
// gives. In closed form they differ from those of Sample by the approximation of the maximum.
func (p *Gaussian) SampleRewards(rng *rand.Rand, n int) (*mat.Dense, error) {
	if n <= 0 {
		return nil, fmt.Errorf("qvirl: cannot draw %d rewards", n)
	}
	if p.exact != nil {
		samples, err := p.Sample(rng, n)
		if err != nil {
			return nil, err
		}
		return samples.Reward, nil
	}
	return drawGaussian(rng, n, p.meanR, p.covR)
}

// drawGaussian returns n draws from a Gaussian, a row each.
func drawGaussian(rng *rand.Rand, n int, mean []float64, cov *mat.Dense) (*mat.Dense, error) {
	root, err := covarianceRoot(cov)
	if err != nil {
		return nil, err
	}
	noise := mat.NewDense(n, len(mean), nil)
	for i := 0; i < n; i++ {
		row := noise.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
	}
	var x mat.Dense
	x.Mul(noise, root.T())
	for i := 0; i < n; i++ {
		floats.Add(x.RawRowView(i), mean)
	}
	return &x, nil
}

// covarianceRoot returns a matrix L with L·Lᵀ = cov. Rounding in single precision may leave a covariance with tiny negative
// eigenvalues, for which they are raised to zero.
func covarianceRoot(cov *mat.Dense) (*mat.Dense, error) {
	n, _ := cov.Dims()
	sym := symmetric(cov)
	var chol mat.Cholesky
	if chol.Factorize(sym) {
		var lower mat.TriDense
		chol.LTo(&lower)
		return mat.DenseCopyOf(&lower), nil
	}
	var eig mat.EigenSym
	if !eig.Factorize(sym, true) {
		return nil, fmt.Errorf("qvirl: the posterior covariance has no eigendecomposition")
	}
	var root mat.Dense
	eig.VectorsTo(&root)
	for j, value := range eig.Values(nil) {
		for i := 0; i < n; i++ {
			root.Set(i, j, root.At(i, j)*math.Sqrt(math.Max(value, 0)))
		}
	}
	return &root, nil
}

// symmetric returns ½(a + aᵀ).
func symmetric(a *mat.Dense) *mat.SymDense {
	n, _ := a.Dims()
	sym := mat.NewSymDense(n, nil)
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			sym.SetSym(i, j, 0.5*(a.At(i, j)+a.At(j, i)))
		}
	}
	return sym
}

// posteriors reads the trained posteriors of a batch.
func (p *program) posteriors(problems []*irl.Problem, t *training) ([]irl.Posterior, error) {
	var data [outLogProbs + 1][]float64
	for i := range t.outputs {
		var err error
		if data[i], err = p.config.wide(t.outputs[i]); err != nil {
			return nil, fmt.Errorf("qvirl: reading the posterior: %w", err)
		}
	}
	part := func(output, i, length int) []float64 { return data[output][i*length : (i+1)*length : (i+1)*length] }
	n, states, actions := p.shape.dim, p.shape.states, p.shape.actions
	out := make([]irl.Posterior, len(problems))
	for i := range out {
		g := &Gaussian{
			problem: problems[i], curve: t.curves[i], converged: t.converged[i], seconds: t.seconds,
			meanX: part(outMeanX, i, n), covX: mat.NewDense(n, n, part(outCovX, i, n*n)),
		}
		out[i] = g
		if p.config.Objective == MonteCarlo {
			if err := g.setExact(); err != nil {
				return nil, err
			}
			continue
		}
		logProbs := part(outLogProbs, i, actions*states) // [A, S]
		probs := make([]float64, states*actions)
		for s := 0; s < states; s++ {
			total := 0.0 // the closed form's probabilities sum to one only approximately
			for a := 0; a < actions; a++ {
				probs[s*actions+a] = math.Exp(logProbs[a*states+s])
				total += probs[s*actions+a]
			}
			floats.Scale(1/total, probs[s*actions:(s+1)*actions])
		}
		g.probs = probs
		g.meanR, g.covR = part(outMeanR, i, n), mat.NewDense(n, n, part(outCovR, i, n*n))
		g.meanV, g.varV = part(outMeanV, i, states), part(outVarV, i, states)
	}
	return out, nil
}

// Kind is the kind of a stored Gaussian.
const Kind = "gaussian"

// Store implements irl.Storable.
func (p *Gaussian) Store() (kind string, arrays map[string]npz.Array) {
	n, rewards, states := len(p.meanX), len(p.meanR), len(p.meanV)
	curve := make([]float64, 0, 4*len(p.curve))
	for _, c := range p.curve {
		curve = append(curve, float64(c.Step), c.ELBO, c.KL, c.LogLikelihood)
	}
	converged := 0.0
	if p.converged {
		converged = 1
	}
	exact := 0.0
	if p.exact != nil {
		exact = 1
	}
	return Kind, map[string]npz.Array{
		"value_mean": npz.Floats(p.meanV, states), "value_var": npz.Floats(p.varV, states),
		"x_mean": npz.Floats(p.meanX, n), "x_cov": npz.Floats(p.covX.RawMatrix().Data, n, n),
		"reward_mean": npz.Floats(p.meanR, rewards), "reward_cov": npz.Floats(p.covR.RawMatrix().Data, rewards, rewards),
		"action_probs": npz.Floats(p.probs, states, len(p.probs)/states),
		"curve":        npz.Floats(curve, len(p.curve), 4),
		"converged":    npz.Scalar(converged), "seconds": npz.Scalar(p.seconds),
		"exact": npz.Scalar(exact),
	}
}

// Restore reads a Gaussian that Store returned, as the answer to the given problem.
func Restore(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	n, rewards, states, actions := problem.ValueDim(), problem.RewardDim(), problem.MDP.States(), problem.MDP.Actions()
	read := r.Finite
	p := &Gaussian{
		problem: problem, meanV: read("value_mean", states), varV: read("value_var", states),
		meanX: read("x_mean", n), meanR: read("reward_mean", rewards), probs: read("action_probs", states, actions),
	}
	covX, covR := read("x_cov", n, n), read("reward_cov", rewards, rewards)
	curve := read("curve", -1, 4)
	converged, seconds, exact := r.Scalar("converged"), r.Scalar("seconds"), r.Scalar("exact")
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("tabular: cannot restore a posterior: %w", err)
	}
	p.covX, p.covR = mat.NewDense(n, n, covX), mat.NewDense(rewards, rewards, covR)
	p.converged, p.seconds = converged != 0, seconds
	if exact != 0 {
		p.exact = &exactMarginals{}
	}
	for ; len(curve) > 0; curve = curve[4:] {
		p.curve = append(p.curve, CurvePoint{Step: int(curve[0]), ELBO: curve[1], KL: curve[2], LogLikelihood: curve[3]})
	}
	return p, nil
}
