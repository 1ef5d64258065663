package problemfile

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// asymmetry is how far a covariance may be from symmetric, relative to its largest entry. Files written in float32 stay
// within it.
const asymmetry = 1e-6

func (r *reader) prior() irl.Prior {
	mean := r.array(priorMean)
	if mean == nil {
		return irl.Prior{}
	}
	if !is(mean.Shape, r.states) && !is(mean.Shape, r.states, r.actions) {
		r.err = fmt.Errorf("%s has the shape %v, want [%d] for state-only rewards or [%d %d] for state-action rewards",
			priorMean, mean.Shape, r.states, r.states, r.actions)
		return irl.Prior{}
	}
	prior := irl.Prior{Mean: mean.Data}
	if r.archive.Has(priorStd) {
		prior.Std = r.std(mean.Shape)
	}
	switch {
	case r.archive.Has(priorCov):
		prior.Cov = r.covariance(len(mean.Data), len(mean.Shape) == 2)
	case r.archive.Has(lowRank):
		prior.LowRank = r.rows(lowRank, mean.Shape)
	case r.archive.Has(kernelName):
		return r.kernel(mean, prior.Std)
	default:
		return irl.DiagonalPrior(prior.Mean, prior.Std)
	}
	return prior
}

// std reads prior_std, [n], which one number may stand for, stored as r.scalar takes it.
func (r *reader) std(shape []int) []float64 {
	a := r.array(priorStd)
	if a == nil {
		return nil
	}
	if len(a.Data) == 1 && len(a.Shape) <= 1 {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return slices.Repeat(a.Data, n)
	}
	if !slices.Equal(a.Shape, shape) {
		r.err = fmt.Errorf("%s has the shape %v, want %v as %s, or a single number", priorStd, a.Shape, shape,
			priorMean)
		return nil
	}
	return a.Data
}

// rows reads an array with a row for each reward, [n, k].
func (r *reader) rows(name string, shape []int) *mat.Dense {
	a := r.array(name)
	if a == nil {
		return nil
	}
	last := len(a.Shape) - 1
	if last < 0 || !slices.Equal(a.Shape[:last], shape) || len(a.Data) == 0 {
		r.err = fmt.Errorf("%s has the shape %v, want that of %s, %v, and one more axis", name,
			a.Shape, priorMean, shape)
		return nil
	}
	return mat.NewDense(len(a.Data)/a.Shape[last], a.Shape[last], a.Data)
}

// kernel reads the prior of a Gaussian process.
func (r *reader) kernel(mean *npz.Array, std []float64) irl.Prior {
	k := irl.Kernel{Std: std}
	features := stateFeats
	if len(mean.Shape) == 2 {
		features = rewardFeats
	}
	x := r.rows(features, mean.Shape)
	if a := r.array(lengthscale); a != nil {
		if k.Lengthscale = a.Data; len(a.Shape) > 1 {
			r.err = fmt.Errorf("%s has the shape %v, want a single number, or one for each feature", lengthscale,
				a.Shape)
		}
	}
	if r.archive.Has(nugget) {
		k.Nugget = r.scalar(nugget)
	}
	if r.err != nil {
		return irl.Prior{}
	}
	if k.Name, r.err = r.archive.Text(kernelName); r.err != nil {
		return irl.Prior{}
	}
	prior, err := irl.KernelPrior(k, x, mean.Data)
	if err != nil {
		r.err = fmt.Errorf("%s, %s and what belongs to them: %w", kernelName, features, err)
	}
	return prior
}

// covariance reads the prior covariance [n, n].
func (r *reader) covariance(n int, pairs bool) *mat.SymDense {
	a := r.array(priorCov)
	if a == nil {
		return nil
	}
	if !is(a.Shape, n, n) && !(pairs && is(a.Shape, r.states, r.actions, r.states, r.actions)) {
		r.err = fmt.Errorf("%s has the shape %v, want [%d %d], since %s holds %d numbers", priorCov, a.Shape, n, n,
			priorMean, n)
		return nil
	}
	largest := floats.Norm(a.Data, math.Inf(1))
	out := mat.NewSymDense(n, nil)
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			above, below := a.Data[i*n+j], a.Data[j*n+i]
			if math.Abs(above-below) > asymmetry*largest {
				r.err = fmt.Errorf("%s is not symmetric: %g at [%d %d], %g at [%d %d]", priorCov, above, i, j, below, j,
					i)
				return nil
			}
			out.SetSym(i, j, (above+below)/2)
		}
	}
	return out
}
