package active

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// discrete is the exact posterior over the discrete set of rewards, equally likely before.
type discrete struct {
	problem *irl.Problem
	x       *twoStates
	weights []float64
}

func (d *discrete) Problem() *irl.Problem { return d.problem }

func (d *discrete) Reward(i int) irl.Marginal {
	mean := 0.0
	for j, w := range d.weights {
		mean += w * d.x.rewards.At(j, i)
	}
	return irl.NewMarginal(distuv.Normal{Mu: mean, Sigma: 1})
}

func (d *discrete) Sample(rng *rand.Rand, n int) (*irl.Samples, error) {
	index := make([]int, n)
	for i := range index {
		index[i] = int(distuv.NewCategorical(d.weights, rng).Rand())
	}
	return d.x.pick(index), nil
}

// fit is a Fitter of exact posteriors.
func (x *twoStates) fit(_ context.Context, problems []*irl.Problem, _ []irl.Posterior, _ irl.Progress) ([]irl.Posterior,
	error) {
	policies := x.samples.Policies(2, x.problem.Beta)
	out := make([]irl.Posterior, len(problems))
	for i, p := range problems {
		d := &discrete{p, x, make([]float64, 6)}
		for j := range d.weights {
			d.weights[j] = 1
			for _, step := range p.Demos {
				d.weights[j] *= policies.At(j, 2*step.State+step.Action)
			}
		}
		out[i] = d
	}
	return out, nil
}

func TestLoopFindsTheTrueReward(t *testing.T) {
	x := newTwoStates(t)
	const truth = 3
	var runs []Run
	for seed := uint64(1); seed <= 3; seed++ {
		ask, err := Expert(x.problem, x.rewards.RawRowView(truth), 4, seed)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, Run{x.problem, ask, seed})
	}
	course := func(acquisition Acquisition) (queries []int, last []Step) {
		visits := 0
		loop := Loop{Fit: x.fit, Acquisition: acquisition, Queries: 25, Samples: 300}
		err := loop.Do(context.Background(), runs, func(k int, steps []Step) error {
			if k != visits || len(steps) != 3 {
				t.Errorf("visit %d: %d queries, %d steps", visits, k, len(steps))
			}
			visits++
			for i, s := range steps {
				if k == 25 {
					if s.Scores != nil || s.Query != -1 || s.Answer != nil {
						t.Errorf("run %d asks after the last query: %+v", i, s)
					}
					continue
				}
				if len(s.Scores) != 3 || s.Query != Best(s.Scores) || s.Answer[0].State != s.Query ||
					len(s.Answer) > 4 {
					t.Errorf("run %d, %d queries: %+v", i, k, s)
				}
				queries = append(queries, s.Query)
			}
			last = steps
			return nil
		}, nil)
		if err != nil || visits != 26 {
			t.Fatalf("%d visits, error %v", visits, err)
		}
		return queries, last
	}
	queries, last := course(RewardEIG{Length: 4, Trajectories: 20})
	for i, s := range last {
		d := s.Posterior.(*discrete)
		total := 0.0
		for _, w := range d.weights {
			total += w
		}
		// 25 demonstrations tell six rewards apart
		if p := d.weights[truth] / total; !(p > 0.9) {
			t.Errorf("run %d: probability %g of the true reward", i, p)
		}
	}
	if slices.Contains(queries, 2) {
		t.Error("the terminal state was asked for, which tells nothing")
	}
	if again, _ := course(RewardEIG{Length: 4, Trajectories: 20}); !slices.Equal(again, queries) {
		t.Error("the same runs took another course")
	}
	if random, _ := course(Random{}); !slices.Contains(random, 0) || !slices.Contains(random, 1) ||
		!slices.Contains(random, 2) {
		t.Errorf("random queries %v: want every state", random)
	}
	if len(x.problem.Demos) != 0 {
		t.Error("the loop changed the problem it was given")
	}
}

