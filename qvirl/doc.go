// Package qvirl infers reward functions, and how sure one can be of them, from demonstrations: Q-based variational
// inverse reinforcement learning (QVIRL). It defines the problem that every method of this project solves, the questions
// that every posterior answers, and the tabular variational method itself. Subpackages hold the methods it is
// compared with (valuewalk, avril), the metrics and the experiments.
package qvirl
