package valuewalk

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// target is the log posterior density of one problem as a function of the values x that the walk moves in: x = V, [S],
// for state-only rewards, and x = Q, [S·A], for state-action rewards. It keeps scratch space, so each chain has its own
// copy (see clone). Where β is inferred, log β follows the values in x; it changes the rewards of none.
//
// With V(s) = x(s) or max_a x(s,a), the rewards that have these optimal values are
//
//	R(s)   = x(s)   − γ max_a Σ_s' p(s'|s,a) V(s')     (state-only)
//	R(s,a) = x(s,a) − γ       Σ_s' p(s'|s,a) V(s')     (state-action)
//
// and almost everywhere |det ∂R/∂x| = det(I − γ P_π), where π is greedy. For state-action rewards the Jacobian is
// I − γ P E with the selection E of the greedy actions, and det(I − γ P E) = det(I − γ E P) (Sylvester's identity).
type target struct {
	mdp                *mdp.MDP
	states, actions, n int
	dim                int // of x: n values, and log β if it is inferred
	stateOnly          bool
	discount, beta     float64 // beta is that of the last eval if it is inferred
	logBeta, betaStd   float64 // prior of log β; betaStd is 0 if β is known

	demoed []int     // states with demonstrations
	counts []float64 // demonstrations of each action there, [len(demoed)·A]
	total  []float64 // and of all actions, [len(demoed)]

	mean      []float64  // prior mean, [n]
	precision []float64  // prior precision if it is diagonal, [n]
	dense     *mat.Dense // prior precision otherwise, [n, n]

	// For addLoopForce.
	priorVariance []float64 // [n]
	temperature   float64
	selfProb      []float64 // p(s|s,a), [S·A]
	looped        []int     // states in which it depends on the action

	// What eval computes on the way.
	reward   []float64 // R(x), [n]
	greedy   []int     // π, [S]
	backup   []float64 // Σ p V, [S·A]
	value    []float64 // V, [S]; x itself for state-only rewards
	rewardG  []float64 // ∂ log density / ∂R, [n]
	valueG   []float64 // ∂ log density / ∂V, [S]; the gradient itself for state-only rewards
	scoreG   []float64 // ∂ log likelihood / ∂ score, [len(demoed)·A]
	relative []float64 // scores of the demonstrated states relative to the first action's, where β is inferred
	weights  []float64 // action weights of one state and their slopes, [2·A]
	system   *mdp.System
}

func newTarget(p *irl.Problem) (*target, error) {
	m := p.MDP
	t := &target{
		mdp: m, states: m.States(), actions: m.Actions(), n: p.RewardDim(), dim: p.ValueDim(), stateOnly: p.StateOnly(),
		discount: p.Discount, beta: p.Beta, logBeta: math.Log(p.Beta), betaStd: p.BetaLogStd, mean: p.Prior.Mean,
	}
	t.demoed, t.counts, t.total = p.Demonstrated()
	precision, _, err := p.Prior.Precision()
	if err != nil {
		return nil, err
	}
	t.priorVariance = p.Prior.Variances()
	if p.Prior.Independent() {
		t.precision = make([]float64, t.n)
		for i := range t.precision {
			t.precision[i] = precision.At(i, i)
		}
	} else {
		t.dense = mat.DenseCopyOf(precision)
	}
	t.findLoops()
	return t.clone(), nil
}

// clone returns a target that shares what is constant and has scratch space of its own.
func (t *target) clone() *target {
	c := *t
	c.reward, c.rewardG = make([]float64, t.n), make([]float64, t.n)
	c.greedy = make([]int, t.states)
	c.backup = make([]float64, t.states*t.actions)
	c.value, c.valueG = make([]float64, t.states), make([]float64, t.states)
	c.weights = make([]float64, 2*t.actions)
	c.scoreG, c.relative = make([]float64, len(t.counts)), make([]float64, len(t.counts))
	c.system = t.mdp.NewSystem()
	return &c
}

// eval returns the log density at x, [dim], without the determinant, up to a constant, and writes its gradient to grad,
// [dim]. It leaves the rewards and the greedy policy in t.
func (t *target) eval(x, grad []float64) float64 {
	if t.betaStd == 0 {
		return t.evalValues(x, grad)
	}
	logBeta := x[t.n]
	t.beta = math.Exp(logBeta)
	logp := t.evalValues(x[:t.n], grad[:t.n])
	// The likelihood depends on β and the scores through their product alone: its derivative in log β is that in the
	// scores, times the scores. Scores relative to the first action's will do, because the derivatives of a state sum
	// to zero.
	score, slope := t.backup, 0.0
	if !t.stateOnly {
		score = x
	}
	for d, s := range t.demoed {
		row := score[s*t.actions : (s+1)*t.actions]
		relative := t.relative[d*t.actions : (d+1)*t.actions]
		for a, g := range t.scoreG[d*t.actions : (d+1)*t.actions] {
			relative[a] = row[a] - row[0]
			slope += g * relative[a]
		}
	}
	z := (logBeta - t.logBeta) / t.betaStd
	grad[t.n] = slope - z/t.betaStd
	return logp - 0.5*z*z
}

