package mcmc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// Posterior is a posterior that consists of the kept samples of Markov chains. It is an irl.ValuePosterior and, once
// its samples are set, safe for concurrent use.
type Posterior struct {
	problem *irl.Problem
	chains  int
	reward  *mat.Dense // [kept, RewardDim], chain by chain
	value   *mat.Dense // V* [kept, S] for state-only rewards, Q* [kept, S·A] for state-action rewards
	beta    []float64  // [kept] where it is inferred, nil otherwise

	transitions []Transition // [kept], nil if they are not known

	lock                                    sync.Mutex
	rewardMarginal, vMarginal, betaMarginal []*irl.Empirical // made when asked for
}

// Chained is a posterior that consists of the samples of Markov chains, as *Posterior is one.
type Chained interface {
	Samples() *irl.Samples
	Chains() int
	ByChain(column []float64) [][]float64
}

// Draws returns the samples by which a posterior is judged: all of its own if it is Chained, as what it is returned
// then, and otherwise n draws, of which there must be the least at least.
func Draws(post irl.Posterior, rng *rand.Rand, n, least int) (*irl.Samples, Chained, error) {
	if c, ok := post.(Chained); ok {
		return c.Samples(), c, nil
	}
	if n < least {
		return nil, nil, fmt.Errorf("%d draws, want at least %d", n, least)
	}
	samples, err := post.Sample(rng, n)
	return samples, nil, err
}

// NewPosterior returns the posterior of a problem with room for perChain samples of each chain.
func NewPosterior(problem *irl.Problem, chains, perChain int) *Posterior {
	n := problem.RewardDim()
	p := &Posterior{
		problem: problem, chains: chains,
		reward:         mat.NewDense(chains*perChain, n, nil),
		value:          mat.NewDense(chains*perChain, n, nil),
		rewardMarginal: make([]*irl.Empirical, n),
		vMarginal:      make([]*irl.Empirical, problem.MDP.States()),
		betaMarginal:   make([]*irl.Empirical, 1),
	}
	if problem.InfersBeta() {
		p.beta = make([]float64, chains*perChain)
	}
	return p
}

// Set sets sample i, counted chain by chain, to a reward [RewardDim] and the optimal values that belong to it: V* [S]
// for state-only rewards, Q* [S·A] for state-action rewards.
func (p *Posterior) Set(i int, reward, value []float64) {
	p.reward.SetRow(i, reward)
	p.value.SetRow(i, value)
}

// SetValues is Set with a reward and a vector of ValueDim numbers: the values, and then log β if it is inferred.
func (p *Posterior) SetValues(i int, reward, x []float64) {
	n := p.problem.RewardDim()
	p.Set(i, reward, x[:n])
	if p.beta != nil {
		p.beta[i] = math.Exp(x[n])
	}
}

// SetTransitions says by which transition each sample was reached, [Len], chain by chain.
func (p *Posterior) SetTransitions(by []Transition) { p.transitions = by }

// Transitions returns the transition that led to each sample, [Len], chain by chain; nil if they are not known. The
// caller must not change them.
func (p *Posterior) Transitions() []Transition { return p.transitions }

// Problem returns the problem that this is the posterior of.
func (p *Posterior) Problem() *irl.Problem { return p.problem }

// Chains returns the number of chains, each of which has the same number of samples.
func (p *Posterior) Chains() int { return p.chains }

// Len returns the number of samples that were kept.
func (p *Posterior) Len() int { return p.reward.RawMatrix().Rows }

// Rewards returns the rewards of the kept samples, [Len, RewardDim], chain by chain. The caller must not change them.
func (p *Posterior) Rewards() *mat.Dense { return p.reward }

// Values returns the values of the kept samples as Set takes them, chain by chain. The caller must not change them.
func (p *Posterior) Values() *mat.Dense { return p.value }

// Reward returns the marginal posterior of reward i, an *irl.Empirical. It panics if there is no such reward.
func (p *Posterior) Reward(i int) irl.Marginal {
	return p.marginal(p.rewardMarginal, i, p.rewardColumn)
}

// Value returns the marginal posterior of V*(s), an *irl.Empirical. It panics if there is no such state.
func (p *Posterior) Value(s int) irl.Marginal { return p.marginal(p.vMarginal, s, p.valueColumn) }

// Betas returns the rationality coefficients of the kept samples, chain by chain, or nil if β is known. The caller must
// not change them, unless to set them all.
func (p *Posterior) Betas() []float64 { return p.beta }

// Beta returns the marginal posterior of β, an *irl.Empirical, or nil if β is known.
func (p *Posterior) Beta() irl.Marginal {
	if p.beta == nil {
		return nil
	}
	return p.marginal(p.betaMarginal, 0, func(int) []float64 { return p.beta })
}

func (p *Posterior) marginal(cache []*irl.Empirical, i int, column func(int) []float64) *irl.Empirical {
	p.lock.Lock()
	defer p.lock.Unlock()
	if cache[i] == nil {
		e, err := irl.NewEmpirical(column(i))
		if err != nil { // samplers keep finite samples only, and several
			panic(err)
		}
		cache[i] = e
	}
	return cache[i]
}

