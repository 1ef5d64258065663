package zoo

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/qvirl/irl"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
)

// Generate makes the problems of the zoo, without answers. What is random in a case is drawn from a stream that its
// name determines, and in gridworlds by the seeds 1 and 2.
func Generate() ([]Case, error) {
	b := &builder{}
	for _, family := range []struct {
		name string
		add  func(*builder)
	}{
		{"corridor", corridors}, {"scales", scales}, {"offsets", offsets}, {"correlated", correlations},
		{"kernel", kernels}, {"singular", singular}, {"discount", discounts}, {"rationality", rationalities},
		{"data", data}, {"improbable", improbable}, {"dynamics", dynamics}, {"size", sizes}, {"pairs", pairs},
		{"known", known}, {"inferred-beta", inferred}, {"explanations", explanations}, {"tree", trees},
		{"gridworld", gridworlds},
	} {
		b.family = family.name
		family.add(b)
	}
	return b.cases, b.err
}

// builder collects cases until the first error.
type builder struct {
	cases  []Case
	family string
	err    error
}

// add adds a case that change makes of a problem. change gets the random stream of the case.
func (b *builder) add(name, sentence string, p *irl.Problem, change func(p *irl.Problem, rng *rand.Rand) error) {
	if b.err != nil {
		return
	}
	if change != nil {
		hash := fnv.New64a()
		hash.Write([]byte(name)) // does not fail
		b.err = change(p, rand.New(rand.NewPCG(hash.Sum64(), 0)))
	}
	if b.err == nil {
		b.err = p.Validate()
	}
	if b.err != nil {
		b.err = fmt.Errorf("zoo: %s: %w", name, b.err)
		return
	}
	b.cases = append(b.cases, Case{Name: name, Family: b.family, Sentence: sentence, Problem: p})
}

// set is a change that cannot fail.
func set(f func(p *irl.Problem)) func(*irl.Problem, *rand.Rand) error {
	return func(p *irl.Problem, _ *rand.Rand) error { f(p); return nil }
}

// simulate is a change that replaces the demonstrations, after f, by n trajectories of at most length steps of an
// expert whose reward is drawn from the prior.
func simulate(n, length int, f func(p *irl.Problem)) func(*irl.Problem, *rand.Rand) error {
	return func(p *irl.Problem, rng *rand.Rand) error {
		if f != nil {
			f(p)
		}
		factor, err := p.Prior.Factor()
		if err != nil {
			return err
		}
		sol, err := p.MDP.Solve(p.Prior.Draw(rng, factor), p.Discount)
		if err != nil {
			return err
		}
		p.Demos = mdp.Flatten(p.MDP.Demonstrate(rng, sol.Q, p.Beta, n, length))
		return nil
	}
}

// must returns what is known to be good.
func must[T any](m T, err error) T {
	if err != nil {
		panic(err)
	}
	return m
}

// line returns n rooms in a row. The actions are to go left and to go right, which succeed with the given probability
// and otherwise leave one where one is. Nothing lies to the left of room 0; the last room ends the episode.
func line(n int, success float64) *mdp.MDP {
	rows := make([][]mdp.Transition, 2*n)
	for s := range n - 1 {
		rows[2*s] = []mdp.Transition{{Next: max(s-1, 0), Prob: success}, {Next: s, Prob: 1 - success}}
		rows[2*s+1] = []mdp.Transition{{Next: s + 1, Prob: success}, {Next: s, Prob: 1 - success}}
	}
	return must(mdp.New(n, 2, rows, nil))
}

// ring returns n states in a circle that never ends. The actions are to go back and to go on; with probability noise
// the other one is executed.
func ring(n int, noise float64) *mdp.MDP {
	rows := make([][]mdp.Transition, 2*n)
	for s := range n {
		back, on := (s+n-1)%n, (s+1)%n
		rows[2*s] = []mdp.Transition{{Next: back, Prob: 1 - noise}, {Next: on, Prob: noise}}
		rows[2*s+1] = []mdp.Transition{{Next: on, Prob: 1 - noise}, {Next: back, Prob: noise}}
	}
	return must(mdp.New(n, 2, rows, nil))
}