// TestExpertAnswersInAnyOrderTheSame checks what an answer depends on.
func TestExpertAnswersInAnyOrderTheSame(t *testing.T) {
	x := newTwoStates(t)
	answers := func(seed uint64, questions ...[2]int) map[[2]int]mdp.Trajectory {
		ask, err := Expert(x.problem, []float64{1, 0, 0}, 5, seed)
		if err != nil {
			t.Fatal(err)
		}
		out := map[[2]int]mdp.Trajectory{}
		for _, q := range questions {
			if out[q], err = ask(q[0], q[1]); err != nil || out[q][0].State != q[0] {
				t.Fatalf("answer %v to %v, error %v", out[q], q, err)
			}
		}
		return out
	}
	var questions [][2]int
	for before := range 20 {
		questions = append(questions, [2]int{0, before}, [2]int{1, before})
	}
	one := answers(7, questions...)
	slices.Reverse(questions)
	again, other := answers(7, questions...), answers(8, questions...)
	repeated, sameSeed := 0, 0
	for q, answer := range one {
		if !slices.Equal(answer, again[q]) {
			t.Errorf("question %v: %v and, asked in another order, %v", q, answer, again[q])
		}
		if slices.Equal(answer, one[[2]int{q[0], (q[1] + 1) % 20}]) {
			repeated++
		}
		if slices.Equal(answer, other[q]) {
			sameSeed++
		}
	}
	if repeated > 30 || sameSeed > 30 {
		t.Errorf("of 40 answers, %d are those to the question before and %d those of another seed", repeated, sameSeed)
	}
	ask, _ := Expert(x.problem, []float64{1, 0, 0}, 5, 7)
	if _, err := ask(3, 0); err == nil || !strings.Contains(err.Error(), "state 3") {
		t.Errorf("error %v", err)
	}
	if _, err := Expert(x.problem, []float64{1, 0, 0}, 0, 7); err == nil {
		t.Error("length 0 was accepted")
	}
}

// inOrder scores candidates so that they are chosen in a given order.
type inOrder struct {
	states []int
	next   *int
}

func (inOrder) Name() string { return "in-order" }

func (o inOrder) Score(_ *irl.Problem, _ *irl.Samples, candidates []int, _ *rand.Rand) ([]Score, error) {
	out := make([]Score, len(candidates))
	out[o.states[*o.next]].Value = 1
	*o.next++
	return out, nil
}

