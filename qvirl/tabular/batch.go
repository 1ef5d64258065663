package tabular

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// batch is a batch of problems as arrays with a leading axis over problems, in the one form that serves both kinds of
// reward. The variational values x ∈ Rⁿ are optimal state values V(s) for state-only rewards (n = S) and optimal Q(s,a)
// for state-action rewards (n = S·A). What the objective needs is linear in them, but for one maximum a state:
//
//   - candidates h(a,s) = C_a(s)·x, over whose actions state s takes its maximum: E V(s') after (s,a), or
//     Q(s,a) itself;
//   - the reward R = x − T max_a h(a,·), with T the discounted step to where the maximum is taken;
//   - differences of Q-values, Q(s,a) − Q(s,b) = q · (h(a,s) − h(b,s)), with q = γ or 1.
//
// All of it is written in coordinates in which the prior is a standard normal, whatever its scales and correlations.
// With R ~ N(m, L Lᵀ) a priori, π a reference policy, and B₀ = I − T C_π its Bellman operator,
//
//	x = x₀ + A₀ z,   A₀ = B₀⁻¹ L,   x₀ = B₀⁻¹ m
//
// makes z the reward in prior standard deviations wherever the expert follows π. In general, with the contrasts
// D(a,s) = (C_a − C_π)(s)·A₀ and d(a,s) = (C_a − C_π)(s)·x₀,
//
//	L⁻¹(R − m) = z − U max_a (D(a,·) z + d(a,·)),   U = L⁻¹ T,
//
// so that the large things, means and what all values have in common, cancel before the objective sees them, in double
// precision. Rewards are counted in a unit of their prior's size, which takes their own unit out of everything.
//
// The axis of states comes last (see graphs.Maximum).
type batch struct {
	shape
	problems []*irl.Problem
	frames   []*frame

	contrast       []float64 // D: [B, S, A, n]
	contrastOrigin []float64 // d: [B, A, S]
	pull           []float64 // U: its diagonal [B, S] if diagonal, [B, n, S] otherwise
	distinct       []float64 // [B, A, S], 0 where a candidate repeats an earlier one of its state
	counts         []float64 // [B, A, S], demonstrations
	beta           []float64 // [B]: β·q in the unit of rewards
	map0, reward0  []float64 // L⁻¹B₀A₀ [B, n, n] and L⁻¹(B₀x₀ − m) [B, n] where A₀ ≠ B₀⁻¹L; nil: identity and zero
}

// frame is the coordinates of one problem, in double precision.
type frame struct {
	unit      float64       // of reward: a power of two
	factor    *mat.TriDense // L [n, n], in that unit as all that follows
	basis     *mat.Dense    // A₀ [n, n]
	origin    []float64     // x₀ [n]
	reference []float64     // π: [S·A]
	logDet    float64       // log|det L| − log|det A₀|
}

// shape is the size of a batch. Batches of equal shape share one compiled program.
type shape struct {
	size            int // B, problems
	states, actions int // S, A
	dim             int // n
	stateOnly       bool
	diagonal        bool // U is a diagonal matrix: state-only rewards, independent a priori
	float64         bool // the precision of the program
}

// checkBatch refuses problems that are not valid, or that do not form a batch.
func checkBatch(problems []*irl.Problem) error {
	if err := irl.ValidateAll(problems); err != nil {
		return err
	}
	if err := irl.CheckBetaKnown("qvirl", problems); err != nil {
		return err
	}
	first := problems[0]
	for i, p := range problems {
		if p.MDP.States() != first.MDP.States() || p.MDP.Actions() != first.MDP.Actions() ||
			p.RewardDim() != first.RewardDim() {
			return fmt.Errorf("tabular: problem %d has %d states, %d actions and %d rewards, but problem 0 has %d, %d "+
				"and %d; a batch needs equal sizes", i, p.MDP.States(), p.MDP.Actions(), p.RewardDim(),
				first.MDP.States(), first.MDP.Actions(), first.RewardDim())
		}
	}
	return nil
}

// newPart returns the batch of one problem, in single precision.
func newPart(p *irl.Problem, c Config) (*batch, error) {
	b := &batch{problems: []*irl.Problem{p}, shape: shape{
		size: 1, states: p.MDP.States(), actions: p.MDP.Actions(), dim: p.RewardDim(), stateOnly: p.StateOnly(),
		diagonal: p.StateOnly() && p.Prior.Independent(),
	}}
	return b, b.add(p, c)
}

// join returns the batch of all problems of batches of equal shape.
func join(parts []*batch) *batch {
	out := &batch{shape: parts[0].shape}
	out.size = 0
	for _, b := range parts {
		out.size += b.size
		out.problems, out.frames = append(out.problems, b.problems...), append(out.frames, b.frames...)
		out.contrast = append(out.contrast, b.contrast...)
		out.contrastOrigin = append(out.contrastOrigin, b.contrastOrigin...)
		out.pull, out.beta = append(out.pull, b.pull...), append(out.beta, b.beta...)
		out.distinct, out.counts = append(out.distinct, b.distinct...), append(out.counts, b.counts...)
		out.map0, out.reward0 = append(out.map0, b.map0...), append(out.reward0, b.reward0...)
	}
	return out
}

