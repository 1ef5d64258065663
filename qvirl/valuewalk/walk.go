package valuewalk

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Walk is where the walkers that set out from an approximate posterior came.
type Walk struct {
	Problem   *irl.Problem
	Samples   *mcmc.Posterior // of the positions that were kept
	Positions *mat.Dense      // optimal values, and then log β if it is inferred, [samples, ValueDim]
	Settled   bool            // whether the moments no longer depend on where the walk began
}

// WalkFrom walks from approximate posteriors towards those of problems, one each, as Refine does, and returns what
// answer makes of each walk. The posteriors must be Approximations; they may take β as known where the problems infer
// it.
func WalkFrom(ctx context.Context, c RefineConfig, problems []*irl.Problem, posts []irl.Posterior,
	progress irl.Progress, answer func(Walk) (irl.Posterior, error)) ([]irl.Posterior, error) {
	starts, err := approximations(posts)
	if err != nil {
		return nil, err
	}
	return walkAll(ctx, c, problems, starts, 0, progress, func(r *refinement) (irl.Posterior, error) {
		return answer(Walk{r.problem, r.samples, r.positions(), r.settled()})
	})
}

// stuck returns the share of the walkers that never moved.
func (r *refinement) stuck() float64 {
	stuck := 0
	for _, g := range r.groups {
		stuck += g.stuck
	}
	return float64(stuck) / float64(r.walkers)
}

// positions returns the positions that were kept, [Samples, dim].
func (r *refinement) positions() *mat.Dense {
	return irl.WithLogBeta(r.samples.Values(), r.samples.Betas())
}

// Limits of settled.
const (
	restless      = 0.15 // posterior standard deviations
	restlessNoise = 1.5  // times the Monte Carlo error
)

// settled reports whether the moments no longer depend on where the walk began: no more than 5 % of the walkers never
// moved, and the means of their first and second halves differ by no more than 0.15 standard deviations, or half as
// much again as those of two halves of the walkers do (root mean squares over the values).
func (r *refinement) settled() bool {
	if r.stuck() > maxStuck {
		return false
	}
	kept := r.config.Kept
	x := r.positions()
	gap := func(in func(walker, position int) int) float64 { // between the means of groups 0 and 1
		rows, n := x.Dims()
		sums, counts := [2][]float64{make([]float64, n), make([]float64, n)}, [2]float64{}
		for i := range rows {
			side := in(i/kept, i%kept)
			floats.Add(sums[side], x.RawRowView(i))
			counts[side]++
		}
		total := 0.0
		for j := range n {
			std := stat.StdDev(mat.Col(nil, j, x), nil)
			d := (sums[0][j]/counts[0] - sums[1][j]/counts[1]) / std
			total += d * d
		}
		return math.Sqrt(total / float64(n))
	}
	if kept == 1 {
		return true // there are no halves
	}
	noise := gap(func(w, _ int) int { return w % 2 })
	return gap(func(_, j int) int { return min(2*j/kept, 1) }) <= math.Max(restless, restlessNoise*noise)
}

// approximations returns posteriors as a method gives them as Approximations.
func approximations(posts []irl.Posterior) ([]Approximation, error) {
	starts := make([]Approximation, len(posts))
	for i, p := range posts {
		var ok bool
		if starts[i], ok = p.(Approximation); !ok {
			return nil, fmt.Errorf("valuewalk: problem %d: a posterior of type %T cannot be refined: it has no draws "+
				"of optimal values", i, p)
		}
	}
	return starts, nil
}
