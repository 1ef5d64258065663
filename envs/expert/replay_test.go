package expert

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/npz"
)

func TestReplayKeepsTheLast(t *testing.T) {
	r := newReplay(2, 5)
	for i := range 12 {
		x := float32(i)
		r.add(transition{[]float32{x, -x}, []float32{x + 1, -x - 1}, i % 3, float64(10 * i), 0.5})
	}
	seen := map[float32]int{}
	b := r.sample(batch{}, 2000, rand.New(rand.NewPCG(1, 1)))
	for k := range 2000 {
		x := b.observations[2*k]
		seen[x]++
		if i := int(x); b.observations[2*k+1] != -x || b.nexts[2*k] != x+1 || int(b.actions[k]) != i%3 ||
			b.rewards[k] != 10*x || b.discounts[k] != 0.5 {
			t.Fatalf("transition %d came back in parts", i)
		}
	}
	for i := range 12 {
		if n := seen[float32(i)]; i < 7 && n > 0 || i >= 7 && (n < 300 || n > 500) { // 400 ± 18 each
			t.Errorf("transition %d was drawn %d times of 2000", i, n)
		}
	}
}

// Of eight transitions in a replay of five, the first two were kept, and the last three are there.
func TestReplayNeverForgetsWhatItKeeps(t *testing.T) {
	r := newReplay(1, 5)
	for i := range 8 {
		r.add(transition{[]float32{float32(i)}, []float32{0}, i, float64(i), 0.5})
		if i == 1 {
			r.keep()
		}
	}
	slices.Sort(r.observations)
	if want := []float32{0, 1, 5, 6, 7}; !slices.Equal(r.observations, want) {
		t.Errorf("the replay holds %v, want %v", r.observations, want)
	}
	if first := r.first(); first.count != 2 || !slices.Equal(first.rewards, []float32{0, 1}) {
		t.Errorf("kept are %v", first.rewards)
	}
}

func TestReplayIsStored(t *testing.T) {
	for _, added := range []int{3, 8} {
		r := newReplay(1, 5)
		for i := range added {
			r.add(transition{[]float32{float32(i)}, []float32{float32(i) + 0.5}, i % 2, float64(i), 0.25})
		}
		arrays := map[string]npz.Array{}
		r.store(arrays)
		path := filepath.Join(t.TempDir(), "replay.npz")
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		a, err := npz.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		back := newReplay(1, 5)
		if err := back.load(a, 2, r.next, 0); err != nil {
			t.Fatal(err)
		}
		r.add(transition{[]float32{100}, []float32{101}, 1, 9, 0})
		back.add(transition{[]float32{100}, []float32{101}, 1, 9, 0})
		one := r.sample(batch{}, 50, rand.New(rand.NewPCG(2, 2)))
		two := back.sample(batch{}, 50, rand.New(rand.NewPCG(2, 2)))
		for k := range 50 {
			if one.observations[k] != two.observations[k] || one.nexts[k] != two.nexts[k] ||
				one.actions[k] != two.actions[k] ||
				one.rewards[k] != two.rewards[k] || one.discounts[k] != two.discounts[k] {
				t.Fatalf("after %d transitions, draw %d differs from the original's", added, k)
			}
		}
		for _, wrong := range []struct{ capacity, actions, next int }{{2, 2, 0}, {5, 1, r.next}, {5, 2, -1},
			{5, 2, 5}} {
			if err := newReplay(1, wrong.capacity).load(a, wrong.actions, wrong.next, 0); err == nil {
				t.Errorf("%+v was accepted", wrong)
			}
		}
		if err := newReplay(2, 5).load(a, 2, min(added, 5)%5, 0); err == nil {
			t.Error("observations of another size were accepted")
		}
	}
}

