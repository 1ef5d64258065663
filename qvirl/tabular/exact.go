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

// exactMarginals are the marginals of a posterior of the MonteCarlo objective.
type exactMarginals struct{ rewards, values []*irl.Empirical }

// exactly returns what makes the marginals of p when the first is asked for.
func (p *Gaussian) exactly() func() exactMarginals {
	return sync.OnceValue(func() exactMarginals {
		samples, err := p.answers()
		if err != nil {
			panic(err) // setExact has drawn the same before
		}
		return exactMarginals{irl.Empiricals(samples.Reward), irl.Empiricals(samples.Values(p.problem.MDP.Actions()))}
	})
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
	p.exact = p.exactly()
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
