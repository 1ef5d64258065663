package gridworld

import (
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/go-birl/birl/envs/mdp"
)

// probability returns p(next | s, a).
func probability(m *mdp.MDP, s, a, next int) float64 {
	to, prob := m.Row(s, a)
	for k, t := range to {
		if int(t) == next {
			return prob[k]
		}
	}
	return 0
}

// The 6 highest of 64 rewards are terminal in every world, whatever chance has made terminal besides.
func TestPaperWorlds(t *testing.T) {
	var rewards []float64
	byChance, lower := 0.0, 0.0
	const worlds = 300
	for seed := uint64(0); seed < worlds; seed++ {
		w, err := Random(Paper(), seed)
		if err != nil {
			t.Fatal(err)
		}
		if w.MDP.States() != 64 || w.MDP.Actions() != 5 {
			t.Fatalf("the world has %d states and %d actions, want 64 and 5", w.MDP.States(), w.MDP.Actions())
		}
		sorted := append([]float64(nil), w.Reward...)
		sort.Float64s(sorted)
		for s, r := range w.Reward {
			if w.Terminal[s] != w.MDP.Terminal(s) {
				t.Fatalf("seed %d, state %d: the flag and the transitions disagree", seed, s)
			}
			if r >= sorted[64-6] {
				if !w.Terminal[s] {
					t.Fatalf("seed %d: state %d has one of the 6 highest rewards and is not terminal", seed, s)
				}
				continue
			}
			lower++
			if w.Terminal[s] {
				byChance++
			}
		}
		rewards = append(rewards, w.Reward...)
		for _, p := range w.MDP.Initial() {
			if !scalar.EqualWithinAbs(p, 1.0/64, 1e-15) {
				t.Fatalf("the initial distribution is not uniform: %g", p)
			}
		}
	}
	n := float64(len(rewards))
	mean, std := stat.MeanStdDev(rewards, nil) // within four standard errors
	if !(math.Abs(mean+1) <= 4*3/math.Sqrt(n)) || !scalar.EqualWithinAbs(std, 3, 4*3/math.Sqrt(2*n)) {
		t.Errorf("rewards have mean %g and standard deviation %g, want −1 and 3", mean, std)
	}
	if rate := byChance / lower; !scalar.EqualWithinAbs(rate, 0.1, 4*math.Sqrt(0.09/lower)) {
		t.Errorf("a fraction %g of the other states is terminal, want 0.1", rate)
	}
}

