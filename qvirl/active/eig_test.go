package active

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// twoStates is an MDP of two states and a third that ends the episode, with a discrete set of rewards.
type twoStates struct {
	problem *irl.Problem
	rewards *mat.Dense // [6, 3]
	samples *irl.Samples
}

func newTwoStates(t *testing.T) *twoStates {
	t.Helper()
	m, err := mdp.New(3, 2, [][]mdp.Transition{
		{{Next: 0, Prob: 0.8}, {Next: 1, Prob: 0.2}}, {{Next: 1, Prob: 0.7}, {Next: 2, Prob: 0.3}},
		{{Next: 0, Prob: 1}}, {{Next: 2, Prob: 0.9}, {Next: 1, Prob: 0.1}},
		nil, nil,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := &twoStates{
		problem: &irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, 0, 1), Discount: 0.8, Beta: 1.5},
		rewards: mat.NewDense(6, 3, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1, -1, 0.5, 2, 1, -1, 0.3, 0, 2, -1}),
	}
	if x.samples, err = x.problem.SolveSamples(x.rewards); err != nil {
		t.Fatal(err)
	}
	return x
}

// pick returns the samples at the given indices.
func (x *twoStates) pick(index []int) *irl.Samples {
	out := &irl.Samples{Reward: mat.NewDense(len(index), 3, nil), Q: mat.NewDense(len(index), 6, nil)}
	for i, at := range index {
		out.Reward.SetRow(i, x.samples.Reward.RawRowView(at))
		out.Q.SetRow(i, x.samples.Q.RawRowView(at))
	}
	return out
}

// enumeration is what all trajectories from a state tell about which of the rewards is the true one.
type enumeration struct {
	information float64 // I(R; τ | s₀), in nats
	variance    float64 // of log p(τ|R) − log p(τ), over rewards and trajectories
	squares     float64 // E Σ_j w_j² of the posterior weights
}

// enumerate visits every trajectory of at most length steps, with the joint definition of mutual information.
func (x *twoStates) enumerate(start, length int) enumeration {
	policies := x.samples.Policies(2, x.problem.Beta)
	n, _ := policies.Dims()
	var first, second, squares float64
	var visit func(s, left int, dynamics float64, likelihood []float64)
	visit = func(s, left int, dynamics float64, likelihood []float64) {
		if left == 0 {
			marginal := 0.0
			for _, l := range likelihood {
				marginal += l / float64(n)
			}
			for _, l := range likelihood {
				ratio := math.Log(l / marginal)
				first += dynamics * l / float64(n) * ratio
				second += dynamics * l / float64(n) * ratio * ratio
				squares += dynamics * marginal * math.Pow(l/marginal/float64(n), 2)
			}
			return
		}
		for a := 0; a < 2; a++ {
			extended := make([]float64, n)
			for j := range extended {
				extended[j] = likelihood[j] * policies.At(j, 2*s+a)
			}
			next, prob := x.problem.MDP.Row(s, a)
			if len(next) == 0 {
				visit(s, 0, dynamics, extended)
			}
			for k, to := range next {
				visit(int(to), left-1, dynamics*prob[k], extended)
			}
		}
	}
	visit(start, length, 1, []float64{1, 1, 1, 1, 1, 1})
	return enumeration{first, second - first*first, squares}
}

