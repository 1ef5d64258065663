// Package mcmc holds what the samplers of posteriors by Markov chains have in common: the posterior that consists of
// chains' samples, the running of chains until they converge, and the diagnostics of their convergence.
//
// The diagnostics are the rank-normalised split-R̂ and the bulk and tail effective sample sizes of Vehtari, Gelman,
// Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and localization: an improved R̂ for assessing
// convergence of MCMC". Each takes the draws of one scalar quantity as chains of equal length, at least minLength draws
// each, and returns NaN where it does not exist: chains that are too short or of unequal lengths, draws that are not
// finite, or draws that are all the same.
package mcmc

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
)

// minLength is the shortest chain for which the diagnostics are defined: its halves then have two draws each.
const minLength = 4

// Diagnose returns three diagnostics of the draws.
//
//   - rHat is the rank-normalised split-R̂: the larger of the bulk's and of the folded draws' (which notices chains
//     that differ in spread). It is near 1 for chains that agree; above 1.01 they have not mixed.
//   - bulkESS is the effective sample size of the rank-normalised draws, which exists whatever the moments are and
//     measures how well the bulk of the distribution was sampled.
//   - tailESS is the smaller of the effective sample sizes of the 5 % and the 95 % quantile.
func Diagnose(chains [][]float64) (rHat, bulkESS, tailESS float64) {
	if !usable(chains) {
		return math.NaN(), math.NaN(), math.NaN()
	}
	halves := split(chains) // which ranks and the median are among, as Stan and ArviZ have it
	order := ascending(halves)
	normal := rankNormalise(halves, order)
	median := quantile(order, 0.5)
	folded := mapDraws(halves, func(x float64) float64 { return math.Abs(x - median) })
	rHat = potentialScaleReduction(normal)
	spread := potentialScaleReduction(rankNormalise(folded, ascending(folded)))
	if !math.IsNaN(spread) { // draws of two values, symmetric about their median, have no spread to compare
		rHat = math.Max(rHat, spread)
	}
	if len(chains[0])%2 == 1 { // the tails are those of all draws
		order = ascending(chains)
	}
	tailESS = math.Min(exceedanceESS(chains, quantile(order, 0.05)), exceedanceESS(chains, quantile(order, 0.95)))
	return rHat, effectiveSize(normal), tailESS
}

// ESS returns the effective sample size of the draws' mean: the draws' variance over it is the squared Monte Carlo
// standard error of the mean.
func ESS(chains [][]float64) float64 {
	if !usable(chains) {
		return math.NaN()
	}
	return effectiveSize(split(chains))
}

// exceedanceESS returns the effective sample size of the indicator of draws at or below the threshold.
func exceedanceESS(chains [][]float64, threshold float64) float64 {
	return effectiveSize(split(mapDraws(chains, func(x float64) float64 {
		if x <= threshold {
			return 1
		}
		return 0
	})))
}

func usable(chains [][]float64) bool {
	if len(chains) == 0 || len(chains[0]) < minLength {
		return false
	}
	first, varies := chains[0][0], false
	for _, c := range chains {
		if len(c) != len(chains[0]) {
			return false
		}
		for _, x := range c {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return false
			}
			varies = varies || x != first
		}
	}
	return varies
}

// place is where a draw stands.
type place struct {
	draw         float64
	chain, index int32
}

// ascending returns the draws of all chains, the smallest first.
func ascending(chains [][]float64) []place {
	all := make([]place, 0, len(chains)*len(chains[0]))
	for c, chain := range chains {
		for i, x := range chain {
			all = append(all, place{x, int32(c), int32(i)})
		}
	}
	slices.SortFunc(all, func(a, b place) int { // no draw is NaN, which cmp.Compare would look for
		switch {
		case a.draw < b.draw:
			return -1
		case a.draw > b.draw:
			return 1
		}
		return 0
	})
	return all
}

// quantile returns the quantile at p of ascending draws, linear between them.
func quantile(all []place, p float64) float64 {
	at := p * float64(len(all)-1)
	i := min(int(at), len(all)-2)
	return all[i].draw + (at-float64(i))*(all[i+1].draw-all[i].draw)
}

