// Package sbc checks a method on a user's own problem by simulation (simulation-based calibration: Talts, Betancourt,
// Simpson, Vehtari & Gelman 2018, "Validating Bayesian inference algorithms with simulation-based calibration").
//
// A reward R⁰ is drawn from the problem's prior, and a β⁰ if β is inferred; an expert that is Boltzmann-rational for
// them demonstrates; the method infers a posterior from that. If it is the true one, R⁰ and draws of it are
// exchangeable, and so the rank of any f(R⁰) among the f of draws is uniform. A posterior that is too narrow, too
// wide, or beside the truth has other ranks.
//
// The expert decides as often as in the problem and in the same states: the demonstrated states are kept, and the
// action in each is drawn anew from π(a|s) ∝ exp(β⁰ Q*(s,a)). The states may be kept because the likelihood is one of
// actions given states.
//
// What the check cannot see: it tests a method averaged over the prior, not the posterior of the very demonstrations
// that the user has. Demonstrations that the prior would hardly produce are not like those that were tried.
package sbc

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
)

const (
	// Draws is how many posterior draws are ranked for each simulated problem; more are thinned to that.
	Draws = 99
	// MinProblems is the fewest simulated problems whose ranks can be tested.
	MinProblems = 20
	// Level is the probability with which a right method is called wrong.
	Level = 0.01

	// the most rewards, and the most values, whose ranks are taken; of more, some are chosen at random
	maxEach     = 100
	functionals = 5 // random linear combinations of rewards
	// slack is how far numbers may be apart, relative to the largest draw, to count as equal: known rewards, and
	// values that depend on nothing else, differ by no more than rounding.
	slack = 1e-11
)

// Method infers a posterior from a simulated problem, and returns at least Draws draws of its rewards and optimal
// Q-values, and of β if the problem infers it. They should be nearly independent: draws of a slowly mixing chain have
// ranks of their own. It is called from several goroutines.
type Method func(ctx context.Context, p *irl.Problem, seed uint64) (*irl.Samples, error)

// Options say how much is simulated, of as many problems at a time as GOMAXPROCS allows.
type Options struct {
	// Problems is the number of simulated problems, at least MinProblems. With 100, a posterior whose standard
	// deviation is 30 % too small is noticed in nearly all cases, and about nine times in ten where that is so of one
	// of seven independent quantities.
	Problems int
	Seed     uint64 // of everything random
}

// Report says what the check found.
type Report struct {
	Problems int // simulated
	// PValue is the probability that the ranks of a right method stray as far from uniform.
	PValue        float64
	WorstQuantity string // whose ranks stray furthest
	OK            bool   // PValue ≥ Level
	Reason        string // how often WorstQuantity was where, and what that means
}

// String says it in one sentence.
func (r *Report) String() string {
	verdict := "calibrated, as far as one can tell"
	if !r.OK {
		verdict = "NOT calibrated"
	}
	return fmt.Sprintf("%s from %d simulated problems (p = %.2g; a right method has p < %g once in %.0f times): %s",
		verdict, r.Problems, r.PValue, Level, 1/Level, r.Reason)
}

// Check simulates problems like p and tests the ranks of what they were made of among the method's draws. It stops
// early with ctx's error, or with the first of the method.
func Check(ctx context.Context, p *irl.Problem, method Method, o Options, progress irl.Progress) (*Report, error) {
	err := check.First(check.Context("sbc", ctx), check.NotNil("sbc: the method", method, "a function"))
	if err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("sbc: %w", err)
	}
	if o.Problems < MinProblems {
		return nil, fmt.Errorf("sbc: %d problems: want at least %d", o.Problems, MinProblems)
	}
	factor, err := p.Prior.Factor()
	if err != nil {
		return nil, fmt.Errorf("sbc: %w", err)
	}
	q := newQuantities(p, stream(o.Seed, 0))
	ranks := make([][]uint8, o.Problems) // of each, [1 + Draws, quantities]
	var done atomic.Int64
	err = parallel.Each(ctx, len(ranks), func(ctx context.Context, i int) (err error) {
		if ranks[i], err = simulate(ctx, p, method, factor, q, stream(o.Seed, 1+uint64(i))); err != nil {
			return fmt.Errorf("sbc: simulated problem %d: %w", i, err)
		}
		progress.Report(int(done.Add(1)), o.Problems, "simulated problems")
		return nil
	})
	if err != nil {
		return nil, err
	}
	return test(q, ranks, stream(o.Seed, 1+uint64(o.Problems))), nil
}