func TestEIGOfOneStepIsExact(t *testing.T) {
	x := newTwoStates(t)
	alone := &irl.Samples{Q: x.samples.Q} // the expert goes by the values, whatever the rewards
	scores, err := RewardEIG{Length: 1, Trajectories: 2}.Score(x.problem, alone, []int{0, 1, 2},
		rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for s, score := range scores[:2] {
		if want := x.enumerate(s, 1).information; !scalar.EqualWithinAbs(score.Value, want, 1e-12) || want < 0.01 {
			t.Errorf("state %d: %g, want %g", s, score.Value, want)
		}
	}
	if scores[2].Value > 1e-12 || scores[2].StdErr > 1e-12 {
		t.Errorf("an action in a terminal state tells %+v", scores[2])
	}
}

// TestEIGMatchesEnumeration takes the six rewards themselves as samples, for which the estimator is unbiased.
func TestEIGMatchesEnumeration(t *testing.T) {
	x := newTwoStates(t)
	const repeats, trajectories, length = 400, 12, 4
	rng := rand.New(rand.NewPCG(2, 1))
	estimates := [2][]float64{}
	for range repeats {
		scores, err := RewardEIG{Length: length, Trajectories: trajectories}.Score(x.problem, x.samples, []int{0, 1},
			rng)
		if err != nil {
			t.Fatal(err)
		}
		for s := range estimates {
			estimates[s] = append(estimates[s], scores[s].Value)
		}
	}
	for s, values := range estimates {
		want := x.enumerate(s, length)
		mean, std := stat.MeanStdDev(values, nil)
		if stdErr := std / math.Sqrt(repeats); !scalar.EqualWithinAbs(mean, want.information, 4*stdErr) {
			t.Errorf("state %d: mean %g ± %g, enumeration gives %g", s, mean, stdErr, want.information)
		}
		if nested := math.Sqrt(want.variance / trajectories); !(std < nested/3) {
			t.Errorf("state %d: standard deviation %g; nested Monte Carlo has %g with as many trajectories", s, std,
				nested)
		}
		if one := x.enumerate(s, 1).information; want.information < 1.2*one {
			t.Errorf("state %d: the test has no power: %g nats in %d steps, %g in one", s, want.information, length,
				one)
		}
	}
}

// TestEIGStandardErrorAndBias draws the samples at random, so that both sources of error are at work.
func TestEIGStandardErrorAndBias(t *testing.T) {
	x := newTwoStates(t)
	const repeats, n, length = 600, 60, 3
	rng := rand.New(rand.NewPCG(3, 1))
	var values, stdErrs []float64
	for range repeats {
		index := make([]int, n)
		for i := range index {
			index[i] = rng.IntN(6)
		}
		scores, err := RewardEIG{Length: length, Trajectories: 30}.Score(x.problem, x.pick(index), []int{0}, rng)
		if err != nil {
			t.Fatal(err)
		}
		values, stdErrs = append(values, scores[0].Value), append(stdErrs, scores[0].StdErr)
	}
	want := x.enumerate(0, length)
	mean, std := stat.MeanStdDev(values, nil)
	// N·E Σ w_j² does not depend on N when samples are drawn from a discrete set of 6.
	biased := want.information - (6*want.squares-1)/(2*n)
	if stdErr := std / math.Sqrt(repeats); !scalar.EqualWithinAbs(mean, biased, 4*stdErr) ||
		math.Abs(mean-want.information) < 2*stdErr {
		t.Errorf("mean %g ± %g, want %g (the information %g with its bias)", mean, stdErr, biased, want.information)
	}
	if ratio := stat.Mean(stdErrs, nil) / std; !(ratio > 1 && ratio < 2) { // an upper bound, and not a useless one
		t.Errorf("stated standard error %g, actual %g", stat.Mean(stdErrs, nil), std)
	}
}

// TestEIGStandardErrorOfTheSimulation: of many samples and few trajectories, the error is that of the trajectories.
func TestEIGStandardErrorOfTheSimulation(t *testing.T) {
	x := newTwoStates(t)
	const repeats = 300
	samples := x.pick(slices.Repeat([]int{0, 1, 2, 3, 4, 5}, 200))
	rng := rand.New(rand.NewPCG(4, 1))
	var values, squares []float64
	for range repeats {
		scores, err := RewardEIG{Length: 4, Trajectories: 6}.Score(x.problem, samples, []int{0}, rng)
		if err != nil {
			t.Fatal(err)
		}
		values, squares = append(values, scores[0].Value), append(squares, scores[0].StdErr*scores[0].StdErr)
	}
	stated, std := math.Sqrt(stat.Mean(squares, nil)), stat.StdDev(values, nil)
	if ratio := stated / std; !(ratio > 0.8 && ratio < 2) { // samples are taken evenly, which makes it smaller
		t.Errorf("stated standard error %g, actual %g", stated, std)
	}
}

func TestBest(t *testing.T) {
	for want, values := range map[int][]float64{-1: nil, 0: {2, 2, 1}, 1: {-3, -2, -2}} {
		var scores []Score
		for _, v := range values {
			scores = append(scores, Score{Value: v})
		}
		if got := Best(scores); got != want {
			t.Errorf("the best of %v is %d, want %d", values, got, want)
		}
	}
}

func TestBadScoring(t *testing.T) {
	x := newTwoStates(t)
	rng := rand.New(rand.NewPCG(1, 1))
	wide := &irl.Samples{Reward: x.samples.Reward, Q: mat.NewDense(6, 4, nil)}
	for _, c := range []struct {
		of         Acquisition
		samples    *irl.Samples
		candidates []int
		want       string
	}{
		{RewardEIG{Length: 0, Trajectories: 10}, x.samples, nil, "Length = 0"},
		{RewardEIG{Length: 1, Trajectories: 1}, x.samples, nil, "Trajectories = 1"},
		{RewardEIG{1, 2, 1, 1}, x.samples, nil, "FinalTrajectories = 1"},
		{RewardEIG{1, 2, -1, 2}, x.samples, nil, "Finalists = -1"},
		{RewardEIG{Length: 1, Trajectories: 2}, wide, nil, "[6,4]"},
		{RewardEIG{Length: 1, Trajectories: 2}, x.samples, []int{0, 3}, "candidates[1] = 3"},
		{ActiveVaR{1}, x.samples, nil, "Level = 1"},
		{ActiveVaR{0.9}, x.pick([]int{1}), nil, "n ≥ 2"},
		{ActiveVaR{0.9}, &irl.Samples{Q: x.samples.Q}, nil, "want rewards"},
		{ActiveVaR{0.9}, &irl.Samples{Q: x.samples.Q, Reward: mat.NewDense(5, 3, nil)}, nil, "rewards are [5,3]"},
		{RewardEIG{Length: 1, Trajectories: 2}, &irl.Samples{Reward: x.samples.Reward}, nil, "want Q-values"},
		{Random{}, x.samples, []int{-1}, "candidates[0] = -1"},
	} {
		if _, err := c.of.Score(x.problem, c.samples, c.candidates, rng); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.of.Name(), err, c.want)
		}
	}
}

