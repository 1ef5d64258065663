// Package zootest tests samplers by properties that every exact posterior has, on random problems:
//
//   - rewards in a unit c times smaller, and β c times larger, give the answer in that unit;
//   - relabelled states and actions relabel the answer;
//   - a part of the world that cannot be reached from any demonstration keeps its prior, and changes nothing elsewhere;
//   - the order of demonstrations changes nothing;
//   - a tighter prior of a reward does not widen its posterior, up to widening.
//
// Density tests a log density in whitened coordinates by them, exactly; Answers tests a whole method, up to its errors.
package zootest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
)

// Problem returns a random problem of at most four states and three actions: rewards of states or of pairs, independent
// or correlated, with and without an end, β known or not, and at most six demonstrated steps.
func Problem(rng *rand.Rand) *irl.Problem {
	states, actions := 1+rng.IntN(4), 1+rng.IntN(3)
	rows := make([][]mdp.Transition, states*actions)
	ends := 0.0
	if rng.IntN(2) == 0 {
		ends = 0.2
	}
	for i := range rows {
		if rng.Float64() < ends {
			continue
		}
		sum := 0.0
		for _, next := range rng.Perm(states)[:1+rng.IntN(states)] {
			w := rng.ExpFloat64()
			rows[i], sum = append(rows[i], mdp.Transition{Next: next, Prob: w}), sum+w
		}
		for j := range rows[i] {
			rows[i][j].Prob /= sum
		}
	}
	m, err := mdp.New(states, actions, rows, nil)
	if err != nil {
		panic(err) // the rows sum to one
	}
	p := &irl.Problem{MDP: m, Discount: []float64{0, 0.5, 0.9, 0.99, 0.999}[rng.IntN(5)],
		Beta: math.Exp(rng.NormFloat64())}
	n := states
	if rng.IntN(3) == 0 {
		n = states * actions
	}
	p.Prior = irl.Prior{Mean: make([]float64, n)}
	std := make([]float64, n)
	for i := range std {
		p.Prior.Mean[i], std[i] = rng.NormFloat64(), math.Exp(rng.NormFloat64())
	}
	if rng.IntN(2) == 0 {
		p.Prior.Std = std
	} else {
		root := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range n {
				root.Set(i, j, std[i]*rng.NormFloat64())
			}
		}
		p.Prior.Cov = mat.NewSymDense(n, nil)
		p.Prior.Cov.SymOuterK(1, root)
		for i := range n {
			p.Prior.Cov.SetSym(i, i, p.Prior.Cov.At(i, i)+0.1*std[i]*std[i])
		}
	}
	if rng.IntN(5) == 0 {
		p.BetaLogStd = 0.3
	}
	for range rng.IntN(7) {
		p.Demos = append(p.Demos, mdp.Step{State: rng.IntN(states), Action: rng.IntN(actions)})
	}
	return p
}

// change is a problem that is made of another, and what becomes of its answer.
type change struct {
	name    string
	problem *irl.Problem
	reward  func(r []float64) []float64 // the new problem's reward that corresponds to one of the old problem
	expect  func(*summary.Summary) *summary.Summary
}

// changes returns the changes of a problem that leave its density the same, up to a constant.
func changes(rng *rand.Rand, p *irl.Problem) []change {
	return []change{scale(rng, p), relabel(rng, p), extend(rng, p), reorder(rng, p)}
}

// scale multiplies rewards by c, and divides β by it.
func scale(rng *rand.Rand, p *irl.Problem) change {
	c := math.Exp(3 * rng.NormFloat64())
	q := *p
	times := func(x []float64, c float64) []float64 { return floats.ScaleTo(make([]float64, len(x)), c, x) }
	q.Prior.Mean, q.Beta = times(p.Prior.Mean, c), p.Beta/c
	if p.Prior.Std != nil {
		q.Prior.Std = times(p.Prior.Std, c)
	} else {
		q.Prior.Cov = new(mat.SymDense)
		q.Prior.Cov.ScaleSym(c*c, p.Prior.Cov)
	}
	in := func(x []float64) []float64 { return times(x, c) }
	return change{"another unit", &q, in, func(s *summary.Summary) *summary.Summary {
		return mapped(s, in, in, func(policy []float64) []float64 { return policy }, 1/c)
	}}
}

