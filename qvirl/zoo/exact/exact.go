// Package exact computes the exact answers of the zoo: posterior means and standard deviations with their errors, by
// methods that are independent of the samplers that are judged by them. It tries, in this order,
//
//   - quadrature on a tensor grid, where z has at most two dimensions;
//   - belief propagation on a grid, on binary trees;
//   - importance sampling from the prior, which is exact sampling where demonstrations say nothing;
//   - importance sampling from a mixture of Gaussians and the prior, fitted to particles of a sequential Monte Carlo
//     sampler and adapted;
//   - elliptical slice sampling from those particles, if a long run of ValueWalk agrees with it.
//
// All but belief propagation work in the whitened coordinates z of the prior, R = m + L z. An answer that none can
// establish is an error.
package exact

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-birl/birl/qvirl/irl"

	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/zoo"
)

// What an importance sample must be to be accepted as an answer.
const (
	MinEffectiveSize = 20_000
	MaxKHat          = 0.5
)

const (
	wantedSize = 50_000    // effective size at which sampling stops
	maxDraws   = 3_000_000 // of importance sampling
	costly     = 100       // state-action pairs beyond which fewer draws are made, in proportion
	adaptions  = 5         // of the mixture

	adaptionDraws = 250_000 // for each of them at most, if fewer do not give enough effective ones
)

// Random streams of a problem.
const (
	streamPilot     = 0
	streamResample  = 1 << 20
	streamFit       = 1<<20 + 1
	streamParticles = 1 << 21
	streamChains    = 1 << 22
	streamAdapt     = 1 << 23
	streamPrior     = 1 << 24
	streamMixture   = 1 << 25
)

// problem is a problem with what its computation shares.
type problem struct {
	*irl.Problem
	hash uint64
}

func (p *problem) rng(stream uint64) *rand.Rand { return mcmc.Stream(21, p.hash, stream) }

// ErrNotEstablished is why a problem has no exact answer.
var ErrNotEstablished = errors.New("exact: no method gives an answer that can be trusted")

// Answer computes the exact answer of a problem.
func Answer(ctx context.Context, given *irl.Problem) (*zoo.Answer, error) {
	start := time.Now()
	if err := given.Validate(); err != nil {
		return nil, err
	}
	a, err := (&problem{Problem: given, hash: mcmc.Fingerprint(given)}).answer(ctx)
	if err != nil {
		return nil, err
	}
	a.Seconds = math.Round(100*time.Since(start).Seconds()) / 100
	return a, nil
}

func (p *problem) answer(ctx context.Context) (*zoo.Answer, error) {
	if p.ValueDim() <= 2 {
		if a, err := p.quadrature(ctx); a != nil || err != nil {
			return a, err
		}
	}
	if t := newTree(p.Problem); t != nil {
		if a, err := t.answer(ctx); a != nil || err != nil {
			return a, err
		}
	}
	pilot := &sampling{problem: p, proposal: priorProposal{}, stream: streamPilot, keep: true}
	pilot.centre, pilot.scale = unit(p.Problem)
	if err := pilot.extend(ctx, 4); err != nil {
		return nil, err
	}
	centre, scale := pilot.units()
	limit := maxDraws * costly / max(p.MDP.States()*p.MDP.Actions(), costly)
	if size := pilot.moments.effectiveSize(); size > 50 &&
		wantedSize/size*float64(len(pilot.logRatios)) < float64(limit) {
		s := &sampling{problem: p, proposal: priorProposal{}, stream: streamPrior, centre: centre, scale: scale}
		a, err := p.importance(ctx, s, limit, "importance sampling from the prior")
		if a != nil || err != nil {
			return a, err
		}
	}
	points, err := p.cloud(ctx, 2000+15*p.ValueDim(), 3)
	if err != nil {
		return nil, err
	}
	a, proposal, err := p.mixture(ctx, points, limit)
	if a != nil || err != nil {
		return a, err
	}
	return p.chains(ctx, points, proposal)
}

// unit is no change of unit.
func unit(p *irl.Problem) (centre, scale []float64) {
	n := quantityCount(p)
	return make([]float64, n), slices.Repeat([]float64{1}, n)
}

