package expert

import (
	"fmt"
	"math/rand/v2"

	"github.com/go-birl/birl/envs/npz"
)

// replay remembers the last transitions, in a ring.
type replay struct {
	size, capacity int // of an observation; in transitions
	count, next    int // how many there are; where the next one goes
	kept           int // how many, the first ones, are never forgotten

	batch // all of them; the discount is 0 where the environment reached an end
}

// transition is what happened in one step.
type transition struct {
	observation, next []float32
	action            int
	reward, discount  float64
}

// window holds the last transitions of an episode until each is one of n steps: from s_t by a_t, with the reward
// Σ_k<n γᵏ r_t+k, to s_t+n, discounted by γⁿ.
type window struct{ held []transition }

// push adds a transition of one step, and puts into a replay those of n steps, or of the fewer that an episode's end
// leaves.
func (w *window) push(next transition, n int, end bool, into *replay) {
	for k := range w.held {
		t := &w.held[k]
		t.reward += t.discount * next.reward
		t.discount *= next.discount
		t.next = next.next
	}
	w.held = append(w.held, next)
	if !end && next.discount > 0 && len(w.held) < n {
		return
	}
	for len(w.held) > 0 {
		into.add(w.held[0])
		w.held = w.held[1:]
		if !end && next.discount > 0 {
			return
		}
	}
}

func newReplay(size, capacity int) *replay { return &replay{size: size, capacity: capacity} }

func (r *replay) add(t transition) {
	if i := r.next; r.count < r.capacity {
		r.observations, r.nexts = append(r.observations, t.observation...), append(r.nexts, t.next...)
		r.actions = append(r.actions, int32(t.action))
		r.rewards, r.discounts = append(r.rewards, float32(t.reward)), append(r.discounts, float32(t.discount))
		r.count++
	} else {
		copy(r.observations[i*r.size:], t.observation)
		copy(r.nexts[i*r.size:], t.next)
		r.actions[i], r.rewards[i], r.discounts[i] = int32(t.action), float32(t.reward), float32(t.discount)
	}
	if r.next++; r.next == r.capacity {
		r.next = r.kept // the first place that may be forgotten
	}
}

// keep sees to it that what is there now is never forgotten.
func (r *replay) keep() { r.kept = r.count }

// first returns a replay of the transitions that are never forgotten.
func (r *replay) first() *replay {
	return &replay{size: r.size, capacity: r.kept, count: r.kept, batch: batch{
		observations: r.observations[:r.kept*r.size], nexts: r.nexts[:r.kept*r.size], actions: r.actions[:r.kept],
		rewards: r.rewards[:r.kept], discounts: r.discounts[:r.kept]}}
}

// batch holds transitions to learn from, [n, …].
type batch struct {
	observations, nexts []float32
	actions             []int32
	rewards, discounts  []float32
}

// sample appends n transitions to a batch, drawn uniformly, with replacement.
func (r *replay) sample(b batch, n int, random *rand.Rand) batch {
	for range n {
		i := random.IntN(r.count)
		b.observations = append(b.observations, r.observations[i*r.size:(i+1)*r.size]...)
		b.nexts = append(b.nexts, r.nexts[i*r.size:(i+1)*r.size]...)
		b.actions, b.rewards, b.discounts = append(b.actions, r.actions[i]), append(b.rewards, r.rewards[i]),
			append(b.discounts, r.discounts[i])
	}
	return b
}

// The arrays of a stored replay.
const (
	replayObservations = "replay.observations"
	replayNexts        = "replay.nexts"
	replayActions      = "replay.actions"
	replayRewards      = "replay.rewards"
	replayDiscounts    = "replay.discounts"
)

// store adds the replay's arrays to those of a file.
func (r *replay) store(arrays map[string]npz.Array) {
	put := func(name string, data []float32, shape ...int) {
		arrays[name] = npz.Array{Shape: shape, Data: npz.Widen(data), Type: npz.Float32}
	}
	put(replayObservations, r.observations, r.count, r.size)
	put(replayNexts, r.nexts, r.count, r.size)
	put(replayRewards, r.rewards, r.count)
	put(replayDiscounts, r.discounts, r.count)
	arrays[replayActions] = npz.Array{Shape: []int{r.count}, Data: npz.Widen(r.actions), Type: npz.Int64}
}

// load takes the replay from a file, where the ring's next place is next, and the first ones are kept.
func (r *replay) load(a *npz.Archive, actions, next, kept int) error {
	stored, err := a.Array(replayActions)
	if err != nil {
		return err
	}
	n := len(stored.Data)
	if len(stored.Shape) != 1 || n > r.capacity || kept < 0 || kept > n || next < kept ||
		next >= r.capacity || n < r.capacity && next != n {
		return fmt.Errorf("%s: a replay of shape %v that keeps %d and goes on at %d cannot be one of %d transitions",
			a.Path(), stored.Shape, kept, next, r.capacity)
	}
	for i, action := range stored.Data {
		if action < 0 || action >= float64(actions) {
			return fmt.Errorf("%s: %s[%d] is %g, want 0 to %d", a.Path(), replayActions, i, action, actions-1)
		}
	}
	r.count, r.next, r.kept, r.actions = n, next, kept, npz.Narrow[int32](stored.Data)
	for _, part := range []struct {
		name string
		to   *[]float32
		size int
	}{
		{replayObservations, &r.observations, r.size}, {replayNexts, &r.nexts, r.size}, {replayRewards, &r.rewards, 1},
		{replayDiscounts, &r.discounts, 1},
	} {
		values, err := a.Array(part.name)
		if err != nil {
			return err
		}
		if len(values.Data) != n*part.size {
			return fmt.Errorf("%s: %s holds %d numbers, want %d for %d transitions", a.Path(), part.name,
				len(values.Data), n*part.size, n)
		}
		*part.to = npz.Narrow[float32](values.Data)
	}
	return nil
}
