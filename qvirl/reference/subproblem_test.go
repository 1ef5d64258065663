package reference

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// forks is a problem of a hall, state 0, that leads by either action to the first state of any fork, and of forks: each
// a state with two ways, to 2 ends of its own with unknown rewards; one was taken so many times more. The last action
// of each leads to a shared end with a known reward.
func forks(t *testing.T, taken []int) *irl.Problem {
	t.Helper()
	states, actions := 2+3*len(taken), 3
	rows := make([][]mdp.Transition, states*actions)
	mean, std := make([]float64, states), make([]float64, states)
	mean[1], std[0] = 0.5, 2
	var demos []mdp.Step
	for f, count := range taken {
		at := 2 + 3*f
		for a := range actions {
			rows[a] = append(rows[a], mdp.Transition{Next: at, Prob: 1 / float64(len(taken))})
		}
		rows[at*actions] = []mdp.Transition{{Next: at + 1, Prob: 1}}
		rows[at*actions+1] = []mdp.Transition{{Next: at + 2, Prob: 1}}
		rows[at*actions+2] = []mdp.Transition{{Next: 1, Prob: 1}}
		std[at], std[at+1], std[at+2] = 1, 1, 1.5
		for range count {
			demos = append(demos, mdp.Step{State: at, Action: 1})
		}
	}
	m, err := mdp.New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &irl.Problem{MDP: m, Prior: irl.DiagonalPrior(mean, std), Discount: 0.9, Beta: 2, Demos: demos}
}

