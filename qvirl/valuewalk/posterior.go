package valuewalk

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl"
)

// Posterior is a sampled posterior. It is a qvirl.ValuePosterior and safe for concurrent use.
type Posterior struct {
	problem     *qvirl.Problem
	determinant bool
	chains      int
	reward      *mat.Dense // [kept, RewardDim], chain by chain
	value       *mat.Dense // V* [kept, S] for state-only rewards, Q* [kept, S·A] for state-action rewards
	diagnostics Diagnostics

	lock                      sync.Mutex
	rewardMarginal, vMarginal []*qvirl.Empirical // made when asked for
}

func newPosterior(problem *qvirl.Problem, chains, perChain, n int, determinant bool) *Posterior {
	return &Posterior{
		problem: problem, determinant: determinant, chains: chains,
		reward:         mat.NewDense(chains*perChain, n, nil),
		value:          mat.NewDense(chains*perChain, n, nil),
		rewardMarginal: make([]*qvirl.Empirical, n),
		vMarginal:      make([]*qvirl.Empirical, problem.MDP.States()),
	}
}

// Problem returns the problem that this is the posterior of.
func (p *Posterior) Problem() *qvirl.Problem { return p.problem }

// Method returns the name of the method that sampled it.
func (p *Posterior) Method() string { return methodName(p.determinant) }

// Diagnostics returns how well the posterior was sampled.
func (p *Posterior) Diagnostics() Diagnostics { return p.diagnostics }

// Len returns the number of samples that were kept.
func (p *Posterior) Len() int { return p.reward.RawMatrix().Rows }

// Reward returns the marginal posterior of reward i, a *qvirl.Empirical. It panics if there is no such reward.
func (p *Posterior) Reward(i int) qvirl.Marginal {
	return p.marginal(p.rewardMarginal, i, p.rewardColumn)
}

// Value returns the marginal posterior of V*(s), a *qvirl.Empirical. It panics if there is no such state.
func (p *Posterior) Value(s int) qvirl.Marginal { return p.marginal(p.vMarginal, s, p.valueColumn) }

func (p *Posterior) marginal(cache []*qvirl.Empirical, i int, column func(int) []float64) *qvirl.Empirical {
	p.lock.Lock()
	defer p.lock.Unlock()
	if cache[i] == nil {
		e, err := qvirl.NewEmpirical(column(i))
		if err != nil { // the walk and Load keep finite samples only, and several
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

// Samples returns all kept samples, chain by chain. The Q-values are computed anew each time.
func (p *Posterior) Samples() *qvirl.Samples {
	all := make([]int, p.Len())
	for i := range all {
		all[i] = i
	}
	return p.rows(all)
}

// Sample returns n of the kept samples: all of them in order if n is their number, a random choice without replacement
// if n is less, and with replacement if n is more.
func (p *Posterior) Sample(rng *rand.Rand, n int) (*qvirl.Samples, error) {
	switch {
	case n <= 0:
		return nil, fmt.Errorf("valuewalk: cannot draw %d samples, want at least 1", n)
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
func (p *Posterior) rows(index []int) *qvirl.Samples {
	m := p.problem.MDP
	out := &qvirl.Samples{
		Reward: mat.NewDense(len(index), p.problem.RewardDim(), nil),
		Q:      mat.NewDense(len(index), m.States()*m.Actions(), nil),
	}
	for i, at := range index {
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
