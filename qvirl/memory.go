package qvirl

import (
	"fmt"

	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/tabular"
)

// MemoryNeed estimates how many bytes a fit of a valid problem takes, with its verdict and its answer, before it takes
// any; name is that of a method of "qvirl fit", and one that is not known needs as much as the largest. For S states, A
// actions, n rewards, k = S·A + 2n numbers to a sample, and a state and its successors at most w apart
// (mdp.MDP.Numbering):
//
//	reference                 40 MB + 200 kB · k + 160 B · n² + 100 B · S²: samples, masses, inverses of I − γ P
//	other samplers            30 MB + 115 kB · k + 160 B · n²
//	avril                     75 MB + 160 kB · k + 160 B · n²
//	variational               the largest of what training, judging and answering take:
//	  training                45 MB + 580 B · n²: products of covariances, and the optimizer's pairs
//	  with rank r             45 MB + 13 B · n (6 (w + 128) + 72 (r + 2) + 14 r + w): band matrices, pairs, factors
//	  judging                 40 MB + 280 kB · k + 160 B · n² + 100 B · S²: reference and draws; not of low rank
//	  answering               45 MB + 20 B · draws · k + 80 B · n²; of a low rank, without the last
//	and the transitions, as read and as kept
//
// The constants are those of peaks of processes, on gridworlds of 64 to 10,000 states and on problems with dense
// transitions.
func MemoryNeed(problem *Problem, name string) float64 {
	m := problem.MDP
	s, n := float64(m.States()), float64(problem.RewardDim())
	entries := 0
	for i := range m.States() * m.Actions() {
		next, _ := m.Row(i/m.Actions(), i%m.Actions())
		entries += len(next)
	}
	transitions, sample := 3*8*float64(entries), sampleNumbers(problem)
	judge := func(perNumber float64) float64 { return 40e6 + perNumber*sample + 160*n*n + 100*s*s }
	switch name {
	case method.Reference:
		return transitions + judge(200e3)
	case method.ValueWalk, method.PolicyWalk:
		return transitions + 30e6 + 115e3*sample + 160*n*n
	case method.AVRIL:
		return transitions + 75e6 + 160e3*sample + 160*n*n
	}
	answer := 45e6 + SamplesNeed(problem, problemfile.DrawsAtOnce(problem))
	if name == method.QVIRL && Unjudgeable(problem) != "" {
		_, width := m.Numbering()
		w, r := float64(width), float64(tabular.DefaultRank)
		return transitions + max(answer, 45e6+13*n*(6*(w+128)+72*(r+2)+14*r+w))
	}
	return transitions + max(45e6+580*n*n, judge(280e3), answer+80*n*n)
}

// SamplesNeed estimates how many bytes n samples in an answer take beyond MemoryNeed.
func SamplesNeed(problem *Problem, n int) float64 {
	return bytesOfSample * float64(n) * sampleNumbers(problem)
}

// bytesOfSample is what a number of a sample takes while an answer is made.
const bytesOfSample = 20

// sampleNumbers returns how many numbers a sample has: S·A + 2n.
func sampleNumbers(problem *Problem) float64 {
	return float64(problem.MDP.States()*problem.MDP.Actions() + 2*problem.RewardDim())
}

// HoursNeed estimates how long QVIRL's training takes where its covariance is of low rank, by the band matrices of n
// rows and width w that are factorised: about 300 times, in 4 ns · n w² each. It is 0 for smaller problems.
func HoursNeed(problem *Problem) (hours float64, width int) {
	if Unjudgeable(problem) == "" {
		return 0, 0
	}
	_, width = problem.MDP.Numbering()
	return 300 * 4e-9 / 3600 * float64(problem.MDP.States()) * float64(width) * float64(width), width
}

// DefaultMethod returns the name of the method that fits a valid problem unless another is asked for: method.Matched,
// and of more than tabular.LargestFull states method.QVIRL, whose covariance is of low rank there, or if that cannot
// serve the problem method.Reference.
func DefaultMethod(problem *Problem) string {
	switch {
	case problem.MDP.States() <= tabular.LargestFull:
		return method.Matched
	case tabular.CheckLowRank(problem) == nil:
		return method.QVIRL
	}
	return method.Reference
}

// Unjudgeable says why a variational posterior of a valid problem cannot be judged; empty if it can. The chains that
// judge have a mass matrix.
func Unjudgeable(problem *Problem) string {
	if states := problem.MDP.States(); states > tabular.LargestFull {
		return fmt.Sprintf("the chains that judge would take %.3g GB for %d states, and hours",
			MemoryNeed(problem, method.Reference)/1e9, states)
	}
	return ""
}
