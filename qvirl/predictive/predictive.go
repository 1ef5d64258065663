// Package predictive checks whether demonstrations are such as the model that was fitted to them would give, which a
// computation without fault does not tell.
package predictive

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// Check returns the posterior predictive p-value (Gelman, Meng and Stern 1996) of the demonstrations' likelihood,
//
//	p = P(T(D', d) < T(D, d)) + ½ P(T(D', d) = T(D, d)),   T(D, d) = Σ_i log π_d(aᵢ|sᵢ),
//
// over draws d of the posterior, and over demonstrations D' by the policy π_d in the states of those given, D. Near 0
// the expert is harder to predict than Boltzmann's policy of these rewards and β would be, near 1 easier. As rewards
// are fitted to the same demonstrations p is seldom extreme by chance, and of few demonstrations it is hardly ever.
func Check(post irl.Posterior, draws int, seed uint64) (p float64, err error) {
	if err := irl.CheckPosterior("predictive", post); err != nil {
		return 0, err
	}
	problem := post.Problem()
	if err := check.AtLeast(1, "draws", draws); err != nil {
		return 0, fmt.Errorf("predictive: %w", err)
	}
	if len(problem.Demos) == 0 {
		return 0, fmt.Errorf("predictive: the problem has no demonstrations to check")
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	samples, err := post.Sample(rng, draws)
	if err != nil {
		return 0, fmt.Errorf("predictive: %w", err)
	}
	states, counts, totals := problem.Demonstrated()
	actions, beta := problem.MDP.Actions(), problem.Beta
	log, simulated := make([]float64, actions), make([]float64, actions)
	for d := range draws {
		if samples.Beta != nil {
			beta = samples.Beta[d]
		}
		given, other := 0.0, 0.0 // T of the demonstrations and of the simulated ones
		for k, s := range states {
			mdp.LogBoltzmann(log, samples.Q.RawRowView(d)[s*actions:(s+1)*actions], actions, beta)
			multinomial(simulated, totals[k], log, rng)
			given += floats.Dot(counts[k*actions:(k+1)*actions], log)
			other += floats.Dot(simulated, log)
		}
		switch {
		case scalar.EqualWithinAbsOrRel(other, given, rounding, rounding):
			p += 0.5 / float64(draws)
		case other < given:
			p += 1 / float64(draws)
		}
	}
	return p, nil
}

// rounding is what sums of logarithms that are equal may differ by.
const rounding = 1e-9

// multinomial sets dst to how often each outcome is drawn in n draws, given the logarithms of their probabilities: one
// after the other, each of those that are left.
func multinomial(dst []float64, n float64, log []float64, src rand.Source) {
	for i := range log {
		dst[i] = n
		if rest := log[i] - floats.LogSumExp(log[i:]); n > 0 && i < len(log)-1 {
			dst[i] = distuv.Binomial{N: n, P: min(1, math.Exp(rest)), Src: src}.Rand()
		}
		n -= dst[i]
	}
}
