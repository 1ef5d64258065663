// Package reference samples the posterior of any tabular problem by Markov chains, so that every other answer can be
// measured against it. A chain alternates four kernels, each of which leaves the posterior invariant:
//
//   - Hamiltonian Monte Carlo in whitened rewards z, R = m + L z, with a mass matrix learnt in the warm-up (see
//     Target);
//   - elliptical slice sampling in z, which no steepness of the likelihood or shape of the prior upsets, of one
//     coordinate at a time and of sets that are neighbours;
//   - the walk over optimal values of package valuewalk, which costs least where demonstrations say much.
//
// Where β is inferred, slices scale it and the rewards together, which demonstrations seldom tell apart (chain.go), and
// where both a small and a large one explain the demonstrations, chains cross between the two (crossing.go). They jump
// by Gaussian approximations of the posterior around each explanation of the demonstrations that was found, or around
// the single one if that is close enough, and exchange the rewards of states that are the goal in one explanation or
// another (modes.go, jump.go).
//
// The warm-up measures how far each moves every reward and value for its cost, and sets their shares.
//
// Demonstrations that lead to no unknown reward in common make independent subproblems, whose posteriors are sampled by
// chains of their own and joined (subproblem.go).
package reference

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Name is the method's name.
const Name = "reference"

// Method is the sampler with one configuration. It is an irl.Method.
type Method struct{ config Config }

// New returns the method with the given configuration.
func New(config Config) (*Method, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Method{config}, nil
}

// Name returns "reference".
func (m *Method) Name() string { return Name }

// Posterior is a sampled posterior. It is an irl.ValuePosterior and safe for concurrent use.
type Posterior struct {
	*mcmc.Posterior
	diagnostics Diagnostics
}

// Diagnostics says how well a posterior was sampled.
type Diagnostics struct {
	mcmc.Diagnostics
	Shares      [kernels]float64 // of the iterations: Hamiltonian, single, sweep, walk; a mean over subproblems
	Subproblems int              // independent ones, each sampled by itself
	Modes       int              // explanations of the demonstrations that were found, in the subproblem of the most;
	// 0 without demonstrations, or where they are Unsearched: the problem is too large to look for explanations far
	// from each other
	Unsearched bool
	Rounding   float64 // what rounding may add to β Q in a demonstrated state
	Crowded    bool    // there are more explanations than are kept
	Rare       float64 // share of a standard deviation that an explanation of hardly any sample adds to it
}

// Sampling returns the part of the diagnostics that all Markov chains have.
func (p *Posterior) Sampling() *mcmc.Diagnostics { return &p.diagnostics.Diagnostics }

// Convergence reports whether the chains agree and are long enough by the configuration's targets.
func (p *Posterior) Convergence() (ok bool, reason string) {
	if p.diagnostics.Crowded {
		return false, fmt.Sprintf("there are more explanations of the demonstrations than the %d that chains jump "+
			"between", p.diagnostics.Modes)
	}
	ok, reason = p.diagnostics.Converged()
	if r := p.diagnostics.Rounding; r > mostRounding {
		return false, coarse(r)
	}
	if r := p.diagnostics.Rare; ok && r > mostRare {
		return false, fmt.Sprintf("an explanation of the demonstrations that is too improbable for the samples adds "+
			"about %.0f %% to a standard deviation", 100*r)
	}
	switch modes := p.diagnostics.Modes; {
	case !ok || len(p.Problem().Demos) == 0:
	case modes > 1 && p.diagnostics.Subproblems > 1:
		reason += fmt.Sprintf("; the problem falls into %d independent ones, in each of which chains jump between up "+
			"to %d explanations of the demonstrations", p.diagnostics.Subproblems, modes)
	case modes > 1:
		reason += fmt.Sprintf("; chains jump between %d explanations of the demonstrations", modes)
	case p.diagnostics.Unsearched:
		reason += "; of so many rewards, other explanations of the demonstrations far away were not looked for"
	}
	return ok, reason
}

// Diagnostics returns how well the posterior was sampled.
func (p *Posterior) Diagnostics() Diagnostics { return p.diagnostics }

