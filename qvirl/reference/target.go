package reference

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// Target is the posterior of one problem in coordinates in which its prior is standard normal: u = (z, b) ∈ R^k (and
// one more where β is inferred) with
//
//	R = m + L z,   L Lᵀ = Σ₀,   log β = log β₀ + σ_β b,
//	log p(u | D) = −½ ‖u‖² + Σ_(s,a) n(s,a) log softmax_a β Q*(s,·; R) + const    (Eq. boltzmann-likelihood).
//
// Q* is found by policy iteration. It is differentiable almost everywhere, with V* = (I − γ P_π)⁻¹ R_π for the greedy
// policy π, so that the gradient in R takes one product with the transposed inverse. A Target keeps scratch space:
// Clone makes one for another goroutine.
type Target struct {
	problem *irl.Problem
	solver  *mdp.Solver

	n, k int        // rewards, whitened rewards
	root *mat.Dense // L, [n, k]; nil if rewards are independent or known:
	free []int      // then the reward of each whitened one, [k], and
	diag []float64  // its standard deviation, [k]

	demoed []int     // states with demonstrations
	counts []float64 // of each action there, [len(demoed)·A]
	total  []float64 // of all actions, [len(demoed)]

	informed []int // coordinates that demonstrations may tell something of

	solution *mdp.Solution // of the last evaluation
	reward   []float64     // R of the last evaluation, [n]
	beta     float64       // and its β
	probs    []float64     // Boltzmann policy in the demonstrated states, [len(demoed)·A]
	valueG   []float64     // scratch: ∂ log-likelihood / ∂V, [S]
	rewardG  []float64     // scratch: ∂ log-likelihood / ∂R, [n]

	temperature float64   // of the expert that plans softly instead (see soften); 0 for none
	soft        []float64 // its policy at the last evaluation, [S·A]

	spent float64 // multiplications so far, but for the solver's
}

// NewTarget returns the posterior of a valid problem.
func NewTarget(problem *irl.Problem) (*Target, error) {
	if err := problem.Validate(); err != nil {
		return nil, err
	}
	t := &Target{problem: problem, n: problem.RewardDim(), k: problem.RewardDim()}
	if problem.Prior.Independent() {
		t.diag = problem.Prior.Std
		for i := range t.n {
			t.free = append(t.free, i)
		}
	} else {
		factor, err := problem.Prior.Factor()
		if err != nil {
			return nil, fmt.Errorf("reference: %w", err)
		}
		_, t.k = factor.Dims()
		if t.free, t.diag = separate(factor); t.free == nil {
			t.root = factor
		}
	}
	t.demoed, t.counts, t.total = problem.Demonstrated()
	t.informed = t.reachable()
	var err error
	if t.solver, err = problem.MDP.NewSolver(problem.Discount); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	return t.Clone(), nil
}

// separate returns the row and the entry of each column of a factor [n, k] in which no two of them share a row, and nil
// for any other.
func separate(factor *mat.Dense) (row []int, entry []float64) {
	n, k := factor.Dims()
	row, entry = make([]int, k), make([]float64, k)
	for i := range n {
		found := false
		for j, v := range factor.RawRowView(i) {
			if v == 0 {
				continue
			}
			if found || entry[j] != 0 {
				return nil, nil
			}
			row[j], entry[j], found = i, v, true
		}
	}
	return row, entry
}

// Clone returns a target that shares what is constant, has scratch space of its own and has done no work.
func (t *Target) Clone() *Target {
	c := *t
	c.solver, c.solution, c.spent = t.solver.Clone(), &mdp.Solution{}, 0
	c.reward, c.rewardG = make([]float64, t.n), make([]float64, t.n)
	c.probs = make([]float64, len(t.counts))
	c.valueG = make([]float64, t.problem.MDP.States())
	return &c
}

// Dim returns the length of u.
func (t *Target) Dim() int {
	if t.problem.InfersBeta() {
		return t.k + 1
	}
	return t.k
}

// perState returns how many rewards a state has: 1, or one for each action.
func (t *Target) perState() int { return t.n / t.problem.MDP.States() }