// evalValues is eval for values x, [n], at the present β and without its prior.
func (t *target) evalValues(x, grad []float64) float64 {
	t.invert(x)
	logp := t.priorTerm()
	if t.stateOnly {
		copy(grad, t.rewardG)
		for s, a := range t.greedy {
			t.mdp.AddRow(grad, s, a, -t.discount*t.rewardG[s])
		}
		logp += t.demoTerm(t.backup)
		for d, s := range t.demoed {
			for a := 0; a < t.actions; a++ {
				t.mdp.AddRow(grad, s, a, t.scoreG[d*t.actions+a])
			}
		}
		return logp
	}
	clear(t.valueG)
	for i, g := range t.rewardG {
		t.mdp.AddRow(t.valueG, i/t.actions, i%t.actions, -t.discount*g)
	}
	copy(grad, t.rewardG)
	for s, a := range t.greedy {
		grad[s*t.actions+a] += t.valueG[s]
	}
	logp += t.demoTerm(x)
	for d, s := range t.demoed {
		for a := 0; a < t.actions; a++ {
			grad[s*t.actions+a] += t.scoreG[d*t.actions+a]
		}
	}
	return logp
}

// withBeta returns values with log β after them, z standard deviations from the median of its prior.
func (t *target) withBeta(x []float64, z float64) []float64 {
	return append(x[:t.n:t.n], t.logBeta+t.betaStd*z)
}

// invert finds the rewards that have the values x, and the policy that is greedy in them.
func (t *target) invert(x []float64) {
	x = x[:t.n]
	v := x
	if !t.stateOnly {
		v = t.value
		for s := range v {
			q := x[s*t.actions : (s+1)*t.actions]
			a := floats.MaxIdx(q)
			t.greedy[s], v[s] = a, q[a]
		}
	}
	t.mdp.Backup(t.backup, v)
	if !t.stateOnly {
		for i, b := range t.backup {
			t.reward[i] = x[i] - t.discount*b
		}
		return
	}
	for s := range t.reward {
		best, bestA := math.Inf(-1), 0
		for a, b := range t.backup[s*t.actions : (s+1)*t.actions] {
			if b > best {
				best, bestA = b, a
			}
		}
		t.greedy[s], t.reward[s] = bestA, x[s]-t.discount*best
	}
}

// priorTerm returns log N(R; prior) up to a constant and leaves its gradient in rewardG.
func (t *target) priorTerm() float64 {
	logp := 0.0
	if t.dense == nil {
		for i, r := range t.reward {
			d := r - t.mean[i]
			g := -t.precision[i] * d
			logp += 0.5 * g * d
			t.rewardG[i] = g
		}
		return logp
	}
	for i := range t.rewardG {
		row, g := t.dense.RawRowView(i), 0.0
		for j, r := range t.reward {
			g -= row[j] * (r - t.mean[j])
		}
		t.rewardG[i] = g
		logp += 0.5 * g * (t.reward[i] - t.mean[i])
	}
	return logp
}

// demoTerm returns Σ log softmax_β(Q(s,·))[a] over the demonstrations and leaves in scoreG its derivative in the scores
// of the demonstrated states, where β Q = scale · score up to a constant in each state (Eq. boltzmann-likelihood):
// state-only rewards cancel from the differences between a state's actions, so the backups alone decide.
func (t *target) demoTerm(score []float64) float64 {
	scale := t.scoreScale()
	logp := 0.0
	for d, s := range t.demoed {
		base := s * t.actions
		row := score[base : base+t.actions]
		counts, out := t.counts[d*t.actions:(d+1)*t.actions], t.scoreG[d*t.actions:(d+1)*t.actions]
		top := row[0]
		for _, q := range row[1:] {
			if q > top {
				top = q
			}
		}
		sum := 0.0
		for a, q := range row {
			e := math.Exp(scale * (q - top))
			out[a] = e
			sum += e
			if counts[a] > 0 {
				logp += counts[a] * scale * (q - top)
			}
		}
		logp -= t.total[d] * math.Log(sum)
		share := t.total[d] / sum
		for a, e := range out {
			out[a] = scale * (counts[a] - share*e)
		}
	}
	return logp
}

// scoreScale is β times the derivative of Q in the scores that decide between actions: the backups, or Q itself.
func (t *target) scoreScale() float64 {
	if t.stateOnly {
		return t.beta * t.discount
	}
	return t.beta
}

// logDet returns log det(I − γ P_π) for the greedy policy that the last eval left.
func (t *target) logDet() float64 {
	t.system.FactorizePolicy(t.greedy, t.discount)
	return t.system.LogDet()
}
