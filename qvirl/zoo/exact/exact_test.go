package exact

import (
	"context"
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/zoo"
	"github.com/go-birl/birl/qvirl/zoo/zootest"
)

var properties = flag.Int("properties", 500, "random problems on which properties are tested")

func newProblem(t *testing.T, p *irl.Problem) *problem {
	t.Helper()
	return &problem{Problem: p, hash: mcmc.Fingerprint(p)}
}

// stored returns the case of a name, with its answer.
func stored(t *testing.T, name string) zoo.Case {
	t.Helper()
	cases, err := zoo.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Name == name && c.Exact != nil {
			return c
		}
	}
	t.Fatalf("the zoo has no answer for %s", name)
	return zoo.Case{}
}

// within checks that two summaries differ by no more than so many of their errors.
func within(t *testing.T, name string, a, b *summary.Summary, limit float64) {
	t.Helper()
	for what, of := range map[string]func(*summary.Summary) []float64{
		"reward mean": func(s *summary.Summary) []float64 { return s.RewardMean },
		"reward std":  func(s *summary.Summary) []float64 { return s.RewardStd },
		"value mean":  func(s *summary.Summary) []float64 { return s.ValueMean },
		"value std":   func(s *summary.Summary) []float64 { return s.ValueStd },
		"policy":      func(s *summary.Summary) []float64 { return s.Policy },
		"beta":        func(s *summary.Summary) []float64 { return []float64{s.BetaMean, s.BetaStd} },
	} {
		for i, v := range of(a) {
			err := math.Hypot(of(a.Error)[i], of(b.Error)[i])
			if d := math.Abs(v - of(b)[i]); !(d <= limit*err+1e-9*math.Abs(v)) {
				t.Errorf("%s: %s %d: %g and %g differ by %.1f errors", name, what, i, v, of(b)[i], d/err)
			}
		}
	}
}

// plain integrates over a grid of n points a dimension in plain Go, with value iteration. Its error is taken as a
// thousandth of a standard deviation.
func plain(t *testing.T, p *irl.Problem, n int) *summary.Summary {
	t.Helper()
	d, actions := p.RewardDim(), p.MDP.Actions()
	factor, err := p.Prior.Factor()
	if err != nil {
		t.Fatal(err)
	}
	counts, z := p.DemoCounts(), make([]float64, d)
	size := quantityCount(p)
	sum, first, second := 0.0, make([]float64, size), make([]float64, size)
	var origin []float64 // quantities of the first node, from which differences are taken
	var visit func(k int)
	visit = func(k int) {
		if k < d {
			for i := range n {
				z[k] = 7 * (2*(float64(i)+0.5)/float64(n) - 1)
				visit(k + 1)
			}
			return
		}
		reward := append([]float64(nil), p.Prior.Mean...)
		for i := range reward {
			for j := range i + 1 {
				reward[i] += factor.At(i, j) * z[j]
			}
		}
		q, v, err := p.MDP.ValueIteration(reward, p.Discount, 1e-6)
		if err != nil {
			t.Fatal(err)
		}
		w := math.Exp(p.LogLikelihood(q, counts) - floats.Dot(z, z)/2)
		sum += w
		x := append(append(reward, v...), mdp.Boltzmann(nil, q, actions, p.Beta)...)
		if origin == nil {
			origin = x
		}
		for i, y := range x {
			y -= origin[i]
			first[i] += w * y
			second[i] += w * y * y
		}
	}
	visit(0)
	e := newEstimates(size)
	for i := range first {
		mean := first[i] / sum
		e.mean[i], e.std[i] = origin[i]+mean, math.Sqrt(max(second[i]/sum-mean*mean, 0))
		e.meanError[i], e.stdError[i] = 1e-3*e.std[i], 1e-3*e.std[i]
	}
	s := e.summary(p)
	return &s
}

// Stored answers, most of which are importance samples, agree with quadrature in plain Go.
func TestAnswersAgreeWithQuadrature(t *testing.T) {
	for name, n := range map[string]int{"corridor": 60, "corridor-ones": 60, "two-states": 300, "one-state": 60,
		"known-end": 60, "contradictory": 70} {
		c := stored(t, name)
		within(t, name, &c.Exact.Summary, plain(t, c.Problem, n), 5)
	}
}