func TestRandomIsDeterministic(t *testing.T) {
	a, err := Random(Paper(), 7)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Random(Paper(), 8)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Random(Paper(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(a.Reward, again.Reward) || !cmp.Equal(a.Terminal, again.Terminal) {
		t.Error("the same seed gives another world")
	}
	if cmp.Equal(a.Reward, other.Reward) {
		t.Error("another seed gives the same world")
	}
	one, err := a.Demonstrate(5, 5, 2, 0.9, 3)
	if err != nil {
		t.Fatal(err)
	}
	two, err := again.Demonstrate(5, 5, 2, 0.9, 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, two); diff != "" {
		t.Error("the same seed gives other demonstrations:\n" + diff)
	}
}

// Slip 0.1 over five actions: an intended move is executed with probability 0.92, any other with 0.02.
func TestTransitions(t *testing.T) {
	w, err := New(3, 2, []float64{0, 0, 0, 0, 0, 0}, make([]bool, 6), 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		s, a, next int
		want       float64
	}{
		{1, Right, 2, 0.92}, {1, Right, 0, 0.02}, {1, Right, 4, 0.02},
		{1, Right, 1, 0.04}, // by staying, and by moving up against the edge
		{0, Left, 0, 0.96},  // intended 0.92, and by staying and moving up
		{0, Stay, 0, 0.96}, {0, Stay, 1, 0.02}, {0, Stay, 3, 0.02},
		{5, Up, 2, 0.92}, {5, Down, 5, 0.96}, {4, Down, 4, 0.94}, {4, Down, 1, 0.02},
		{2, Right, 3, 0}, // rows do not wrap around
	} {
		if got := probability(w.MDP, c.s, c.a, c.next); !scalar.EqualWithinAbs(got, c.want, 1e-15) {
			t.Errorf("p(%d | %d, %s) = %g, want %g", c.next, c.s, ActionNames[c.a], got, c.want)
		}
	}
	sure, err := New(2, 1, []float64{1, 2}, []bool{false, true}, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := probability(sure.MDP, 0, Right, 1); got != 1 {
		t.Errorf("without slip a move succeeds with probability %g", got)
	}
	if !sure.MDP.Ends(1, Stay) {
		t.Error("the terminal state does not end the episode")
	}
}

// In terminal states V = Q = R; elsewhere Q(s, ·) is R(s) plus the discounted value of what follows.
func TestValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Paper()
		c.Width, c.Height = rapid.IntRange(1, 7).Draw(t, "width"), rapid.IntRange(1, 7).Draw(t, "height")
		w, err := Random(c, rapid.Uint64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		sol, err := w.MDP.Solve(w.Reward, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		q, _, err := w.MDP.ValueIteration(w.Reward, 0.9, 1e-11)
		if err != nil {
			t.Fatal(err)
		}
		if gap := floats.Distance(q, sol.Q, math.Inf(1)); gap > 1e-10 {
			t.Fatalf("value iteration differs by %g", gap)
		}
		for s, r := range w.Reward {
			row := sol.Q[s*Actions : (s+1)*Actions]
			if w.Terminal[s] && (sol.V[s] != r || floats.Min(row) != r || floats.Max(row) != r) {
				t.Fatalf("terminal state %d with reward %g has V = %g and Q = %v", s, r, sol.V[s], row)
			}
		}
	})
}

// In the empty world every value is R/(1 − γ).
func TestValuesWithoutEnd(t *testing.T) {
	reward := make([]float64, 20)
	floats.AddConst(-2, reward)
	w, err := New(5, 4, reward, make([]bool, 20), 0.1, nil)
	if err != nil {
		t.Fatal(err)
	}
	sol, err := w.MDP.Solve(reward, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	for s, v := range sol.V {
		if !(math.Abs(v+20) <= 1e-12) {
			t.Errorf("V(%d) = %v, want −20", s, v)
		}
	}
}

func TestDemonstrate(t *testing.T) {
	w, err := Random(Paper(), 1)
	if err != nil {
		t.Fatal(err)
	}
	demos, err := w.Demonstrate(200, 5, 2, 0.9, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(demos) != 200 {
		t.Fatalf("got %d trajectories, want 200", len(demos))
	}
	for _, d := range demos {
		for i, step := range d {
			last := i == len(d)-1
			if !last && probability(w.MDP, step.State, step.Action, d[i+1].State) == 0 {
				t.Errorf("%v does not lead to %v", step, d[i+1])
			}
			if last && len(d) < 5 && !w.Terminal[step.State] || !last && w.Terminal[step.State] {
				t.Errorf("trajectory %v does not end where the episode does", d)
			}
		}
	}
	// They come from a stream that is not the one that the world of the same seed was drawn from.
	sol, err := w.MDP.Solve(w.Reward, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	own := w.MDP.Demonstrate(rand.New(rand.NewPCG(1, 2)), sol.Q, 2, 200, 5)
	if !cmp.Equal(own, demos) {
		t.Error("the demonstrations are not of stream 2 of their seed")
	}
	if none, err := w.Demonstrate(0, 5, 2, 0.9, 1); err != nil || len(none) != 0 {
		t.Errorf("no demonstrations: got %v, %v", none, err)
	}
}

func TestRefuses(t *testing.T) {
	change := func(f func(*Config)) Config {
		c := Paper()
		f(&c)
		return c
	}
	for want, c := range map[string]Config{
		"size 0×8":         change(func(c *Config) { c.Width = 0 }),
		"RewardMean = NaN": change(func(c *Config) { c.RewardMean = math.NaN() }),
		"RewardStd = -1":   change(func(c *Config) { c.RewardStd = -1 }),
		"RewardStd = +Inf": change(func(c *Config) { c.RewardStd = math.Inf(1) }),
		"TerminalProb = 2": change(func(c *Config) { c.TerminalProb = 2 }),
		"TopFraction = -1": change(func(c *Config) { c.TopFraction = -1 }),
		"slip = NaN":       change(func(c *Config) { c.Slip = math.NaN() }),
		"slip = 1.5":       change(func(c *Config) { c.Slip = 1.5 }),
	} {
		if _, err := Random(c, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one with %q", err, want)
		}
	}
	flags := make([]bool, 2)
	if _, err := New(2, 1, []float64{1}, flags, 0, nil); err == nil {
		t.Error("one reward for two cells is accepted")
	}
	if _, err := New(2, 1, []float64{1, math.Inf(1)}, flags, 0, nil); err == nil ||
		!strings.Contains(err.Error(), "reward[1] = +Inf") {
		t.Errorf("an infinite reward gives the error %v", err)
	}
	if _, err := New(2, 1, []float64{1, 2}, flags, 0, []float64{1, 1}); err == nil {
		t.Error("an initial distribution that sums to 2 is accepted")
	}
	w, err := New(2, 1, []float64{1, 2}, flags, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, beta := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := w.Demonstrate(1, 1, beta, 0.9, 0); err == nil {
			t.Errorf("β = %g is accepted", beta)
		}
	}
	if _, err := w.Demonstrate(-1, 1, 1, 0.9, 0); err == nil {
		t.Error("−1 demonstrations are accepted")
	}
	if _, err := w.Demonstrate(1, 1, 1, 1, 0); err == nil {
		t.Error("the discount 1 is accepted")
	}
}
