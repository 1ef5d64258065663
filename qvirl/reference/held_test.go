package reference

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// Standard deviations of the rewards of passing.
const (
	goalStd, detourStd, betterStd = 1.2, 1, 1.5
)

// passing is a problem with so many places. In the first state of each the expert turns off to where a goal and a
// detour are, N(−3, goalStd²) and N(−3, detourStd²), or nothing, though a reward of 4 lies straight ahead, the same for
// all places and all but known. If the goal is what is worth it, so must something else be, N(0, betterStd²), that the
// expert prefers to the goal or a known ½ in a second state.
func passing(t testing.TB, places int) *irl.Problem {
	t.Helper()
	const size = 9
	rows := make([][]mdp.Transition, 3*(1+places*size))
	mean, std := make([]float64, 1+places*size), make([]float64, 1+places*size)
	mean[0], std[0] = 4, 0.01
	p := &irl.Problem{Discount: 1 - 1e-9, Beta: 5}
	for place := range places {
		first := 1 + place*size
		turn, goal, detour, nothing := first+1, first+2, first+3, first+4
		second, better, worse, half := first+5, first+6, first+7, first+8
		for _, way := range [][4]int{{first, turn, 0, 0}, {turn, nothing, goal, detour}, {second, better, worse, worse},
			{worse, half, goal, goal}} {
			for a, to := range way[1:] {
				rows[3*way[0]+a] = []mdp.Transition{{Next: to, Prob: 1}}
			}
		}
		mean[goal], mean[detour], mean[half] = -3, -3, 0.5
		std[goal], std[detour], std[better] = goalStd, detourStd, betterStd
		for range 10 {
			p.Demos = append(p.Demos, mdp.Step{State: first})
		}
		for range 50 {
			p.Demos = append(p.Demos, mdp.Step{State: second})
		}
	}
	complete(t, p, rows, mean, std)
	return p
}

// goalShare returns the probability that the goal of a place is what is worth it, by quadrature.
func goalShare() float64 {
	const nodes = 91
	var all, goals []float64
	at := func(i int) float64 { return -4 + 13*float64(i)/(nodes-1) }
	two := math.Log(2) // actions lead to the same
	for i := range nodes {
		goal := -3 + goalStd*at(i)
		for j := range nodes {
			detour := -3 + detourStd*at(j)
			l := -(at(i)*at(i)+at(j)*at(j))/2 - 10*softplus(two+5*(4-math.Max(0, math.Max(goal, detour))))
			for k := range nodes {
				better := betterStd * at(k)
				l := l - at(k)*at(k)/2 - 50*softplus(two+5*(math.Max(0.5, goal)-better))
				all = append(all, l)
				if goal > detour {
					goals = append(goals, l)
				}
			}
		}
	}
	return math.Exp(floats.LogSumExp(goals) - floats.LogSumExp(all))
}

// TestExplanationsOfTwoRewards: in each of several places a goal far out explains the demonstrations as well, but only
// together with another reward. Of two modes that differ in one place alone, one has the goal's share,
// in the mean over such pairs.
func TestExplanationsOfTwoRewards(t *testing.T) {
	const places = 10
	want := goalShare()
	_, found := searched(t, passing(t, places))
	shares := make([][]float64, places)
	for i, a := range found {
		for _, b := range found[:i] {
			place, goal := alone(a.differs(b))
			if place < 0 {
				continue
			}
			share := modes{a, b}.shares()[0]
			if b.u[goal] > a.u[goal] {
				share = 1 - share
			}
			shares[place] = append(shares[place], share)
		}
	}
	for place, of := range shares {
		// the tolerance is what Gaussian approximations and few draws of each leave
		if got := stat.Mean(of, nil); !(math.Abs(got-want) < 0.15) {
			t.Errorf("place %d: the goal has the share %.3f by %d pairs of modes, want %.3f", place, got, len(of), want)
		}
	}
}

// alone returns the only place of passing in which modes differ, and the coordinate of its goal; −1 if there is none.
func alone(differs set) (place, goal int) {
	place = -1
	for _, j := range differs.members() {
		at := (j - 1) / 3
		if j == 0 || place >= 0 && at != place {
			return -1, 0
		}
		place = at
	}
	return place, 1 + 3*place
}

// TestTwoRewardsInPlaceOfOne: in each of several places a detour explains the demonstrations of two states, and so do
// two goals together, one each.
func TestTwoRewardsInPlaceOfOne(t *testing.T) {
	const places, size = 6, 8
	rows := make([][]mdp.Transition, 3*(1+places*size))
	mean, std := make([]float64, 1+places*size), make([]float64, 1+places*size)
	mean[0], std[0] = 4, 0.01
	p := &irl.Problem{Discount: 1 - 1e-9, Beta: 5}
	for place := range places {
		first := 1 + place*size
		goals, detour, nothing := []int{first + 2, first + 7}, first+3, first+4
		for i, from := range []int{first, first + 5} {
			turn := from + 1
			for _, way := range [][4]int{{from, turn, 0, 0}, {turn, nothing, goals[i], detour}} {
				for a, to := range way[1:] {
					rows[3*way[0]+a] = []mdp.Transition{{Next: to, Prob: 1}}
				}
			}
			mean[goals[i]], std[goals[i]] = -3, 1.2+0.01*float64(place)
			for range 10 {
				p.Demos = append(p.Demos, mdp.Step{State: from})
			}
		}
		mean[detour], std[detour] = -3, 0.9
	}
	complete(t, p, rows, mean, std)
	target, found := searched(t, p)
	got := map[[places]bool]bool{}
	for _, o := range found {
		target.rewardAt(o.u)
		var goals [places]bool
		for place := range places {
			first := 1 + place*size
			goals[place] = min(target.reward[first+2], target.reward[first+7]) > target.reward[first+3]
		}
		got[goals] = true
	}
	for place := range places {
		var only [places]bool
		if only[place] = true; !got[only] || !got[[places]bool{}] {
			t.Errorf("no mode has the goals of place %d and the detours of all others, or none all detours", place)
		}
	}
}
