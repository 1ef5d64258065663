package matched

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
)

// The draws that the answers without a closed form are made of, each of which is planned for: the Monte Carlo error of
// a mean value is a forty-fifth of its standard deviation, that of an action probability at most 0.011.
const (
	matchedDraws  = 2000
	matchedStream = 4
)

// Warped is a posterior over rewards whose marginals are sinh-arcsinh distributions (Jones and Pewsey, 2009,
// "Sinh-arcsinh distributions"), with a skewness and tails of their own, and whose dependence is that of a Gaussian: z
// ~ N(mean, cov), and each reward a warp of its component of z. The last component is log β where that is inferred.
// Optimal values of its draws are found by planning, so that nothing about the maximum is approximated. It is a
// ValuePosterior and safe for concurrent use.
type Warped struct {
	problem *irl.Problem
	warps   []Warp
	mean    []float64
	cov     *mat.SymDense

	converged bool
	chol      mat.Cholesky
	values    []*irl.Empirical // of the optimal value of each state
	probs     []float64        // [S·A]
}

// NewWarped returns the posterior that is matched to samples of rewards [samples, RewardDim], and of β [samples] if
// that is inferred (nil otherwise): each warp has its reward's first four L-moments, and the Gaussian the moments of
// the samples with the warps undone. With plain, it is the Gaussian with the moments of the rewards (and of log β).
// converged is what Converged will report. What has no closed form, values and policies, is found by planning for
// draws, until ctx ends.
func NewWarped(ctx context.Context, problem *irl.Problem, rewards *mat.Dense, betas []float64, plain, converged bool) (
	*Warped, error) {
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	rows, n := rewards.Dims()
	dim := problem.ValueDim()
	if n != problem.RewardDim() || rows <= dim || problem.InfersBeta() != (betas != nil) || betas != nil &&
		len(betas) != rows {
		return nil, fmt.Errorf("matched: samples to match: rewards [%d,%d] and %d of β, want [n,%d] with n > %d, and "+
			"as many of β if it is inferred", rows, n, len(betas), problem.RewardDim(), dim)
	}
	if err := check.Finite("matched: samples of rewards", rewards.RawMatrix().Data); err != nil {
		return nil, err
	}
	p := &Warped{problem: problem, warps: make([]Warp, dim), cov: &mat.SymDense{}, converged: converged}
	x, z := irl.WithLogBeta(rewards, betas), mat.NewDense(rows, dim, nil)
	for j := range dim {
		column := mat.Col(nil, j, x)
		p.warps[j] = identity
		if !plain {
			w, err := fitWarp(column)
			if err != nil {
				return nil, fmt.Errorf("matched: reward %d of the samples: %w", j, err)
			}
			p.warps[j] = w
		}
		for i, v := range column {
			at, _ := p.warps[j].undo(v)
			z.Set(i, j, at)
		}
	}
	p.mean = irl.ColumnMeans(z)
	stat.CovarianceMatrix(p.cov, z, nil)
	if err := p.complete(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// complete prepares the covariance, and plans for draws, always the same, to find the marginals of values and the
// policy.
func (p *Warped) complete(ctx context.Context) error {
	for lift := 1e-12; !p.chol.Factorize(p.cov); lift *= 10 { // rewards that determine each other
		if lift > 1e-6 {
			return fmt.Errorf("matched: a warped posterior: the covariance of the warped rewards is not positive " +
				"definite")
		}
		for i := range p.mean {
			p.cov.SetSym(i, i, (1+lift)*p.cov.At(i, i))
		}
	}
	rewards, betas, err := p.draw(rand.New(rand.NewPCG(matchedStream, uint64(len(p.mean)))), matchedDraws)
	if err != nil {
		return err
	}
	samples, err := p.problem.SolveSamplesContext(ctx, rewards)
	if err != nil {
		return err
	}
	samples.Beta = betas
	actions := p.problem.MDP.Actions()
	p.values, p.probs = irl.Empiricals(samples.Values(actions)),
		irl.ColumnMeans(samples.Policies(actions, p.problem.Beta))
	return nil
}

// Problem returns the problem that the posterior answers.
func (p *Warped) Problem() *irl.Problem { return p.problem }

// Converged reports whether the computation that it is the result of had converged.
func (p *Warped) Converged() bool { return p.converged }

// Convergence is Converged, with the reason why not.
func (p *Warped) Convergence() (ok bool, reason string) {
	if !p.converged {
		return false, "the walk that it is matched to had not settled"
	}
	return true, ""
}

// Computation implements irl.Computed.
func (p *Warped) Computation() map[string]float64 {
	return map[string]float64{metric.Converged: npz.Indicator(p.converged)}
}

// Reward returns the marginal posterior of reward i, in closed form.
func (p *Warped) Reward(i int) irl.Marginal { return irl.NewMarginal(p.marginal(i)) }

func (p *Warped) marginal(i int) warpedNormal {
	return newWarpedNormal(p.warps[i], p.mean[i], math.Sqrt(p.cov.At(i, i)))
}

// Beta returns the marginal posterior of β, or nil if β is known.
func (p *Warped) Beta() irl.Marginal {
	if !p.problem.InfersBeta() {
		return nil
	}
	return irl.NewMarginal(newExpOf(p.marginal(p.problem.RewardDim())))
}

// draw draws rewards [n, RewardDim], and β [n] if that is inferred.
func (p *Warped) draw(rng *rand.Rand, n int) (*mat.Dense, []float64, error) {
	if n <= 0 {
		return nil, nil, fmt.Errorf("matched: cannot draw %d samples", n)
	}
	var lower mat.TriDense
	p.chol.LTo(&lower)
	dim, size := len(p.mean), p.problem.RewardDim()
	noise := mat.NewDense(n, dim, nil)
	noise.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, noise)
	var z mat.Dense
	z.Mul(noise, lower.T())
	rewards := mat.NewDense(n, size, nil)
	var betas []float64
	for i := range n {
		row := z.RawRowView(i)
		for j := range size {
			rewards.Set(i, j, p.warps[j].Of(p.mean[j]+row[j]))
		}
		if dim > size {
			betas = append(betas, math.Exp(p.warps[size].Of(p.mean[size]+row[size])))
		}
	}
	return rewards, betas, nil
}

// Sample draws rewards and finds their optimal Q-values by planning.
func (p *Warped) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	rewards, betas, err := p.draw(rng, n)
	if err != nil {
		return nil, err
	}
	samples, err := p.problem.SolveSamples(rewards)
	if err != nil {
		return nil, err
	}
	samples.Beta = betas
	return samples, nil
}

