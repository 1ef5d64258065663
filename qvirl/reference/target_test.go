package reference

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// targets are problems of every kind of reward, prior and β on one random world.
func targets(t testing.TB) map[string]*irl.Problem {
	t.Helper()
	const states, actions = 6, 3
	rng := rand.New(rand.NewPCG(5, 0))
	m := randomMDP(t, rng, states, actions)
	var demos []mdp.Step
	for range 8 {
		demos = append(demos, mdp.Step{State: rng.IntN(states), Action: rng.IntN(actions)})
	}
	random := func(r, c int) *mat.Dense {
		out := mat.NewDense(r, c, nil)
		for i := range r * c {
			out.RawMatrix().Data[i] = rng.NormFloat64()
		}
		return out
	}
	covariance := func(n, rank int) *mat.SymDense {
		var cov mat.SymDense
		cov.SymOuterK(1, random(n, rank))
		return &cov
	}
	mean := func(n int) []float64 { return random(1, n).RawMatrix().Data }
	std := func(n int) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Exp(rng.NormFloat64())
		}
		return out
	}
	someKnown := func(n int) irl.Prior {
		p := irl.Prior{Mean: mean(n), LowRank: mat.NewDense(n, 1, nil), Std: std(n)}
		p.LowRank.Set(0, 0, p.Std[0]) // as problem files give them
		p.Std[0], p.Std[1], p.Std[n-1] = 0, 0, 0
		return p
	}
	const pairs = states * actions
	out := map[string]*irl.Problem{}
	for name, prior := range map[string]irl.Prior{
		"states, independent": {Mean: mean(states), Std: std(states)},
		"states, dense":       {Mean: mean(states), Cov: covariance(states, states)},
		"states, singular":    {Mean: mean(states), Cov: covariance(states, 2)},
		"states, low rank":    {Mean: mean(states), LowRank: random(states, 2), Std: std(states)},
		"pairs, independent":  {Mean: mean(pairs), Std: std(pairs)},
		"pairs, dense":        {Mean: mean(pairs), Cov: covariance(pairs, pairs)},
		"pairs, low rank":     {Mean: mean(pairs), LowRank: random(pairs, 3)},
		"states, known":       someKnown(states),
		"pairs, known":        someKnown(pairs),
	} {
		out[name] = &irl.Problem{MDP: m, Prior: prior, Discount: 0.95, Beta: 1.5, Demos: demos}
		inferred := *out[name]
		inferred.BetaLogStd = 0.7
		out[name+", β inferred"] = &inferred
	}
	return out
}

// scores returns β Q(s,a) of all pairs, and β, at whitened rewards u, by the prior's factor and mdp.Solve.
func scores(t testing.TB, p *irl.Problem, u []float64) (out []float64, beta float64) {
	t.Helper()
	factor, err := p.Prior.Factor()
	if err != nil {
		t.Fatal(err)
	}
	n, k := factor.Dims()
	reward := mat.NewVecDense(n, nil)
	reward.MulVec(factor, mat.NewVecDense(k, u[:k]))
	floats.Add(reward.RawVector().Data, p.Prior.Mean)
	solution, err := p.MDP.Solve(reward.RawVector().Data, p.Discount)
	if err != nil {
		t.Fatal(err)
	}
	beta = p.Beta
	if p.InfersBeta() {
		beta *= math.Exp(p.BetaLogStd * u[k])
	}
	floats.Scale(beta, solution.Q)
	return solution.Q, beta
}

