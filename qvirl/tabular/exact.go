package tabular

import (
	"math/rand/v2"
	"sync"

	"github.com/go-birl/birl/qvirl/irl"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// answerCount is the number of draws that the answers of a posterior of the MonteCarlo objective are made of.
const answerCount = 5000

// exactMarginals are the marginals of a posterior of the MonteCarlo objective, made when the first is asked for.
type exactMarginals struct {
	once            sync.Once
	rewards, values []*irl.Empirical
}

// of returns the marginals of p, whose exactMarginals they are.
func (m *exactMarginals) of(p *Gaussian) *exactMarginals {
	m.once.Do(func() {
		samples, err := p.answers()
		if err != nil {
			panic(err) // setExact has drawn the same before
		}
		m.rewards = irl.Empiricals(samples.Reward)
		m.values = irl.Empiricals(samples.Values(p.problem.MDP.Actions()))
	})
	return m
}

// answers draws what the posterior's moments and marginals are made of: always the same.
func (p *Gaussian) answers() (*irl.Samples, error) {
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
	p.meanR, p.around.(*full).covR = irl.ColumnMeans(samples.Reward), mat.DenseCopyOf(&cov)
	actions := p.problem.MDP.Actions()
	values := samples.Values(actions)
	p.meanV, p.varV = irl.ColumnMeans(values), make([]float64, p.problem.MDP.States())
	for s := range p.varV {
		p.varV[s] = stat.Variance(mat.Col(nil, s, values), nil)
	}
	p.probs = irl.ColumnMeans(samples.Policies(actions, p.problem.Beta))
	return nil
}
