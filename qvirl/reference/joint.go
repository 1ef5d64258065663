package reference

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// joint is the sampling of a problem's posterior, of each of its subproblems by chains of its own.
type joint struct {
	config    Config
	problem   *irl.Problem
	job       *mcmc.Job
	subs      []*sampling
	samples   []*mcmc.Posterior // of each, at the last look
	remainder *remainder        // nil where the problem is its only subproblem
}

// newJoint divides a problem into subproblems; every fourth chain starts from a draw of from, unless that is nil.
func newJoint(config Config, problem *irl.Problem, job *mcmc.Job, from irl.Posterior) (*joint, error) {
	t, err := NewTarget(problem)
	if err != nil {
		return nil, err
	}
	subproblems, remains, err := t.divide(config)
	if err != nil {
		return nil, err
	}
	j := &joint{config: config, problem: problem, job: job, samples: make([]*mcmc.Posterior, len(subproblems)),
		remainder: remains}
	for i, sub := range subproblems {
		s := &sampling{config: config, problem: sub.Problem, job: job, states: sub.states, from: from,
			number: i, of: len(subproblems), kept: keptPositions(problem), base: t}
		if sub.states != nil {
			if s.base, err = NewTarget(sub.Problem); err != nil {
				return nil, err
			}
		}
		j.subs = append(j.subs, s)
	}
	return j, nil
}

func (j *joint) run(ctx context.Context) (*Posterior, error) {
	for _, s := range j.subs {
		if err := s.start(ctx); err != nil {
			return nil, err
		}
	}
	samples, convergence, err := j.job.Converge(j.budget(ctx), func(i, iterations int) error {
		for _, s := range j.subs {
			for k := s.chains[i]; k.trace.Len() < iterations; k.sample() {
				if err := ctx.Err(); err != nil {
					return err
				}
			}
		}
		return nil
	}, func(perChain int) (*mcmc.Posterior, error) { return j.collect(ctx, perChain) })
	if err != nil {
		return nil, err
	}
	return &Posterior{samples, j.diagnostics(convergence)}, nil
}

// What samples of a small problem cost next to nothing is made of them, beyond the targets.
const (
	cheapWork       = 8e8 // multiplications of all chains
	cheapIterations = 20000
)

// patience is how many times MaxWork chains may take that have a quarter of MinESS by then.
const patience = 4

// budget returns what the config says about the length of the chains: at most MaxWork of each, but long enough for its
// samples, and for its part of cheapWork in any case.
func (j *joint) budget(ctx context.Context) mcmc.Budget {
	cost := 0.0
	for _, s := range j.subs {
		cost += s.chains[0].cost
	}
	c, b := j.config, j.config.budget()
	within := func(work float64) int {
		return max(int(math.Min(float64(c.MaxIterations), work/cost)), 2*c.Samples/c.Chains)
	}
	b.MaxIterations, b.MostIterations = within(c.MaxWork), within(patience*c.MaxWork)
	b.MaxPolicyError = 0.5 / math.Sqrt(c.MinESS) // that of MinESS draws of a policy that is certain of one or the other
	b.MaxSamples = j.subs[0].kept / 2 * c.Samples
	b.MinIterations = int(math.Min(cheapIterations, cheapWork/float64(c.Chains)/cost))
	b.Again = j.searchAgain(ctx)
	b.Few = func(*mcmc.Posterior) bool { return j.rare() > mostRare }
	return b
}

// searchAgain returns what finds explanations that chains of a subproblem have come upon but did not know of. These
// begin anew then, and jump to these, too.
func (j *joint) searchAgain(ctx context.Context) func(samples *mcmc.Posterior, iterations int) (bool, error) {
	next := make([]int, len(j.subs))
	return func(_ *mcmc.Posterior, iterations int) (any bool, err error) {
		for i, s := range j.subs {
			if s.found.modes == nil || iterations < next[i] {
				continue
			}
			next[i] = askedAfter * iterations
			more, err := s.searchAgain(ctx, j.samples[i])
			if err != nil {
				return false, err
			}
			any = any || more
		}
		return any, nil
	}
}

// rare returns the largest share of a standard deviation that an explanation of hardly any sample adds to it.
func (j *joint) rare() (most float64) {
	for i, s := range j.subs {
		most = math.Max(most, s.chains[0].target.rare(s.found.modes, j.samples[i]))
	}
	return most
}

func (j *joint) diagnostics(convergence mcmc.Diagnostics) Diagnostics {
	d := Diagnostics{Diagnostics: convergence, Subproblems: len(j.subs), Rare: j.rare()}
	tried := 0
	for i, s := range j.subs {
		if s.problem.InfersBeta() && s.base.rareBeta(s.found.fitted, j.samples[i]) > mostRare {
			d.BetaTail = math.Inf(1)
		}
		floats.AddScaled(d.Shares[:], 1/float64(len(j.subs)), s.chains[0].share[:])
		d.Modes = max(d.Modes, len(s.found.modes))
		d.Unsearched = d.Unsearched || !s.base.searchable()
		d.Crowded = d.Crowded || s.found.crowded()
		for _, k := range s.chains {
			d.Rounding = math.Max(d.Rounding, k.target.rounding())
			d.Acceptance += k.accepted
			tried += k.tried
		}
	}
	d.Acceptance /= math.Max(float64(tried), 1)
	return d
}

