// Package graphs holds the approximations of the paper as GoMLX graphs, nodes in and nodes out: the maximum of jointly
// Gaussian values ([Maximum]), the Boltzmann likelihood under them ([LogActionProbs]), and the inverse of covariances
// ([SPDInverse]). plain.go has the same on plain numbers.
package graphs
