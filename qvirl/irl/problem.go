package irl

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
)

// Prior is a Gaussian prior over the reward vector: one number a state (state-only rewards, n = S), or one a
// state-action pair (n = S·A, index s·A + a). Exactly one of Std and Cov is set.
type Prior struct {
	Mean []float64     // [n]
	Std  []float64     // standard deviations of independent rewards, [n]
	Cov  *mat.SymDense // covariance, [n, n]
}

// IndependentPrior returns the prior under which n rewards are independent N(mean, std²).
func IndependentPrior(n int, mean, std float64) Prior {
	p := Prior{Mean: make([]float64, n), Std: make([]float64, n)}
	for i := range p.Mean {
		p.Mean[i], p.Std[i] = mean, std
	}
	return p
}

// Covariance returns the prior covariance [n, n].
func (p Prior) Covariance() *mat.SymDense {
	if p.Cov != nil {
		return p.Cov
	}
	cov := mat.NewSymDense(len(p.Mean), nil)
	for i, s := range p.Std {
		cov.SetSym(i, i, s*s)
	}
	return cov
}

// Factor returns the lower triangular L [n, n] with L Lᵀ the prior covariance.
func (p Prior) Factor() (*mat.TriDense, error) {
	lower := mat.NewTriDense(len(p.Mean), mat.Lower, nil)
	if p.Cov == nil {
		for i, s := range p.Std {
			lower.SetTri(i, i, s)
		}
		return lower, nil
	}
	var chol mat.Cholesky
	if !chol.Factorize(p.Cov) {
		return nil, fmt.Errorf("qvirl: prior covariance is not positive definite")
	}
	chol.LTo(lower)
	return lower, nil
}

// Draw draws a reward vector [n] from the prior, whose Factor is given.
func (p Prior) Draw(rng *rand.Rand, factor *mat.TriDense) []float64 {
	noise, out := make([]float64, len(p.Mean)), make([]float64, len(p.Mean))
	for i := range noise {
		noise[i] = rng.NormFloat64()
	}
	for i, mean := range p.Mean {
		out[i] = mean
		for j := 0; j <= i; j++ {
			out[i] += factor.At(i, j) * noise[j]
		}
	}
	return out
}

