// Package summary holds what is asked of a posterior: means, standard deviations and the policy, with their Monte Carlo
// errors.
package summary

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

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

// Check refuses a summary that does not have the lengths of the problem.
func (s *Summary) Check(p *irl.Problem) error {
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
			return fmt.Errorf("summary: got %d %s, want %d", len(q.x), q.what, q.want)
		}
	}
	if s.Error != nil {
		return s.Error.Check(p)
	}
	return nil
}

// mostNumbers bounds the action values of all draws together: half a gigabyte.
const mostNumbers = 1 << 26

// draw returns all samples of a posterior that consists of chains, with what cuts a number of each into the chains; and
// of others so many draws, of which there must be the least at least, or as many as mostNumbers allows, and nil.
func draw(post irl.Posterior, draws, least int, seed uint64) (*irl.Samples, func([]float64) [][]float64, error) {
	m := post.Problem().MDP
	draws = min(draws, max(least, mostNumbers/(m.States()*m.Actions())))
	samples, chains, err := mcmc.Draws(post, rand.New(rand.NewPCG(seed, 0)), draws, least)
	if err != nil {
		return nil, nil, fmt.Errorf("summary: %w", err)
	}
	if chains != nil {
		return samples, chains.ByChain, nil
	}
	return samples, nil, nil
}

// Of asks a posterior for what it is judged by. Of one that consists of chains, everything comes from its samples,
// and their effective sizes give the Monte Carlo errors. Of others, what they know in closed form has no error, and the
// rest comes from so many draws, at least 2.
func Of(post irl.Posterior, draws int, seed uint64) (*Summary, error) {
	if err := irl.CheckPosterior("summary", post); err != nil {
		return nil, err
	}
	p := post.Problem()
	n, states, actions := p.RewardDim(), p.MDP.States(), p.MDP.Actions()
	samples, chains, err := draw(post, draws, 2, seed)
	if err != nil {
		return nil, err
	}
	s := &Summary{Error: &Summary{}}
	each := func(x mat.Matrix, count int, mean, std, meanError, stdError *[]float64) {
		for i := range count {
			column := mat.Col(nil, i, x)
			m, sd, me, se := moments(column, chains)
			*mean, *std = append(*mean, m), append(*std, sd)
			*meanError, *stdError = append(*meanError, me), append(*stdError, se)
		}
	}
	e := s.Error
	each(samples.Reward, n, &s.RewardMean, &s.RewardStd, &e.RewardMean, &e.RewardStd)
	each(samples.Values(actions), states, &s.ValueMean, &s.ValueStd, &e.ValueMean, &e.ValueStd)
	var unused, unusedError []float64
	each(samples.Policies(actions, p.Beta), states*actions, &s.Policy, &unused, &e.Policy, &unusedError)
	if p.InfersBeta() && samples.Beta != nil {
		s.BetaMean, s.BetaStd, e.BetaMean, e.BetaStd = moments(samples.Beta, chains)
	}
	if chains != nil {
		return s, nil
	}
	s.RewardMean, s.RewardStd = irl.Moments(n, post.Reward)
	e.RewardMean, e.RewardStd = make([]float64, n), make([]float64, n)
	if v, ok := post.(irl.ValuePosterior); ok {
		s.ValueMean, s.ValueStd = irl.Moments(states, v.Value)
		e.ValueMean, e.ValueStd = make([]float64, states), make([]float64, states)
	}
	if b, ok := post.(irl.BetaPosterior); ok && p.InfersBeta() {
		s.BetaMean, s.BetaStd, e.BetaMean, e.BetaStd = b.Beta().Mean(), b.Beta().StdDev(), 0, 0
	}
	return s, nil
}

// moments returns mean and standard deviation of samples, with their Monte Carlo errors: sd(x)/√n and
// sd((x − μ)²)/(2 σ √n), where n is the effective sample size of x or of (x − μ)² in the chains that these are cut
// into, or their number without chains. The errors of chains that are too short to tell are as large as the deviation.
func moments(x []float64, chains func([]float64) [][]float64) (mean, std, meanError, stdError float64) {
	mean, std = stat.MeanStdDev(x, nil)
	if !(std > 0) {
		return mean, std, 0, 0
	}
	squares := make([]float64, len(x))
	for i, v := range x {
		squares[i] = (v - mean) * (v - mean)
	}
	size, squareSize := float64(len(x)), float64(len(x))
	if chains != nil {
		size, squareSize = mcmc.ESS(chains(x)), mcmc.ESS(chains(squares))
	}
	return mean, std, std / math.Sqrt(atLeastOne(size)),
		stat.StdDev(squares, nil) / (2 * std * math.Sqrt(atLeastOne(squareSize)))
}

// atLeastOne is an effective sample size, or 1 if it does not exist.
func atLeastOne(size float64) float64 {
	if math.IsNaN(size) {
		return 1
	}
	return max(size, 1)
}
