package qvirl

import (
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// answerCount is the number of draws that the answers of a posterior of the MonteCarlo objective are made of.
const answerCount = 5000

// warpedCount is that number for a Warped posterior, each of whose draws is planned for: the Monte Carlo error of a
// mean value is a forty-fifth of its standard deviation, that of an action probability at most 0.011.
const warpedCount = 2000

// exactMarginals are the marginals of a posterior of the MonteCarlo objective, made when the first is asked for.
type exactMarginals struct {
	once            sync.Once
	rewards, values []*Empirical
}

// of returns the marginals of p, whose exactMarginals they are.
func (m *exactMarginals) of(p *Gaussian) *exactMarginals {
	m.once.Do(func() {
		samples, err := p.answers()
		if err != nil {
			panic(err) // setExact has drawn the same before
		}
		m.rewards = empiricals(samples.Reward)
		m.values = empiricals(samples.Values(p.problem.MDP.Actions()))
	})
	return m
}

// answers draws what the posterior's moments and marginals are made of: always the same.
func (p *Gaussian) answers() (*Samples, error) {
	return p.ImpliedSample(rand.New(rand.NewPCG(answerDraws, uint64(len(p.meanX)))), answerCount)
}

// setExact makes p a posterior of the MonteCarlo objective: it finds the moments of rewards and state values, and the
// posterior-predictive policy, by drawing.
func (p *Gaussian) setExact() error {
	samples, err := p.answers()
	if err != nil {
		return err
	}
	p.exact = &exactMarginals{}
	var cov mat.SymDense
	stat.CovarianceMatrix(&cov, samples.Reward, nil)
	p.meanR, p.covR = ColumnMeans(samples.Reward), mat.DenseCopyOf(&cov)
	actions := p.problem.MDP.Actions()
	values := samples.Values(actions)
	p.meanV, p.varV = ColumnMeans(values), make([]float64, p.problem.MDP.States())
	for s := range p.varV {
		p.varV[s] = stat.Variance(mat.Col(nil, s, values), nil)
	}
	p.probs = ColumnMeans(samples.Policies(actions, p.problem.Beta))
	return nil
}

// empiricals returns the distribution of each column, whose numbers are finite.
func empiricals(x *mat.Dense) []*Empirical {
	_, n := x.Dims()
	out := make([]*Empirical, n)
	for i := range out {
		e, err := NewEmpirical(mat.Col(nil, i, x))
		if err != nil {
			panic(err)
		}
		out[i] = e
	}
	return out
}
