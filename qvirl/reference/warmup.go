package reference

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// warmUp finds the posterior, the mass matrices, the step sizes and the shares, in quarters of the warm-up:
//
//  1. slice and Hamiltonian transitions in turn, with the prior's metric;
//  2. the same, collecting the curvature;
//  3. the same with the mass matrix that this gives, collecting the curvature again;
//  4. step sizes of the Hamiltonian kernel and of the walk with the final mass matrices.
//
// Then each kernel makes pilotMoves transitions alone.
func (s *sampling) warmUp(ctx context.Context) error {
	quarter := s.config.Warmup / 4
	if err := s.turns(ctx, quarter, roughLeapfrog, nil); err != nil {
		return err
	}
	for range 2 {
		curvature := s.newCurvature()
		if err := s.turns(ctx, quarter, roughLeapfrog, curvature); err != nil {
			return err
		}
		s.useCurvature(curvature)
	}
	if err := s.turns(ctx, quarter, maxLeapfrog, nil); err != nil {
		return err
	}
	steps := func(get func(k *chain) float64) float64 { // geometric mean
		log := 0.0
		for _, k := range s.chains {
			log += math.Log(get(k)) / float64(len(s.chains))
		}
		return math.Exp(log)
	}
	step := steps(func(k *chain) float64 { return k.hamiltonian.step })
	walk := 0.0
	if s.chains[0].walker != nil {
		walk = steps(func(k *chain) float64 { return k.walker.StepSize() })
	}
	for _, k := range s.chains {
		k.hamiltonian.step = step
		if k.walker != nil {
			k.walker.SetStepSize(walk)
		}
	}
	return s.setShares(ctx)
}

// newCurvature returns a zero matrix for each chain.
func (s *sampling) newCurvature() []*mat.SymDense {
	out := make([]*mat.SymDense, len(s.chains))
	for i := range out {
		out[i] = mat.NewSymDense(s.chains[0].target.Dim(), nil)
	}
	return out
}

// turns makes count transitions of each chain, of the kernels in turn, while it adapts their step sizes. It adds the
// curvature at every curvatureEvery-th position to the chain's element of curvature, unless that is nil.
func (s *sampling) turns(ctx context.Context, count, limit int, curvature []*mat.SymDense) error {
	return s.job.Each(len(s.chains), func(j int) error {
		k := s.chains[j]
		k.hamiltonian.limit = limit
		leap := mcmc.NewStepSize(k.hamiltonian.step, s.config.TargetAccept)
		var walk mcmc.StepSize
		walking := k.walker != nil && k.walker.Ready()
		if walking {
			walk = mcmc.NewStepSize(k.walker.StepSize(), walkAccept)
		}
		for i := range count {
			if err := ctx.Err(); err != nil {
				return err
			}
			k.hamiltonian.step = leap.Next(k.move(hamiltonianKernel))
			if i%sliceEvery == 0 {
				k.move(sliceKernel)
			}
			if walking {
				k.walker.SetStepSize(walk.Next(k.move(walkKernel)))
			}
			if curvature != nil && i%curvatureEvery == 0 {
				k.at.evaluate(k.target, gradientToo)
				k.target.addInformation(curvature[j])
				if k.walker != nil {
					k.walker.MoveTo(k.draw[k.target.n:])
					k.walker.AddCurvature()
				}
			}
		}
		k.hamiltonian.step = leap.Average()
		if walking {
			k.walker.SetStepSize(walk.Average())
		}
		return nil
	})
}

// walkAccept is the acceptance of the walk's leapfrog integration that its step size is adapted to (valuewalk.Default).
const walkAccept = 0.65

// useCurvature makes the mean curvature of the chains their mass matrix: the identity of the prior and the mean
// information.
func (s *sampling) useCurvature(curvature []*mat.SymDense) {
	dim := s.chains[0].target.Dim()
	mass := mat.NewSymDense(dim, nil)
	positions := (s.config.Warmup/4 + curvatureEvery - 1) / curvatureEvery * len(s.chains)
	for _, c := range curvature {
		mass.AddSym(mass, c)
	}
	mass.ScaleSym(1/float64(positions), mass)
	for i := range dim {
		mass.SetSym(i, i, mass.At(i, i)+1)
	}
	if m := newMetric(mass); m != nil {
		for _, k := range s.chains {
			k.hamiltonian.metric = m
			k.hamiltonian.step = 0.3
		}
	}
	var walkers []*valuewalk.Walker
	for _, k := range s.chains {
		if k.walker != nil {
			walkers = append(walkers, k.walker)
		}
	}
	if len(walkers) == len(s.chains) && valuewalk.UseCurvature(walkers) != nil {
		for _, k := range s.chains {
			// the curvature over values is singular to rounding: the prior or the discount is too extreme
			k.walker = nil
		}
	}
}
