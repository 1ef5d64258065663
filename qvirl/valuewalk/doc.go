// Package valuewalk samples the exact posterior of Bayesian inverse reinforcement learning on a finite MDP by a Markov
// chain in value space (ValueWalk: Bajgar et al., 2024).
//
// A Gaussian prior over rewards and the Boltzmann likelihood of the demonstrations (Eq. boltzmann-likelihood) define
// the posterior. Its likelihood needs the optimal values of a reward, which cost a planning problem, whereas the reward
// that has given optimal values costs one Bellman backup: so the chain walks over V* (state-only rewards) or Q*
// (state-action rewards) and reads the rewards off. The density over values is that over rewards times |det ∂R/∂V| =
// det(I − γ P_π), which changes wherever the greedy policy π does; Config.NoDeterminant leaves it out.
//
// The walk is Hamiltonian Monte Carlo with a dense mass matrix and jittered trajectory lengths. The determinant is
// piecewise constant: it has no gradient, but jumps by several nats along a trajectory. The trajectory is therefore
// bent by the gradient of a smooth stand-in for it (in force.go), and accepted or rejected with the exact
// determinant. Any force that depends on the position alone keeps the leapfrog integrator reversible and
// volume-preserving (Neal, 2011), so the samples come from the exact posterior.
//
// Refine walks from samples of an approximate posterior instead, so that the length of the walk leads from the
// approximation to the exact posterior; Refined.Diagnostics says how far apart they are.
package valuewalk