// units returns the means and standard deviations that a sample gives, to be the units of another.
func (s *sampling) units() (centre, scale []float64) {
	e := s.moments.estimates()
	for i, std := range e.std {
		if !(std > 0) {
			e.std[i] = 1
		}
	}
	return e.mean, e.std
}

// importance samples and returns the answer, or nil if its effective size or k̂ do not do.
func (p *problem) importance(ctx context.Context, s *sampling, limit int, recipe string) (*zoo.Answer, error) {
	if err := s.until(ctx, wantedSize, limit); err != nil {
		return nil, err
	}
	smoothed, err := mcmc.Smooth(s.logRatios)
	if err != nil {
		return nil, err
	}
	size, kHat := s.moments.effectiveSize(), smoothed.KHat
	if !(size >= MinEffectiveSize) || !(kHat < MaxKHat) {
		return nil, nil
	}
	e := s.moments.estimates()
	if len(p.Demos) == 0 { // the posterior of rewards is the prior
		recipe = "closed form for rewards; values and policies by sampling the prior"
		p.closedForm(e)
		kHat = 0
	}
	if math.IsInf(kHat, 0) { // all weights are alike
		kHat = 0
	}
	return &zoo.Answer{Summary: e.summary(p.Problem), Recipe: fmt.Sprintf("%s, %d draws", recipe, len(s.logRatios)),
		EffectiveSize: size, KHat: kHat}, nil
}

// closedForm sets the estimates of rewards, and of β where it is inferred, to those of the prior.
func (p *problem) closedForm(e estimates) {
	cov := p.Prior.Covariance()
	for i, mean := range p.Prior.Mean {
		e.mean[i], e.std[i], e.meanError[i], e.stdError[i] = mean, math.Sqrt(cov.At(i, i)), 0, 0
	}
	if p.InfersBeta() {
		i, v := len(e.mean)-1, p.BetaLogStd*p.BetaLogStd
		e.mean[i] = p.Beta * math.Exp(v/2)
		e.std[i], e.meanError[i], e.stdError[i] = e.mean[i]*math.Sqrt(math.Expm1(v)), 0, 0
	}
}

// mixture fits a mixture to points, adapts it to weighted draws of itself (Cappé et al., 2008), and samples from the
// best of them. It returns the answer, or nil if that does not do, and the mixture.
func (p *problem) mixture(ctx context.Context, points [][]float64, limit int) (*zoo.Answer, proposal, error) {
	d := p.ValueDim()
	parts, inflation := max(1, min(10, 100/d)), 1+0.5/math.Sqrt(float64(d))
	weights := slices.Repeat([]float64{1}, len(points))
	share := func(s *sampling) float64 { return s.moments.effectiveSize() / float64(len(s.logRatios)) }
	var best *sampling
	for round := range adaptions {
		m, ok := fitMixture(points, weights, parts, inflation, p.rng(streamFit+uint64(round)))
		if !ok {
			break
		}
		s := &sampling{problem: p, proposal: m, stream: streamAdapt + uint64(round)<<12, keep: true}
		if s.centre, s.scale = unit(p.Problem); best != nil {
			s.centre, s.scale = best.units()
		}
		for s.moments == nil || s.moments.effectiveSize() < float64(200*d) && len(s.logRatios) < adaptionDraws {
			if err := s.extend(ctx, 4+d/8); err != nil {
				return nil, nil, err
			}
		}
		if best != nil && share(s) <= share(best) {
			break
		}
		best = s
		if s.moments.effectiveSize() < float64(20*d) {
			break
		}
		points, weights = s.kept, powers(s.logRatios, 1)
	}
	if best == nil {
		return nil, priorProposal{}, nil
	}
	if share(best)*float64(limit) < MinEffectiveSize {
		return nil, best.proposal, nil
	}
	s := &sampling{problem: p, proposal: best.proposal, stream: streamMixture}
	s.centre, s.scale = best.units()
	a, err := p.importance(ctx, s, limit, fmt.Sprintf(
		"importance sampling from a mixture of the prior and %d fitted Gaussians", len(best.proposal.(*mixture).parts)))
	return a, best.proposal, err
}