// withCorridor returns forks with so many states of known rewards behind the shared end, whose value stays.
func withCorridor(t *testing.T, p *irl.Problem, length int) *irl.Problem {
	t.Helper()
	states, actions := p.MDP.States(), p.MDP.Actions()
	rows := make([][]mdp.Transition, (states+length)*actions)
	for i := range states * actions {
		next, prob := p.MDP.Row(i/actions, i%actions)
		for k, to := range next {
			rows[i] = append(rows[i], mdp.Transition{Next: int(to), Prob: prob[k]})
		}
	}
	at, worth := 1, 1.0 // the last one's reward
	for s := states; s < states+length; s++ {
		for a := range actions {
			rows[at*actions+a] = []mdp.Transition{{Next: s, Prob: 1}}
		}
		at, worth = s, worth*p.Discount
	}
	m, err := mdp.New(states+length, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	mean := append(slices.Clone(p.Prior.Mean), make([]float64, length)...)
	mean[1], mean[at] = mean[1]-worth, 1
	std := make([]float64, len(mean))
	for i := range states {
		std[i] = math.Sqrt(p.Prior.Covariance().At(i, i))
	}
	out := *p
	out.MDP, out.Prior = m, irl.DiagonalPrior(mean, std)
	return &out
}

// forkMoments returns the moments of the two ends of one fork, by quadrature, and of its first state's value.
func forkMoments(taken int) (mean, std [3]float64) {
	const step = 0.02
	total, sum, square := 0.0, [3]float64{}, [3]float64{}
	for x := -6.; x <= 6; x += step {
		for y := -9.; y <= 9; y += step {
			q := [3]float64{1.8 * x, 1.8 * y, 0.9} // β γ R of the ends
			log := -math.Log(math.Exp(q[0]) + math.Exp(q[1]) + math.Exp(q[2]))
			w := math.Exp(float64(taken)*(q[1]+log) - x*x/2 - y*y/4.5)
			best := 0.9 * max(x, y, 0.5)
			total += w
			for i, v := range []float64{x, y, best} {
				sum[i], square[i] = sum[i]+w*v, square[i]+w*v*v
			}
		}
	}
	for i := range sum {
		mean[i] = sum[i] / total
		std[i] = math.Sqrt(square[i]/total - mean[i]*mean[i])
	}
	std[2] = math.Sqrt(std[2]*std[2] + 1) // and the state's own reward, which has the prior
	return mean, std
}

// TestSubproblems: the posterior of several forks is that of each by quadrature, the same for two forks of the same
// demonstrations but independent; a fork without any, and the hall, have what follows from the prior and the others.
func TestSubproblems(t *testing.T) {
	p := forks(t, []int{3, 0, 8, 3})
	checkForks(t, p)
	checkForks(t, withCorridor(t, p, 30))
}

func checkForks(t *testing.T, p *irl.Problem) {
	t.Helper()
	post := fit(t, Default(), p)[0]
	if ok, reason := post.Convergence(); !ok || post.Diagnostics().Subproblems != 3 {
		t.Fatalf("%d subproblems, converged: %v, %s", post.Diagnostics().Subproblems, ok, reason)
	}
	for f, taken := range []int{3, 0, 8, 3} {
		mean, std := forkMoments(taken)
		for i, m := range []irl.Marginal{post.Reward(3 + 3*f), post.Reward(4 + 3*f), post.Value(2 + 3*f)} {
			// 1,000 effective draws at least: four standard errors
			if math.Abs(m.Mean()-mean[i]) > 0.12*std[i] || math.Abs(m.StdDev()/std[i]-1) > 0.09 {
				t.Errorf("fork %d, quantity %d: %g ± %g, want %g ± %g", f, i, m.Mean(), m.StdDev(), mean[i], std[i])
			}
		}
	}
	if r := post.Reward(0); math.Abs(r.Mean()) > 0.1 || math.Abs(r.StdDev()-2) > 0.1 {
		t.Errorf("the hall's reward: %g ± %g, want 0 ± 2, the prior", r.Mean(), r.StdDev())
	}
	checkValues(t, post)
	hall := post.RewardChains(0) // of no subproblem: each chain has draws of its own
	for j, chain := range hall[1:] {
		if r := stat.Correlation(hall[0], chain, nil); math.Abs(r) > 0.1 {
			t.Errorf("the hall's rewards in chains 0 and %d have the correlation %g", j+1, r)
		}
	}
	by := []float64{post.Diagnostics().Acceptance}
	for _, transition := range post.Transitions() {
		by = append(by, transition.Acceptance)
	}
	if !(floats.Min(by) >= 0 && floats.Max(by) <= 1 && by[0] > 0.3) {
		t.Errorf("acceptance probabilities from %g to %g, of Hamiltonian transitions %g", floats.Min(by),
			floats.Max(by), by[0])
	}
	same, n := 0.0, post.Len()
	for i := range n {
		reward := post.Rewards().RawRowView(i)
		same += (reward[3] - post.Reward(3).Mean()) * (reward[12] - post.Reward(12).Mean()) / float64(n)
	}
	if r := same / (post.Reward(3).StdDev() * post.Reward(12).StdDev()); math.Abs(r) > 0.1 {
		t.Errorf("two forks of the same demonstrations have the correlation %g", r)
	}
}

// TestWhatOneSubproblemLacksIsSaid: too many explanations, a search that was left out, and rounding, in either of two.
func TestWhatOneSubproblemLacksIsSaid(t *testing.T) {
	for bad := range 2 {
		p := forks(t, []int{3, 8})
		p.Prior.Mean[3+3*bad], p.Prior.Mean[4+3*bad] = 1e13, 1e13
		j, err := newJoint(Default(), p, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range j.subs {
			s.base.LogLikelihood(make([]float64, s.base.Dim()), nil)
			s.chains = []*chain{{target: s.base}}
			first := newMode(make([]float64, s.base.Dim()), mat.NewDense(1, s.base.Dim(), nil))
			s.found.modes = modes{first}
		}
		s := j.subs[bad]
		s.found.away = modes{&mode{u: slices.Repeat([]float64{9}, s.base.Dim())}} // as probable as the one that is kept
		large := *s.base
		large.k = largestMode + 1
		s.base = &large
		d := j.diagnostics(mcmc.Diagnostics{})
		if want := s.chains[0].target.rounding(); !d.Crowded || !d.Unsearched || !(want > 0) || d.Rounding != want {
			t.Errorf("subproblem %d: crowded: %v, unsearched: %v, rounding %g, want true, true, %g", bad, d.Crowded,
				d.Unsearched, d.Rounding, want)
		}
	}
}

// TestLargeBetaBeyondTheModesThatAreKept: one that is too improbable for chains to jump to may still have most of the
// variance of β.
func TestLargeBetaBeyondTheModesThatAreKept(t *testing.T) {
	p := forks(t, []int{3, 8})
	p.BetaLogStd = 1
	j, err := newJoint(Default(), p, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := j.subs[0]
	s.chains = []*chain{{target: s.base}}
	j.samples[0] = mcmc.NewPosterior(p, 1, 100)
	for i := range 100 {
		j.samples[0].Betas()[i] = 2 + 0.1*float64(i%3)
	}
	at := func(b, evidence float64) *mode {
		o := newMode(make([]float64, s.base.Dim()), mat.NewDense(1, s.base.Dim(), nil))
		o.u[s.base.Dim()-1], o.evidence = b, evidence
		return o
	}
	best, far := at(0, 0), at(8, -14) // of β = 2 exp 8
	for _, c := range []struct {
		fitted modes
		tail   bool
	}{{modes{best}, false}, {modes{best, far}, true}, {modes{best, at(1, -14)}, false}} {
		s.found = search{modes: modes{best}, fitted: c.fitted}
		s.base.LogLikelihood(best.u, nil)
		if d := j.diagnostics(mcmc.Diagnostics{}); math.IsInf(d.BetaTail, 1) != c.tail {
			t.Errorf("%d explanations: a tail of β %g, want one of them to be all of it: %v", len(c.fitted), d.BetaTail,
				c.tail)
		}
	}
}

// TestTransitionsOfSubproblems: samples that are joined were reached by transitions of all subproblems: a divergence of
// one is said, and acceptance probabilities are their means.
func TestTransitionsOfSubproblems(t *testing.T) {
	c := Default()
	c.Chains, c.Samples = 2, 4
	j, err := newJoint(c, forks(t, []int{3, 8}), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range j.subs {
		for number := range c.Chains {
			trace := s.newTrace(2 * s.problem.RewardDim())
			for range 2 {
				trace.Add(make([]float64, 2*s.problem.RewardDim()), mcmc.Transition{Acceptance: 0.2 + 0.4*float64(i),
					Divergent: i == number})
			}
			s.chains = append(s.chains, &chain{trace: trace})
		}
	}
	post, err := j.collect(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for i, by := range post.Transitions() {
		if !by.Divergent || math.Abs(by.Acceptance-0.4) > 1e-12 {
			t.Errorf("sample %d: %+v, want a divergence in one of two subproblems, and a mean acceptance of 0.4", i, by)
		}
	}
}

// checkValues wants the values of each sample to be the optimal ones of its rewards.
func checkValues(t *testing.T, post *Posterior) {
	t.Helper()
	p := post.Problem()
	solver, err := p.MDP.NewSolver(p.Discount)
	if err != nil {
		t.Fatal(err)
	}
	for i := range post.Len() {
		solution, err := solver.Solve(post.Rewards().RawRowView(i))
		if err != nil {
			t.Fatal(err)
		}
		want := solution.V
		if !p.StateOnly() {
			want = solution.Q
		}
		for k, v := range post.Values().RawRowView(i) {
			if math.Abs(v-want[k]) > 1e-9 {
				t.Fatalf("sample %d, value %d: %g, want %g", i, k, v, want[k])
			}
		}
	}
}

// TestSubproblemsOfPairs: rewards of state-action pairs, against quadrature over those of a fork's three actions.
func TestSubproblemsOfPairs(t *testing.T) {
	p := forks(t, []int{3, 8})
	mean, std := make([]float64, 24), make([]float64, 24)
	for _, i := range []int{0, 1, 6, 7, 8, 15, 16, 17} { // in the hall and at the forks
		std[i] = 1
	}
	p.Prior = irl.DiagonalPrior(mean, std)
	post := fit(t, Default(), p)[0]
	if ok, reason := post.Convergence(); !ok || post.Diagnostics().Subproblems != 2 {
		t.Fatalf("%d subproblems, converged: %v, %s", post.Diagnostics().Subproblems, ok, reason)
	}
	checkValues(t, post)
	const step = 0.1
	for f, taken := range []float64{3, 8} {
		total, sum, square := 0.0, 0.0, 0.0
		for x := -5.; x <= 5; x += step { // of the action that was taken
			for y := -5.; y <= 5; y += step {
				for z := -5.; z <= 5; z += step {
					log := 2*x - math.Log(math.Exp(2*x)+math.Exp(2*y)+math.Exp(2*z))
					w := math.Exp(taken*log - (x*x+y*y+z*z)/2)
					total, sum, square = total+w, sum+w*x, square+w*x*x
				}
			}
		}
		want := sum / total
		deviation := math.Sqrt(square/total - want*want)
		if r := post.Reward(7 + 9*f); math.Abs(r.Mean()-want) > 0.12*deviation ||
			math.Abs(r.StdDev()/deviation-1) > 0.09 {
			t.Errorf("fork %d: %g ± %g, want %g ± %g", f, r.Mean(), r.StdDev(), want, deviation)
		}
	}
}

// TestDivision: what is divided, and what is not.
func TestDivision(t *testing.T) {
	count := func(p *irl.Problem) (subproblems, states int) {
		t.Helper()
		j, err := newJoint(Default(), p, &mcmc.Job{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range j.subs {
			states += s.problem.MDP.States()
		}
		return len(j.subs), states
	}
	p := forks(t, []int{1, 1, 0})
	if n, states := count(p); n != 2 || states != 8 { // three states of each, and the shared end
		t.Errorf("two forks: %d subproblems of %d states", n, states)
	}
	if n, states := count(withCorridor(t, p, 300)); n != 2 || states != 8 {
		t.Errorf("two forks before a corridor: %d subproblems of %d states", n, states)
	}
	inferred := *p
	inferred.BetaLogStd = 0.5
	if n, states := count(&inferred); n != 1 || states != 11 {
		t.Errorf("β inferred: %d subproblems of %d states", n, states)
	}
	shared := forks(t, []int{1, 1, 0})
	shared.Prior = irl.IndependentPrior(11, 0, 1) // the shared end's reward is unknown
	if n, states := count(shared); n != 1 || states != 7 {
		t.Errorf("a shared unknown reward: %d subproblems of %d states", n, states)
	}
	hall := forks(t, []int{1, 1, 0})
	hall.Demos = append(hall.Demos, mdp.Step{State: 0, Action: 0})
	if n, states := count(hall); n != 1 || states != 11 {
		t.Errorf("a demonstration in the hall: %d subproblems of %d states", n, states)
	}
	bandits := forks(t, []int{1, 1, 1})
	bandits.Discount = 0
	bandits.Prior = irl.IndependentPrior(33, 0, 1)
	if n, states := count(bandits); n != 3 || states != 3 {
		t.Errorf("discount 0: %d subproblems of %d states", n, states)
	}
	columns := forks(t, []int{1}) // of which a reward is given by a negative entry, beside a column of zeros
	columns.Prior = irl.Prior{Mean: make([]float64, 5), Std: []float64{1, 0, 0, 1, 0}, LowRank: mat.NewDense(5, 2, nil)}
	columns.Prior.LowRank.Set(4, 0, -1.5)
	j, err := newJoint(Default(), columns, &mcmc.Job{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 1, 2.25, 0} { // of the fork, its ends and the shared end
		if got := j.subs[0].problem.Prior.Covariance().At(i, i); len(j.subs[0].states) != 3 || got != want {
			t.Errorf("of %d states, reward %d has the variance %g, want %g", len(j.subs[0].states), i, got, want)
		}
	}
	none := forks(t, []int{0, 0})
	if n, states := count(none); n != 1 || states != 8 {
		t.Errorf("no demonstrations: %d subproblems of %d states", n, states)
	}
}