// The four methods agree with each other.
func TestMethodsAgree(t *testing.T) {
	for _, name := range []string{"corridor", "pairs-ring", "beta-corridor", "into-the-pit"} {
		c := stored(t, name)
		p := newProblem(t, c.Problem)
		points, err := p.cloud(t.Context(), 1000, 3)
		if err != nil {
			t.Fatal(err)
		}
		a, proposal, err := p.mixture(t.Context(), points, 100_000)
		if err != nil || a == nil {
			t.Fatalf("%s: no answer from a mixture (%v)", name, err)
		}
		within(t, name+" from a mixture", &a.Summary, &c.Exact.Summary, 5)
		s, err := p.walk(t.Context(), points, proposal, 500)
		if err != nil {
			t.Fatal(err)
		}
		chains := s.summary(p.Problem)
		within(t, name+" from chains", &chains, &c.Exact.Summary, 5)
		if !(s.rHat < 1.02) || !(s.size > 1000) {
			t.Errorf("%s: R̂ %g, effective size %g", name, s.rHat, s.size)
		}
	}
}

// Belief propagation agrees with quadrature in plain Go and with importance sampling from the prior; what is no tree is
// left to them.
func TestTrees(t *testing.T) {
	tree := func(states int, demos ...mdp.Step) *irl.Problem {
		rows := make([][]mdp.Transition, 2*states)
		for i := range states - 1 {
			rows[i] = []mdp.Transition{{Next: i + 1, Prob: 1}}
		}
		m, err := mdp.New(states, 2, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(states, 0.2, 1), Discount: 0.8, Beta: 2, Demos: demos}
		p.Prior.Std[1], p.Prior.Mean[states-1] = 0.4, 0.7
		return p
	}
	answer := func(p *irl.Problem) *zoo.Answer {
		t.Helper()
		known := newTree(p)
		if known == nil {
			t.Fatal("a tree was not recognised")
		}
		a, err := known.answer(t.Context())
		if err != nil || a == nil {
			t.Fatalf("no answer (%v)", err)
		}
		return a
	}
	left, right := mdp.Step{}, mdp.Step{Action: 1}
	small := tree(3, left, left, left, right)
	within(t, "a tree of 3 states", &answer(small).Summary, plain(t, small, 60), 5)
	great := tree(7, left, right, right, mdp.Step{State: 2, Action: 1}, mdp.Step{State: 2, Action: 1})
	s := &sampling{problem: newProblem(t, great), proposal: priorProposal{}, stream: streamPrior}
	s.centre, s.scale = unit(great)
	a, err := s.problem.importance(t.Context(), s, 200_000, "")
	if err != nil || a == nil {
		t.Fatalf("no answer from the prior (%v)", err)
	}
	within(t, "a tree of 7 states", &answer(great).Summary, &a.Summary, 5)
	for _, name := range []string{"corridor", "two-roads", "beta-corridor", "pairs-ring"} {
		if newTree(stored(t, name).Problem) != nil {
			t.Errorf("%s: taken for a tree", name)
		}
	}
}

// Errors of weighted moments are those that repetition shows.
func TestMomentErrors(t *testing.T) {
	const repetitions, n = 400, 500
	rng := rand.New(rand.NewPCG(1, 2))
	var means, stds, meanErrors, stdErrors []float64
	for range repetitions {
		m := newMoments([]float64{100}, []float64{3})
		other := newMoments([]float64{100}, []float64{3})
		for i := range n {
			x := 100 + 2*rng.NormFloat64()
			to := m
			if i%3 == 0 {
				to = other
			}
			to.add(0.2*x-math.Mod(x, 1), []float64{x})
		}
		m.merge(other)
		e := m.estimates()
		means, stds = append(means, e.mean[0]), append(stds, e.std[0])
		meanErrors, stdErrors = append(meanErrors, e.meanError[0]), append(stdErrors, e.stdError[0])
	}
	for what, got := range map[string][2]float64{"mean": {stat.Mean(meanErrors, nil), stat.StdDev(means, nil)},
		"std": {stat.Mean(stdErrors, nil), stat.StdDev(stds, nil)}} {
		if ratio := got[0] / got[1]; math.Abs(ratio-1) > 0.15 { // four errors of a deviation from 400 repetitions
			t.Errorf("error of the %s: %g, but it spreads by %g", what, got[0], got[1])
		}
	}
}

// A mixture is a density, and its draws have it.
func TestMixtureIsADensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	points, weights := make([][]float64, 3000), make([]float64, 3000)
	for i := range points {
		side := float64(4*(i%2) - 2)
		points[i], weights[i] = []float64{side + 0.3*rng.NormFloat64(), side + 0.5*rng.NormFloat64()}, 1
	}
	m, ok := fitMixture(points, weights, 4, 1.2, rng)
	if !ok {
		t.Fatal("no mixture")
	}
	// ∫ q = 1 over a grid
	sum, h := 0.0, 0.05
	for x := -9.0; x < 9; x += h {
		for y := -9.0; y < 9; y += h {
			z := []float64{x, y}
			sum += math.Exp(-floats.Dot(z, z)/2-m.logRatio(z)) / (2 * math.Pi) * h * h
		}
	}
	if math.Abs(sum-1) > 1e-3 {
		t.Errorf("the mixture integrates to %g", sum)
	}
	// E_q[prior/q] = 1
	z, ratios := make([]float64, 2), make([]float64, 20000)
	for i := range ratios {
		m.draw(rng, z)
		ratios[i] = math.Exp(m.logRatio(z))
	}
	mean, std := stat.MeanStdDev(ratios, nil)
	if math.Abs(mean-1) > 4*std/math.Sqrt(float64(len(ratios))) {
		t.Errorf("the mean ratio is %g ± %g, want 1", mean, std/math.Sqrt(float64(len(ratios))))
	}
}

