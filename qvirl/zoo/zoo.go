// Package zoo is a benchmark of Bayesian inverse reinforcement learning: small tabular problems, in families that are
// each hard in one way, with exact answers.
//
// All returns the cases with their answers from files that are part of the program; Judge compares the answer of any
// method with the exact one; Generate makes the problems anew, from fixed seeds. Package exact computes the answers,
// by methods that are independent of the samplers that are judged by them. README.md in this folder documents the
// files, which NumPy alone can read.
package zoo

import (
	"fmt"

	"github.com/go-birl/birl/qvirl"
)

// Case is one problem of the zoo.
type Case struct {
	Name     string // a file name
	Family   string // of problems that are hard in the same way
	Sentence string // what it is
	Problem  *qvirl.Problem
	Digest   string  // SHA-256 of the problem's file; empty if the case does not come from a file
	Exact    *Answer // nil if none could be established
}

// Answer is an exact answer with how it was computed.
type Answer struct {
	Summary        // with Monte Carlo or quadrature errors
	Recipe  string // in words
	Digest  string // of the problem that it answers
	// EffectiveSize is the effective number of independent posterior samples that the answer rests on; of a quadrature,
	// the number of its nodes.
	EffectiveSize float64
	KHat          float64 // Pareto k̂ of the importance weights; 0 where none are used
	Seconds       float64 // that the computation took, by the clock
}

// Summary is what is asked of a posterior: plain numbers, so that any package's answer can be judged.
type Summary struct {
	RewardMean, RewardStd []float64 // of each reward, in its own unit, [S] or [S·A]
	ValueMean, ValueStd   []float64 // of each optimal state value V*, [S]
	// Policy is the posterior-predictive Boltzmann policy, [S·A]: that of each sample, with its own β where β is
	// inferred, averaged.
	Policy            []float64
	BetaMean, BetaStd float64 // of β where it is inferred; 0 otherwise
	// Error has the Monte Carlo standard error of each number in its place; nil where there is none to speak of.
	Error *Summary
}

// check refuses a summary that does not have the lengths of the problem.
func (s *Summary) check(p *qvirl.Problem) error {
	states, pairs := p.MDP.States(), p.MDP.States()*p.MDP.Actions()
	for _, q := range []struct {
		what string
		x    []float64
		want int
	}{
		{"reward means", s.RewardMean, p.RewardDim()}, {"reward standard deviations", s.RewardStd, p.RewardDim()},
		{"value means", s.ValueMean, states}, {"value standard deviations", s.ValueStd, states},
		{"action probabilities", s.Policy, pairs},
	} {
		if len(q.x) != q.want {
			return fmt.Errorf("zoo: got %d %s, want %d", len(q.x), q.what, q.want)
		}
	}
	if s.Error != nil {
		return s.Error.check(p)
	}
	return nil
}