func (p *Posterior) rewardColumn(i int) []float64 { return mat.Col(nil, i, p.reward) }

func (p *Posterior) valueColumn(s int) []float64 {
	if p.problem.StateOnly() {
		return mat.Col(nil, s, p.value)
	}
	actions := p.problem.MDP.Actions()
	out := make([]float64, p.Len())
	for i := range out {
		out[i] = floats.Max(p.value.RawRowView(i)[s*actions : (s+1)*actions])
	}
	return out
}

// policyColumns returns the probability of each action in state s by the samples' own values and β, [A][Len].
func (p *Posterior) policyColumns(s int) [][]float64 {
	m := p.problem.MDP
	out := make([][]float64, m.Actions())
	for a := range out {
		out[a] = make([]float64, p.Len())
	}
	q := make([]float64, m.Actions())
	for i := range p.Len() {
		reward, x := p.reward.RawRowView(i), p.value.RawRowView(i)
		beta := p.problem.Beta
		if p.beta != nil {
			beta = p.beta[i]
		}
		for a := range q {
			if !p.problem.StateOnly() {
				q[a] = x[s*len(q)+a]
				continue
			}
			q[a] = reward[s] + p.problem.Discount*m.Expect(s, a, x)
		}
		for a, prob := range mdp.Boltzmann(q, q, len(q), beta) {
			out[a][i] = prob
		}
	}
	return out
}

// RewardChains returns the samples of reward i, [chains][samples of each].
func (p *Posterior) RewardChains(i int) [][]float64 { return p.ByChain(p.rewardColumn(i)) }

// ValueChains returns the samples of V*(s), [chains][samples of each].
func (p *Posterior) ValueChains(s int) [][]float64 { return p.ByChain(p.valueColumn(s)) }

// ByChain cuts a number of each sample, [Len], into the chains that the samples come from.
func (p *Posterior) ByChain(column []float64) [][]float64 {
	out := make([][]float64, p.chains)
	per := len(column) / p.chains
	for j := range out {
		out[j] = column[j*per : (j+1)*per]
	}
	return out
}

// Samples returns all kept samples, chain by chain. The Q-values are computed anew each time.
func (p *Posterior) Samples() *irl.Samples {
	all := make([]int, p.Len())
	for i := range all {
		all[i] = i
	}
	return p.rows(all)
}

// Sample returns n of the kept samples: all of them in order if n is their number, a random choice without replacement
// if n is less, and with replacement if n is more.
func (p *Posterior) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	switch {
	case n <= 0:
		return nil, fmt.Errorf("mcmc: cannot draw %d samples, want at least 1", n)
	case n == p.Len():
		return p.Samples(), nil
	case n < p.Len():
		return p.rows(rng.Perm(p.Len())[:n]), nil
	}
	index := make([]int, n)
	for i := range index {
		index[i] = rng.IntN(p.Len())
	}
	return p.rows(index), nil
}

// rows returns the samples at the given indices with their Q-values.
func (p *Posterior) rows(index []int) *irl.Samples {
	m := p.problem.MDP
	out := &irl.Samples{
		Reward: mat.NewDense(len(index), p.problem.RewardDim(), nil),
		Q:      mat.NewDense(len(index), m.States()*m.Actions(), nil),
	}
	if p.beta != nil {
		out.Beta = make([]float64, len(index))
	}
	for i, at := range index {
		if p.beta != nil {
			out.Beta[i] = p.beta[at]
		}
		reward, x := p.reward.RawRowView(at), p.value.RawRowView(at)
		out.Reward.SetRow(i, reward)
		q := out.Q.RawRowView(i)
		if !p.problem.StateOnly() {
			copy(q, x)
			continue
		}
		m.Backup(q, x)
		for j := range q {
			q[j] = reward[j/m.Actions()] + p.problem.Discount*q[j]
		}
	}
	return out
}

// quantities are those of one kind that samples have: the rewards, the values of the states, or log β.
type quantities struct {
	n      int
	chains func(i int) [][]float64 // the samples of quantity i, by chain
	unit   float64                 // of same
}

// unit returns the largest standard deviation of a reward under the prior.
func (p *Posterior) unit() float64 { return math.Sqrt(floats.Max(p.problem.Prior.Variances())) }

// quantities returns those of the samples: rewards, values, and log β where it is inferred.
func (p *Posterior) quantities() []quantities {
	unit := p.unit()
	out := []quantities{{p.problem.RewardDim(), p.RewardChains, unit}, {p.problem.MDP.States(), p.ValueChains, unit}}
	if p.beta != nil {
		out = append(out, quantities{1, func(int) [][]float64 { return mapDraws(p.ByChain(p.beta), math.Log) }, 0})
	}
	return out
}

// smallestMeanESS returns the smallest effective sample size of a reward's, a state value's or log β's mean, of those
// that are not known.
func (p *Posterior) smallestMeanESS() float64 {
	smallest := math.Inf(1)
	for _, q := range p.quantities() {
		for _, ess := range each(q.n, func(i int) float64 {
			if x := q.chains(i); !known(x, q.unit) {
				return ESS(x)
			}
			return math.Inf(1)
		}) {
			smallest = math.Min(smallest, ess)
		}
	}
	return smallest
}