// stream returns one of the independent random streams of a seed.
func stream(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

// simulate makes one problem of a drawn truth, has it solved, and ranks the truth and the draws among each other,
// [1 + Draws, quantities] with the truth first.
func simulate(ctx context.Context, p *irl.Problem, method Method, factor *mat.Dense, q *quantities,
	rng *rand.Rand) ([]uint8, error) {
	truth, err := p.SolveSamples(mat.NewDense(1, p.RewardDim(), p.Prior.Draw(rng, factor)))
	if err != nil {
		return nil, err
	}
	beta := p.Beta
	if p.InfersBeta() {
		beta *= math.Exp(p.BetaLogStd * rng.NormFloat64())
		truth.Beta = []float64{beta}
	}
	simulated := *p
	simulated.Demos = make([]mdp.Step, len(p.Demos))
	policy := mdp.Boltzmann(nil, truth.Q.RawRowView(0), p.MDP.Actions(), beta)
	for i, d := range p.Demos {
		row := policy[d.State*p.MDP.Actions() : (d.State+1)*p.MDP.Actions()]
		simulated.Demos[i] = mdp.Step{State: d.State, Action: mdp.Draw(rng, row)}
	}
	draws, err := method(ctx, &simulated, rng.Uint64())
	if err != nil {
		return nil, err
	}
	if err := checkDraws(&simulated, draws); err != nil {
		return nil, err
	}
	all, counts := mat.NewDense(1+Draws, len(q.names), nil), simulated.DemoCounts()
	q.of(&simulated, counts, truth, 0, all.RawRowView(0))
	kept, _ := draws.Reward.Dims()
	for j := range Draws {
		q.of(&simulated, counts, draws, (2*j+1)*kept/(2*Draws), all.RawRowView(1+j)) // at equal distances
	}
	ranks := make([]uint8, (1+Draws)*len(q.names))
	for k := range q.names {
		for j, r := range rank(mat.Col(nil, k, all), rng) {
			ranks[j*len(q.names)+k] = r
		}
	}
	return ranks, nil
}

// checkDraws refuses draws that cannot be ranked.
func checkDraws(p *irl.Problem, s *irl.Samples) error {
	if s == nil || s.Reward == nil || s.Q == nil {
		return fmt.Errorf("the method returned no draws of rewards and Q-values")
	}
	n, rewards := s.Reward.Dims()
	m, pairs := s.Q.Dims()
	if n < Draws || m != n || rewards != p.RewardDim() || pairs != p.MDP.States()*p.MDP.Actions() {
		return fmt.Errorf("the method returned draws of rewards [%d,%d] and of Q-values [%d,%d], "+
			"want [k,%d] and [k,%d] with k ≥ %d",
			n, rewards, m, pairs, p.RewardDim(), p.MDP.States()*p.MDP.Actions(), Draws)
	}
	if p.InfersBeta() && len(s.Beta) != n {
		return fmt.Errorf("the method returned %d draws of β, want %d", len(s.Beta), n)
	}
	for _, x := range []struct {
		name string
		data []float64
	}{{"rewards", s.Reward.RawMatrix().Data}, {"Q-values", s.Q.RawMatrix().Data}, {"β", s.Beta}} {
		if sum := floats.Norm(x.data, math.Inf(1)); floats.HasNaN(x.data) || math.IsInf(sum, 0) {
			return fmt.Errorf("the method returned draws of %s that are not finite", x.name)
		}
	}
	return nil
}

// quantities are what is ranked: functions of the reward, its optimal values, β, and the demonstrations.
type quantities struct {
	names  []string
	groups []group
	reward []int      // indices of rewards
	state  []int      // states, whose optimal values are ranked
	linear *mat.Dense // weights of the random functionals, [functionals, n]
}

// group is a range of quantities that are tested together as well.
type group struct {
	name     string
	from, to int
}

func newQuantities(p *irl.Problem, rng *rand.Rand) *quantities {
	n := p.RewardDim()
	q := &quantities{reward: choose(n, rng), state: choose(p.MDP.States(), rng), linear: mat.NewDense(functionals, n,
		nil)}
	from := 0
	end := func(name string) { // of a group of all names since the last
		q.groups = append(q.groups, group{name, from, len(q.names)})
		from = len(q.names)
	}
	for _, i := range q.reward {
		if p.StateOnly() {
			q.names = append(q.names, fmt.Sprintf("reward of state %d", i))
		} else {
			q.names = append(q.names, fmt.Sprintf("reward of state %d and action %d", i/p.MDP.Actions(),
				i%p.MDP.Actions()))
		}
	}
	end("rewards")
	for _, s := range q.state {
		q.names = append(q.names, fmt.Sprintf("optimal value of state %d", s))
	}
	end("optimal values")
	variances := p.Prior.Variances()
	for k := range functionals {
		for i, v := range variances {
			if v > 0 {
				q.linear.Set(k, i, rng.NormFloat64()/math.Sqrt(v))
			}
		}
		q.names = append(q.names, fmt.Sprintf("weighted sum of rewards with random weights no. %d", k+1))
	}
	end("weighted sums of rewards with random weights")
	// This one is a function of the demonstrations too, without which no rank would tell a posterior from the prior
	// (Modrák et al. 2023, "Simulation-based calibration checking for Bayesian computation: the choice of test
	// quantities shapes sensitivity").
	q.names = append(q.names, "log-likelihood of the demonstrations")
	if p.InfersBeta() {
		q.names = append(q.names, "β")
	}
	return q
}

// choose returns the indices 0 … n−1, or maxEach of them.
func choose(n int, rng *rand.Rand) []int { return rng.Perm(n)[:min(n, maxEach)] }

// of writes the quantities of draw i, [quantities], to dst. counts are p's DemoCounts.
func (q *quantities) of(p *irl.Problem, counts []float64, s *irl.Samples, i int, dst []float64) {
	reward, values := s.Reward.RawRowView(i), s.Q.RawRowView(i)
	at := 0
	put := func(v float64) { dst[at] = v; at++ }
	for _, k := range q.reward {
		put(reward[k])
	}
	for _, k := range q.state {
		put(floats.Max(values[k*p.MDP.Actions() : (k+1)*p.MDP.Actions()]))
	}
	for k := range functionals {
		sum := 0.0
		for j, w := range q.linear.RawRowView(k) {
			sum += w * (reward[j] - p.Prior.Mean[j]) // relative to the mean, beside which the rest may be small
		}
		put(sum)
	}
	expert := *p
	if p.InfersBeta() {
		expert.Beta = s.Beta[i]
	}
	put(expert.LogLikelihood(values, counts))
	if p.InfersBeta() {
		put(s.Beta[i])
	}
}
