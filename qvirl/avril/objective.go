package avril

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

var logSqrt2Pi = math.Log(2*math.Pi) / 2

// objective is AVRIL's objective for one problem, with memory for its evaluation.
type objective struct {
	problem   *irl.Problem
	lambda    float64
	counts    []float64     // demonstrations of each pair, [S·A]
	visited   []int         // the states that occur in them
	scale     []float64     // prior standard deviations, [n]
	precision *mat.SymDense // of the prior, if it is not diagonal
	logDet    float64       // log-determinant of the prior covariance
	actions   int           // A
	shared    int           // pairs that share a reward: A for state-only rewards, 1 otherwise

	value    []float64 // max_a Q(s,a), [S]
	greedy   []int     // the pair where it is attained, [S]
	backup   []float64 // Σ p V, [S·A]
	offset   []float64 // m − μ, [n]
	pull     []float64 // prior precision · (m − μ), [n]
	logProbs []float64 // [A]
}

// point is a point in the space of parameters, or a gradient there. All slices are parts of flat.
type point struct {
	flat   []float64
	q      []float64 // Q-values, [S·A]
	mean   []float64 // reward means, [n]
	logStd []float64 // logs of the reward standard deviations, [n]
}

func newPoint(pairs, rewards int) *point {
	flat := make([]float64, pairs+2*rewards)
	return &point{flat: flat, q: flat[:pairs], mean: flat[pairs : pairs+rewards], logStd: flat[pairs+rewards:]}
}

func newObjective(p *irl.Problem, lambda float64) (*objective, error) {
	states, actions, n := p.MDP.States(), p.MDP.Actions(), p.RewardDim()
	o := &objective{
		problem: p, lambda: lambda, counts: p.DemoCounts(), scale: p.Prior.Variances(), actions: actions,
		shared: states * actions / n,
		value:  make([]float64, states), greedy: make([]int, states), backup: make([]float64, states*actions),
		offset: make([]float64, n), pull: make([]float64, n), logProbs: make([]float64, actions),
	}
	o.visited, _, _ = p.Demonstrated()
	for i, v := range o.scale {
		o.scale[i] = math.Sqrt(v)
	}
	precision, logDet, err := p.Prior.Precision()
	if err != nil {
		return nil, err
	}
	o.logDet = logDet
	if dense, ok := precision.(*mat.SymDense); ok {
		o.precision = dense
	}
	return o, nil
}

// evaluate returns the objective at x and writes its gradient. Where several actions are greedy, the first one's is the
// subgradient of the maximum.
func (o *objective) evaluate(x, gradient *point) float64 {
	clear(gradient.flat)
	return o.likelihood(x, gradient) + o.constraint(x, gradient) - o.divergence(x, gradient)
}

// likelihood returns Σ_demos log softmax_β Q(s,·)[a] and adds its gradient (Eq. boltzmann-likelihood).
func (o *objective) likelihood(x, gradient *point) float64 {
	beta, sum := o.problem.Beta, 0.0
	for _, s := range o.visited {
		lo, hi := s*o.actions, (s+1)*o.actions
		mdp.LogBoltzmann(o.logProbs, x.q[lo:hi], o.actions, beta)
		total := floats.Sum(o.counts[lo:hi])
		for a, logProb := range o.logProbs {
			sum += o.counts[lo+a] * logProb
			gradient.q[lo+a] += beta * (o.counts[lo+a] - total*math.Exp(logProb))
		}
	}
	return sum
}

// constraint returns λ Σ_{s,a} log N(R(s,a); m, s²) and adds its gradient.
func (o *objective) constraint(x, gradient *point) float64 {
	if o.lambda == 0 {
		return 0
	}
	for s := range o.value {
		best := s * o.actions
		for i := best + 1; i < (s+1)*o.actions; i++ {
			if x.q[i] > x.q[best] {
				best = i
			}
		}
		o.greedy[s], o.value[s] = best, x.q[best]
	}
	discount, m := o.problem.Discount, o.problem.MDP
	m.Backup(o.backup, o.value)
	sum := 0.0
	for r := range x.mean {
		invVar := math.Exp(-2 * x.logStd[r])
		sum -= float64(o.shared) * (logSqrt2Pi + x.logStd[r])
		gradient.logStd[r] -= o.lambda * float64(o.shared)
		for i := r * o.shared; i < (r+1)*o.shared; i++ {
			residual := x.q[i] - discount*o.backup[i] - x.mean[r]
			weighted := residual * invVar
			sum -= 0.5 * residual * weighted
			gradient.mean[r] += o.lambda * weighted
			gradient.logStd[r] += o.lambda * residual * weighted
			gradient.q[i] -= o.lambda * weighted
			next, prob := m.Row(i/o.actions, i%o.actions)
			for k, to := range next {
				gradient.q[o.greedy[to]] += o.lambda * weighted * discount * prob[k]
			}
		}
	}
	return o.lambda * sum
}

// divergence returns KL(N(m, diag s²) ‖ prior) and subtracts its gradient.
func (o *objective) divergence(x, gradient *point) float64 {
	n := len(x.mean)
	floats.SubTo(o.offset, x.mean, o.problem.Prior.Mean)
	if o.precision != nil {
		mat.NewVecDense(n, o.pull).MulVec(o.precision, mat.NewVecDense(n, o.offset))
	} else {
		for i, d := range o.offset {
			o.pull[i] = d / (o.scale[i] * o.scale[i])
		}
	}
	twice := o.logDet - float64(n)
	for i, logStd := range x.logStd {
		variance := math.Exp(2 * logStd)
		ratio := variance / (o.scale[i] * o.scale[i])
		if o.precision != nil {
			ratio = variance * o.precision.At(i, i)
		}
		twice += ratio - 2*logStd + o.offset[i]*o.pull[i]
		gradient.mean[i] -= o.pull[i]
		gradient.logStd[i] -= ratio - 1
	}
	return twice / 2
}
