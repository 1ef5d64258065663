package valuewalk

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// smallProblems are one problem of each kind: state-only and state-action rewards, independent and correlated priors.
// In the state-only MDP, state 2 has an action that ends the episode beside others that do not.
func smallProblems(t testing.TB) map[string]*irl.Problem {
	t.Helper()
	rows := [][]mdp.Transition{
		{{Next: 0, Prob: 0.7}, {Next: 1, Prob: 0.3}}, {{Next: 2, Prob: 1}},
		{{Next: 0, Prob: 0.5}, {Next: 2, Prob: 0.5}}, {{Next: 1, Prob: 1}},
		{{Next: 0, Prob: 0.2}, {Next: 2, Prob: 0.8}}, nil,
		nil, nil,
	}
	m, err := mdp.New(4, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	demos := []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 1}, {State: 0, Action: 0}, {State: 1, Action: 0},
		{State: 2, Action: 1}}
	correlated := func(n int) irl.Prior {
		cov := mat.NewSymDense(n, nil)
		mean := make([]float64, n)
		for i := range mean {
			mean[i] = 0.3 * float64(i%3)
			for j := i; j < n; j++ {
				cov.SetSym(i, j, 2*math.Exp(-0.5*float64(j-i)))
			}
		}
		return irl.Prior{Mean: mean, Cov: cov}
	}
	problem := func(prior irl.Prior) *irl.Problem {
		return &irl.Problem{MDP: m, Prior: prior, Discount: 0.8, Beta: 1.5, Demos: demos}
	}
	return map[string]*irl.Problem{
		"state-only":               problem(irl.IndependentPrior(4, 0.5, 1.5)),
		"state-only, correlated":   problem(correlated(4)),
		"state-action":             problem(irl.IndependentPrior(8, 0.5, 1.5)),
		"state-action, correlated": problem(correlated(8)),
	}
}

// withUnknownBeta adds the same problems with a prior over β.
func withUnknownBeta(t testing.TB) map[string]*irl.Problem {
	out := smallProblems(t)
	for name, p := range smallProblems(t) {
		p.BetaLogStd = 0.7
		out[name+", β inferred"] = p
	}
	return out
}

func randomPosition(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 2 * rng.NormFloat64()
	}
	return x
}

// TestInvertInvertsSolve checks that the rewards read off the optimal values of a reward are that reward.
func TestInvertInvertsSolve(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for name, p := range smallProblems(t) {
		target, err := newTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			reward := randomPosition(target.n, rng)
			sol, err := p.MDP.Solve(reward, p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			x := sol.Q
			if p.StateOnly() {
				x = sol.V
			}
			target.invert(x)
			for i, r := range reward {
				if !scalar.EqualWithinAbs(target.reward[i], r, 1e-10*(1+math.Abs(r))) {
					t.Fatalf("%s: reward %d is %g, want %g", name, i, target.reward[i], r)
				}
			}
		}
	}
}

// TestDensity compares the log density with its definition: the prior at the rewards and the Boltzmann likelihood at
// the optimal Q-values that package mdp finds for them.
func TestDensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for name, p := range withUnknownBeta(t) {
		target, err := newTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		density := func(x []float64) (got, want float64) {
			got = target.eval(x, make([]float64, target.dim))
			d := mat.NewVecDense(target.n, nil)
			for i, r := range target.reward {
				d.SetVec(i, r-p.Prior.Mean[i])
			}
			var solved mat.VecDense
			if err := solved.SolveVec(p.Prior.Covariance(), d); err != nil {
				t.Fatal(err)
			}
			sol, err := p.MDP.Solve(target.reward, p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			want = -0.5 * mat.Dot(d, &solved)
			if p.InfersBeta() {
				fixed := *p
				fixed.Beta = math.Exp(x[target.n])
				z := (x[target.n] - math.Log(p.Beta)) / p.BetaLogStd
				return got, want - 0.5*z*z + logLikelihood(&fixed, sol.Q)
			}
			want += logLikelihood(p, sol.Q)
			return got, want
		}
		base, baseWant := density(randomPosition(target.dim, rng))
		for range 20 {
			got, want := density(randomPosition(target.dim, rng))
			if !scalar.EqualWithinAbs(got-base, want-baseWant, 1e-9*(1+math.Abs(want))) { // both are up to a constant
				t.Fatalf("%s: log density rises by %g, want %g", name, got-base, want-baseWant)
			}
		}
	}
}

func logLikelihood(p *irl.Problem, q []float64) float64 {
	policy := mdp.Boltzmann(nil, q, p.MDP.Actions(), p.Beta)
	sum := 0.0
	for _, d := range p.Demos {
		sum += math.Log(policy[d.State*p.MDP.Actions()+d.Action])
	}
	return sum
}

