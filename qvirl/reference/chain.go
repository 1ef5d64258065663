package reference

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// The kernels, each of which leaves the posterior invariant.
const (
	hamiltonianKernel = iota // Hamiltonian Monte Carlo in whitened rewards
	singleKernel             // elliptical slice sampling there, of one coordinate at a time
	sweepKernel              // and of sets of them
	walkKernel               // ValueWalk's walk over values, with its log-determinant
	kernels
)

// chain is one Markov chain: a mixture of the kernels in fixed shares.
type chain struct {
	target *Target
	rng    *rand.Rand
	at     state
	draw   []float64 // what is kept of the position: rewards, values and log β, [n + n (+ 1)]

	hamiltonian *hamiltonian
	slice       *slice
	walker      *valuewalk.Walker // nil where the prior has no density
	unroot      *mat.Dense        // L⁻¹ of a dense L that is square and not singular
	walkCost    float64           // work of a leapfrog step of the walk

	share  [kernels]float64 // probability of each kernel in an iteration
	cost   float64          // multiplications of an iteration
	origin []float64        // of scale moves, where β is inferred
	trace  *mcmc.Trace

	blocks     []block // that it jumps in; nil where there are no modes, or jumps lead nowhere
	goals      []int   // coordinates any of which may have what another has
	jumps      float64 // after an iteration's transition, in the mean,
	jumpCost   float64 // and their multiplications
	ladder     *ladder // nil where β's posterior has one peak, or β is known
	crossShare float64 // probability of a crossing after an iteration's transition

	accepted float64 // sum of the acceptance probabilities of Hamiltonian transitions since the warm-up
	tried    int
	last     mcmc.Transition // of any kernel
}

// rescaleShare is the probability of a scale move after another transition.
const rescaleShare = 0.25

// start puts the chain at u.
func (k *chain) start(u []float64) {
	copy(k.at.u, u)
	k.at.evaluate(k.target, gradientToo)
	k.keep()
}

// keep stores the rewards and values of the target's last evaluation as those of the position.
func (k *chain) keep() {
	n := k.target.n
	copy(k.draw, k.target.reward)
	copy(k.draw[n:], k.target.values(k.target.solution))
	if len(k.draw) > 2*n {
		k.draw[2*n] = math.Log(k.target.beta)
	}
}

// move makes a transition of one kernel and returns the acceptance probability, or 1 where there is none.
func (k *chain) move(kernel int) (accept float64) {
	switch kernel {
	case hamiltonianKernel:
		old := k.at.u[0]
		accept = k.hamiltonian.move(&k.at, k.rng)
		k.last = k.hamiltonian.last
		if k.at.u[0] != old {
			k.keep()
		}
	case singleKernel:
		accept, k.last = 1, mcmc.Transition{Acceptance: 1}
		k.slice.single(&k.at, k.rng)
		k.keep()
	case sweepKernel:
		accept, k.last = 1, mcmc.Transition{Acceptance: 1}
		k.slice.sweep(&k.at, k.rng)
		k.keep()
	case walkKernel:
		accept = k.walk()
		k.last = k.walker.Last
	}
	if k.target.problem.InfersBeta() && k.rng.Float64() < rescaleShare {
		k.rescale()
	}
	return accept
}

// walk makes a transition of the walk over values.
func (k *chain) walk() float64 {
	n := k.target.n
	k.walker.MoveTo(k.draw[n:])
	x, accept := k.walker.Step()
	if floats.Equal(x, k.draw[n:]) {
		return accept
	}
	copy(k.draw[n:], x)
	reward := k.walker.Rewards(x)
	copy(k.draw, reward)
	offset := make([]float64, n)
	floats.SubTo(offset, reward, k.target.problem.Prior.Mean)
	if k.target.diag != nil {
		for j, i := range k.target.free { // a walk has a reward for each whitened one
			k.at.u[j] = offset[i] / k.target.diag[j]
		}
	} else {
		gemv(blas.NoTrans, k.unroot, offset, 0, k.at.u[:n])
	}
	if len(x) > n {
		k.at.u[n] = (x[n] - math.Log(k.target.problem.Beta)) / k.target.problem.BetaLogStd
	}
	k.at.known = position
	return accept
}