// candidatesOf returns the candidates h(a,s) as sparse combinations of values, index s·A + a.
func candidatesOf(p *irl.Problem) [][]mdp.Transition {
	rows := make([][]mdp.Transition, p.MDP.States()*p.MDP.Actions())
	for i := range rows {
		if !p.StateOnly() {
			rows[i] = []mdp.Transition{{Next: i, Prob: 1}}
			continue
		}
		next, prob := p.MDP.Row(i/p.MDP.Actions(), i%p.MDP.Actions())
		for k, to := range next {
			rows[i] = append(rows[i], mdp.Transition{Next: int(to), Prob: prob[k]})
		}
	}
	return rows
}

// repeats reports whether candidate a of the state whose candidates begin at first is that of an earlier action too.
func repeats(candidates [][]mdp.Transition, first, a int) bool {
	return slices.ContainsFunc(candidates[first:first+a], func(earlier []mdp.Transition) bool {
		return slices.Equal(earlier, candidates[first+a])
	})
}

// stepTo returns T [n, S].
func stepTo(p *irl.Problem) *mat.Dense {
	states := p.MDP.States()
	t := mat.NewDense(p.RewardDim(), states, nil)
	for i := range p.RewardDim() {
		if !p.StateOnly() {
			next, prob := p.MDP.Row(i/p.MDP.Actions(), i%p.MDP.Actions())
			for k, to := range next {
				t.Set(i, int(to), t.At(i, int(to))+p.Discount*prob[k])
			}
		} else if !p.MDP.Terminal(i) { // γ = 0 there (Appendix "Evaluating Expectations over Next States")
			t.Set(i, i, p.Discount)
		}
	}
	return t
}

// Limits of the coordinates.
const (
	// leastUnexplained is the smallest standard deviation that a reward may keep when those before it are known, in
	// units of its own: its square has 4 of a float64's 16 digits.
	leastUnexplained = 1e-6
	// farFromUniform is how many prior standard deviations rewards may lie from the prior mean, where values have
	// those that the prior mean has under the uniform policy, for that to be the reference.
	farFromUniform = 10
)

// newFrame returns the coordinates that belong to a reference policy. Without whiten, they are the values themselves.
func newFrame(p *irl.Problem, candidates [][]mdp.Transition, reference []float64, whiten bool) (*frame, error) {
	n := p.RewardDim()
	f := &frame{reference: reference}
	var err error
	if f.factor, f.unit, err = scaledFactor(p.Prior); err != nil {
		return nil, err
	}
	if !whiten {
		f.factor.ScaleTri(f.unit, f.factor)
		f.unit, f.basis, f.origin = 1, mat.NewDense(n, n, identities(1, n)), make([]float64, n)
		for i := range n {
			f.logDet += math.Log(f.factor.At(i, i))
		}
		return f, nil
	}
	bellman := bellmanOf(p, candidates, reference)
	var lu mat.LU
	lu.Factorize(bellman)
	f.basis = &mat.Dense{}
	if err := lu.SolveTo(f.basis, false, f.factor); err != nil {
		return nil, fmt.Errorf("the Bellman equation is ill-conditioned with discount %g: %w", p.Discount, err)
	}
	mean := append([]float64(nil), p.Prior.Mean...)
	floats.Scale(1/f.unit, mean)
	var origin mat.VecDense
	if err := lu.SolveVecTo(&origin, false, mat.NewVecDense(n, mean)); err != nil {
		return nil, fmt.Errorf("the Bellman equation is ill-conditioned with discount %g: %w", p.Discount, err)
	}
	f.origin = origin.RawVector().Data
	f.logDet, _ = lu.LogDet() // det L / det(B₀⁻¹ L)
	return f, nil
}

// scaledFactor returns the lower triangular L [n, n] with L Lᵀ the prior covariance, divided by a power of two that
// makes its largest row of about unit length, and that power; an irl.ErrSingularPrior where L has no inverse to speak
// of.
func scaledFactor(p irl.Prior) (*mat.TriDense, float64, error) {
	root, err := p.Factor()
	if err != nil {
		return nil, 0, err
	}
	std := deviations(p)
	_, exponent := math.Frexp(floats.Max(std))
	unit := math.Ldexp(1, exponent-1)
	lower := triangularRoot(root)
	for i, s := range std {
		if !(lower.At(i, i) >= leastUnexplained*s) || s == 0 {
			return nil, 0, irl.ErrSingularPrior
		}
	}
	lower.Scale(1/unit, lower)
	return mat.NewTriDense(len(std), mat.Lower, lower.RawMatrix().Data), unit, nil
}

