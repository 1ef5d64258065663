package tabular

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// batch is a batch of problems as arrays with a leading axis over problems, in the one form that serves both kinds of
// reward. The variational values x ∈ Rⁿ are optimal state values V(s) for state-only rewards (n = S) and optimal Q(s,a)
// for state-action rewards (n = S·A). What the objective needs is linear in them, but for one maximum a state:
//
//   - candidates h(a,s), over whose actions state s takes its maximum: E V(s') after (s,a), or Q(s,a) itself. Those of
//     one state are combinations of few values, its neighbours x[neighbour(·,s)]: h(a,s) = Σ_k mix(a,k,s) x[neighbour(k,s)];
//   - the reward R = x − T max_a h(a,·), with T the discounted step to where the maximum is taken;
//   - differences of Q-values, Q(s,a) − Q(s,b) = qScale · (h(a,s) − h(b,s)).
//
// The axis of states comes last (see clarkMax).
type batch struct {
	shape
	problems []*irl.Problem

	neighbour []int32   // [B, K, S], indices of values; padded with value 0
	mix       []float64 // [B, A, K, S], zero where neighbour is padded
	step      []float64 // T: its diagonal [B, S] for state-only rewards, [B, n, S] otherwise
	distinct  []float64 // [B, A, S], 0 where a candidate repeats an earlier one of its state
	counts    []float64 // [B, A, S], demonstrations
	qScale    []float64 // [B]
	beta      []float64 // [B]

	basis, origin  []float64 // A₀ [B, n, n] and x₀ [B, n] of the latent z with x = x₀ + A₀ z
	priorMean      []float64 // [B, n]
	priorPrecision []float64 // [B, n, n]
	priorLogDet    []float64 // [B]
}

// shape is the size of a batch. Batches of equal shape share one compiled program.
type shape struct {
	size            int // B, problems
	states, actions int // S, A
	dim             int // n
	neighbours      int // K, the most values that the candidates of one state combine
	stateOnly       bool
}

// checkBatch refuses problems that are not valid, or that do not form a batch.
func checkBatch(problems []*irl.Problem) error {
	if err := irl.ValidateAll(problems); err != nil {
		return err
	}
	if err := irl.CheckBetaKnown("the ELBO", problems); err != nil {
		return err
	}
	first := problems[0]
	for i, p := range problems {
		if p.MDP.States() != first.MDP.States() || p.MDP.Actions() != first.MDP.Actions() || p.RewardDim() != first.RewardDim() {
			return fmt.Errorf("qvirl: problem %d has %d states, %d actions and %d rewards, but problem 0 has %d, %d and %d; "+
				"a batch needs equal sizes", i, p.MDP.States(), p.MDP.Actions(), p.RewardDim(),
				first.MDP.States(), first.MDP.Actions(), first.RewardDim())
		}
	}
	return nil
}

// newBatch packs problems that checkBatch accepts. With whiten, a standard normal z makes the reward follow the prior if
// the mean over actions stood for the maximum; otherwise z = x.
func newBatch(problems []*irl.Problem, whiten bool) (*batch, error) {
	first := problems[0]
	b := &batch{problems: problems, shape: shape{
		size: len(problems), states: first.MDP.States(), actions: first.MDP.Actions(),
		dim: first.RewardDim(), stateOnly: first.StateOnly(),
	}}
	candidates := make([][][]mdp.Transition, len(problems))
	for i, p := range problems {
		candidates[i] = b.candidates(p)
		for s := 0; s < b.states; s++ {
			b.neighbours = max(b.neighbours, len(support(candidates[i][s*b.actions:(s+1)*b.actions])), 1)
		}
	}
	for i, p := range problems {
		b.addStructure(p, candidates[i])
		if err := b.addPrior(p, candidates[i], whiten); err != nil {
			return nil, fmt.Errorf("problem %d: %w", i, err)
		}
	}
	return b, nil
}

// candidates returns the candidates h(a,s) as sparse combinations of values, index s·A + a.
func (b *batch) candidates(p *irl.Problem) [][]mdp.Transition {
	rows := make([][]mdp.Transition, b.states*b.actions)
	for i := range rows {
		if !b.stateOnly {
			rows[i] = []mdp.Transition{{Next: i, Prob: 1}}
			continue
		}
		next, prob := p.MDP.Row(i/b.actions, i%b.actions)
		for k, to := range next {
			rows[i] = append(rows[i], mdp.Transition{Next: int(to), Prob: prob[k]})
		}
	}
	return rows
}

