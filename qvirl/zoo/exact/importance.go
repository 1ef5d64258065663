package exact

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-birl/birl/envs/parallel"
)

// block is how many draws have a random stream of their own.
const block = 4096

// sampling is importance sampling of one problem.
type sampling struct {
	problem       *problem
	proposal      proposal
	stream        uint64
	centre, scale []float64 // for the moments

	moments   *moments
	logRatios []float64
	keep      bool // whether the draws are kept
	kept      [][]float64
}

// proposal is what draws are taken from.
type proposal interface {
	draw(rng *rand.Rand, z []float64)
	// logRatio is the log of the prior's density at z over the proposal's.
	logRatio(z []float64) float64
}

// priorProposal is the prior N(0, I).
type priorProposal struct{}

func (priorProposal) draw(rng *rand.Rand, z []float64) {
	for i := range z {
		z[i] = rng.NormFloat64()
	}
}

func (priorProposal) logRatio([]float64) float64 { return 0 }

// extend takes more blocks of draws. Which draws they are does not depend on the number of processors.
func (s *sampling) extend(ctx context.Context, blocks int) error {
	first := len(s.logRatios) / block
	results := make([]*sampling, blocks)
	err := s.problem.parallel(ctx, blocks, func(l *likelihood, i int) {
		rng := s.problem.rng(s.stream + uint64(first+i))
		part := &sampling{moments: newMoments(s.centre, s.scale), logRatios: make([]float64, block)}
		z, x := make([]float64, l.dim), make([]float64, len(s.centre))
		for k := range part.logRatios {
			s.proposal.draw(rng, z)
			logWeight := l.log(z) + s.proposal.logRatio(z)
			l.quantities(x)
			part.moments.add(logWeight, x)
			part.logRatios[k] = logWeight
			if s.keep {
				part.kept = append(part.kept, append([]float64(nil), z...))
			}
		}
		results[i] = part
	})
	if err != nil {
		return err
	}
	if s.moments == nil {
		s.moments = newMoments(s.centre, s.scale)
	}
	for _, r := range results {
		s.moments.merge(r.moments)
		s.logRatios = append(s.logRatios, r.logRatios...)
		s.kept = append(s.kept, r.kept...)
	}
	return nil
}

// until takes draws until their effective size is the target, or limit draws are made.
func (s *sampling) until(ctx context.Context, target float64, limit int) error {
	blocks := 8
	for {
		if err := s.extend(ctx, blocks); err != nil {
			return err
		}
		n, size := len(s.logRatios), s.moments.effectiveSize()
		if size >= target || n >= limit {
			return nil
		}
		wanted := min(float64(n)*min(1.1*target/size, 4), float64(limit)) - float64(n)
		blocks = max(int(math.Ceil(wanted/block)), 1)
	}
}

// parallel runs n jobs, each with a likelihood that no other uses at the time.
func (p *problem) parallel(ctx context.Context, n int, job func(l *likelihood, i int)) error {
	return parallel.With(ctx, n, func() (*likelihood, error) { return newLikelihood(p.Problem) },
		func(_ context.Context, l *likelihood, i int) error {
			job(l, i)
			return nil
		})
}