// collect reads perChain thinned samples of each chain of each subproblem into a posterior.
func (j *joint) collect(ctx context.Context, perChain int) (*mcmc.Posterior, error) {
	for i, s := range j.subs {
		j.samples[i] = s.collect(perChain)
	}
	if j.remainder == nil {
		return j.samples[0], nil
	}
	p := mcmc.NewPosterior(j.problem, j.config.Chains, perChain)
	if err := parallel.Each(ctx, j.config.Chains, func(ctx context.Context, chain int) error {
		return j.remainder.join(ctx, p, j.subs, j.samples, chain)
	}); err != nil {
		return nil, err
	}
	by := make([]mcmc.Transition, p.Len())
	for _, samples := range j.samples {
		for i, t := range samples.Transitions() {
			by[i].Acceptance += t.Acceptance / float64(len(j.samples))
			by[i].Divergent = by[i].Divergent || t.Divergent
		}
	}
	p.SetTransitions(by)
	return p, nil
}

// remainder is what no subproblem has: rewards that have the prior, and states whose values are known, or follow from
// those of the subproblems that they lead to.
type remainder struct {
	target     *Target
	known      []float64     // values of the states, as samples hold them, of those where they are known
	free       []int         // coordinates of the unknown rewards
	states     []int         // of no subproblem, and of unknown values
	edge       []int         // other states that they lead to
	solvers    []*mdp.Solver // of the MDP of both, in which episodes end at the edge; one for each chain
	seed, hash uint64        // of random numbers
}

// newRemainder returns what subproblems leave of a problem: states of unknown values, and the known values.
func (t *Target) newRemainder(states []int, known []float64, config Config) (*remainder, error) {
	r := &remainder{target: t, known: slices.Clone(known), states: states, seed: config.Seed,
		hash: mcmc.Fingerprint(t.problem)}
	if states == nil {
		return r, nil
	}
	coordinates := t.coordinates()
	for _, s := range states {
		r.free = append(r.free, coordinates[s]...)
	}
	remaining, edge, err := t.part(r.states)
	r.edge = edge
	for range config.Chains {
		if err != nil {
			return nil, err
		}
		var solver *mdp.Solver
		solver, err = remaining.NewSolver(t.problem.Discount)
		r.solvers = append(r.solvers, solver)
	}
	return r, err
}

// join sets the samples of a chain to those of the subproblems and, independent of these, draws of the remainder.
func (r *remainder) join(ctx context.Context, p *mcmc.Posterior, subs []*sampling, samples []*mcmc.Posterior,
	chain int) error {
	t := r.target
	each, perChain := t.perState(), p.Len()/p.Chains()
	rng := mcmc.Stream(r.seed, r.hash, restStream+uint64(chain))
	reward, value := make([]float64, t.n), make([]float64, t.n)
	for i := chain * perChain; i < (chain+1)*perChain; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		copy(reward, t.problem.Prior.Mean)
		copy(value, r.known)
		for _, j := range r.free {
			reward[t.free[j]] += t.diag[j] * rng.NormFloat64()
		}
		for k, sub := range subs {
			scatter(reward, sub.states, each, samples[k].Rewards().RawRowView(i))
			scatter(value, sub.states, each, samples[k].Values().RawRowView(i))
		}
		if r.states != nil {
			if err := r.plan(reward, value, r.solvers[chain]); err != nil {
				return err
			}
		}
		p.Set(i, reward, value)
	}
	return nil
}

// plan sets the optimal values of the states of no subproblem, given those of the others.
func (r *remainder) plan(reward, value []float64, solver *mdp.Solver) error {
	each := r.target.perState()
	paid := gather(reward, r.states, each) // and at the edge, all that is to come
	for _, s := range r.edge {
		best := floats.Max(value[s*each : (s+1)*each])
		for range each {
			paid = append(paid, best)
		}
	}
	solution, err := solver.SolveNear(paid)
	if err != nil {
		return err
	}
	scatter(value, r.states, each, r.target.values(solution))
	return nil
}

// restricted returns the subproblem's rewards of a draw of the problem's, and what it pays at its edge.
func (s *sampling) restricted(draw *irl.Samples) *irl.Samples {
	if s.states == nil {
		return draw
	}
	reward := gather(draw.Reward.RawRowView(0), s.states, s.base.perState())
	reward = append(reward, s.problem.Prior.Mean[len(reward):]...)
	return &irl.Samples{Reward: mat.NewDense(1, len(reward), reward)}
}