func TestDamagedRunsAreRefused(t *testing.T) {
	c := toyConfig()
	l, err := newLearner(pureGo(t), c, 2, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run.npz")
	run := func() *trainer {
		r := toyReplay(1)
		r.capacity = c.Replay
		return &trainer{config: c, options: Options{Checkpoint: path}, learner: l, replay: r}
	}
	first := run()
	first.steps, first.episodes, first.curve = c.SegmentSteps, 7, []Point{{Steps: c.SegmentSteps, Return: 1}}
	first.replay.next = 16
	if err := first.store(); err != nil {
		t.Fatal(err)
	}
	second := run()
	if ok, err := second.resume(); err != nil || !ok || second.steps != first.steps || second.episodes != 7 ||
		second.curve[0] != first.curve[0] {
		t.Fatalf("went on at %d steps with the curve %v (error %v)", second.steps, second.curve, err)
	}
	other := run()
	other.config.Discount = 0.5
	if _, err := other.resume(); err == nil {
		t.Error("a run with another discount was gone on with")
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole)-1; n += len(whole)/20 + 1 {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := run().resume(); err == nil {
			t.Errorf("a run cut off after %d of %d bytes was gone on with", n, len(whole))
		}
	}
}

// TestReturnsOfSeveralSteps holds the window against the sums by their definition: r_t + γ r_t+1 + … up to n steps, the
// end of the episode, or a transition that ends the return.
func TestReturnsOfSeveralSteps(t *testing.T) {
	const gamma = 0.9
	for _, n := range []int{0, 1, 3, 20} {
		for _, ends := range []int{-1, 4, 9} { // the step that ends the return
			into := newReplay(1, 100)
			var w window
			const steps = 10
			for k := range steps {
				d := gamma
				if k == ends {
					d = 0
				}
				w.push(transition{observation: []float32{float32(k)}, next: []float32{float32(k + 1)}, action: k,
					reward: float64(k + 1), discount: d}, n, k == steps-1, into)
			}
			if into.count != steps {
				t.Fatalf("n = %d: %d transitions, want %d", n, into.count, steps)
			}
			for i, k := range into.actions {
				reward, discount, last := 0.0, 1.0, int(k)
				for j := range max(1, n) {
					if last = int(k) + j; last >= steps {
						last = steps - 1
						break
					}
					reward += discount * float64(last+1)
					discount *= gamma
					if last == ends {
						discount = 0
						break
					}
				}
				if !scalar.EqualWithinAbsOrRel(float64(into.rewards[i]), reward, 1e-5, 1e-5) ||
					!scalar.EqualWithinAbs(float64(into.discounts[i]), discount, 1e-6) ||
					into.observations[i] != float32(k) || into.nexts[i] != float32(last+1) {
					t.Errorf("n = %d, end at %d, step %d: reward %g, discount %g, to %g; want %g, %g, %d", n, ends, k,
						into.rewards[i], into.discounts[i], into.nexts[i], reward, discount, last+1)
				}
			}
		}
	}
}

// TestRewardsOfTransitions: signs alone count where the config says so, and a life lost ends the return.
func TestRewardsOfTransitions(t *testing.T) {
	lives := 1
	for _, c := range []struct {
		config            Config
		reward            float64
		before, after     float32
		terminated        bool
		want, wantedAfter float64
	}{
		{Config{RewardScale: 2, Discount: 0.9}, -30, 3, 2, false, -60, 0.9},
		{Config{RewardScale: 2, Discount: 0.9}, 5, 3, 3, true, 10, 0},
		{Config{RewardScale: 2, Discount: 0.9, ClipRewards: true}, -30, 3, 3, false, -2, 0.9},
		{Config{RewardScale: 2, Discount: 0.9, ClipRewards: true}, 0.25, 3, 3, false, 2, 0.9},
		{Config{RewardScale: 1, Discount: 0.9, ClipRewards: true, Lives: &lives}, 200, 3, 2, false, 1, 0},
		{Config{RewardScale: 1, Discount: 0.9, ClipRewards: true, Lives: &lives}, 0, 0, 3, false, 0, 0.9},
	} {
		r := trainer{config: c.config}
		got := r.transition([]float32{9, c.before}, []float32{1, c.after}, 0, c.reward, c.terminated)
		if got.reward != c.want || got.discount != c.wantedAfter {
			t.Errorf("%+v: reward %g, discount %g", c, got.reward, got.discount)
		}
	}
}

// TestBatchesEndWithDemonstratedTransitions, as many as the config says.
func TestBatchesEndWithDemonstratedTransitions(t *testing.T) {
	tr := walkingTrainer(nil)
	tr.config.Batch, tr.config.Demonstrated, tr.demonstrated = 8, 3, newReplay(1, 2)
	for range 2 {
		tr.replay.add(transition{observation: []float32{1}, next: []float32{1}})
		tr.demonstrated.add(transition{observation: []float32{2}, next: []float32{2}})
	}
	got := tr.draw(tr.replay, rand.New(rand.NewPCG(1, 1))).observations
	if want := []float32{1, 1, 1, 1, 1, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("the batch is of %v, want %v", got, want)
	}
}