// validate checks the prior against the two lengths that a reward vector may have.
func (p Prior) validate(states, actions int) error {
	n := len(p.Mean)
	if n != states && n != states*actions {
		return fmt.Errorf("qvirl: prior mean: got %d numbers, want %d (one a state) or %d (one a state-action pair)",
			n, states, states*actions)
	}
	if err := CheckFinite("prior mean", p.Mean); err != nil {
		return err
	}
	switch {
	case (p.Std == nil) == (p.Cov == nil):
		return fmt.Errorf("qvirl: prior: want exactly one of standard deviations and covariance")
	case p.Std != nil:
		if len(p.Std) != n {
			return fmt.Errorf("qvirl: prior std: got %d numbers, want %d as in the prior mean", len(p.Std), n)
		}
		for i, s := range p.Std {
			if !(s > 0) || math.IsInf(s, 0) {
				return fmt.Errorf("qvirl: prior std[%d] = %g, want a finite positive number", i, s)
			}
		}
		return nil
	}
	if p.Cov.SymmetricDim() != n {
		return fmt.Errorf("qvirl: prior covariance: got %d×%d, want %d×%d as in the prior mean",
			p.Cov.SymmetricDim(), p.Cov.SymmetricDim(), n, n)
	}
	for i := 0; i < n; i++ {
		for j := i; j < n; j++ {
			if v := p.Cov.At(i, j); math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("qvirl: prior covariance[%d,%d] = %g is not finite", i, j, v)
			}
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(p.Cov) {
		var eig mat.EigenSym
		smallest := math.NaN()
		if eig.Factorize(p.Cov, false) {
			smallest = eig.Values(nil)[0]
		}
		return fmt.Errorf("qvirl: prior covariance is not positive definite: its smallest eigenvalue is %g", smallest)
	}
	return nil
}

// Problem is one Bayesian IRL problem on a finite MDP: infer the reward from demonstrations of a Boltzmann-rational
// expert (Eq. boltzmann-likelihood) under a Gaussian prior.
type Problem struct {
	MDP      *mdp.MDP
	Prior    Prior
	Discount float64 // γ in [0, 1)
	Beta     float64 // rationality coefficient β > 0, or the median of its prior
	// BetaLogStd is the standard deviation of log β under a log-normal prior, with which β is inferred too; 0: β is known.
	// Not every method can infer it; those that cannot say so.
	BetaLogStd float64
	Demos      []mdp.Step // demonstrated decisions; none is legal, and then the posterior is the prior
}

// Validate reports the first thing that is wrong with the problem, by argument, index and value.
func (p *Problem) Validate() error {
	if p == nil || p.MDP == nil {
		return fmt.Errorf("qvirl: the problem has no MDP")
	}
	if err := mdp.CheckDiscount(p.Discount); err != nil {
		return err
	}
	if !(p.Beta > 0) || math.IsInf(p.Beta, 0) {
		return fmt.Errorf("qvirl: β = %g, want a finite positive number", p.Beta)
	}
	if !(p.BetaLogStd >= 0) || math.IsInf(p.BetaLogStd, 0) {
		return fmt.Errorf("qvirl: standard deviation of log β = %g, want a finite number that is not negative", p.BetaLogStd)
	}
	if err := p.Prior.validate(p.MDP.States(), p.MDP.Actions()); err != nil {
		return err
	}
	return p.MDP.CheckSteps(p.Demos)
}

// ValidateAll validates a batch of problems and says which one is wrong. An empty batch is an error.
func ValidateAll(problems []*Problem) error {
	if len(problems) == 0 {
		return fmt.Errorf("qvirl: no problems: a batch needs at least one")
	}
	for i, p := range problems {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return nil
}

// InfersBeta reports whether β has a prior and is inferred with the reward.
func (p *Problem) InfersBeta() bool { return p.BetaLogStd > 0 }

// CheckBetaKnown refuses problems in which β is to be inferred, on behalf of a method that takes it as known.
func CheckBetaKnown(method string, problems []*Problem) error {
	for i, p := range problems {
		if p.InfersBeta() {
			return fmt.Errorf("problem %d: β has a prior (BetaLogStd = %g), but %s takes β as known; valuewalk and matched QVIRL infer it", i, p.BetaLogStd, method)
		}
	}
	return nil
}

// StateOnly reports whether the reward depends on the state alone.
func (p *Problem) StateOnly() bool { return len(p.Prior.Mean) == p.MDP.States() }

// RewardDim returns the length n of the reward vector.
func (p *Problem) RewardDim() int { return len(p.Prior.Mean) }

// ValueDim returns the length of the vectors that posteriors over values are over: n optimal values, V*(s) or Q*(s,a), and
// log β after them if it is inferred.
func (p *Problem) ValueDim() int {
	if p.InfersBeta() {
		return p.RewardDim() + 1
	}
	return p.RewardDim()
}

// DemoCounts returns how often each action was demonstrated in each state, [S·A]: the sufficient statistic of the
// demonstrations.
func (p *Problem) DemoCounts() []float64 {
	counts := make([]float64, p.MDP.States()*p.MDP.Actions())
	for _, d := range p.Demos {
		counts[d.State*p.MDP.Actions()+d.Action]++
	}
	return counts
}

// LogLikelihood returns the log probability of the demonstrated actions given optimal Q-values [S·A]
// (Eq. boltzmann-likelihood). counts are DemoCounts, given so that they are not counted anew for each of many Q.
func (p *Problem) LogLikelihood(q, counts []float64) float64 {
	actions, sum := p.MDP.Actions(), 0.0
	for i := 0; i < len(q); i += actions {
		demos := floats.Sum(counts[i : i+actions])
		if demos == 0 {
			continue
		}
		top, partition := floats.Max(q[i:i+actions]), 0.0
		for a := i; a < i+actions; a++ {
			partition += math.Exp(p.Beta * (q[a] - top))
			sum += counts[a] * p.Beta * (q[a] - top)
		}
		sum -= demos * math.Log(partition)
	}
	return sum
}

func CheckFinite(what string, x []float64) error {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("qvirl: %s[%d] = %g is not finite", what, i, v)
		}
	}
	return nil
}
