// Package zoo is a benchmark of Bayesian inverse reinforcement learning: small tabular problems, in families that are
// each hard in one way, with exact answers.
//
// All returns the cases with their answers from files that are part of the program; Judge compares the answer of any
// method with the exact one; Generate makes the problems anew, from fixed seeds. Package exact computes the answers,
// by methods that are independent of the samplers that are judged by them. README.md in this folder documents the
// files, which NumPy alone can read.
package zoo

import (
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"
)

// Case is one problem of the zoo.
type Case struct {
	Name     string // a file name
	Family   string // of problems that are hard in the same way
	Sentence string // what it is
	Problem  *irl.Problem
	Digest   string  // SHA-256 of the problem's file; empty if the case does not come from a file
	Exact    *Answer // nil if none could be established
}

// Answer is an exact answer with how it was computed. Stored rows depend on all of it.
type Answer struct {
	summary.Summary        // with Monte Carlo or quadrature errors
	Recipe          string // in words
	Digest          string // of the problem that it answers
	// EffectiveSize is the effective number of independent posterior samples that the answer rests on; of a quadrature,
	// the number of its nodes.
	EffectiveSize float64
	KHat          float64 // Pareto k̂ of the importance weights; 0 where none are used
	Seconds       float64 // that the computation took, by the clock
}
