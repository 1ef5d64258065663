package irl

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/envs/parallel"
)

// Method infers reward posteriors. QVIRL, ValueWalk and AVRIL are methods.
type Method interface {
	// Name is the method's short name, as it stands in result rows.
	Name() string
	// Fit returns one posterior for each problem. All problems of a batch have the same numbers of states and actions
	// and the same kind of reward. It stops early with ctx's error. progress may be nil.
	Fit(ctx context.Context, problems []*Problem, progress Progress) ([]Posterior, error)
}

// Close frees what a method has compiled, if it is one to be closed.
func Close(m Method) error {
	if c, ok := m.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Progress is told how far a long computation has come: done of total units, and a short status such as the present
// loss. It may be called from several goroutines.
type Progress func(done, total int, status string)

// Report calls p unless it is nil.
func (p Progress) Report(done, total int, status string) {
	if p != nil {
		p(done, total, status)
	}
}

// Stage returns a Progress for a stage of a computation that begins after from of its all equal parts and takes share
// of them. What p is told of its status starts with what.
func (p Progress) Stage(what string, from, share, all int) Progress {
	return func(done, total int, status string) { p.Report(from*total+share*done, all*total, what+status) }
}

// Shared returns a Progress for n concurrent parts of one computation, each of which reports its own done and total;
// what p is told are their sums.
func (p Progress) Shared(n int) func(part int) Progress {
	var mutex sync.Mutex
	done, total := make([]int, n), make([]int, n)
	return func(part int) Progress {
		return func(partDone, partTotal int, status string) {
			mutex.Lock()
			defer mutex.Unlock()
			done[part], total[part] = partDone, partTotal
			sumDone, sumTotal := 0, 0
			for i := range done {
				sumDone += done[i]
				sumTotal += max(total[i], partTotal) // a part that has not begun counts like this one
			}
			p.Report(sumDone, sumTotal, status)
		}
	}
}

// Posterior is a posterior over the reward of one problem. Metrics, policies and figures ask for nothing else.
type Posterior interface {
	// Problem returns the problem that the posterior answers.
	Problem() *Problem
	// Reward returns the marginal posterior of reward i (index s, or s·A + a).
	Reward(i int) Marginal
	// Sample returns n joint samples of rewards and of the optimal Q-values that belong to them. The rewards have the
	// marginals that Reward says.
	Sample(rng *rand.Rand, n int) (*Samples, error)
}

// CheckPosterior refuses a posterior that is nil, on behalf of a package.
func CheckPosterior(of string, post Posterior) error {
	return check.NotNil(of+": the posterior", post, "that of a fit without an error")
}

// CheckFit refuses a context or a method that is nil, on behalf of a package.
func CheckFit(of string, ctx context.Context, method Method) error {
	return check.First(check.Context(of, ctx), check.NotNil(of+": the method", method, "one, as qvirl.NewMethod makes"))
}

// ValuePosterior is a posterior that also knows the optimal state values V*(s) in closed form or as samples.
type ValuePosterior interface {
	Posterior
	// Value returns the marginal posterior of V*(s), for s in 0..S−1.
	Value(s int) Marginal
}

// BetaPosterior is a posterior that also knows the rationality coefficient β, where the problem gives it a prior.
type BetaPosterior interface {
	Posterior
	// Beta returns the marginal posterior of β, or nil if β is known.
	Beta() Marginal
}

// Distribution is a distribution on the real line. Gonum's distuv.Normal is one.
type Distribution interface {
	Mean() float64
	StdDev() float64
	Quantile(p float64) float64 // p in [0, 1]
	LogProb(x float64) float64  // log density at x
}

// Marginal is the distribution of one number of a posterior. NewMarginal makes one of any Distribution; an *Empirical
// is another.
type Marginal interface {
	Distribution
	// Interval returns the central credible interval that holds the given probability: the quantiles at
	// (1 ∓ probability)/2, as much of the distribution below it as above. It panics unless that is in [0, 1].
	Interval(probability float64) (low, high float64)
}

// NewMarginal returns a distribution that has quantiles, with its intervals.
func NewMarginal(d Distribution) Marginal { return marginal{d} }

type marginal struct{ Distribution }

func (m marginal) Interval(probability float64) (low, high float64) {
	if !(probability >= 0 && probability <= 1) {
		panic(fmt.Sprintf("irl: an interval of probability %g: want a number in [0, 1], such as 0.9", probability))
	}
	return m.Quantile((1 - probability) / 2), m.Quantile((1 + probability) / 2)
}

// Moments returns the means and standard deviations of n marginals, such as a posterior's Reward.
func Moments(n int, marginal func(i int) Marginal) (mean, std []float64) {
	mean, std = make([]float64, n), make([]float64, n)
	for i := range n {
		m := marginal(i)
		mean[i], std[i] = m.Mean(), m.StdDev()
	}
	return mean, std
}

// Samples are joint posterior samples, a row each.
type Samples struct {
	Reward *mat.Dense // [n, RewardDim]
	Q      *mat.Dense // optimal state-action values, [n, S·A]
	Beta   []float64  // rationality coefficients where they are inferred, [n]; nil otherwise
}

// Policies returns the Boltzmann policy of each sample, [n, S·A]: with the sample's own β where it is inferred, and
// with the given one otherwise.
func (s *Samples) Policies(actions int, beta float64) *mat.Dense {
	return s.each(mdp.Boltzmann, actions, beta)
}

// LogPolicies returns the logarithms of the Policies' probabilities, [n, S·A].
func (s *Samples) LogPolicies(actions int, beta float64) *mat.Dense {
	return s.each(mdp.LogBoltzmann, actions, beta)
}

// each returns what policy makes of each sample, [n, S·A].
func (s *Samples) each(policy func(dst, q []float64, actions int, beta float64) []float64, actions int,
	beta float64) *mat.Dense {
	n, m := s.Q.Dims()
	out := mat.NewDense(n, m, nil)
	for i := 0; i < n; i++ {
		if s.Beta != nil {
			beta = s.Beta[i]
		}
		policy(out.RawRowView(i), s.Q.RawRowView(i), actions, beta)
	}
	return out
}

// Values returns the optimal state values of each sample, [n, S].
func (s *Samples) Values(actions int) *mat.Dense {
	n, m := s.Q.Dims()
	out := mat.NewDense(n, m/actions, nil)
	for i := 0; i < n; i++ {
		q, v := s.Q.RawRowView(i), out.RawRowView(i)
		for j := range v {
			v[j] = floats.Max(q[j*actions : (j+1)*actions])
		}
	}
	return out
}

// ColumnMeans returns the mean of each column of a sample matrix; of policies, that is the posterior-predictive policy.
func ColumnMeans(x *mat.Dense) []float64 {
	n, m := x.Dims()
	out := make([]float64, m)
	for i := 0; i < n; i++ {
		floats.Add(out, x.RawRowView(i))
	}
	floats.Scale(1/float64(n), out)
	return out
}

// SolveSamples returns the samples that consist of the given rewards [n, RewardDim] and the optimal Q-values of each,
// found by solving the MDP n times. It is what a method must do whose posterior is over rewards alone.
func (p *Problem) SolveSamples(rewards *mat.Dense) (*Samples, error) {
	return p.SolveSamplesContext(context.Background(), rewards)
}

// SolveSamplesContext is SolveSamples until ctx ends.
func (p *Problem) SolveSamplesContext(ctx context.Context, rewards *mat.Dense) (*Samples, error) {
	n, dim := rewards.Dims()
	if dim != p.RewardDim() {
		return nil, fmt.Errorf("irl: reward samples have %d columns, want %d", dim, p.RewardDim())
	}
	q := mat.NewDense(n, p.MDP.States()*p.MDP.Actions(), nil)
	err := parallel.With(ctx, n, func() (*mdp.Solver, error) { return p.MDP.NewSolver(p.Discount) },
		func(_ context.Context, solver *mdp.Solver, i int) error {
			sol, err := solver.Solve(rewards.RawRowView(i))
			if err == nil {
				q.SetRow(i, sol.Q)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return &Samples{Reward: rewards, Q: q}, nil
}

// SamplesOfValues returns the rewards and Q-values that belong to samples of optimal values: V(s) for state-only
// rewards, Q(s,a) otherwise, a row each (Eq. bellman-reward, Appendix "State-only reward variant"), and log β at its
// end if that is inferred.
func (p *Problem) SamplesOfValues(x *mat.Dense) *Samples {
	m := p.MDP
	actions := m.Actions()
	n, _ := x.Dims()
	dim := p.RewardDim()
	out := &Samples{Reward: mat.NewDense(n, dim, nil), Q: mat.NewDense(n, m.States()*actions, nil)}
	if p.InfersBeta() {
		out.Beta = make([]float64, n)
		for i := range out.Beta {
			out.Beta[i] = math.Exp(x.At(i, dim))
		}
	}
	v := make([]float64, m.States())
	for i := 0; i < n; i++ {
		row, reward, q := x.RawRowView(i)[:dim], out.Reward.RawRowView(i), out.Q.RawRowView(i)
		if p.StateOnly() {
			m.Backup(q, row)
			floats.Scale(p.Discount, q)
			for s := range reward {
				at := q[s*actions : (s+1)*actions]
				reward[s] = row[s] - floats.Max(at)
				floats.AddConst(reward[s], at)
			}
			continue
		}
		copy(q, row)
		for s := range v {
			v[s] = floats.Max(row[s*actions : (s+1)*actions])
		}
		m.Backup(reward, v)
		for j := range reward {
			reward[j] = row[j] - p.Discount*reward[j]
		}
	}
	return out
}

// WithLogBeta returns values, or rewards, a row each, with log β in a column after them, as SamplesOfValues takes them;
// without betas, x itself.
func WithLogBeta(x *mat.Dense, betas []float64) *mat.Dense {
	if betas == nil {
		return x
	}
	n, dim := x.Dims()
	out := mat.NewDense(n, dim+1, nil)
	for i, beta := range betas {
		copy(out.RawRowView(i), x.RawRowView(i))
		out.Set(i, dim, math.Log(beta))
	}
	return out
}

// Convergent is a posterior that says whether the computation that it is the result of had converged, and if not, why
// not.
type Convergent interface {
	Convergence() (ok bool, reason string)
}

// Converged asks a posterior for its convergence; one that does not say has converged.
func Converged(post Posterior) (ok bool, reason string) {
	if c, is := post.(Convergent); is {
		return c.Convergence()
	}
	return true, ""
}

// Computed is a posterior that says in numbers how its computation went.
type Computed interface {
	// Computation returns the numbers by their names in the registry of package metric, such as metric.RHatMax of
	// chains, or metric.ELBO of what was optimised. Those that do not exist are left out.
	Computation() map[string]float64
}

// Computation returns those of a posterior's numbers about its computation that have one of the names.
func Computation(post Posterior, names ...string) map[string]float64 {
	out := map[string]float64{}
	if c, is := post.(Computed); is {
		for name, v := range c.Computation() {
			if slices.Contains(names, name) {
				out[name] = v
			}
		}
	}
	return out
}

// Storable is a posterior that can be written to a file and read again (problemfile.Save, qvirl.Load).
type Storable interface {
	Posterior
	// Store returns the posterior as plain arrays by name, without the problem, and the kind by which the function is
	// found that restores it.
	Store() (kind string, arrays map[string]npz.Array)
}

// Restore makes a posterior of a problem from the arrays that Store returned. With an error it may return anything.
type Restore func(arrays *npz.Reader, problem *Problem) (Posterior, error)