// TestLogLikelihoodAndGradient compares the likelihood with that of the problem, and its gradient with central
// differences.
func TestLogLikelihoodAndGradient(t *testing.T) {
	const h = 1e-5
	for name, p := range targets(t) {
		target, err := NewTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(6, 0))
		smooth, unit := 0, *p
		unit.Beta = 1 // the scores have β in them
		grad, numeric := make([]float64, target.Dim()), make([]float64, target.Dim())
		for range 10 {
			u := normal(rng, target.Dim())
			got := target.LogLikelihood(u, grad)
			q, _ := scores(t, p, u)
			want := unit.LogLikelihood(q, p.DemoCounts())
			if !scalar.EqualWithinAbsOrRel(got, want, 1e-10, 1e-10) || want == 0 {
				t.Errorf("%s: log-likelihood %.14g, want %.14g", name, got, want)
			}
			policy := append([]int(nil), target.solution.Greedy...)
			kink := false
			for i := range u {
				at := u[i]
				u[i] = at + h
				above := target.LogLikelihood(u, nil)
				kink = kink || !slices.Equal(policy, target.solution.Greedy)
				u[i] = at - h
				below := target.LogLikelihood(u, nil)
				kink = kink || !slices.Equal(policy, target.solution.Greedy)
				u[i], numeric[i] = at, (above-below)/(2*h)
			}
			if kink { // another action becomes the best: there the likelihood has no derivative
				continue
			}
			smooth++
			// h² of the third derivative, and rounding of the likelihood over h
			tolerance := 1e-6 * (1 + floats.Norm(numeric, math.Inf(1)) + math.Abs(want))
			if !(floats.Distance(grad, numeric, math.Inf(1)) <= tolerance) {
				t.Errorf("%s: gradient %.7g, by differences %.7g", name, grad, numeric)
			}
		}
		if smooth < 5 {
			t.Errorf("%s: %d of 10 positions could be compared", name, smooth)
		}
	}
}

// TestInformation compares the Fisher information with Σ_s n(s) J_sᵀ (diag π_s − π_s π_sᵀ) J_s, where J is the Jacobian
// of the scores by central differences of mdp.Solve.
func TestInformation(t *testing.T) {
	const h = 1e-5
	for name, p := range targets(t) {
		target, err := NewTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		dim, pairs, actions := target.Dim(), p.MDP.States()*p.MDP.Actions(), p.MDP.Actions()
		u := normal(rand.New(rand.NewPCG(7, 0)), dim)
		target.LogLikelihood(u, nil)
		got := mat.NewSymDense(dim, nil)
		for i := range dim {
			got.SetSym(i, i, 0.5) // it is added to
		}
		target.addInformation(got)

		jacobian := mat.NewDense(pairs, dim, nil)
		for i := range u {
			at := u[i]
			u[i] = at + h
			above, _ := scores(t, p, u)
			u[i] = at - h
			below, _ := scores(t, p, u)
			u[i] = at
			floats.Sub(above, below)
			floats.Scale(1/(2*h), above)
			jacobian.SetCol(i, above)
		}
		q, _ := scores(t, p, u)
		policy, counts := mdp.Boltzmann(nil, q, actions, 1), p.DemoCounts()
		weight := mat.NewDense(pairs, pairs, nil)
		for s := range p.MDP.States() {
			n := floats.Sum(counts[s*actions : (s+1)*actions])
			for a := s * actions; a < (s+1)*actions; a++ {
				for b := s * actions; b < (s+1)*actions; b++ {
					weight.Set(a, b, -n*policy[a]*policy[b])
				}
				weight.Set(a, a, n*policy[a]*(1-policy[a]))
			}
		}
		var left, want mat.Dense
		left.Mul(jacobian.T(), weight)
		want.Mul(&left, jacobian)
		for i := range dim {
			want.Set(i, i, want.At(i, i)+0.5)
		}
		size := mat.Max(&want)
		for i := range dim {
			for j := i; j < dim; j++ {
				if !scalar.EqualWithinAbs(got.At(i, j), want.At(i, j), 1e-6*size) {
					t.Errorf("%s: information[%d,%d] = %.8g, by differences %.8g", name, i, j, got.At(i, j),
						want.At(i, j))
				}
			}
		}
	}
}

func normal(rng *rand.Rand, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	return out
}