// clipped leaves what stands out, and makes the rest the identity.
func TestClipped(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const d, n = 20, 1000
	cov := mat.NewSymDense(d, nil)
	for range n {
		x := make([]float64, d)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		x[0] *= 0.1
		cov.SymRankOne(cov, 1.0/n, mat.NewVecDense(d, x))
	}
	got := clipped(cov, n)
	for i := range d {
		want := 1.0
		if i == 0 {
			want = 0.01
		}
		if math.Abs(got.At(i, i)-want) > 0.02*want+0.01 {
			t.Errorf("variance %d is %g, want %g", i, got.At(i, i), want)
		}
	}
}

// gradients adds a gradient to the likelihood, by an adjoint solve: with g = ∂ log likelihood/∂Q and V = (I − γ P_π)⁻¹
// R_π,
//
//	∂/∂R(s,a) = g(s,a) + u(s) [a = π(s)],   (I − γ P_π)ᵀ u = γ Pᵀ g.
type gradients struct{ *likelihood }

func (g gradients) Dim() int { return g.dim }

func (g gradients) Reward(z []float64) []float64 {
	g.log(z)
	return append([]float64(nil), g.reward...)
}

func (g gradients) LogDensity(z, grad []float64) float64 {
	logp := g.log(z) - floats.Dot(z, z)/2
	p := g.problem
	m, states, actions := p.MDP, p.MDP.States(), p.MDP.Actions()
	policy := mdp.Boltzmann(nil, g.solution.Q, actions, p.Beta)
	slope, back, betaSlope := make([]float64, states*actions), make([]float64, states), 0.0
	system := mat.NewDense(states, states, nil)
	for s := range states {
		demos := floats.Sum(g.counts[s*actions : (s+1)*actions])
		for i := s * actions; i < (s+1)*actions; i++ {
			slope[i] = p.Beta * (g.counts[i] - demos*policy[i])
			betaSlope += slope[i] * g.solution.Q[i] // ∂/∂ log β
			next, prob := m.Row(s, i%actions)
			for k, to := range next {
				back[to] += p.Discount * slope[i] * prob[k]
			}
		}
		system.Set(s, s, 1)
	}
	for s, a := range g.solution.Greedy {
		next, prob := m.Row(s, a)
		for k, to := range next {
			system.Set(s, int(to), system.At(s, int(to))-p.Discount*prob[k])
		}
	}
	var u mat.VecDense
	if err := u.SolveVec(system.T(), mat.NewVecDense(states, back)); err != nil {
		panic(err) // I − γ P_π is regular
	}
	for s, a := range g.solution.Greedy {
		slope[s*actions+a] += u.AtVec(s)
	}
	rewardSlope := slope
	if p.StateOnly() {
		rewardSlope = make([]float64, states)
		for i, v := range slope {
			rewardSlope[i/actions] += v
		}
	}
	factor, err := p.Prior.Factor()
	if err != nil {
		panic(err) // the prior is positive definite
	}
	for j := range rewardSlope {
		grad[j] = -z[j]
		for i := j; i < len(rewardSlope); i++ {
			grad[j] += factor.At(i, j) * rewardSlope[i]
		}
	}
	if p.InfersBeta() {
		n := len(rewardSlope)
		grad[n] = p.BetaLogStd*betaSlope - z[n]
	}
	return logp
}

func TestDensityProperties(t *testing.T) {
	zootest.Density(t, *properties, 1, func(p *irl.Problem) (zootest.LogDensity, error) {
		l, err := newLikelihood(p)
		return gradients{l}, err
	})
}

// Importance sampling from the prior has the properties; of problems about which data say much it says nothing.
func TestAnswerProperties(t *testing.T) {
	zootest.Answers(t, *properties, 2, func(p *irl.Problem) (*summary.Summary, error) {
		e := newProblem(t, p)
		s := &sampling{problem: e, proposal: priorProposal{}, stream: streamPrior}
		s.centre, s.scale = unit(p)
		if err := s.extend(context.Background(), 4); err != nil {
			return nil, err
		}
		if s.moments.effectiveSize() < 500 {
			return nil, nil
		}
		out := s.moments.estimates().summary(p)
		return &out, nil
	})
}
