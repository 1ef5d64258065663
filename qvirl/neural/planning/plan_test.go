package planning

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// signs are demonstrations in which the action is the sign of the first number: 0 or 1.
func signs(n int) []demo.Trajectory {
	var out []demo.Trajectory
	for e := range n {
		t := demo.Trajectory{Observations: []float32{0.2, 1}, Seed: demo.NoSeed, Terminated: e%2 == 0}
		for k := range 12 {
			x := float32(math.Sin(float64(7*e + 3*k)))
			action := 0
			if t.Observations[2*k] > 0 {
				action = 1
			}
			t.Actions, t.Observations = append(t.Actions, action), append(t.Observations, x,
				float32(math.Cos(float64(k+e))))
		}
		out = append(out, t)
	}
	return out
}

func fitted(t *testing.T) *neural.Fitted {
	t.Helper()
	return ensemble(t, 1).Members()[0].(*neural.Fitted)
}

func ensemble(t *testing.T, members int) *neural.Ensemble {
	t.Helper()
	c := neural.Default()
	c.Hidden, c.Steps, c.ReportEvery, c.Folds, c.Backend = []int{16, 16}, 150, 50, 0, "go"
	learner, err := variational.New(c, variational.DefaultObjective(1))
	if err != nil {
		t.Fatal(err)
	}
	several, err := neural.NewEnsembleLearner(variational.NameEnsemble, learner, members)
	if err != nil {
		t.Fatal(err)
	}
	models, err := several.Fit(t.Context(), &neural.Task{Observation: 2, Actions: 2, Discount: 0.9, Beta: 2,
		Runs: []neural.Run{{Demos: signs(4), Seed: 3}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return models[0].(*neural.Ensemble)
}

func TestBelievesWhatThePosteriorDoes(t *testing.T) {
	m := fitted(t)
	p, err := variational.NewPosterior(m)
	if err != nil {
		t.Fatal(err)
	}
	b, err := beliefOf(m)
	if err != nil {
		t.Fatal(err)
	}
	trajectory := signs(1)[0] // terminated
	pairs, mean, variance, err := b.believed(&trajectory)
	if err != nil {
		t.Fatal(err)
	}
	n := trajectory.Len() - 1 // the last one ended the episode
	if len(mean) != n || len(pairs.Actions) != n {
		t.Fatalf("%d rewards of %d transitions", len(mean), n)
	}
	joint, err := p.Rewards(variational.TransitionsOf(&trajectory))
	if err != nil {
		t.Fatal(err)
	}
	added := noise * math.Pow(p.Prior().Std, 2)
	for i := range n {
		// the network computes in single precision
		if !scalar.EqualWithinAbs(mean[i], joint.Mean[i], 1e-6) ||
			!scalar.EqualWithinAbs(variance[i], joint.Cov.At(i, i)+added, 1e-6) {
			t.Errorf("reward %d is %g with variance %g, the posterior's %g and %g", i, mean[i], variance[i],
				joint.Mean[i],
				joint.Cov.At(i, i))
		}
	}
	trajectory.Terminated = false
	if _, mean, _, err = b.believed(&trajectory); err != nil || len(mean) != n+1 {
		t.Errorf("%d rewards of a trajectory of %d transitions that has not ended (error %v)", len(mean), n+1, err)
	}
}

// What an ensemble believes has the moments of draws, each of a member's posterior.
func TestBelievesTheMixtureOfAnEnsemble(t *testing.T) {
	m := ensemble(t, 3)
	b, err := beliefOf(m)
	if err != nil {
		t.Fatal(err)
	}
	trajectory := signs(1)[0].Slice(0, 3)
	_, mean, variance, err := b.believed(&trajectory)
	if err != nil {
		t.Fatal(err)
	}
	const draws = 60_000
	random := rand.New(rand.NewPCG(1, 2))
	sampled := make([][]float64, len(mean))
	for _, p := range b.members {
		joint, err := p.Rewards(variational.TransitionsOf(&trajectory))
		if err != nil {
			t.Fatal(err)
		}
		for range draws / len(b.members) {
			for i := range sampled {
				sampled[i] = append(sampled[i], joint.Mean[i]+math.Sqrt(joint.Cov.At(i, i))*random.NormFloat64())
			}
		}
	}
	for i, x := range sampled {
		m, v := stat.PopMeanVariance(x, nil)
		v += noise * b.prior.Std * b.prior.Std
		// five standard errors, of a distribution whose kurtosis is at most about a normal one's
		if math.Abs(mean[i]-m) > 5*math.Sqrt(v/draws) || math.Abs(variance[i]-v) > 5*v*math.Sqrt(2.0/draws) {
			t.Errorf("reward %d is believed to be %g with variance %g, draws have %g and %g", i, mean[i], variance[i],
				m, v)
		}
	}
}

// The states of two demonstrations are 1, 3, 1, 3 and 5 from the nearest one of the other.
func TestLengthIsHowFarDemonstrationsAreApart(t *testing.T) {
	at := func(x ...float32) demo.Trajectory {
		return demo.Trajectory{Observations: append(x, 100), Actions: make([]int, len(x))}
	}
	two := []demo.Trajectory{at(0, 4), at(1, 7, 9)}
	_, deviations := moments(states(two, 1), 1)
	std := deviations[0]
	for name, c := range map[string]struct {
		demos, rollouts []demo.Trajectory
		want            float64
	}{
		"two":                 {two, []demo.Trajectory{at(0, 4, 1, 7, 9)}, 3 / std},
		"one and a rollout":   {two[:1], two[1:], 3 / std},
		"one and no rollout":  {two[:1], nil, 1},
		"twice the same":      {[]demo.Trajectory{at(1, 2), at(1, 2)}, nil, 1},
		"one state, repeated": {[]demo.Trajectory{at(5, 5), at(5, 5)}, nil, 1},
	} {
		if got := length(c.demos, c.rollouts, 1); !scalar.EqualWithinAbs(got, c.want, 1e-9) {
			t.Errorf("%s: length %g, want %g", name, got, c.want)
		}
	}
}

func TestLengthscalesGoByTheSpread(t *testing.T) {
	c := Default("any", 0.9)
	c.Length, c.Alike = 2, 0.3
	got := c.lengthscales([]float32{1, 5, 3, 5, 5, 5}, neural.Spec{Observation: 2, Actions: 3})
	want := []float64{2 * math.Sqrt(8.0/3), 2} // 1, 3 and 5 have the variance 8/3; the other number does not vary
	for i := range want {
		if !scalar.EqualWithinAbs(got[i], want[i], 1e-9) {
			t.Errorf("lengthscale %d is %g, want %g", i, got[i], want[i])
		}
	}
	p := Process{prior: variational.Prior{Lengthscales: got}, actions: 3}
	if r := p.alike(0, 2); !scalar.EqualWithinAbs(r, 0.3, 1e-12) || p.alike(1, 1) != 1 {
		t.Errorf("the rewards of two actions have the correlation %g, want 0.3", r)
	}
}

func TestRewardsAreInUnitsOfTheDemonstratedOnes(t *testing.T) {
	demos := signs(2)
	var pairs Pairs
	var y, noise []float64
	for i := range demos {
		for k, a := range demos[i].Actions {
			pairs.add(demos[i].Observation(k), a)
			y, noise = append(y, -0.2), append(noise, 0.01)
		}
	}
	prior := variational.Prior{Mean: -0.7, Std: 1, Lengthscales: []float64{0.5, 0.5, 1, 1}}
	p, err := Regress(prior, 2, pairs, y, noise, 100)
	if err != nil {
		t.Fatal(err)
	}
	c := Default("any", 0.9)
	pays, err := c.pays(p, demos, demos)
	if err != nil {
		t.Fatal(err)
	}
	rewards := pays.rewards
	got, err := rewards(pairs.Observations, pairs.Actions)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, r := range got {
		sum += r / float64(len(got))
	}
	far, err := rewards([]float32{1000, 1000}, []int{0})
	if err != nil || !scalar.EqualWithinAbs(sum, 1, 1e-9) || !scalar.EqualWithinAbs(far[0], 0, 1e-9) {
		t.Errorf("demonstrated rewards are %g on average, far ones %v (error %v), want 1 and 0", sum, far, err)
	}
	// With risk, what is not known is worth less than what is.
	c.Risk = 0.5
	if pays, err = c.pays(p, demos, demos); err != nil {
		t.Fatal(err)
	}
	if far, err = pays.rewards([]float32{1000, 1000}, []int{0}); err != nil || !(far[0] < -0.5) {
		t.Errorf("far rewards, less half their deviation, are %v (error %v)", far, err)
	}
	for i := range y {
		y[i] = -0.9
	}
	if p, err = Regress(prior, 2, pairs, y, noise, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := c.pays(p, demos, demos); err == nil {
		t.Error("demonstrated rewards below the prior's mean were planned for")
	}
}

// One state after the other, from which each demonstrated action pays 1, and nothing is known of others.
func visits(t *testing.T, c Config, demos []demo.Trajectory) *Process {
	t.Helper()
	c.Visits = true
	p, err := c.process(fitted(t).Spec(), belief{}, demos, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestVisitsPayOneWhereDemonstrated(t *testing.T) {
	c, demos := Default("any", 0.9), signs(2)
	c.Length, c.Alike = 0.2, 0.3
	p := visits(t, c, demos)
	pairs := pairsOf(demos)
	mean, _ := p.Rewards(pairs, false)
	for i, m := range mean {
		if math.Abs(m-1) > 0.15 {
			t.Errorf("the demonstrated pair %d pays %g, want about 1", i, m)
		}
		pairs.Actions[i] = 1 - pairs.Actions[i]
	}
	for i, m := range first(p.Rewards(pairs, false)) {
		if !(m > 0.15 && m < 0.95) {
			t.Errorf("the other action in state %d pays %g, want less than the demonstrated one, and some", i, m)
		}
	}
	far, deviation := p.Rewards(Pairs{Observations: []float32{50, 50}, Actions: []int{1}}, true)
	if math.Abs(far[0]) > 1e-9 || !scalar.EqualWithinAbs(deviation[0], 1, 1e-9) {
		t.Errorf("far away it pays %g ± %g, want 0 ± 1", far[0], deviation[0])
	}
}

func first(a, _ []float64) []float64 { return a }

// An end pays as a demonstrated step does where a demonstration ended so, and what is not known elsewhere: of a state
// that demonstrations ended in, too, if none came to it from there.
func TestEndsAreLikeDemonstratedOnes(t *testing.T) {
	c, demos := Default("any", 0.9), signs(2) // the first one terminated
	c.Length = 0.5
	p := visits(t, c, demos)
	n := demos[0].Len()
	from, to, other := demos[0].Observation(n-1), demos[0].Observation(n), []float32{9, 9}
	pay := func(from, to []float32) float64 {
		t.Helper()
		pays, err := c.pays(p, demos, demos)
		if err != nil {
			t.Fatal(err)
		}
		out, err := pays.ends(from, to)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	truncated := demos[1].Observation(demos[1].Len())
	if like := pay(from, to); !scalar.EqualWithinAbs(like, 1, 1e-12) {
		t.Errorf("a demonstrated end pays %g, want 1", like)
	}
	for name, of := range map[string][2][]float32{"another state": {from, other}, "another way": {other, to},
		"none ended": {truncated, other}} {
		if got := pay(of[0], of[1]); !scalar.EqualWithinAbs(got, 0, 1e-9) {
			t.Errorf("%s: the end pays %g, want 0", name, got)
		}
	}
	// half a lengthscale off in one number, before and after: √(e^(−⅛) e^(−⅛))
	step := float32(p.prior.Lengthscales[0] / 2)
	if got := pay([]float32{from[0] + step, from[1]}, []float32{to[0] + step, to[1]}); !scalar.EqualWithinAbs(got,
		math.Exp(-0.125), 1e-6) {
		t.Errorf("a similar end pays %g, want %g", got, math.Exp(-0.125))
	}
	// Where no random episode ends, each end is one that was sought, of the configured worth.
	c.EndWorth = 3
	sought, err := c.pays(p, demos, demos[1:])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sought.ends(other, other); err != nil || got != 3 {
		t.Errorf("an end that no random episode reaches pays %g (error %v), want 3", got, err)
	}
	c.EndWorth = 0
	pays, err := c.pays(p, demos, demos)
	if err != nil {
		t.Fatal(err)
	}
	neutral, err := pays.rewards(other, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	c.Risk = 0.5
	if pays, err = c.pays(p, demos, demos); err != nil {
		t.Fatal(err)
	}
	averse, err := pays.rewards(other, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	if end := pay(other, other); !scalar.EqualWithinAbs(end, averse[0], 1e-9) || !(averse[0] < neutral[0]-0.3) {
		t.Errorf("an unknown end pays %g, an unknown step %g, without risk %g", end, averse[0], neutral[0])
	}
	// and of a similar one, whose worth correlates by e with a demonstrated one's, √(1 − e²) is unknown
	similar := math.Exp(-0.125)
	want := similar + math.Sqrt(1-similar*similar)*(averse[0]-neutral[0])
	if got := pay([]float32{from[0] + step, from[1]}, []float32{to[0] + step, to[1]}); !scalar.EqualWithinAbs(got,
		want, 1e-6) {
		t.Errorf("a similar end pays %g with risk, want %g", got, want)
	}
}

// A demonstrator that ends after two steps, which pay 1 and 3, when a random policy needs three or does not end: by the
// discount ½, 1 + 3/2 + ½ w ¼/(1 − ½) = 3/(1 − ½) has w = 14. Where the random policy ends as soon, or the
// demonstrations do not end, w is 1.
func TestAnEndThatIsSoughtIsWorthMoreThanLingering(t *testing.T) {
	rewards := func(observations []float32, actions []int) ([]float64, error) {
		out := make([]float64, len(actions))
		for i := range out {
			out[i] = float64(observations[i])
		}
		return out, nil
	}
	path := func(ended bool, x ...float32) demo.Trajectory {
		return demo.Trajectory{Observations: x, Actions: make([]int, len(x)-1), Terminated: ended}
	}
	demonstrated := path(true, 1, 3, 0)
	for name, c := range map[string]struct {
		demos, random []demo.Trajectory
		want          float64
	}{
		"random does not end": {[]demo.Trajectory{demonstrated}, []demo.Trajectory{path(false, 1, 1, 1)}, 14},
		"random ends later":   {[]demo.Trajectory{demonstrated}, []demo.Trajectory{path(true, 1, 1, 1, 1)}, 14},
		"random ends as soon": {[]demo.Trajectory{demonstrated}, []demo.Trajectory{path(true, 1, 1, 1)}, 1},
		"half of random ends at once": {[]demo.Trajectory{demonstrated},
			[]demo.Trajectory{path(true, 1, 1), path(false, 1, 1)}, 1},
		"demonstrations do not end": {[]demo.Trajectory{path(false, 1, 3, 0)}, nil, 1},
		"those that end count": {[]demo.Trajectory{demonstrated, path(false, 9, 9, 9)},
			[]demo.Trajectory{path(false, 1, 1)}, 14},
		// only the last 3/(1 − ½) = 6 steps count
		"longer than the horizon": {[]demo.Trajectory{path(true, 5, 5, 2, 1, 1, 1, 1, 1, 0)},
			[]demo.Trajectory{path(false, 1, 1)}, 2 * (2 - 0.5*(2+1-1.0/32)) * 64},
	} {
		got, err := seeking(rewards, 0.5, c.demos, c.random)
		if err != nil || !scalar.EqualWithinAbs(got, c.want, 1e-9) {
			t.Errorf("%s: %g (error %v), want %g", name, got, err, c.want)
		}
	}
}

// Rewards of 1 where the first number is positive, and 0 elsewhere: what is demonstrated half-way is worth, by the
// discount ½, as much as the sums say.
func TestEnvironmentStepsAreAllThatPlanningTook(t *testing.T) {
	curve := []expert.Point{{Steps: 100, Played: 7}, {Steps: 200, Played: 30}}
	m := Model{plan: &expert.Expert{Description: expert.Description{Curve: curve}},
		details: details{Rolled: 5}}
	if got := m.EnvironmentSteps(); got != 235 {
		t.Errorf("%d steps of the environment, want 200 of training, 30 of the curve and 5 before", got)
	}
}

func TestWorthSaysWhatOthersAreWorth(t *testing.T) {
	rewards := func(observations []float32, actions []int) ([]float64, error) {
		out := make([]float64, len(actions))
		for i := range out {
			if observations[2*i] > 0 {
				out[i] = 1
			}
		}
		return out, nil
	}
	path := func(x ...float32) demo.Trajectory {
		d := demo.Trajectory{Actions: make([]int, len(x)-1)}
		for _, v := range x {
			d.Observations = append(d.Observations, v, 0)
		}
		return d
	}
	c := Default("any", 0.5)
	got, err := c.worth(pays{rewards: rewards}, neural.Spec{Actions: 2}, []expert.Point{{Objective: 1, Return: 5},
		{Objective: 3, Return: 7}, {Objective: 2, Return: 9}}, []demo.Trajectory{path(1, -1, 1)},
		[]demo.Trajectory{path(-1, -1)}, []demo.Trajectory{path(1, 1), path(-1, 1)})
	if err != nil {
		t.Fatal(err)
	}
	// 1 + ¼·2; 0; 2 and ½·2
	want := Worth{Plan: 3, Demonstrated: 1.5, Others: 1.5, OthersSpread: 0.5, RankOfReturns: 0.5}
	got.RankOfReturns = math.Round(1e9*got.RankOfReturns) / 1e9
	if got != want {
		t.Errorf("worth %+v, want %+v", got, want)
	}
}

func TestConfigs(t *testing.T) {
	if err := Default("CartPole-v1", 0.99).Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"risk": func(c *Config) { c.Risk = -1 }, "length": func(c *Config) { c.Length = -1 },
		"alike": func(c *Config) { c.Alike = 1 }, "inducing": func(c *Config) { c.Inducing = 0 },
		"discount": func(c *Config) { c.Learner.Discount = 1 }, "batch": func(c *Config) { c.Learner.Batch = 0 },
	} {
		c := Default("CartPole-v1", 0.99)
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a wrong %s: error %v", name, err)
		}
	}
}