// TestFinalistsDecide checks that the winner was scored with the second number of trajectories, and that its score is
// not biased by its having won.
func TestFinalistsDecide(t *testing.T) {
	x := newTwoStates(t)
	const length, repeats = 4, 200
	candidates := make([]int, 12) // equally good, so that the first scoring has a winner by luck alone
	information := x.enumerate(0, length).information
	rng := rand.New(rand.NewPCG(4, 1))
	var winners, firsts []float64
	for range repeats {
		// different random numbers for each: independent scorings of one candidate each
		first := 0.0
		for _, s := range candidates {
			scores, err := RewardEIG{Length: length, Trajectories: 3}.Score(x.problem, x.samples, []int{s}, rng)
			if err != nil {
				t.Fatal(err)
			}
			first = max(first, scores[0].Value)
		}
		firsts = append(firsts, first)
		scores, err := RewardEIG{length, 3, 2, 300}.Score(x.problem, x.samples, []int{0, 1, 2}, rng)
		if err != nil {
			t.Fatal(err)
		}
		winners = append(winners, scores[Best(scores)].Value)
	}
	want := math.Max(information, x.enumerate(1, length).information)
	mean, std := stat.MeanStdDev(winners, nil)
	stdErr := std / math.Sqrt(repeats)
	// of equally good candidates, three trajectories alone make one win by luck
	if !scalar.EqualWithinAbs(mean, want, 4*stdErr) || !(stat.Mean(firsts, nil) > want+20*stdErr) {
		t.Errorf("winners score %g ± %g on average, want %g; without a final %g", mean, stdErr, want,
			stat.Mean(firsts, nil))
	}
}

// TestTheWinnerIsAFinalist: where the second scoring leaves a candidate in front that had only the first, that one is
// scored a second time too.
func TestTheWinnerIsAFinalist(t *testing.T) {
	x := newTwoStates(t)
	candidates, more := []int{0, 1, 2, 0, 1}, 0
	for seed := range uint64(100) {
		of := func(finalists int) []Score {
			e := RewardEIG{Length: 4, Trajectories: 2, Finalists: finalists, FinalTrajectories: 5}
			scores, err := e.Score(x.problem, x.samples, candidates, rand.New(rand.NewPCG(seed, 7)))
			if err != nil {
				t.Fatal(err)
			}
			return scores
		}
		first, final := of(0), of(1)
		again := 0
		for i := range final {
			if final[i] != first[i] {
				again++
			}
		}
		if best := Best(final); again < 1 || final[best] == first[best] {
			t.Errorf("seed %d: %d scored again, and the winner not among them: %v, at first %v", seed, again, final,
				first)
		}
		if again > 1 {
			more++
		}
	}
	if more < 10 || more > 90 {
		t.Errorf("in %d of 100 cases more than one candidate was scored again", more)
	}
}

// TestCandidatesShareTheirLuck checks that candidates are simulated with the same random numbers.
func TestCandidatesShareTheirLuck(t *testing.T) {
	x := newTwoStates(t)
	scores, err := RewardEIG{Length: 4, Trajectories: 5}.Score(x.problem, x.samples, []int{0, 1, 0, 1},
		rand.New(rand.NewPCG(5, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if scores[0] != scores[2] || scores[1] != scores[3] || scores[0] == scores[1] || scores[0].StdErr == 0 {
		t.Errorf("scores %v of the candidates 0, 1, 0, 1", scores)
	}
}