// SampleValues draws optimal values, [n, ValueDim]: V*(s) for state-only rewards, Q*(s,a) for state-action rewards,
// and then log β if it is inferred.
func (p *Warped) SampleValues(rng *rand.Rand, n int) (*mat.Dense, error) {
	samples, err := p.Sample(rng, n)
	if err != nil {
		return nil, err
	}
	values := samples.Q
	if p.problem.StateOnly() {
		values = samples.Values(p.problem.MDP.Actions())
	}
	return irl.WithLogBeta(values, samples.Beta), nil
}

// RewardLogProbs returns the log densities at rewards, with log β after them where it is inferred, a row each: [n,
// ValueDim].
func (p *Warped) RewardLogProbs(rewards *mat.Dense) ([]float64, error) {
	rows, n := rewards.Dims()
	if n != len(p.mean) {
		return nil, fmt.Errorf("matched: rewards have %d columns, want %d", n, len(p.mean))
	}
	logs := make([]float64, rows)
	z := mat.NewVecDense(n, nil)
	var solved mat.VecDense
	constant := -0.5 * (float64(n)*math.Log(2*math.Pi) + p.chol.LogDet())
	for i := range logs {
		logs[i] = constant
		for j, w := range p.warps {
			at, slope := w.undo(rewards.At(i, j))
			z.SetVec(j, at-p.mean[j])
			logs[i] += slope
		}
		if err := p.chol.SolveVecTo(&solved, z); err != nil {
			return nil, fmt.Errorf("matched: the covariance of a warped posterior is ill-conditioned: %w: %w",
				irl.ErrNoDensity, err)
		}
		logs[i] -= 0.5 * mat.Dot(z, &solved)
	}
	return logs, nil
}

// Value returns the marginal posterior of the optimal value of state s, of draws.
func (p *Warped) Value(s int) irl.Marginal { return p.values[s] }

// ActionProbs returns the posterior-predictive policy, [S·A], of draws.
func (p *Warped) ActionProbs() []float64 { return append([]float64(nil), p.probs...) }

// Kind is the kind of a stored Warped.
const Kind = "warped"

// Store implements irl.Storable.
func (p *Warped) Store() (kind string, arrays map[string]npz.Array) {
	n := len(p.mean)
	warps := make([]float64, 0, 4*n)
	for _, w := range p.warps {
		warps = append(warps, w.Location, w.Scale, w.Skew, w.Tail)
	}
	return Kind, map[string]npz.Array{
		"z_mean": npz.Floats(p.mean, n), "z_cov": npz.Floats(mat.DenseCopyOf(p.cov).RawMatrix().Data, n, n),
		"warps": npz.Floats(warps, n, 4), "converged": npz.Scalar(npz.Indicator(p.converged)),
	}
}

// Restore reads a Warped that Store returned, as the answer to the given problem, and plans as NewWarped does.
func Restore(r *npz.Reader, problem *irl.Problem) (irl.Posterior, error) {
	n := problem.ValueDim()
	mean, cov, warps, converged := r.Finite("z_mean", n), r.Finite("z_cov", n, n), r.Finite("warps", n, 4),
		r.Scalar("converged")
	p := &Warped{problem: problem, mean: mean, converged: converged != 0}
	for ; len(warps) > 0; warps = warps[4:] {
		w := Warp{warps[0], warps[1], warps[2], warps[3]}
		if !(w.Scale > 0 && w.Tail > 0) {
			r.Fail("warps[%d] = %+v, want a scale and a tail above 0", len(p.warps), w)
		}
		p.warps = append(p.warps, w)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	p.cov = mat.NewSymDense(n, cov)
	return p, p.complete(context.Background())
}