// origin returns the position z of rewards that say nothing, or of those nearest to them that the prior allows: R = 0,
// or where no episode ends the constant that is nearest to the prior's mean.
func (t *Target) origin() []float64 {
	at := func(reward float64) []float64 {
		constant := mat.NewDense(1, t.n, nil)
		floats.AddConst(reward, constant.RawMatrix().Data)
		u, err := t.whiten(&irl.Samples{Reward: constant})
		if err != nil { // a number that is not finite
			return make([]float64, t.k)
		}
		return u[:t.k]
	}
	nothing := at(0)
	m := t.problem.MDP
	for i := range m.States() * m.Actions() {
		if m.Ends(i/m.Actions(), i%m.Actions()) {
			return nothing
		}
	}
	slope := floats.SubTo(make([]float64, t.k), at(1), nothing) // of z in the constant
	if size := floats.Dot(slope, slope); size > 0 {
		floats.AddScaled(nothing, -floats.Dot(slope, nothing)/size, slope)
	}
	return nothing
}

// rescale makes a transition of slice sampling with stepping out (Neal, 2003, "Slice sampling") of log c, where
// z → o + c (z − o) and β → β/c about the origin o. Unless the prior fixes a reward, all differences of values are c
// times what they were, and the likelihood is constant on the way. The Jacobian is c^k.
func (k *chain) rescale() {
	if k.at.known < likelihoodToo {
		k.at.evaluate(k.target, likelihoodToo)
	}
	from, size := append([]float64(nil), k.at.u...), k.target.k
	floor := k.at.logDensity() - k.rng.ExpFloat64()
	above := func(log float64) bool {
		for j, o := range k.origin {
			k.at.u[j] = o + math.Exp(log)*(from[j]-o)
		}
		k.at.u[size] = from[size] - log/k.target.problem.BetaLogStd
		k.at.evaluate(k.target, likelihoodToo)
		return k.at.logDensity()+float64(size)*log > floor
	}
	low := -k.rng.Float64()
	high := low + 1
	for above(low) {
		low--
	}
	for above(high) {
		high++
	}
	shrink(low+(high-low)*k.rng.Float64(), low, high, k.rng, above)
	k.keep()
}

// sample makes an iteration: a transition of a kernel drawn by the shares, or where nothing was demonstrated a draw of
// the prior, which is the posterior then.
func (k *chain) sample() {
	if len(k.target.demoed) == 0 {
		k.drawPrior()
		k.trace.Add(k.draw, mcmc.Transition{Acceptance: 1})
		return
	}
	kernel := mdp.Draw(k.rng, k.share[:])
	if accept := k.move(kernel); kernel == hamiltonianKernel {
		k.accepted += accept
		k.tried++
	}
	if k.blocks != nil {
		for range int(k.jumps + k.rng.Float64()) {
			k.jump()
		}
	}
	if k.ladder != nil && k.rng.Float64() < k.crossShare {
		k.cross()
	}
	k.trace.Add(k.draw, k.last)
}

// drawPrior goes to a draw of the prior.
func (k *chain) drawPrior() {
	for i := range k.at.u {
		k.at.u[i] = k.rng.NormFloat64()
	}
	k.at.evaluate(k.target, likelihoodToo)
	k.keep()
}

// work returns about how many multiplications were made so far; those of large matrices, which are faster, count less.
func (k *chain) work() float64 {
	w := k.target.work() + k.hamiltonian.spent
	if k.walker != nil {
		w += float64(k.walker.Leapfrogs) * k.walkCost
	}
	return w
}

// invertRoot returns L⁻¹ of a dense L, or nil if it is singular to working precision.
func (t *Target) invertRoot() *mat.Dense {
	if t.root == nil || t.k != t.n {
		return nil
	}
	var inverse mat.Dense
	if inverse.Inverse(t.root) != nil { // an error, too, where the condition number exceeds 1e16
		return nil
	}
	return &inverse
}
