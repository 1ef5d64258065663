package demo

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example makes n trajectories with observations of the given shape and 3 actions.
func example(n int, seed uint64, shape ...int) *Set {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &Set{Description: Description{Environment: "Example-v1", Versions: map[string]string{"example": "1.2"},
		ObservationShape: shape, Actions: 3,
		Expert: "a test", Seed: seed, Statistics: map[string]float64{"entropy": 0.5}}}
	size := s.ObservationSize()
	for i := range n {
		t := Trajectory{Seed: int64(i) - 1, Terminated: i%3 == 0, Truncated: i%3 == 1}
		for range 1 + r.IntN(9) {
			t.Actions = append(t.Actions, r.IntN(3))
			t.Rewards = append(t.Rewards, r.NormFloat64())
			t.LogProbs = append(t.LogProbs, -1, -0.5, -2)
		}
		for range (t.Len() + 1) * size {
			t.Observations = append(t.Observations, float32(r.NormFloat64()))
		}
		s.Trajectories = append(s.Trajectories, t)
	}
	return s
}

func TestTrajectory(t *testing.T) {
	x := Trajectory{Observations: []float32{1, 2, 3, 4, 5, 6}, Actions: []int{0, 1}, Rewards: []float64{0.5, 2}}
	if x.Len() != 2 || x.Return() != 2.5 || !slices.Equal(x.Observation(2), []float32{5, 6}) {
		t.Errorf("length %d, return %g, last observation %v", x.Len(), x.Return(), x.Observation(2))
	}
	x.Rewards = nil
	if !math.IsNaN(x.Return()) {
		t.Errorf("the return of unknown rewards is %g", x.Return())
	}
}

func TestSliceIsAPieceOfATrajectory(t *testing.T) {
	whole := Trajectory{Observations: []float32{0, 1, 2, 3, 4, 5, 6, 7}, Actions: []int{0, 1, 1},
		Rewards:  []float64{0.5, 2, 3},
		LogProbs: []float32{-1, -2, -3, -4, -5, -6}, Terminated: true, Truncated: true, Seed: 7}
	for _, c := range []struct {
		from, to int
		want     Trajectory
	}{
		{0, 2, Trajectory{Observations: []float32{0, 1, 2, 3, 4, 5}, Actions: []int{0, 1}, Rewards: []float64{0.5, 2},
			LogProbs: []float32{-1, -2, -3, -4}, Seed: NoSeed}},
		{1, 3, Trajectory{Observations: []float32{2, 3, 4, 5, 6, 7}, Actions: []int{1, 1}, Rewards: []float64{2, 3},
			LogProbs:   []float32{-3, -4, -5, -6},
			Terminated: true, Truncated: true, Seed: NoSeed}},
	} {
		if got := whole.Slice(c.from, c.to); !reflect.DeepEqual(got, c.want) {
			t.Errorf("transitions %d to %d are %+v, want %+v", c.from, c.to-1, got, c.want)
		}
	}
	bare := Trajectory{Observations: []float32{1, 2}, Actions: []int{1}}
	if got := bare.Slice(0, 1); got.Rewards != nil || got.LogProbs != nil {
		t.Errorf("what is not known of a trajectory is %+v in a piece of it", got)
	}
}

func TestSetSumsUp(t *testing.T) {
	s := &Set{Description: Description{Actions: 2}, Trajectories: []Trajectory{
		{Actions: []int{0, 1}, Rewards: []float64{1, 2}, LogProbs: []float32{-1, -2, -3, -4}},
		{Actions: []int{1}, Rewards: []float64{5}, LogProbs: []float32{-5, -6}},
	}}
	if got, ok := s.ExpertLogLikelihood(); !ok || !(math.Abs(got+11.0/3) <= 1e-12) { // (−1 − 4 − 6) / 3
		t.Errorf("expert log-likelihood %g, %v", got, ok)
	}
	if diff := cmp.Diff(&Returns{Mean: 4, Std: math.Sqrt2, Min: 3, Max: 5}, s.Returns()); diff != "" {
		t.Error(diff)
	}
	s.Trajectories[1].LogProbs = nil
	if _, ok := s.ExpertLogLikelihood(); ok {
		t.Error("a log-likelihood of what is not known")
	}
}

