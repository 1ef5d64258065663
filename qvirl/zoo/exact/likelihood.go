package exact

import (
	"math"

	"github.com/go-birl/birl/qvirl/irl"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
)

// likelihood is the likelihood of a problem's demonstrations in the whitened coordinates z of its prior,
//
//	R = m + L z[:n],  log β = log β₀ + σ z[n] where β is inferred,
//
// in which the prior is N(0, I). It keeps scratch space: each goroutine has its own.
type likelihood struct {
	problem irl.Problem // with the β of the last z
	median  float64     // of β's prior
	dim     int         // of z
	factor  *mat.Dense  // L [n, k]; nil if it is diagonal
	solver  *mdp.Solver
	counts  []float64 // of the demonstrations, [S·A]

	reward   []float64     // of the last z, [n]
	solution *mdp.Solution // of that reward
}

func newLikelihood(p *irl.Problem) (*likelihood, error) {
	solver, err := p.MDP.NewSolver(p.Discount)
	if err != nil {
		return nil, err
	}
	l := &likelihood{problem: *p, median: p.Beta, dim: p.ValueDim(), solver: solver, counts: p.DemoCounts(),
		reward: make([]float64, p.RewardDim())}
	if !p.Prior.Independent() {
		l.factor, err = p.Prior.Factor()
	}
	return l, err
}

// log returns the log likelihood at z [dim], and leaves the reward, its solution and β in l.
func (l *likelihood) log(z []float64) float64 {
	prior := l.problem.Prior
	n := len(l.reward)
	if l.factor == nil {
		for i, std := range prior.Std {
			l.reward[i] = prior.Mean[i] + std*z[i]
		}
	} else {
		for i := range l.reward {
			sum := prior.Mean[i]
			for j, v := range l.factor.RawRowView(i) {
				sum += v * z[j]
			}
			l.reward[i] = sum
		}
	}
	if l.dim > n {
		l.problem.Beta = l.median * math.Exp(l.problem.BetaLogStd*z[n])
	}
	var err error
	if l.solution, err = l.solver.Solve(l.reward); err != nil {
		panic(err) // the reward is finite and has the length of the prior's
	}
	return l.problem.LogLikelihood(l.solution.Q, l.counts)
}

// quantities writes what an answer asks of the last z to dst: rewards, optimal state values, action probabilities, and
// β where it is inferred.
func (l *likelihood) quantities(dst []float64) {
	n, s := len(l.reward), l.problem.MDP.States()
	copy(dst, l.reward)
	copy(dst[n:], l.solution.V)
	policy := dst[n+s : n+s+len(l.solution.Q)]
	mdp.Boltzmann(policy, l.solution.Q, l.problem.MDP.Actions(), l.problem.Beta)
	if l.dim > n {
		dst[len(dst)-1] = l.problem.Beta
	}
}

// quantityCount is the length that quantities wants.
func quantityCount(p *irl.Problem) int {
	return p.ValueDim() + p.MDP.States() + p.MDP.States()*p.MDP.Actions()
}
