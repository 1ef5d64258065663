package problemfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// largestDense is the number of transition probabilities up to which they are written with their zeros.
const largestDense = 1 << 22

// Write writes a problem, atomically. The folder must exist.
func Write(path string, p *irl.Problem) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("problem file %s: %w", path, err)
	}
	if err := write(path, arraysOf(p)); err != nil {
		return fmt.Errorf("problemfile: %w", err)
	}
	return nil
}

// write writes arrays to a file that is not named like one for ArviZ.
func write(path string, arrays map[string]npz.Array) error {
	if strings.EqualFold(filepath.Ext(path), ".nc") {
		return fmt.Errorf("%s: want a name that ends in .npz; inferencedata.Write makes a .nc, for ArviZ", path)
	}
	return npz.Write(path, arrays)
}

// arraysOf returns the arrays of a problem.
func arraysOf(p *irl.Problem) map[string]npz.Array {
	s, a, n := p.MDP.States(), p.MDP.Actions(), p.RewardDim()
	steps := make([]int, 0, 2*len(p.Demos))
	for _, d := range p.Demos {
		steps = append(steps, d.State, d.Action)
	}
	arrays := map[string]npz.Array{
		initial:   npz.Floats(p.MDP.Initial(), s),
		priorMean: npz.Floats(p.Prior.Mean, rewardShape(p)...),
		demos:     npz.Ints(steps, len(p.Demos), 2),
		discount:  npz.Scalar(p.Discount),
		beta:      npz.Scalar(p.Beta),
	}
	if s*a*s <= largestDense {
		arrays[transitions] = npz.Floats(p.MDP.Dense(), s, a, s)
	} else {
		var nonzero []float64
		var successors []int
		starts := make([]int, 1, s*a+1)
		for i := range s * a {
			next, prob := p.MDP.Row(i/a, i%a)
			for _, to := range next {
				successors = append(successors, int(to))
			}
			nonzero = append(nonzero, prob...)
			starts = append(starts, len(nonzero))
		}
		arrays[probs], arrays[indices] = npz.Floats(nonzero, len(nonzero)), npz.Ints(successors, len(successors))
		arrays[rowStarts] = npz.Ints(starts, len(starts))
	}
	for name, texts := range map[string][]string{stateNames: p.StateNames, actionNames: p.ActionNames} {
		if texts != nil {
			arrays[name] = npz.Strings(texts)
		}
	}
	if p.InfersBeta() {
		arrays[betaLogStd] = npz.Scalar(p.BetaLogStd)
	}
	if p.Prior.Cov != nil {
		arrays[priorCov] = npz.Floats(dense(p.Prior.Cov), n, n)
	}
	if p.Prior.LowRank != nil {
		_, k := p.Prior.LowRank.Dims()
		arrays[lowRank] = npz.Floats(dense(p.Prior.LowRank), append(rewardShape(p), k)...)
	}
	if p.Prior.Std != nil {
		arrays[priorStd] = npz.Floats(p.Prior.Std, rewardShape(p)...)
	}
	return arrays
}

// rewardShape returns [S] for state-only and [S,A] for state-action rewards.
func rewardShape(p *irl.Problem) []int {
	if p.StateOnly() {
		return []int{p.MDP.States()}
	}
	return []int{p.MDP.States(), p.MDP.Actions()}
}

func dense(m mat.Matrix) []float64 { return mat.DenseCopyOf(m).RawMatrix().Data }
