package reference

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// warmUp finds the posterior, the mass matrices, the step sizes and the shares, in quarters of the warm-up:
//
//  1. single-coordinate and Hamiltonian transitions in turn, with the prior's metric;
//  2. the same, collecting the curvature;
//  3. the same with the mass matrix that this gives, collecting the curvature and the positions;
//  4. step sizes of the Hamiltonian kernel and of the walk with the final mass matrices.
//
// Then each kernel makes transitions alone (see movements). Where nothing was demonstrated, there is nothing to find.
func (s *sampling) warmUp(ctx context.Context) error {
	if len(s.problem.Demos) == 0 {
		for _, k := range s.chains {
			start := k.work()
			k.drawPrior()
			k.cost = k.work() - start
		}
		return nil
	}
	quarter := s.config.Warmup / 4
	if err := s.turns(ctx, quarter, roughLeapfrog, nil); err != nil {
		return err
	}
	for pass := range 2 {
		p := s.newPilot()
		if err := s.turns(ctx, quarter, roughLeapfrog, p); err != nil {
			return err
		}
		s.usePilot(p, pass == 1)
	}
	if err := s.turns(ctx, quarter, maxLeapfrog, nil); err != nil {
		return err
	}
	step := mcmc.MeanStep(s.chains, func(k *chain) float64 { return k.hamiltonian.step })
	walk := 0.0
	if s.chains[0].walker != nil {
		walk = mcmc.MeanStep(s.chains, func(k *chain) float64 { return k.walker.StepSize })
	}
	for _, k := range s.chains {
		k.hamiltonian.step, k.hamiltonian.short = step, shortShare
		if k.walker != nil {
			k.walker.StepSize = walk
		}
	}
	if err := s.setShares(ctx); err != nil {
		return err
	}
	return s.setCrossing(ctx)
}

// pilot is what a part of the warm-up collects, by chain.
type pilot struct {
	curvature []*mat.SymDense // sum over some positions
	positions [][]float64     // all, [count, dim]
}

func (s *sampling) newPilot() *pilot {
	p := &pilot{make([]*mat.SymDense, len(s.chains)), make([][]float64, len(s.chains))}
	for i := range p.curvature {
		p.curvature[i] = mat.NewSymDense(s.chains[0].target.Dim(), nil)
	}
	return p
}

// turnParts is how often the progress of each chain's turns is told.
const turnParts = 8

// turns makes count transitions of each chain, of the kernels in turn, while it adapts their step sizes. It adds the
// positions, and the curvature at every curvatureEvery-th of them, to the pilot, unless that is nil.
func (s *sampling) turns(ctx context.Context, count, limit int, p *pilot) error {
	return s.job.Each(len(s.chains), func(j int) error {
		k := s.chains[j]
		k.hamiltonian.limit = limit
		leap := mcmc.NewStepSize(k.hamiltonian.step, s.config.TargetAccept)
		var walk mcmc.StepSize
		walking := k.walker != nil && k.walker.Ready()
		if walking {
			walk = mcmc.NewStepSize(k.walker.StepSize, walkAccept)
		}
		for i := range count {
			if err := ctx.Err(); err != nil {
				return err
			}
			if i*turnParts/count < (i+1)*turnParts/count {
				s.warmed(float64(s.parts.Add(1))/float64(4*turnParts*len(s.chains)), "warming up")
			}
			k.hamiltonian.step = leap.Next(k.move(hamiltonianKernel))
			if i%singleEvery == 0 {
				k.move(singleKernel)
			}
			if walking {
				k.walker.StepSize = walk.Next(k.move(walkKernel))
			}
			if p == nil {
				continue
			}
			p.positions[j] = append(p.positions[j], k.at.u...)
			if i%curvatureEvery == 0 {
				k.at.evaluate(k.target, gradientToo)
				k.target.addInformation(p.curvature[j])
				if k.walker != nil {
					k.walker.MoveTo(k.draw[k.target.n:])
					k.walker.AddCurvature()
				}
			}
		}
		k.hamiltonian.step = leap.Average()
		if walking {
			k.walker.StepSize = walk.Average()
		}
		return nil
	})
}

// walkAccept is the acceptance of the walk's leapfrog integration that its step size is adapted to (valuewalk.Default).
const walkAccept = 0.65

// usePilot makes the mean curvature of a pilot the chains' mass matrix, the identity of the prior and the mean
// information, and lets it be corrected for how far the positions spread if that is asked for.
func (s *sampling) usePilot(p *pilot, spread bool) {
	dim := s.chains[0].target.Dim()
	sum := mat.NewSymDense(dim, nil)
	count := (s.config.Warmup/4 + curvatureEvery - 1) / curvatureEvery * len(s.chains)
	for _, c := range p.curvature {
		sum.AddSym(sum, c)
	}
	mass := priorAnd(sum, float64(count))
	if spread {
		all := slices.Concat(p.positions...)
		mass = spreadMass(mass, mat.NewDense(len(all)/dim, dim, all))
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

// priorAnd returns I + sum/count, the curvature of a standard normal prior and a mean one.
func priorAnd(sum mat.Symmetric, count float64) *mat.SymDense {
	mass := mat.NewSymDense(sum.SymmetricDim(), nil)
	mass.CopySym(sum)
	mass.ScaleSym(1/count, mass)
	for i := range mass.SymmetricDim() {
		mass.SetSym(i, i, mass.At(i, i)+1)
	}
	return mass
}

// spreadMass returns Σ_e clamp(1/Var(v_eᵀ u), 1, λ_e) v_e v_eᵀ, with λ_e and v_e the eigenvalues and eigenvectors of a
// mass matrix M ⪰ I and the variances those of the positions, [count, n]. The mean information says in which directions
// the likelihood is steep; where the steep places differ from one position to the next the posterior is wider than
// that, and a mass of 1/variance lets trajectories cross it.
func spreadMass(mass *mat.SymDense, positions *mat.Dense) *mat.SymDense {
	var eigen mat.EigenSym
	if !eigen.Factorize(mass, true) {
		return mass
	}
	var vectors, along mat.Dense
	eigen.VectorsTo(&vectors)
	along.Mul(positions, &vectors)
	values := eigen.Values(nil)
	for e, v := range values {
		variance := stat.Variance(mat.Col(nil, e, &along), nil)
		values[e] = math.Max(1, math.Min(1/variance, v))
		root := math.Sqrt(values[e])
		for i := range values {
			vectors.Set(i, e, root*vectors.At(i, e))
		}
	}
	out := mat.NewSymDense(len(values), nil)
	out.SymOuterK(1, &vectors)
	return out
}