func TestValidateNamesTheFault(t *testing.T) {
	nan := math.NaN()
	for want, change := range map[string]func(*Set){
		"no transitions":                  func(s *Set) { s.Trajectories[2].Actions = nil },
		"trajectory 2: action[0] is 3":    func(s *Set) { s.Trajectories[2].Actions[0] = 3 },
		"trajectory 2: action[0] is -1":   func(s *Set) { s.Trajectories[2].Actions[0] = -1 },
		"trajectory 2: observation[1][0]": func(s *Set) { s.Trajectories[2].Observations[2] = float32(nan) },
		"trajectory 2: reward[0] is NaN":  func(s *Set) { s.Trajectories[2].Rewards[0] = nan },
		"log-probability[0][1] is 0.5":    func(s *Set) { s.Trajectories[2].LogProbs[1] = 0.5 },
		"is -Inf, though that is the action taken": func(s *Set) {
			s.Trajectories[2].LogProbs[s.Trajectories[2].Actions[0]] = float32(math.Inf(-1))
		},
		"rewards for": func(s *Set) {
			s.Trajectories[2].Rewards = append(s.Trajectories[2].Rewards,
				1)
		},
		"observations of 2 numbers each": func(s *Set) {
			of := &s.Trajectories[2]
			of.Observations = of.Observations[1:]
		},
		"0 actions":                   func(s *Set) { s.Actions = 0 },
		"seed is -2":                  func(s *Set) { s.Trajectories[2].Seed = -2 },
		"trajectories 0 and 2":        func(s *Set) { s.Trajectories[2].Rewards = nil },
		"at index 0, want at least 1": func(s *Set) { s.ObservationShape = []int{0} },
		"log-probabilities for":       func(s *Set) { s.Trajectories[2].LogProbs = []float32{-1} },
	} {
		s := example(4, 1, 2)
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		change(s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

func TestSplitsAreDisjointAndComplete(t *testing.T) {
	all := make([]Trajectory, PaperTrain+PaperValidation+PaperTest)
	for i := range all {
		all[i].Seed = int64(i)
	}
	parts, err := Split(all, 3, PaperTrain, PaperValidation, PaperTest)
	if err != nil {
		t.Fatal(err)
	}
	subsets, heldOut, err := Deal(all, 3, PaperTrain, PaperSubsets, PaperValidation, PaperTest)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(heldOut, parts[1:]) {
		t.Error("what is held out of subsets is not what a split holds out")
	}
	seen := map[int64]int{}
	for i, p := range append(subsets, heldOut...) {
		if want := map[bool]int{true: 80, false: 100}[i < 10]; len(p) != want {
			t.Errorf("part %d has %d trajectories, want %d", i, len(p), want)
		}
		for _, x := range p {
			seen[x.Seed]++
		}
	}
	if len(seen) != 1000 {
		t.Errorf("the parts have %d trajectories together, want 1000", len(seen))
	}
	again, _ := Split(all, 3, PaperTrain)
	other, _ := Split(all, 4, PaperTrain)
	if again[0][5].Seed != parts[0][5].Seed || again[0][5].Seed == other[0][5].Seed &&
		again[0][6].Seed == other[0][6].Seed {
		t.Error("a split does not depend on the seed, and on it alone")
	}
	for i := range all { // the order is not the file's
		if parts[0][i].Seed != int64(i) {
			break
		}
		if i == 5 {
			t.Error("the split is not at random")
		}
	}
}

func TestSamplesGrow(t *testing.T) {
	all := example(50, 2, 1).Trajectories
	small, err := Sample(all, 5, 9)
	if err != nil {
		t.Fatal(err)
	}
	large, err := Sample(all, 20, 9)
	if err != nil {
		t.Fatal(err)
	}
	if len(small) != 5 || len(large) != 20 || !cmp.Equal(small, large[:5]) {
		t.Error("a sample is not the beginning of a larger one")
	}
	for _, n := range []int{-1, 51} {
		if _, err := Sample(all, n, 1); err == nil {
			t.Errorf("a sample of %d of 50", n)
		}
	}
	for _, k := range []int{0, 51} {
		if _, _, err := Deal(all, 1, 50, k); err == nil {
			t.Errorf("%d subsets of 50", k)
		}
	}
}

func TestEnded(t *testing.T) {
	some := []Trajectory{{Terminated: true}, {Truncated: true}, {}, {Terminated: true}}
	if got := Ended(some); got != 0.5 {
		t.Errorf("the share %g, want 0.5", got)
	}
}