// LogLikelihood returns the log probability of the demonstrated actions at u, [Dim], and unless it is nil writes its
// gradient to grad, [Dim]. It is NaN, and the gradient zero, where rewards or values leave the range of float64.
func (t *Target) LogLikelihood(u, grad []float64) float64 {
	t.rewardAt(u)
	t.spent += overhead
	solution, err := t.solve()
	if err != nil || floats.HasNaN(solution.Q) {
		clear(grad)
		return math.NaN()
	}
	t.solution = solution
	actions := t.problem.MDP.Actions()
	sum := 0.0
	for d, s := range t.demoed {
		q, p := t.solution.Q[s*actions:(s+1)*actions], t.probs[d*actions:(d+1)*actions]
		top, partition := floats.Max(q), 0.0
		for a := range p {
			p[a] = math.Exp(t.beta * (q[a] - top))
			partition += p[a]
		}
		floats.Scale(1/partition, p)
		for a, count := range t.counts[d*actions : (d+1)*actions] {
			if count > 0 {
				sum += count * t.beta * (q[a] - top)
			}
		}
		sum -= t.total[d] * math.Log(partition)
	}
	if grad != nil {
		t.gradient(grad)
	}
	return sum
}

// solve returns the optimal values of reward.
func (t *Target) solve() (solution *mdp.Solution, err error) {
	if t.temperature == 0 {
		return t.solver.SolveNear(t.reward)
	}
	solution, t.soft, err = t.solver.SolveSoft(t.reward, t.temperature)
	return solution, err
}

// rewardAt sets reward and beta to those of u.
func (t *Target) rewardAt(u []float64) {
	copy(t.reward, t.problem.Prior.Mean)
	if t.diag != nil {
		for j, i := range t.free {
			t.reward[i] += t.diag[j] * u[j]
		}
	} else {
		gemv(blas.NoTrans, t.root, u[:t.k], 1, t.reward)
		t.spent += dense * float64(t.k*t.n)
	}
	t.beta = t.problem.Beta
	if t.problem.InfersBeta() {
		t.beta *= math.Exp(t.problem.BetaLogStd * u[t.k])
	}
}

// whiten returns the u of the first of some samples; of rewards that no u has, the closest.
func (t *Target) whiten(samples *irl.Samples) ([]float64, error) {
	u := make([]float64, t.Dim())
	offset := append([]float64(nil), samples.Reward.RawRowView(0)...)
	floats.Sub(offset, t.problem.Prior.Mean)
	if t.diag != nil {
		for j, i := range t.free {
			if t.diag[j] != 0 { // of a column of zeros, any number will do
				u[j] = offset[i] / t.diag[j]
			}
		}
	} else {
		z, of := mat.NewVecDense(t.k, u[:t.k]), mat.NewVecDense(t.n, offset)
		var bad mat.Condition // of an ill-conditioned factor, any solution will do, but of a singular one there is none
		if errors.As(z.SolveVec(t.root, of), &bad) && math.IsInf(float64(bad), 1) {
			var svd mat.SVD
			if !svd.Factorize(t.root, mat.SVDThin) {
				return nil, fmt.Errorf("reference: a draw to start from: the prior has no singular values")
			}
			svd.SolveVecTo(z, of, svd.Rank(float64(t.n)*0x1p-52))
		}
	}
	if t.problem.InfersBeta() && samples.Beta != nil {
		u[t.k] = math.Log(samples.Beta[0]/t.problem.Beta) / t.problem.BetaLogStd
	}
	return u, check.Finite("reference: a draw to start from: whitened reward", u)
}

// gradient writes the gradient of the log-likelihood at the last evaluation to grad.
func (t *Target) gradient(grad []float64) {
	actions, discount := t.problem.MDP.Actions(), t.problem.Discount
	clear(t.rewardG)
	clear(t.valueG)
	slope := 0.0 // in log β
	for d, s := range t.demoed {
		base := t.solution.Q[s*actions]
		for a, count := range t.counts[d*actions : (d+1)*actions] {
			// ∂/∂Q(s,a); sums to zero over the actions of a state
			g := t.beta * (count - t.total[d]*t.probs[d*actions+a])
			slope += g * (t.solution.Q[s*actions+a] - base)
			if !t.problem.StateOnly() {
				t.rewardG[s*actions+a] = g
			}
			t.problem.MDP.AddRow(t.valueG, s, a, discount*g)
		}
	}
	t.solver.Adjoint(t.valueG)
	t.addChosen(t.rewardG, t.valueG)
	t.toWhitened(grad[:t.k], t.rewardG)
	if t.problem.InfersBeta() {
		grad[t.k] = t.problem.BetaLogStd * slope
	}
}

