// Package irl is Bayesian inverse reinforcement learning as a problem: what every method of this project solves
// ([Problem], [Prior]), the questions that every posterior answers ([Posterior], [Samples], [Marginal]), and what a
// method is ([Method]).
package irl
