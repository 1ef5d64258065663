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
	r.wantShape(is(mean.Shape, r.states) || is(mean.Shape, r.states, r.actions), priorMean, mean,
		"[%d] for state-only rewards or [%d %d] for state-action rewards", r.states, r.states, r.actions)
	if r.err != nil {
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
	if isNumber(a) {
		n := 1
		for _, d := range shape {
			n *= d
		}
		return slices.Repeat(a.Data, n)
	}
	r.wantShape(slices.Equal(a.Shape, shape), priorStd, a, "%v as %s, or a single number", shape, priorMean)
	return a.Data
}

// rows reads an array with a row for each reward, [n, k].
func (r *reader) rows(name string, shape []int) *mat.Dense {
	a := r.array(name)
	last := len(a.Shape) - 1
	r.wantShape(last >= 0 && slices.Equal(a.Shape[:last], shape) && len(a.Data) > 0, name, a,
		"that of %s, %v, and one more axis", priorMean, shape)
	if r.err != nil {
		return nil
	}
	return mat.NewDense(len(a.Data)/a.Shape[last], a.Shape[last], a.Data)
}

// kernel reads the prior of a Gaussian process.
func (r *reader) kernel(mean *npz.Array, std []float64) irl.Prior {
	features := stateFeats
	if len(mean.Shape) == 2 {
		features = rewardFeats
	}
	x := r.rows(features, mean.Shape)
	length := r.array(lengthscale)
	r.wantShape(len(length.Shape) <= 1, lengthscale, length, "a single number, or one for each feature")
	k := irl.Kernel{Std: std, Lengthscale: length.Data}
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
	r.wantShape(is(a.Shape, n, n) || pairs && is(a.Shape, r.states, r.actions, r.states, r.actions), priorCov, a,
		"[%d %d], since %s holds %d numbers", n, n, priorMean, n)
	if r.err != nil {
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