// Computation implements irl.Computed.
func (p *Posterior) Computation() map[string]float64 { return p.diagnostics.Diagnostics.Computation() }

// Fit samples the posterior of each problem; every one is a *Posterior. The samples of a problem depend on the problem
// and the configuration, seed included, alone. Poor convergence is not an error: see Posterior.Diagnostics.
func (m *Method) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior, error) {
	return m.fit(ctx, problems, nil, progress)
}

// fit is Fit with every fourth chain started from a draw of a posterior, unless that is nil.
func (m *Method) fit(ctx context.Context, problems []*irl.Problem, from irl.Posterior,
	progress irl.Progress) ([]irl.Posterior, error) {
	return mcmc.Fit(ctx, problems, progress, func(ctx context.Context, problem *irl.Problem,
		job *mcmc.Job) (irl.Posterior, error) {
		j, err := newJoint(m.config, problem, job, from)
		if err != nil {
			return nil, err
		}
		return j.run(ctx)
	})
}

// FitFrom is Fit of the problem of a posterior, with every fourth chain started from a draw of that posterior:
// chains that agree then do not depend on where they began.
func (m *Method) FitFrom(ctx context.Context, start irl.Posterior, progress irl.Progress) (*Posterior, error) {
	posts, err := m.fit(ctx, []*irl.Problem{start.Problem()}, start, progress)
	if err != nil {
		return nil, err
	}
	return posts[0].(*Posterior), nil
}

// sampling is that of one subproblem's posterior.
type sampling struct {
	config     Config
	problem    *irl.Problem
	job        *mcmc.Job
	base       *Target
	states     []int         // of the whole problem; nil: all
	from       irl.Posterior // of that, of which every fourth chain starts from a draw; may be nil
	number, of int           // of the subproblems
	kept       int           // positions stored per kept sample
	chains     []*chain
	found      search       // explanations
	parts      atomic.Int64 // of the warm-up that are done (see turnParts)
}

// fingerprint is that of the random numbers: of equal subproblems, too, each has its own.
func (s *sampling) fingerprint() uint64 {
	return mcmc.Fingerprint(s.problem) + uint64(s.number)*0xD1B54A32D192ED03
}

// warmed tells what share of the subproblem's warm-up is done, in [0, 1].
func (s *sampling) warmed(share float64, status string) {
	s.job.WarmUp((float64(s.number)+share)/float64(s.of), status)
}

// start makes the chains ready to sample.
func (s *sampling) start(ctx context.Context) error {
	s.warmed(0, "looking for explanations")
	if err := s.job.Time(func() error { return s.prepare(ctx) }); err != nil {
		return err
	}
	if err := s.warmUp(ctx); err != nil {
		return err
	}
	if err := s.job.Time(func() error { return s.findBlocks(ctx) }); err != nil {
		return err
	}
	return s.setJumps(ctx)
}

// keptPositions is the number of positions stored per kept sample: of problems with many rewards no more than are
// needed, of others so many that more can be kept where tails are heavy.
func keptPositions(p *irl.Problem) int {
	switch n := p.RewardDim(); {
	case n > manyRewards:
		return 2
	case n > someRewards:
		return heavier
	default:
		return 2 * heavier
	}
}

// newTrace returns the trace of a chain, of draws of so many numbers.
func (s *sampling) newTrace(size int) *mcmc.Trace {
	return mcmc.NewTrace(size, s.kept*s.config.Samples/s.config.Chains)
}

// Largest Rounding, a generous bound, and Rare with which a posterior counts as known.
const (
	mostRounding = 1
	mostRare     = 0.1
)

const (
	manyRewards = 200
	someRewards = 50
	heavier     = 16 // times the samples are kept where tails are heavy
)

