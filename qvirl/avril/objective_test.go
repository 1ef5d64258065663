package avril

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// smallProblems are 3×2 gridworlds with a terminal state, and every kind of prior.
func smallProblems(t *testing.T) map[string]*irl.Problem {
	t.Helper()
	terminal := []bool{false, false, true, false, false, false}
	w, err := gridworld.New(3, 2, make([]float64, 6), terminal, 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 0))
	out := map[string]*irl.Problem{}
	for name, n := range map[string]int{"state-only": 6, "state-action": 30} {
		prior := irl.IndependentPrior(n, 0, 1)
		root := mat.NewDense(n, n, nil)
		for i := range prior.Mean {
			prior.Mean[i], prior.Std[i] = rng.NormFloat64(), 0.5+rng.Float64()
			for j := 0; j < n; j++ {
				root.Set(i, j, rng.NormFloat64())
			}
			root.Set(i, i, root.At(i, i)+3)
		}
		var cov mat.SymDense
		cov.SymOuterK(1, root)
		demos := []mdp.Step{{State: 0, Action: 2}, {State: 1, Action: 2}, {State: 1, Action: 3}, {State: 2, Action: 0}}
		for kind, prior := range map[string]irl.Prior{"independent": prior, "correlated": {Mean: prior.Mean,
			Cov: &cov}} {
			p := &irl.Problem{MDP: w.MDP, Prior: prior, Discount: 0.8, Beta: 1.5, Demos: demos}
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			out[name+", "+kind] = p
		}
	}
	return out
}

func randomPoint(seed uint64, p *irl.Problem) *point {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := newPoint(p.MDP.States()*p.MDP.Actions(), p.RewardDim())
	for i := range x.flat {
		x.flat[i] = rng.NormFloat64()
	}
	return x
}

// The objective agrees with one written down term by term from the definition, with dense arrays and Gonum's KL.
func TestObjectiveByDefinition(t *testing.T) {
	const lambda = 0.3
	for name, p := range smallProblems(t) {
		o, err := newObjective(p, lambda)
		if err != nil {
			t.Fatal(err)
		}
		x := randomPoint(2, p)
		states, actions, n := p.MDP.States(), p.MDP.Actions(), p.RewardDim()
		policy := mdp.Boltzmann(nil, x.q, actions, p.Beta)
		want := 0.0
		for _, d := range p.Demos {
			want += math.Log(policy[d.State*actions+d.Action])
		}
		dense := p.MDP.Dense()
		for i, q := range x.q {
			r := q
			for next := 0; next < states; next++ {
				best := math.Inf(-1)
				for a := 0; a < actions; a++ {
					best = math.Max(best, x.q[next*actions+a])
				}
				r -= p.Discount * dense[i*states+next] * best
			}
			j := i
			if p.StateOnly() {
				j = i / actions
			}
			z := (r - x.mean[j]) / math.Exp(x.logStd[j])
			want += lambda * (-z*z/2 - x.logStd[j] - math.Log(2*math.Pi)/2)
		}
		cov := mat.NewSymDense(n, nil)
		for i, l := range x.logStd {
			cov.SetSym(i, i, math.Exp(2*l))
		}
		q, ok1 := distmv.NewNormal(x.mean, cov, nil)
		prior, ok2 := distmv.NewNormal(p.Prior.Mean, p.Prior.Covariance(), nil)
		if !ok1 || !ok2 {
			t.Fatal("a covariance is not positive definite")
		}
		want -= distmv.KullbackLeibler{}.DistNormal(q, prior)
		got := o.evaluate(x, newPoint(states*actions, n))
		if !scalar.EqualWithinAbs(got, want, 1e-9*math.Abs(want)) {
			t.Errorf("%s: objective %v, want %v", name, got, want)
		}
	}
}

func TestGradientAgainstFiniteDifferences(t *testing.T) {
	for name, p := range smallProblems(t) {
		for _, lambda := range []float64{0, 0.7} {
			o, err := newObjective(p, lambda)
			if err != nil {
				t.Fatal(err)
			}
			for seed := uint64(3); seed < 6; seed++ {
				x := randomPoint(seed, p)
				pairs, n := len(x.q), len(x.mean)
				got, trial, unused := newPoint(pairs, n), newPoint(pairs, n), newPoint(pairs, n)
				o.evaluate(x, got)
				want := fd.Gradient(nil, func(flat []float64) float64 {
					copy(trial.flat, flat)
					return o.evaluate(trial, unused)
				}, x.flat, &fd.Settings{Formula: fd.Central})
				for i := range want { // relative to the size of the terms that cancel
					if !scalar.EqualWithinAbs(got.flat[i], want[i], 1e-6*(1+math.Abs(want[i]))) {
						t.Errorf("%s, λ = %g: derivative %d is %v, want %v", name, lambda, i, got.flat[i], want[i])
					}
				}
			}
		}
	}
}