// TestLoopsOfManyStates: each of 400 states is best left alone, which has a probability of ending of one in a thousand;
// their product is below any float64.
func TestLoopsOfManyStates(t *testing.T) {
	const states, discount = 400, 0.999
	rows := make([][]mdp.Transition, 2*states)
	x := make([]float64, states)
	for s := range states {
		rows[2*s], rows[2*s+1] = []mdp.Transition{{Next: s, Prob: 1}}, []mdp.Transition{{Next: 0, Prob: 1}}
		x[s] = 10 * float64(min(s, 1))
	}
	rows[1] = []mdp.Transition{{Next: 0, Prob: 0.5}, {Next: 1, Prob: 0.5}}
	x[0] = -10
	m, err := mdp.New(states, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	target, err := newTarget(&irl.Problem{MDP: m, Prior: irl.IndependentPrior(states, 0, 1), Discount: discount,
		Beta: 1})
	if err != nil {
		t.Fatal(err)
	}
	grad := make([]float64, states)
	target.eval(x, grad)
	want := (states-1)*math.Log(1-discount) + math.Log(1-discount/2) // state 0 is best left
	if got := target.addLoopForce(x, grad); math.Abs(got-want) > 1e-6*math.Abs(want) {
		t.Errorf("the logarithm of the product is %g, want %g", got, want)
	}
	if exact := target.logDet(); math.Abs(exact-want) > 1e-6*math.Abs(want) {
		t.Errorf("log det is %g, want %g", exact, want)
	}
}

// TestGradients compares the force's two parts with central differences. Random positions lie on no boundary between
// greedy policies, where the gradient does not exist.
func TestGradients(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const h = 1e-6
	for name, p := range withUnknownBeta(t) {
		target, err := newTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		scratch := make([]float64, target.dim)
		loop := func(x []float64) float64 {
			target.eval(x, scratch)
			return target.addLoopForce(x, scratch)
		}
		for range 10 {
			x := randomPosition(target.dim, rng)
			smooth, both := make([]float64, target.dim), make([]float64, target.dim)
			target.eval(x, smooth)
			target.eval(x, both)
			target.addLoopForce(x, both)
			for i, at := range x {
				x[i] = at + h
				up, upLoop := target.eval(x, scratch), loop(x)
				x[i] = at - h
				down, downLoop := target.eval(x, scratch), loop(x)
				x[i] = at
				want, wantLoop := (up-down)/(2*h), (upLoop-downLoop)/(2*h)
				// central differences: h² truncation and 1e-16/h rounding of densities of order 10
				if !scalar.EqualWithinAbs(smooth[i], want, 1e-6*(1+math.Abs(want))) {
					t.Errorf("%s: gradient %d is %g, want %g", name, i, smooth[i], want)
				}
				if got := both[i] - smooth[i]; !scalar.EqualWithinAbs(got, wantLoop, 1e-6*(1+math.Abs(wantLoop))) {
					t.Errorf("%s: gradient %d of the stand-in is %g, want %g", name, i, got, wantLoop)
				}
			}
		}
	}
}

// TestLogDetIsJacobian compares log det(I − γ P_π) with the determinant of the numerical Jacobian ∂R/∂x, of size n×n.
func TestLogDetIsJacobian(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	problems := smallProblems(t)
	world, err := gridworld.New(3, 2, make([]float64, 6), []bool{false, false, true, false, false, false}, 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	problems["gridworld"] = &irl.Problem{MDP: world.MDP, Prior: irl.IndependentPrior(6, 0, 1), Discount: 0.9, Beta: 1}
	problems["gridworld, state-action"] = &irl.Problem{MDP: world.MDP, Prior: irl.IndependentPrior(30, 0, 1),
		Discount: 0.9, Beta: 1}
	const h = 1e-6
	for name, p := range problems {
		target, err := newTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		spread := 0.0
		for range 10 {
			x := randomPosition(target.n, rng)
			target.invert(x)
			got := target.logDet()
			spread = math.Max(spread, math.Abs(got))
			jacobian := mat.NewDense(target.n, target.n, nil)
			for j, at := range x {
				x[j] = at + h
				target.invert(x)
				up := append([]float64(nil), target.reward...)
				x[j] = at - h
				target.invert(x)
				x[j] = at
				for i := range up {
					jacobian.Set(i, j, (up[i]-target.reward[i])/(2*h))
				}
			}
			want, _ := mat.LogDet(jacobian)
			if !scalar.EqualWithinAbs(got, want, 1e-6) { // R is piecewise linear: only rounding, 1e-16/h, is left
				t.Errorf("%s: log det = %g, want %g", name, got, want)
			}
		}
		if spread < 0.1 {
			t.Errorf("%s: the determinants are all near 1 and prove nothing", name)
		}
	}
}

// TestCurvature compares the mass matrix with central differences of the gradient. The Hessian of log softmax does not
// depend on which actions were demonstrated, only on how many, and the scores are linear away from policy boundaries,
// so that Gauss–Newton is exact.
func TestCurvature(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const h = 1e-5
	for name, p := range withUnknownBeta(t) {
		target, err := newTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		n := target.dim
		x := randomPosition(n, rng)
		grad := make([]float64, n)
		target.eval(x, grad)
		// demonstrations as they are expected at x, which leave only the Fisher information in β
		for d := range target.demoed {
			for a := range target.actions {
				i := d*target.actions + a
				target.counts[i] -= target.scoreG[i] / target.scoreScale()
			}
		}
		target.eval(x, grad)
		curvature := make([]float64, n*n)
		target.addCurvature(curvature)
		up, down := make([]float64, n), make([]float64, n)
		for j, at := range x {
			x[j] = at + h
			target.eval(x, up)
			x[j] = at - h
			target.eval(x, down)
			x[j] = at
			for i := range up {
				want := -(up[i] - down[i]) / (2 * h)
				if got := curvature[i*n+j]; !scalar.EqualWithinAbs(got, want, 1e-6*(1+math.Abs(want))) {
					t.Errorf("%s: curvature [%d,%d] = %g, want %g", name, i, j, got, want)
				}
			}
		}
	}
}