// addChosen adds what is said of the rewards of the expert's policy, [S], to what is said of all rewards, [n].
func (t *Target) addChosen(dst, chosen []float64) {
	if t.problem.StateOnly() {
		floats.Add(dst, chosen)
		return
	}
	actions := t.problem.MDP.Actions()
	if t.temperature > 0 {
		for i, p := range t.soft {
			dst[i] += p * chosen[i/actions]
		}
		return
	}
	for s, a := range t.solution.Greedy {
		dst[s*actions+a] += chosen[s]
	}
}

// addInformation adds the Fisher information of the demonstrations at the last evaluation to h, [Dim, Dim] (upper
// triangle).
func (t *Target) addInformation(h *mat.SymDense) {
	if root := t.information(); root != nil {
		blas64.Syrk(blas.Trans, 1, root.RawMatrix(), 1, h.RawSymmetric())
	}
}

// information returns a root G of the Fisher information Gᵀ G of the demonstrations at the last evaluation, with the
// scores f(s,a) = β Q(s,a), Σ_s n(s) Cov_(a∼π_β) ∂f(s,a)/∂u: of the actions of each demonstrated state the rows
// √(n(s) π(a|s)) (∂f(s,a)/∂u − E_π ∂f(s,·)/∂u), [len(demoed)·A, Dim]; nil without demonstrations.
func (t *Target) information() *mat.Dense {
	if len(t.demoed) == 0 {
		return nil
	}
	rows, actions, mean := t.scores(), t.problem.MDP.Actions(), make([]float64, t.Dim())
	for d := range t.demoed {
		clear(mean)
		for a := range actions {
			floats.AddScaled(mean, t.probs[d*actions+a], rows.RawRowView(d*actions+a))
		}
		for a := range actions {
			row := rows.RawRowView(d*actions + a)
			floats.Sub(row, mean)
			floats.Scale(math.Sqrt(t.total[d]*t.probs[d*actions+a]), row)
		}
	}
	return rows
}

// scores returns the gradients ∂f(s,a)/∂u at the last evaluation of the scores of the actions of each demonstrated
// state, [len(demoed)·A, Dim], of which there must be one.
func (t *Target) scores() *mat.Dense {
	actions, discount := t.problem.MDP.Actions(), t.problem.Discount
	rows := mat.NewDense(len(t.counts), t.Dim(), nil)
	for d, s := range t.demoed {
		base := t.solution.Q[s*actions]
		for a := range actions {
			row := rows.RawRowView(d*actions + a)
			clear(t.valueG) // ∂ Q(s,a) / ∂V and then / ∂R_π
			t.problem.MDP.AddRow(t.valueG, s, a, discount)
			t.solver.Adjoint(t.valueG)
			clear(t.rewardG)
			t.addChosen(t.rewardG, t.valueG)
			if !t.problem.StateOnly() {
				t.rewardG[s*actions+a]++
			}
			t.toWhitened(row[:t.k], t.rewardG)
			floats.Scale(t.beta, row)
			if t.problem.InfersBeta() {
				row[t.k] = t.problem.BetaLogStd * t.beta * (t.solution.Q[s*actions+a] - base)
			}
		}
	}
	return rows
}

// toWhitened sets dst, [k], to the gradient in z of what has the gradient g, [n], in R: Lᵀ g.
func (t *Target) toWhitened(dst, g []float64) {
	if t.diag != nil {
		for j, i := range t.free {
			dst[j] = t.diag[j] * g[i]
		}
		return
	}
	gemv(blas.Trans, t.root, g, 0, dst)
	t.spent += dense * float64(t.k*t.n)
}

// work returns about how many multiplications were made so far.
func (t *Target) work() float64 { return t.spent + t.solver.Work() }

// values returns the optimal values of a solution: V* [S] for state-only rewards, Q* [S·A] otherwise.
func (t *Target) values(solution *mdp.Solution) []float64 {
	if t.problem.StateOnly() {
		return solution.V
	}
	return solution.Q
}

// gemv adds a x or aᵀ x to scale · y.
func gemv(trans blas.Transpose, a *mat.Dense, x []float64, scale float64, y []float64) {
	blas64.Gemv(trans, 1, a.RawMatrix(), blas64.Vector{N: len(x), Data: x, Inc: 1}, scale,
		blas64.Vector{N: len(y), Data: y, Inc: 1})
}