// randomMDP has rows of a few successors, of certain self-loops and of endings, and in every third state two actions
// that are the same.
func randomMDP(t testing.TB, rng *rand.Rand, states, actions int) *mdp.MDP {
	t.Helper()
	rows := make([][]mdp.Transition, states*actions)
	for i := range rows {
		s := i / actions
		switch {
		case s%3 == 0 && i%actions > 0:
			rows[i] = rows[i-1]
		case rng.IntN(8) == 0: // the episode ends
		case rng.IntN(6) == 0:
			rows[i] = []mdp.Transition{{Next: s, Prob: 1}}
		default:
			left := 1.0
			for range 2 {
				p := left * rng.Float64()
				rows[i] = append(rows[i], mdp.Transition{Next: rng.IntN(states), Prob: p})
				left -= p
			}
			rows[i] = append(rows[i], mdp.Transition{Next: rng.IntN(states), Prob: left})
		}
	}
	m, err := mdp.New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestCoordinatesOfKnownRewards: sweeps and exchanges are of the rewards of the states that they are meant for, where
// some rewards of some states are known.
func TestCoordinatesOfKnownRewards(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	for name, free := range map[string]func(i int) bool{
		"states, known": func(i int) bool { return i != 1 && i != 5 },
		"pairs, known":  func(i int) bool { return i != 1 && i != 17 },
	} {
		p := targets(t)[name]
		target, err := NewTarget(p)
		if err != nil {
			t.Fatal(err)
		}
		var want []int
		for i := range target.n {
			if free(i) {
				want = append(want, i)
			}
		}
		if !slices.Equal(target.free, want) || len(target.diag) != target.k || target.root != nil {
			t.Fatalf("%s: rewards %v are free, want %v", name, target.free, want)
		}
		joined, seen := p.MDP.Joined(), make([]int, target.k)
		near := target.neighbourhoods(joined)
		for range 200 {
			got := near(rng, target.k) // all that are connected
			for _, j := range got {
				seen[j]++
			}
			if slices.Sort(got); len(slices.Compact(got)) != target.k {
				t.Fatalf("%s: the neighbourhood %v, want each of %d coordinates once", name, got, target.k)
			}
		}
		if slices.Min(seen) != 200 {
			t.Errorf("%s: coordinates came %v times, want 200 each", name, seen)
		}
		pairs := target.exchanges(joined)
		for _, pair := range pairs {
			for k, i := range pair[0] {
				a, b := target.free[i]*6/target.n, target.free[pair[1][k]]*6/target.n
				if a == b || a != target.free[pair[0][0]]*6/target.n || b != target.free[pair[1][0]]*6/target.n {
					t.Errorf("%s: the exchange %v is not of two states", name, pair)
				}
			}
		}
		if len(pairs) == 0 {
			t.Errorf("%s: no exchanges", name)
		}
	}
}

// TestWhitenedRewards: those that are found have the rewards, even where columns of the prior's factor depend on each
// other or say nothing.
func TestWhitenedRewards(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	m, err := mdp.New(5, 2, make([][]mdp.Transition, 10), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, w := range map[string]*mat.Dense{
		"independent": mat.NewDense(5, 3, nil), "the same": mat.NewDense(5, 3, nil), "a sum": mat.NewDense(5, 3, nil),
		"zero": mat.NewDense(5, 3, nil), "zero beside known": mat.NewDense(5, 3, []float64{0, 0, 0, 2, 0, 0, 0, 0, 3, 0,
			0, 0, 0, 0, 0}),
	} {
		for i := range 5 {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			if row := map[string][]float64{"independent": {a, b, rng.NormFloat64()}, "the same": {a, a, b},
				"a sum": {a, a + b, b}, "zero": {a, 0, b}}[name]; row != nil {
				w.SetRow(i, row)
			}
		}
		target, err := NewTarget(&irl.Problem{MDP: m, Prior: irl.Prior{Mean: []float64{1, 2, 3, 4, 5}, LowRank: w},
			Discount: .9, Beta: 1})
		if err != nil {
			t.Fatal(err)
		}
		target.rewardAt([]float64{1, -2, 3})
		want := slices.Clone(target.reward)
		u, err := target.whiten(&irl.Samples{Reward: mat.NewDense(1, 5, want)})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if target.rewardAt(u); !floats.EqualApprox(target.reward, want, 1e-12) {
			t.Errorf("%s: the rewards %v, want %v", name, target.reward, want)
		}
	}
}

// TestPush: a push moves its reward and no other, also where the prior's low-rank factor has a column of zeros.
func TestPush(t *testing.T) {
	m, err := mdp.New(2, 1, [][]mdp.Transition{{{Next: 1, Prob: 1}}, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	target, err := NewTarget(&irl.Problem{MDP: m, Discount: 0.9, Beta: 1, Demos: []mdp.Step{{}}, Prior: irl.Prior{
		Mean: []float64{0, 0}, Std: []float64{2, 0}, LowRank: mat.NewDense(2, 1, nil)}})
	if err != nil {
		t.Fatal(err)
	}
	if target.rewardAt(target.push(0)); !slices.Equal(target.reward, []float64{2, 0}) {
		t.Errorf("a push of reward 0 gives the rewards %v, want 2 and 0", target.reward)
	}
}