// moves returns an MDP in which action a leads from state s to the state that to gives, and ends the episode where that
// is negative.
func moves(states, actions int, to func(s, a int) int, initial []float64) *mdp.MDP {
	rows := make([][]mdp.Transition, states*actions)
	for i := range rows {
		if next := to(i/actions, i%actions); next >= 0 {
			rows[i] = []mdp.Transition{{Next: next, Prob: 1}}
		}
	}
	return must(mdp.New(states, actions, rows, initial))
}

// random returns an MDP whose pairs each have k successors, chosen at random, with probabilities that are uniform over
// the simplex.
func random(states, actions, k int, rng *rand.Rand) *mdp.MDP {
	rows := make([][]mdp.Transition, states*actions)
	for i := range rows {
		sum := 0.0
		for _, next := range rng.Perm(states)[:k] {
			w := rng.ExpFloat64()
			rows[i], sum = append(rows[i], mdp.Transition{Next: next, Prob: w}), sum+w
		}
		for j := range rows[i] {
			rows[i][j].Prob /= sum
		}
	}
	return must(mdp.New(states, actions, rows, nil))
}

// corridor is README's problem: three rooms in a row, the expert goes right twice.
func corridor() *irl.Problem {
	return &irl.Problem{MDP: line(3, 0.9), Prior: irl.IndependentPrior(3, 0, 2), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}}}
}

// Gridworld is one of the paper's gridworlds of the given size, as its experiments make them: rewards N(−1, 3²),
// γ = 0.9, and n trajectories of at most 5 steps by an expert with β = 2.
func Gridworld(size int, seed uint64, n int) (*irl.Problem, error) {
	c := gridworld.Paper()
	c.Width, c.Height = size, size
	w, err := gridworld.Random(c, seed)
	if err != nil {
		return nil, err
	}
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(len(w.Reward), c.RewardMean, c.RewardStd),
		Discount: 0.9, Beta: 2}
	demos, err := w.Demonstrate(n, 5, p.Beta, p.Discount, seed)
	p.Demos = mdp.Flatten(demos)
	return p, err
}

// world is a Gridworld of a size that there is.
func world(size int, seed uint64, n int) *irl.Problem { return must(Gridworld(size, seed, n)) }

// grid is a gridworld of which no state is terminal, with the paper's slip, prior, γ and β, and no demonstrations.
func grid(size int) *irl.Problem {
	n := size * size
	w := must(gridworld.New(size, size, make([]float64, n), make([]bool, n), 0.1, nil))
	return &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(n, -1, 3), Discount: 0.9, Beta: 2}
}

// withCov sets a prior covariance by a function of two rewards' indices.
func withCov(p *irl.Problem, cov func(i, j int) float64) {
	n := p.RewardDim()
	p.Prior.Std, p.Prior.Cov = nil, mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			p.Prior.Cov.SetSym(i, j, cov(i, j))
		}
	}
}

// eye is 1 on the diagonal.
func eye(i, j int) float64 {
	if i == j {
		return 1
	}
	return 0
}

// withKernel gives the rewards a Gaussian-process prior over their places in a grid of the given width.
func withKernel(p *irl.Problem, kernel irl.Kernel, width int) {
	places := mat.NewDense(p.RewardDim(), 2, nil)
	for i := range p.RewardDim() {
		places.SetRow(i, []float64{float64(i / width), float64(i % width)})
	}
	p.Prior = must(irl.KernelPrior(kernel, places, p.Prior.Mean))
}

// spread returns n standard deviations from 10^low to 10^high in equal ratios.
func spread(n int, low, high float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Pow(10, low+(high-low)*float64(i)/float64(n-1))
	}
	return out
}

// constant returns n equal numbers.
func constant(n int, v float64) []float64 {
	return slices.Repeat([]float64{v}, n)
}

// repeat returns n copies of a step.
func repeat(n, state, action int) []mdp.Step {
	return slices.Repeat([]mdp.Step{{State: state, Action: action}}, n)
}