// prepare compiles the problem and starts the chains: every second one from afar, on one of several modes or on a peak
// of a ladder, the others at draws from the prior, or half of these from the posterior to start from.
func (s *sampling) prepare(ctx context.Context) error {
	base, hash := s.base, s.fingerprint()
	unroot := base.invertRoot()
	var near func(rng *rand.Rand, size int) []int
	var pair func(rng *rand.Rand) [2][]int
	if base.diag != nil {
		joined := s.problem.MDP.Joined()
		near = base.neighbourhoods(joined)
		if pairs := base.exchanges(joined); len(pairs) > 0 {
			pair = func(rng *rand.Rand) [2][]int { return pairs[rng.IntN(len(pairs))] }
			if s.config.Anywhere {
				pair = base.distantExchanges()
			}
		}
	}
	var starts [][]float64
	starts, s.found = base.farStarts(ctx, mcmc.Stream(s.config.Seed, hash, farStream), s.config.Chains/2)
	var origin []float64
	if s.problem.InfersBeta() {
		origin = base.origin()
	}
	var ladder *ladder
	if s.problem.InfersBeta() && len(s.problem.Demos) > 0 {
		rng := mcmc.Stream(s.config.Seed, hash, scanStream)
		if ladder = base.Clone().newLadder(rng, s.config.TargetAccept); ladder != nil {
			for i := range starts {
				starts[i] = ladder.positions[ladder.peaks[i%len(ladder.peaks)]]
			}
		}
	}
	for i := range s.config.Chains {
		rng := mcmc.Stream(s.config.Seed, hash, uint64(i))
		t := base.Clone()
		k := &chain{target: t, rng: rng, at: newState(t.Dim()), draw: make([]float64, t.n+s.problem.ValueDim()),
			hamiltonian: newHamiltonian(t, s.config.Trajectory, maxLeapfrog), slice: newSlice(t), unroot: unroot,
			origin: origin, ladder: ladder}
		if near != nil {
			k.slice.near, k.slice.pair = near, pair
		}
		k.trace = s.newTrace(len(k.draw))
		if base.k == base.n && (base.diag != nil || unroot != nil) {
			if w, err := valuewalk.NewWalker(s.problem, rng, walkTrajectory); err == nil {
				k.walker, k.walkCost = w, walkCost(s.problem)
			}
		}
		u := make([]float64, t.Dim())
		for j := range u {
			u[j] = rng.NormFloat64()
		}
		if i%2 == 1 {
			u = starts[i/2]
		} else if s.from != nil && i%4 == 0 {
			draw, err := s.from.Sample(rng, 1)
			if err != nil {
				return err
			}
			if u, err = t.whiten(s.restricted(draw)); err != nil {
				return err
			}
		}
		k.start(u)
		s.chains = append(s.chains, k)
	}
	return nil
}

// collect reads perChain thinned samples of each chain into a posterior.
func (s *sampling) collect(perChain int) *mcmc.Posterior {
	n, traces := s.problem.RewardDim(), make([]*mcmc.Trace, len(s.chains))
	for j, k := range s.chains {
		traces[j] = k.trace
	}
	return mcmc.Collect(s.problem, traces, perChain, func(p *mcmc.Posterior, i int, x []float64) {
		p.SetValues(i, x[:n], x[n:])
	})
}

const (
	overhead = 2e3 // of an evaluation beside its multiplications, in multiplications
	dense    = 0.3 // work of a multiplication of a large matrix, in those of short rows

	maxLeapfrog    = 256 // steps of a trajectory
	roughLeapfrog  = 32  // steps of one before there is a metric
	walkTrajectory = 3   // length of a walk's trajectory in posterior standard deviations (valuewalk.Default)
	singleEvery    = 4   // iterations of the warm-up between transitions of single coordinates
	curvatureEvery = 5   // iterations between the positions whose mean curvature is the mass matrix
	leastMoves     = 16  // moves of each kernel alone from which the shares are set,
	mostMoves      = 40  // or so many where they take no more than
	pilotWork      = 5e6 // multiplications of each kernel
	costMoves      = 3   // moves before, to see what a transition costs
	maxStride      = 32  // transitions of a move
)

// walkCost returns about how many multiplications a leapfrog step of the walk over values makes.
func walkCost(p *irl.Problem) float64 {
	n := float64(p.RewardDim())
	cost := overhead + dense*n*n // the metric
	if p.Prior.Cov != nil {
		cost += dense * n * n
	}
	for i := range p.MDP.States() * p.MDP.Actions() {
		next, _ := p.MDP.Row(i/p.MDP.Actions(), i%p.MDP.Actions())
		cost += 3 * float64(len(next))
	}
	return cost
}