// TestTheOrderOfQueriesDoesNotMatter checks that two learners who ask for the same states in different orders have been
// told the same in the end.
func TestTheOrderOfQueriesDoesNotMatter(t *testing.T) {
	x := newTwoStates(t)
	told := func(order ...int) (answers []string) {
		ask, err := Expert(x.problem, []float64{1, 0, 0}, 5, 3)
		if err != nil {
			t.Fatal(err)
		}
		loop := Loop{Fit: x.fit, Acquisition: inOrder{order, new(int)}, Queries: len(order), Samples: 10}
		err = loop.Do(context.Background(), []Run{{x.problem, ask, 1}}, func(_ int, steps []Step) error {
			if steps[0].Answer != nil {
				answers = append(answers, fmt.Sprint(steps[0].Answer))
			}
			return nil
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(answers)
		return answers
	}
	one, other := told(0, 0, 1, 0, 1, 1, 0), told(1, 0, 1, 0, 0, 1, 0)
	if !slices.Equal(one, other) {
		t.Errorf("%v and %v", one, other)
	}
	if len(slices.Compact(one)) < 4 {
		t.Errorf("the expert repeats itself: %v", one)
	}
}

// Each query is chosen by samples of its own, even if nothing was learnt since the last.
func TestSamplesOfEachQueryAreNew(t *testing.T) {
	x := newTwoStates(t)
	ask, err := Expert(x.problem, []float64{1, 0, 0}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	idle := func(ctx context.Context, problems []*irl.Problem, previous []irl.Posterior, progress irl.Progress) (
		[]irl.Posterior, error) {
		if previous != nil {
			return previous, nil
		}
		return x.fit(ctx, problems, nil, progress)
	}
	loop := Loop{Fit: idle, Acquisition: Random{}, Queries: 2, Samples: 20}
	var drawn []string
	if err := loop.Do(t.Context(), []Run{{x.problem, ask, 1}}, func(_ int, steps []Step) error {
		drawn = append(drawn, fmt.Sprint(steps[0].Samples.Reward.RawMatrix().Data))
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	if len(drawn) != 3 || drawn[0] == drawn[1] || drawn[1] == drawn[2] || drawn[0] == drawn[2] {
		t.Errorf("samples %q", drawn)
	}
}

func TestLoopErrors(t *testing.T) {
	x := newTwoStates(t)
	ask, err := Expert(x.problem, []float64{1, 0, 0}, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	runs := []Run{{x.problem, ask, 1}}
	none := func(int, []Step) error { return nil }
	good := Loop{Fit: x.fit, Acquisition: RewardEIG{Length: 2, Trajectories: 2}, Queries: 2, Samples: 10}
	for want, spoil := range map[string]func(*Loop){
		"needs a Fit":    func(l *Loop) { l.Fit = nil },
		"Queries = -1":   func(l *Loop) { l.Queries = -1 },
		"Samples = 1":    func(l *Loop) { l.Samples = 1 },
		"Trajectories":   func(l *Loop) { l.Acquisition = RewardEIG{Length: 2, Trajectories: 0} },
		"after 1 querie": func(l *Loop) { l.Fit = failSecond(x.fit) },
	} {
		l := good
		spoil(&l)
		if err := l.Do(context.Background(), runs, none, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	stop := errors.New("enough")
	if err := good.Do(context.Background(), runs, func(int, []Step) error { return stop }, nil); !errors.Is(err, stop) {
		t.Errorf("error %v, want the visitor's", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := good.Do(ctx, runs, func(int, []Step) error { cancel(); return nil }, nil); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	if err := good.Do(context.Background(), runs, nil, nil); err != nil {
		t.Errorf("without a visitor: %v", err)
	}
	if err := good.Do(context.Background(), []Run{{x.problem, nil, 1}}, none, nil); err == nil ||
		!strings.Contains(err.Error(), "run 0") {
		t.Errorf("error %v for a run without an expert", err)
	}
}

func failSecond(fit Fitter) Fitter {
	return func(ctx context.Context, problems []*irl.Problem, previous []irl.Posterior,
		p irl.Progress) ([]irl.Posterior, error) {
		if previous != nil {
			return nil, errors.New("no more")
		}
		return fit(ctx, problems, previous, p)
	}
}

// grid returns a run on a 3×3 world.
func grid(t *testing.T) Run {
	t.Helper()
	c := gridworld.Paper()
	c.Width, c.Height = 3, 3
	w, err := gridworld.Random(c, 2000)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(9, -1, 3), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 4, Action: 1}}}
	ask, err := Expert(p, w.Reward, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	return Run{p, ask, 1}
}

// TestWarmQVIRLFollowsColdOne checks that refits from the previous posterior end where fits from the prior do.
func TestWarmQVIRLFollowsColdOne(t *testing.T) {
	c := tabular.Default()
	c.Backend, c.Steps, c.LearningRate = "go", 150, 0.03
	m, err := tabular.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var last irl.Posterior
	loop := Loop{Fit: Fit(m), Acquisition: Random{}, Queries: 1, Samples: 2}
	err = loop.Do(context.Background(), []Run{grid(t)},
		func(_ int, steps []Step) error { last = steps[0].Posterior; return nil }, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(last.Problem().Demos) < 2 {
		t.Fatalf("demonstrations %v", last.Problem().Demos)
	}
	cold, err := m.Fit(context.Background(), []*irl.Problem{last.Problem()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// both stop within Tolerance = 0.02 nats of where they are going; 0.1 nats of the ELBO bound differences of a
	// Gaussian's mean by √0.2 ≈ 0.45 standard deviations
	for i := 0; i < 9; i++ {
		a, b := last.Reward(i), cold[0].Reward(i)
		if !scalar.EqualWithinAbs(a.Mean(), b.Mean(), 0.45*b.StdDev()) ||
			!(math.Abs(math.Log(a.StdDev()/b.StdDev())) <= 0.2) {
			t.Errorf("reward %d: %g ± %g warm, %g ± %g cold", i, a.Mean(), a.StdDev(), b.Mean(), b.StdDev())
		}
	}
	if _, err := Fit(m)(context.Background(), []*irl.Problem{grid(t).Problem}, []irl.Posterior{&discrete{}},
		nil); err == nil ||
		!strings.Contains(err.Error(), "discrete") {
		t.Errorf("error %v for a start from another kind of posterior", err)
	}
}

// TestLoopWithSampledPosterior runs a method that has no warm start.
func TestLoopWithSampledPosterior(t *testing.T) {
	c := valuewalk.Default()
	c.Samples, c.MinESS, c.MaxRHat = 400, 100, 1.1
	m, err := valuewalk.New(c)
	if err != nil {
		t.Fatal(err)
	}
	var entropy []float64
	loop := Loop{Fit: Fit(m), Acquisition: RewardEIG{Length: 5, Trajectories: 20}, Queries: 6, Samples: 400}
	err = loop.Do(context.Background(), []Run{grid(t)}, func(_ int, steps []Step) error {
		var cov mat.SymDense
		stat.CovarianceMatrix(&cov, steps[0].Samples.Reward, nil)
		logDet, _ := mat.LogDet(&cov)
		entropy = append(entropy, logDet/2)
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if gain := entropy[0] - entropy[6]; !(gain > 0.5) {
		t.Errorf("six demonstrations brought %g nats: log-volumes %v", gain, entropy)
	}
}