func mapDraws(chains [][]float64, f func(float64) float64) [][]float64 {
	out := make([][]float64, len(chains))
	for i, c := range chains {
		out[i] = make([]float64, len(c))
		for j, x := range c {
			out[i][j] = f(x)
		}
	}
	return out
}

// rankNormalise replaces each draw by the standard normal quantile at (rank − 3/8) / (draws + 1/4), the rank being
// among the ascending draws of all chains and averaged over ties.
func rankNormalise(chains [][]float64, all []place) [][]float64 {
	out := make([][]float64, len(chains))
	for i := range out {
		out[i] = make([]float64, len(chains[i]))
	}
	for lo := 0; lo < len(all); {
		hi := lo + 1
		for hi < len(all) && all[hi].draw == all[lo].draw {
			hi++
		}
		rank := float64(lo+1+hi) / 2 // mean of the ranks lo+1 … hi
		z := mathext.NormalQuantile((rank - 0.375) / (float64(len(all)) + 0.25))
		for ; lo < hi; lo++ {
			out[all[lo].chain][all[lo].index] = z
		}
	}
	return out
}

// split cuts each chain in two halves, dropping the middle draw of an odd number.
func split(chains [][]float64) [][]float64 {
	out := make([][]float64, 0, 2*len(chains))
	for _, c := range chains {
		half := len(c) / 2
		out = append(out, c[:half], c[len(c)-half:])
	}
	return out
}

// potentialScaleReduction returns Gelman and Rubin's R̂ of chains that are already split.
func potentialScaleReduction(chains [][]float64) float64 {
	within, total := variances(chains)
	return math.Sqrt(total / within)
}

// variances returns the mean variance within the chains and the estimate of the marginal variance that also counts the
// variance between their means (the W and var⁺ of the paper).
func variances(chains [][]float64) (within, total float64) {
	n := float64(len(chains[0]))
	means := make([]float64, len(chains))
	for i, c := range chains {
		var v float64
		means[i], v = stat.MeanVariance(c, nil)
		within += v / float64(len(chains))
	}
	return within, within*(n-1)/n + stat.Variance(means, nil)
}

// effectiveSize returns the effective sample size of chains that are already split, N/τ with
//
//	τ = −1 + 2 Σ_{t ≤ T} ρ_t + ρ_{T+1},    ρ_t = 1 − (W − mean autocovariance at lag t) / var⁺,
//
// where T ends Geyer's (1992) initial positive sequence of pairs ρ_2k + ρ_2k+1, which are made monotone; the even one
// after it counts once where it is positive, which matters to antithetic chains, and whatever it is where chains end
// before the sequence does (Vehtari et al. 2021, as Stan and ArviZ compute it).
func effectiveSize(chains [][]float64) float64 {
	n := len(chains[0])
	within, total := variances(chains)
	if !(total > 0) {
		return math.NaN()
	}
	centred := make([][]float64, len(chains))
	for i, c := range chains {
		centred[i] = append([]float64(nil), c...)
		floats.AddConst(-stat.Mean(c, nil), centred[i])
	}
	correlation := func(lag int) float64 {
		sum := 0.0
		for _, c := range centred {
			sum += floats.Dot(c[:n-lag], c[lag:])
		}
		return 1 - (within-sum/float64(n*len(chains)))/total
	}
	even, odd := 1.0, correlation(1)
	var rho []float64 // of whole pairs
	for lag := 2; even+odd > 0; lag += 2 {
		rho = append(rho, even, odd)
		if k := len(rho); k > 2 && even+odd > rho[k-4]+rho[k-3] {
			rho[k-2] = (rho[k-4] + rho[k-3]) / 2
			rho[k-1] = rho[k-2]
		}
		if lag+1 >= n-1 { // the last pair counts as the one after the sequence
			rho = rho[:len(rho)-2]
			break
		}
		even, odd = correlation(lag), correlation(lag+1)
	}
	if even+odd <= 0 {
		even = math.Max(even, 0)
	}
	tau := 2*floats.Sum(rho) - 1 + even
	draws := float64(n * len(chains))
	// Antithetic chains may beat independent draws, but an estimate beyond this bound is noise (Vehtari et al. 2021).
	return draws / math.Max(tau, 1/math.Log10(draws))
}