// bellmanOf returns B₀ = I − T C_π [n, n].
func bellmanOf(p *irl.Problem, candidates [][]mdp.Transition, reference []float64) *mat.Dense {
	n, actions := p.RewardDim(), p.MDP.Actions()
	follow := mat.NewDense(p.MDP.States(), n, nil)
	for i, row := range candidates {
		for _, t := range row {
			follow.Set(i/actions, t.Next, follow.At(i/actions, t.Next)+reference[i]*t.Prob)
		}
	}
	var bellman mat.Dense
	bellman.Mul(stepTo(p), follow)
	bellman.Scale(-1, &bellman)
	for i := range n {
		bellman.Set(i, i, bellman.At(i, i)+1)
	}
	return &bellman
}

// contrasts returns (C_a − C_π)(s)·y, [S·A, k], of y [n, k].
func (f *frame) contrasts(candidates [][]mdp.Transition, actions int, y *mat.Dense) *mat.Dense {
	_, k := y.Dims()
	out := mat.NewDense(len(candidates), k, nil)
	for i, row := range candidates {
		for _, t := range row {
			floats.AddScaled(out.RawRowView(i), t.Prob, y.RawRowView(t.Next))
		}
	}
	mean := make([]float64, k)
	for s := 0; s < len(candidates); s += actions {
		clear(mean)
		for a := range actions {
			floats.AddScaled(mean, f.reference[s+a], out.RawRowView(s+a))
		}
		for a := range actions {
			floats.Sub(out.RawRowView(s+a), mean)
		}
	}
	return out
}

// add packs the problem of a batch of one.
func (b *batch) add(p *irl.Problem, c Config) error {
	candidates := candidatesOf(p)
	n, states, actions := b.dim, b.states, b.actions
	f, err := newFrame(p, candidates, p.MDP.Uniform(), c.Whiten)
	if err != nil {
		return err
	}
	u := f.whitened(stepTo(p))
	origins := f.contrasts(candidates, actions, mat.NewDense(n, 1, f.origin))
	if c.Whiten && maxAbs(f.rewardsAt(u, origins, actions)) > farFromUniform {
		sol, err := p.MDP.Solve(p.Prior.Mean, p.Discount)
		if err != nil {
			return err
		}
		greedy := make([]float64, states*actions)
		for s, a := range sol.Greedy {
			greedy[s*actions+a] = 1
		}
		if f, err = newFrame(p, candidates, greedy, c.Whiten); err != nil {
			return err
		}
		origins = f.contrasts(candidates, actions, mat.NewDense(n, 1, f.origin))
	}

	b.frames, b.contrast = []*frame{f}, f.contrasts(candidates, actions, f.basis).RawMatrix().Data
	demos := c.demoCounts(p)
	b.contrastOrigin = make([]float64, actions*states)
	b.distinct, b.counts = make([]float64, actions*states), make([]float64, actions*states)
	for i := range candidates {
		s, a := i/actions, i%actions
		b.contrastOrigin[a*states+s], b.counts[a*states+s] = origins.At(i, 0), demos[i]
		if !repeats(candidates, i-a, a) {
			b.distinct[a*states+s] = 1
		}
	}
	if b.diagonal {
		for s := range states {
			b.pull = append(b.pull, u.At(s, s))
		}
	} else {
		b.pull = u.RawMatrix().Data
	}
	scale := 1.0 // q
	if b.stateOnly {
		scale = p.Discount
	}
	b.beta = []float64{p.Beta * f.unit * scale}
	if !c.Whiten {
		mean := mat.NewDense(n, 1, append([]float64(nil), p.Prior.Mean...))
		mean.Scale(-1/f.unit, mean)
		b.map0 = f.whitened(bellmanOf(p, candidates, f.reference)).RawMatrix().Data
		b.reward0 = f.whitened(mean).RawMatrix().Data
	}
	return nil
}

// whitened returns L⁻¹ y, in the place of y [n, k].
func (f *frame) whitened(y *mat.Dense) *mat.Dense {
	blas64.Trsm(blas.Left, blas.NoTrans, 1, f.factor.RawTriangular(), y.RawMatrix())
	return y
}

// rewardsAt returns L⁻¹(R − m) [n] at z = 0, given U and d as contrasts of the origin [S·A, 1].
func (f *frame) rewardsAt(u, origins *mat.Dense, actions int) []float64 {
	n, states := u.Dims()
	rise := mat.NewVecDense(states, nil)
	for s := range states {
		rise.SetVec(s, mat.Max(origins.Slice(s*actions, (s+1)*actions, 0, 1)))
	}
	out := mat.NewVecDense(n, nil)
	out.MulVec(u, rise)
	out.ScaleVec(-1, out)
	return out.RawVector().Data
}

func maxAbs(x []float64) float64 { return floats.Norm(x, math.Inf(1)) }