// support lists the values that any of the rows combines, ascending.
func support(rows [][]mdp.Transition) []int {
	var out []int
	for _, row := range rows {
		for _, t := range row {
			out = append(out, t.Next)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addStructure packs what depends on the dynamics and the demonstrations.
func (b *batch) addStructure(p *irl.Problem, candidates [][]mdp.Transition) {
	neighbour := make([]int32, b.neighbours*b.states)
	mix := make([]float64, b.actions*b.neighbours*b.states)
	distinct := make([]float64, b.actions*b.states)
	counts := make([]float64, b.actions*b.states)
	demos := p.DemoCounts()
	for s := 0; s < b.states; s++ {
		rows := candidates[s*b.actions : (s+1)*b.actions]
		values := support(rows)
		for k, v := range values {
			neighbour[k*b.states+s] = int32(v)
		}
		for a, row := range rows {
			for _, t := range row {
				k, _ := slices.BinarySearch(values, t.Next)
				mix[(a*b.neighbours+k)*b.states+s] = t.Prob
			}
			distinct[a*b.states+s] = 1
			for _, earlier := range rows[:a] {
				if slices.Equal(earlier, row) {
					distinct[a*b.states+s] = 0
				}
			}
			counts[a*b.states+s] = demos[s*b.actions+a]
		}
	}
	b.neighbour = append(b.neighbour, neighbour...)
	b.mix = append(b.mix, mix...)
	b.distinct = append(b.distinct, distinct...)
	b.counts = append(b.counts, counts...)
	b.beta = append(b.beta, p.Beta)
	if !b.stateOnly {
		dense := p.MDP.Dense()
		floats.Scale(p.Discount, dense)
		b.step = append(b.step, dense...)
		b.qScale = append(b.qScale, 1)
		return
	}
	for s := 0; s < b.states; s++ {
		discount := p.Discount
		if p.MDP.Terminal(s) {
			discount = 0 // Appendix "Evaluating Expectations over Next States": γ = 0 at terminal transitions
		}
		b.step = append(b.step, discount)
	}
	b.qScale = append(b.qScale, p.Discount)
}

// addPrior packs the prior, and the latent basis that follows from it.
func (b *batch) addPrior(p *irl.Problem, candidates [][]mdp.Transition, whiten bool) error {
	precision, logDet, err := p.Prior.Precision()
	if err != nil {
		return err
	}
	b.priorMean = append(b.priorMean, p.Prior.Mean...)
	b.priorPrecision = append(b.priorPrecision, mat.DenseCopyOf(precision).RawMatrix().Data...)
	b.priorLogDet = append(b.priorLogDet, logDet)
	if !whiten {
		return nil
	}
	// B₀ x is the reward if the mean over actions stood for the maximum; then A₀ = B₀⁻¹ Σ₀^½ and x₀ = B₀⁻¹ m₀.
	var lu mat.LU
	lu.Factorize(b.meanBellman(p, candidates))
	root, err := p.Prior.Factor()
	if err != nil {
		return err
	}
	var basis mat.Dense
	var origin mat.VecDense
	if err := lu.SolveTo(&basis, false, root); err != nil {
		return fmt.Errorf("qvirl: the Bellman equation of the uniform policy is ill-conditioned: %w", err)
	}
	if err := lu.SolveVecTo(&origin, false, mat.NewVecDense(b.dim, p.Prior.Mean)); err != nil {
		return fmt.Errorf("qvirl: the Bellman equation of the uniform policy is ill-conditioned: %w", err)
	}
	b.basis = append(b.basis, basis.RawMatrix().Data...)
	b.origin = append(b.origin, origin.RawVector().Data...)
	return nil
}

// meanBellman returns I − T·H̄ [n, n], with H̄ x the mean over actions of each state's candidates.
func (b *batch) meanBellman(p *irl.Problem, candidates [][]mdp.Transition) *mat.Dense {
	mean := mat.NewDense(b.states, b.dim, nil)
	for i, row := range candidates {
		for _, t := range row {
			mean.Set(i/b.actions, t.Next, mean.At(i/b.actions, t.Next)+t.Prob/float64(b.actions))
		}
	}
	bellman := mat.NewDense(b.dim, b.dim, nil)
	if b.stateOnly {
		bellman.Scale(-p.Discount, mean)
	} else {
		bellman.Mul(mat.NewDense(b.dim, b.states, p.MDP.Dense()), mean)
		bellman.Scale(-p.Discount, bellman)
	}
	for i := 0; i < b.dim; i++ {
		bellman.Set(i, i, bellman.At(i, i)+1)
	}
	return bellman
}