// mapped returns a summary and its errors, of which the functions change the numbers of rewards, of state values and of
// the policy, and β is multiplied by a factor.
func mapped(s *summary.Summary, rewards, values, policy func([]float64) []float64, beta float64) *summary.Summary {
	if s == nil {
		return nil
	}
	return &summary.Summary{RewardMean: rewards(s.RewardMean), RewardStd: rewards(s.RewardStd),
		ValueMean: values(s.ValueMean), ValueStd: values(s.ValueStd), Policy: policy(s.Policy),
		BetaMean: beta * s.BetaMean, BetaStd: beta * s.BetaStd,
		Error: mapped(s.Error, rewards, values, policy, beta)}
}

// relabel permutes states, and actions in all states alike.
func relabel(rng *rand.Rand, p *irl.Problem) change {
	states, actions := p.MDP.States(), p.MDP.Actions()
	ofState, ofAction := rng.Perm(states), rng.Perm(actions) // new number of the old one
	state := func(i int) int { return ofState[i] }
	pair := func(i int) int { return ofState[i/actions]*actions + ofAction[i%actions] }
	rewardOf := pair
	if p.StateOnly() {
		rewardOf = state
	}
	moving := func(to func(int) int) func(x []float64) []float64 {
		return func(x []float64) []float64 {
			out := make([]float64, len(x))
			for i, v := range x {
				out[to(i)] = v
			}
			return out
		}
	}
	rows := make([][]mdp.Transition, states*actions)
	for i := range rows {
		next, prob := p.MDP.Row(i/actions, i%actions)
		for k, to := range next {
			rows[pair(i)] = append(rows[pair(i)], mdp.Transition{Next: ofState[to], Prob: prob[k]})
		}
	}
	m, err := mdp.New(states, actions, rows, nil)
	if err != nil {
		panic(err) // it is the old one
	}
	q := *p
	q.MDP, q.Demos = m, nil
	for _, d := range p.Demos {
		q.Demos = append(q.Demos, mdp.Step{State: ofState[d.State], Action: ofAction[d.Action]})
	}
	rewards := moving(rewardOf)
	q.Prior = irl.Prior{Mean: rewards(p.Prior.Mean)}
	if p.Prior.Std != nil {
		q.Prior.Std = rewards(p.Prior.Std)
	} else {
		q.Prior.Cov = mat.NewSymDense(p.RewardDim(), nil)
		for i := range p.RewardDim() {
			for j := i; j < p.RewardDim(); j++ {
				q.Prior.Cov.SetSym(rewardOf(i), rewardOf(j), p.Prior.Cov.At(i, j))
			}
		}
	}
	return change{"other names", &q, rewards, func(s *summary.Summary) *summary.Summary {
		return mapped(s, rewards, moving(state), moving(pair), 1)
	}}
}

// reorder shuffles the demonstrations.
func reorder(rng *rand.Rand, p *irl.Problem) change {
	q := *p
	q.Demos = nil
	for _, i := range rng.Perm(len(p.Demos)) {
		q.Demos = append(q.Demos, p.Demos[i])
	}
	return change{"another order of demonstrations", &q, func(r []float64) []float64 { return r },
		func(s *summary.Summary) *summary.Summary { return s }}
}

