package expert

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
)

// A walk along the integers 0, 1, 2, where r(s, a) = s + a/10 for the actions 0 and 1.
func walkingTrainer(rewards Rewards) *trainer {
	c := Default("walk")
	c.Discount, c.RewardScale = 0.5, 1
	return &trainer{config: c, options: Options{Rewards: rewards}, learner: &learner{actions: 2},
		replay: newReplay(1, 100)}
}

func walkRewards(observations []float32, actions []int) ([]float64, error) {
	out := make([]float64, len(actions))
	for i, a := range actions {
		out[i] = float64(observations[i]) + float64(a)/10
	}
	return out, nil
}

func TestAnEndIsWorthItsStateForEver(t *testing.T) {
	tr := walkingTrainer(walkRewards)
	now, after := []float32{0, 1, 2}, []float32{1, 2, -3}
	got, err := tr.returns(now, []int{1, 0, 1}, []float64{100, 100, 100}, after, []bool{false, true, true})
	if err != nil {
		t.Fatal(err)
	}
	// What staying in the last state pays, summed up step by step: its best reward at each.
	forever := func(reward float64) (sum float64) {
		for k := 1; k < 200; k++ {
			sum += math.Pow(0.5, float64(k)) * reward
		}
		return sum
	}
	for i, want := range []float64{0.1, 1 + forever(2.1), 2.1 + forever(-2.9)} {
		if !scalar.EqualWithinAbs(got[i], want, 1e-12) {
			t.Errorf("transition %d is worth %g, want %g", i, got[i], want)
		}
	}
	// Without rewards of one's own it is what the environment pays.
	plain, err := walkingTrainer(nil).returns(now, []int{1, 0, 1}, []float64{5, 6, 7}, after, []bool{false, true, true})
	if err != nil || plain[1] != 6 {
		t.Errorf("transitions are worth %v (error %v), want what the environment paid", plain, err)
	}
}

// Ends that pay by where they came from: 3 after each step of time if it was 1, and otherwise -1.
func TestEndsPayWhatTheyAreSaidTo(t *testing.T) {
	ends := func(from, to []float32) (float64, error) {
		if from[0] == 1 && to[0] == 2 {
			return 3, nil
		}
		return -1, nil
	}
	tr := walkingTrainer(walkRewards)
	tr.options.Ends = ends
	got, err := tr.returns([]float32{0, 1, 2}, []int{1, 0, 1}, make([]float64, 3), []float32{1, 2, -3},
		[]bool{false, true, true})
	if err != nil {
		t.Fatal(err)
	}
	const forEver = 0.5 / (1 - 0.5) // γ / (1 − γ)
	for i, want := range []float64{0.1, 1 + 3*forEver, 2.1 - forEver} {
		if !scalar.EqualWithinAbs(got[i], want, 1e-12) {
			t.Errorf("transition %d is worth %g, want %g", i, got[i], want)
		}
	}
	worth, err := Objective(walkRewards, ends, 0.5, 2, []demo.Trajectory{
		{Observations: []float32{0, 1, 2}, Actions: []int{1, 0}, Terminated: true},
		{Observations: []float32{0, 1, 2}, Actions: []int{1, 0}, Truncated: true}, // goes on at 2
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0.1 + 0.5 + 0.25*3*2, 0.1 + 0.5 + 0.25*2.1*2} {
		if !scalar.EqualWithinAbs(worth[i], want, 1e-6) {
			t.Errorf("trajectory %d is worth %g, want %g", i, worth[i], want)
		}
	}
	for name, wrong := range map[string]Ends{
		"NaN":   func(_, _ []float32) (float64, error) { return math.NaN(), nil },
		"error": func(_, _ []float32) (float64, error) { return 0, errors.New("wrong") },
	} {
		tr.options.Ends = wrong
		if _, err := tr.worth().end([]float32{1}, []float32{2}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestObjectiveIsTheDiscountedReturn(t *testing.T) {
	tr := walkingTrainer(walkRewards)
	trajectories := []demo.Trajectory{
		{Observations: []float32{0, 1, 2}, Actions: []int{1, 0}, Rewards: []float64{9, 9}, Terminated: true},
		{Observations: []float32{2, 4}, Actions: []int{0}, Rewards: []float64{9}, Truncated: true},
	}
	got, err := tr.objective(trajectories)
	if err != nil {
		t.Fatal(err)
	}
	// γ = ½: 0.1 + ½·1 + ¼·2.1/(1 − ½) and 2 + ½·4.1/(1 − ½)
	if want := ((0.1 + 0.5 + 0.25*2.1*2) + (2 + 0.5*4.1*2)) / 2; !scalar.EqualWithinAbs(got, want, 1e-6) {
		t.Errorf("the objective is %g, want %g", got, want)
	}
}

func TestDemonstrationsAreRememberedWithTheirEnds(t *testing.T) {
	tr := walkingTrainer(walkRewards)
	tr.config.Demonstrated = 8
	tr.options.Demonstrations = []demo.Trajectory{
		{Observations: []float32{0, 1, 2}, Actions: []int{1, 0}, Terminated: true},
		{Observations: []float32{1, 2}, Actions: []int{0}, Truncated: true},
	}
	if err := tr.demonstrate(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []transition{{reward: 0.1, discount: 0.5}, {reward: 1 + 2.1, discount: 0},
		{reward: 1, discount: 0.5}} {
		r := tr.demonstrated
		if !scalar.EqualWithinAbs(float64(r.rewards[i]), want.reward, 1e-6) ||
			float64(r.discounts[i]) != want.discount {
			t.Errorf("transition %d: reward %g, discount %g, want %g and %g", i, r.rewards[i], r.discounts[i],
				want.reward,
				want.discount)
		}
	}
	tr.config.Demonstrated = 0
	if err := tr.demonstrate(); err == nil {
		t.Error("demonstrations without a part in the batch were taken")
	}
}

func TestRewardsAreChecked(t *testing.T) {
	wrong := errors.New("wrong")
	for name, rewards := range map[string]Rewards{
		"NaN":   func(_ []float32, a []int) ([]float64, error) { return []float64{math.NaN()}, nil },
		"few":   func(_ []float32, a []int) ([]float64, error) { return nil, nil },
		"error": func(_ []float32, a []int) ([]float64, error) { return nil, wrong },
	} {
		if _, err := walkingTrainer(rewards).worth().of([]float32{1}, []int{0}); err == nil ||
			name == "error" && !errors.Is(err, wrong) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
