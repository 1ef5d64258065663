package singleunknown

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Decision is what an apprentice finds best who takes the posterior mean less some standard deviations for the reward.
type Decision struct {
	Reward []float64 // the reward that it plans with, [S]
	Q      []float64 // its optimal Q-values, [S·A]
}

// Decide plans with the posterior mean of each reward less caution posterior standard deviations.
func Decide(post irl.Posterior, caution float64) (*Decision, error) {
	p := post.Problem()
	reward, std := irl.Moments(p.RewardDim(), post.Reward)
	for i := range reward {
		reward[i] -= caution * std[i]
	}
	return decide(p, reward)
}

func decide(p *irl.Problem, reward []float64) (*Decision, error) {
	sol, err := p.MDP.Solve(reward, p.Discount)
	if err != nil {
		return nil, err
	}
	return &Decision{Reward: reward, Q: sol.Q}, nil
}

// Through returns the Q-value of going up in the cell.
func (d *Decision) Through(cell int) float64 { return d.Q[cell*gridworld.Actions+gridworld.Up] }

// Around returns the Q-value of going left in the cell.
func (d *Decision) Around(cell int) float64 { return d.Q[cell*gridworld.Actions+gridworld.Left] }

// Weighted is an exact posterior as draws of the prior, weighted by their likelihood and resampled, as if by one chain.
// It serves problems with few demonstrations, whose posterior is not much narrower than the prior.
type Weighted struct {
	*mcmc.Posterior

	LogEvidence float64 // log of the mean likelihood
	ESS         float64 // effective number of draws, (Σw)²/Σw²
}

// NewWeighted returns the posterior of a problem with an independent prior from n draws of the prior.
func NewWeighted(p *irl.Problem, n int, seed uint64) (*Weighted, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if err := irl.CheckBetaKnown("weighting draws", []*irl.Problem{p}); err != nil {
		return nil, err
	}
	if !p.Prior.Independent() || n < 2 {
		return nil, fmt.Errorf("singleunknown: weighting draws needs an independent prior and at least 2 draws, got %d",
			n)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	draws := mat.NewDense(n, p.RewardDim(), nil)
	for i := 0; i < n; i++ {
		row := draws.RawRowView(i)
		for j := range row {
			row[j] = p.Prior.Mean[j] + p.Prior.Std[j]*rng.NormFloat64()
		}
	}
	all, err := p.SolveSamples(draws)
	if err != nil {
		return nil, err
	}
	actions := p.MDP.Actions()
	weights := make([]float64, n)
	sum, squares := 0.0, 0.0
	probs := make([]float64, len(p.Demos)*actions)
	for i := range weights {
		weights[i] = 1
		for k, d := range p.Demos {
			q := all.Q.RawRowView(i)[d.State*actions : (d.State+1)*actions]
			pi := mdp.Boltzmann(probs[k*actions:(k+1)*actions], q, actions, p.Beta)
			weights[i] *= pi[d.Action]
		}
		sum += weights[i]
		squares += weights[i] * weights[i]
	}
	if !(sum > 0) {
		return nil, fmt.Errorf("singleunknown: no draw of the prior explains the demonstrations")
	}
	values := all.Q
	if p.StateOnly() {
		values = all.Values(actions)
	}
	w := &Weighted{mcmc.NewPosterior(p, 1, n), math.Log(sum / float64(n)), sum * sum / squares}
	cumulative, at := 0.0, 0
	offset := rng.Float64() // systematic resampling: one draw for each of n equidistant points
	for i := range weights {
		cumulative += weights[i] / sum * float64(n)
		for ; at < n && (float64(at)+offset < cumulative || i == n-1); at++ {
			w.Set(at, all.Reward.RawRowView(i), values.RawRowView(i))
		}
	}
	return w, nil
}

// Computation implements irl.Computed.
func (w *Weighted) Computation() map[string]float64 {
	return map[string]float64{ELBO: w.LogEvidence, ESS: w.ESS}
}