// extend adds a state that leads into the world, and that no part of the world leads to.
func extend(rng *rand.Rand, p *irl.Problem) change {
	states, actions := p.MDP.States(), p.MDP.Actions()
	rows := make([][]mdp.Transition, (states+1)*actions)
	for i := range rows {
		if i >= states*actions {
			rows[i] = []mdp.Transition{{Next: rng.IntN(states + 1), Prob: 1}}
			continue
		}
		next, prob := p.MDP.Row(i/actions, i%actions)
		for k, to := range next {
			rows[i] = append(rows[i], mdp.Transition{Next: int(to), Prob: prob[k]})
		}
	}
	m, err := mdp.New(states+1, actions, rows, nil)
	if err != nil {
		panic(err) // it is the old one and a deterministic row
	}
	q := *p
	q.MDP = m
	more := 1
	if !p.StateOnly() {
		more = actions
	}
	n := p.RewardDim()
	mean, std := rng.NormFloat64(), math.Exp(rng.NormFloat64())
	q.Prior = irl.Prior{Mean: slices.Concat(p.Prior.Mean, constant(more, mean))}
	if p.Prior.Std != nil {
		q.Prior.Std = slices.Concat(p.Prior.Std, constant(more, std))
	} else {
		q.Prior.Cov = mat.NewSymDense(n+more, nil)
		for i := range n + more {
			for j := i; j < n+more; j++ {
				switch {
				case j < n:
					q.Prior.Cov.SetSym(i, j, p.Prior.Cov.At(i, j))
				case i == j:
					q.Prior.Cov.SetSym(i, j, std*std)
				}
			}
		}
	}
	var extended func(s *summary.Summary, mean, std float64) *summary.Summary
	extended = func(s *summary.Summary, mean, std float64) *summary.Summary {
		if s == nil {
			return nil
		}
		join := func(x []float64, n int, v float64) []float64 { return slices.Concat(x, constant(n, v)) }
		nan := math.NaN() // is not compared
		return &summary.Summary{RewardMean: join(s.RewardMean, more, mean), RewardStd: join(s.RewardStd, more, std),
			ValueMean: join(s.ValueMean, 1, nan),
			ValueStd:  join(s.ValueStd, 1, nan), Policy: join(s.Policy, actions,
				nan), BetaMean: s.BetaMean, BetaStd: s.BetaStd, Error: extended(s.Error, 0, 0)}
	}
	return change{"an unreachable state", &q,
		func(r []float64) []float64 { return slices.Concat(r, q.Prior.Mean[n:]) },
		func(s *summary.Summary) *summary.Summary { return extended(s, mean, std) }}
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// LogDensity is a posterior density in the whitened coordinates z of the prior.
type LogDensity interface {
	Dim() int
	// LogDensity returns log N(z; 0, I) + log likelihood up to a constant, and writes its gradient to grad.
	LogDensity(z, grad []float64) float64
	// Reward returns R = m + L z[:n]; log β = log β₀ + σ z[n] where β is inferred.
	Reward(z []float64) []float64
}

// T is what is told of failures: a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Density tests the densities of n random problems by the properties, and their gradients by differences.
func Density(t T, n int, seed uint64, density func(*irl.Problem) (LogDensity, error)) {
	t.Helper()
	must := func(p *irl.Problem) LogDensity {
		d, err := density(p)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		p := Problem(rng)
		old := must(p)
		z, z0 := make([]float64, old.Dim()), make([]float64, old.Dim())
		for k := range z {
			z[k], z0[k] = rng.NormFloat64(), rng.NormFloat64()
		}
		difference := func(d LogDensity, a, b []float64) float64 {
			grad := make([]float64, len(a))
			return d.LogDensity(a, grad) - d.LogDensity(b, grad)
		}
		want := logDensity(p, old.Reward(z), z) - logDensity(p, old.Reward(z0), z0)
		if got := difference(old, z, z0); !close(got, want) {
			t.Errorf("problem %d: the density changes by %g between two points, want %g", i, got, want)
		}
		checkGradient(t, i, old, z)
		for _, c := range changes(rng, p) {
			d := must(c.problem)
			to := func(z []float64) []float64 {
				out := whiten(d, c.reward(old.Reward(z)))
				if p.InfersBeta() {
					out = append(out, z[len(z)-1])
				}
				return out
			}
			if got, want := difference(d, to(z), to(z0)), difference(old, z, z0); !close(got, want) {
				t.Errorf("problem %d: with %s the density changes by %g between two points, before by %g", i, c.name,
					got, want)
			}
		}
	}
}

func close(a, b float64) bool { return math.Abs(a-b) <= 1e-7*(1+math.Abs(a)+math.Abs(b)) }

// logDensity is the density at a reward with the whitened coordinates z, by value iteration.
func logDensity(p *irl.Problem, reward, z []float64) float64 {
	q, _, err := p.MDP.ValueIteration(reward, p.Discount, 1e-10)
	if err != nil {
		panic(err) // the reward is finite
	}
	at := *p
	if p.InfersBeta() {
		at.Beta *= math.Exp(p.BetaLogStd * z[len(z)-1])
	}
	return at.LogLikelihood(q, p.DemoCounts()) - floats.Dot(z, z)/2
}

// whiten returns the z[:n] of a reward: Reward is affine.
func whiten(d LogDensity, reward []float64) []float64 {
	n := len(reward)
	z := make([]float64, d.Dim())
	origin := slices.Clone(d.Reward(z))
	lower := mat.NewDense(n, n, nil)
	for j := range n {
		z[j] = 1
		for i, v := range d.Reward(z) {
			lower.Set(i, j, v-origin[i])
		}
		z[j] = 0
	}
	var out mat.VecDense
	if err := out.SolveVec(lower, mat.NewVecDense(n, floats.SubTo(make([]float64, n), reward, origin))); err != nil {
		if _, ok := err.(mat.Condition); !ok {
			panic(err) // the prior is positive definite
		}
	}
	return out.RawVector().Data
}

// checkGradient compares the gradient with central differences, but where these disagree with themselves: at a kink.
func checkGradient(t T, i int, d LogDensity, z []float64) {
	t.Helper()
	grad, scratch := make([]float64, len(z)), make([]float64, len(z))
	d.LogDensity(z, grad)
	at := slices.Clone(z)
	for k := range z {
		slope := func(h float64) float64 {
			at[k] = z[k] + h
			up := d.LogDensity(at, scratch)
			at[k] = z[k]
			return (up - d.LogDensity(at, scratch)) / h
		}
		// slopes to both sides, less the curvature's part
		const h = 1e-5
		up, down := slope(h), slope(-h)
		if math.Abs(up-down) > 1e-2*(1+math.Abs(up)) {
			continue
		}
		if want := (up + down) / 2; math.Abs(grad[k]-want) > 1e-4*(1+math.Abs(want)) {
			t.Errorf("problem %d: gradient[%d] = %g, differences give %g", i, k, grad[k], want)
		}
	}
}

// errorsApart is how many Monte Carlo errors two answers may differ by: a few ten thousand numbers are compared.
const errorsApart = 6

// widening is by how much a tighter prior may widen a posterior, relative to it: what the data say need not be
// log-concave, and then it can, a little.
const widening = 0.05

// Answers tests the answers of a method to n random problems, each by one of the properties. fit may return nil to
// pass.
func Answers(t T, n int, seed uint64, fit func(*irl.Problem) (*summary.Summary, error)) {
	t.Helper()
	must := func(p *irl.Problem) *summary.Summary {
		s, err := fit(p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	passed := 0
	for i := range n {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		p := Problem(rng)
		before := must(p)
		which := changes(rng, p)
		var after, want *summary.Summary
		if k := rng.IntN(len(which) + 1); k < len(which) {
			after = must(which[k].problem)
			if before == nil || after == nil {
				passed++
				continue
			}
			want = which[k].expect(before)
			compare(t, i, which[k].name, after, want)
			continue
		}
		j := rng.IntN(p.RewardDim())
		if after = must(tighter(p, j)); before == nil || after == nil {
			passed++
			continue
		}
		slack := errorsApart * math.Hypot(at(before, func(s *summary.Summary) []float64 { return s.RewardStd }, j),
			at(after, func(s *summary.Summary) []float64 { return s.RewardStd }, j))
		if after.RewardStd[j] > before.RewardStd[j]*(1+widening)+slack {
			t.Errorf("problem %d: a tighter prior of reward %d widens its posterior from %g to %g", i, j,
				before.RewardStd[j], after.RewardStd[j])
		}
	}
	if passed > n/5 {
		t.Errorf("%d of %d problems had no answer", passed, n)
	}
}

// tighter adds to the prior what an observation of reward j would, whose value is its mean and whose error its
// deviation: the precision of the reward grows, and its mean stays.
func tighter(p *irl.Problem, j int) *irl.Problem {
	q := *p
	cov := p.Prior.Covariance()
	variance := cov.At(j, j)
	q.Prior = irl.Prior{Mean: p.Prior.Mean, Cov: mat.NewSymDense(p.RewardDim(), nil)}
	for a := range p.RewardDim() {
		for b := a; b < p.RewardDim(); b++ {
			q.Prior.Cov.SetSym(a, b, cov.At(a, b)-cov.At(a, j)*cov.At(j, b)/(2*variance))
		}
	}
	return &q
}

// at is the error of a number, 0 if there is none.
func at(s *summary.Summary, of func(*summary.Summary) []float64, i int) float64 {
	if s.Error == nil || len(of(s.Error)) == 0 {
		return 0
	}
	return of(s.Error)[i]
}

func compare(t T, i int, name string, got, want *summary.Summary) {
	t.Helper()
	for what, of := range map[string]func(*summary.Summary) []float64{
		"reward means":         func(s *summary.Summary) []float64 { return s.RewardMean },
		"reward deviations":    func(s *summary.Summary) []float64 { return s.RewardStd },
		"value means":          func(s *summary.Summary) []float64 { return s.ValueMean },
		"value deviations":     func(s *summary.Summary) []float64 { return s.ValueStd },
		"action probabilities": func(s *summary.Summary) []float64 { return s.Policy },
		"β":                    func(s *summary.Summary) []float64 { return []float64{s.BetaMean, s.BetaStd} },
	} {
		for k, w := range of(want) {
			if math.IsNaN(w) {
				continue
			}
			g := of(got)[k]
			if d := math.Abs(g - w); !(d <= errorsApart*math.Hypot(at(got, of, k), at(want, of, k))+1e-9*math.Abs(w)) {
				t.Errorf("problem %d: with %s, %s[%d] are %g, want %g", i, name, what, k, g, w)
			}
		}
	}
}
