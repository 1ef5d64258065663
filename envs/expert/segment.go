package expert

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/gym"
)

// transition returns what happened in a step, as it is learnt from. Only an end that the environment has reached, or
// a life lost where Config.Lives counts them, ends the return: an episode that was cut off would have gone on.
func (t *trainer) transition(observation, next []float32, action int, reward float64, terminated bool) transition {
	discount := t.config.Discount
	if l := t.config.Lives; terminated && t.options.Loss == nil || l != nil && next[*l] < observation[*l] {
		discount = 0
	}
	if t.config.ClipRewards && reward != 0 {
		reward = math.Copysign(1, reward)
	}
	return transition{observation: observation, next: next, action: action, reward: t.config.RewardScale * reward,
		discount: discount}
}

// absorb puts the transitions of a state at which an episode ended to itself into a replay, with Options.Loss.
func (t *trainer) absorb(state []float32, terminated bool, into *replay) {
	if !terminated || t.options.Loss == nil {
		return
	}
	for a := range t.learner.actions {
		into.add(transition{observation: state, next: state, action: a, discount: t.config.Discount})
	}
}

// moved is what came of a step of all environments.
type moved struct {
	batch *gym.Batch
	next  []float32 // what to act on next, after new episodes have begun
	err   error
}

// segment runs from one point of the learning curve to the next, from new episodes.
func (t *trainer) segment(ctx context.Context) error {
	c := t.config
	random := rand.New(rand.NewPCG(c.Seed, streamSegments+uint64(t.steps)))
	first, err := t.pool.Reset(ctx, seeds(random, c.Environments))
	if err != nil {
		return fmt.Errorf("expert: %w", err)
	}
	began, now := time.Now(), first.Float32()
	sums, windows := make([]float64, c.Environments), make([]window, c.Environments)
	t.losses = nil
	for end := t.steps + c.SegmentSteps; t.steps < end; {
		actions, err := t.act(now, random)
		if err != nil {
			return err
		}
		// The environments move while the networks learn.
		pending, fresh := make(chan moved, 1), seeds(random, c.Environments)
		go func() { pending <- t.move(ctx, actions, fresh) }()
		for range c.GradientSteps {
			if t.replay.count < c.LearnAfter || err != nil {
				break
			}
			err = t.learn(t.replay, random)
		}
		m := <-pending
		if err == nil {
			err = m.err
		}
		if err != nil {
			return err
		}
		size := t.replay.size
		after := m.batch.Obs.Float32()
		returns, err := t.returns(now, actions, m.batch.Rewards, after, m.batch.Terminated)
		if err != nil {
			return err
		}
		for i, a := range actions {
			windows[i].push(t.transition(now[i*size:(i+1)*size], after[i*size:(i+1)*size], a, returns[i],
				m.batch.Terminated[i]), c.ReturnSteps, m.batch.Done(i), t.replay)
			t.absorb(after[i*size:(i+1)*size], m.batch.Terminated[i], t.replay)
			sums[i] += m.batch.Rewards[i]
			if m.batch.Done(i) {
				t.ended(sums[i])
				sums[i] = 0
			}
		}
		t.steps += c.Environments
		now = m.next
		if t.options.Progress != nil {
			t.options.Progress(Progress{
				Steps: t.steps, Total: c.Steps, Episodes: t.episodes, Return: stat.Mean(t.sums, nil), Loss: t.loss,
				Epsilon:        c.epsilon(t.steps),
				StepsPerSecond: float64(t.steps-end+c.SegmentSteps) / time.Since(began).Seconds(),
			})
		}
	}
	return nil
}

// seeds draws seeds for n environments.
func seeds(random *rand.Rand, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = trainingSeed + random.Int64N(trainingSeed)
	}
	return out
}

// act chooses an action in every environment.
func (t *trainer) act(observations []float32, random *rand.Rand) ([]int, error) {
	values, err := t.learner.values(observations)
	if err != nil {
		return nil, err
	}
	n, c := t.learner.actions, t.config
	epsilon := c.epsilon(t.steps)
	actions := make([]int, c.Environments)
	for i := range actions {
		row := values[i*n : (i+1)*n]
		switch {
		case i < c.Undisturbed:
			actions[i] = floats.MaxIdx(row)
		case random.Float64() < epsilon:
			actions[i] = random.IntN(n)
		case c.Beta > 0:
			actions[i] = draw(row, c.Beta, random)
		default:
			actions[i] = floats.MaxIdx(row)
		}
	}
	return actions, nil
}

// move steps all environments and begins new episodes where one has ended.
func (t *trainer) move(ctx context.Context, actions []int, seeds []int64) moved {
	b, err := t.pool.Step(ctx, actions)
	if err != nil {
		return moved{err: fmt.Errorf("expert: %w", err)}
	}
	m := moved{batch: b, next: b.Obs.Float32()}
	var envs []int
	var fresh []int64
	for i := range actions {
		if b.Done(i) {
			envs, fresh = append(envs, i), append(fresh, seeds[i])
		}
	}
	if len(envs) == 0 {
		return m
	}
	first, err := t.pool.ResetEnvs(ctx, envs, fresh)
	if err != nil {
		return moved{err: fmt.Errorf("expert: %w", err)}
	}
	for k, i := range envs {
		copy(m.next[i*t.replay.size:], first.Row(k).Float32())
	}
	return m
}

// draw draws a batch from a replay and from the demonstrated transitions, which come last.
func (t *trainer) draw(from *replay, random *rand.Rand) batch {
	c := t.config
	drawn := from.sample(batch{}, c.Batch-c.Demonstrated, random)
	if c.Demonstrated > 0 {
		drawn = t.demonstrated.sample(drawn, c.Demonstrated, random)
	}
	return drawn
}

// learn makes a gradient step on transitions of a replay, with the demonstrated ones that belong to a batch.
func (t *trainer) learn(from *replay, random *rand.Rand) error {
	loss, err := t.learner.learn(t.config.learningRate(t.steps), t.draw(from, random))
	if err != nil {
		return err
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("expert: the loss is %g after %d steps; a smaller learning_rate or reward_scale may help",
			loss, t.steps)
	}
	t.loss, t.losses = loss, append(t.losses, loss)
	return nil
}

// ended notes the return of an episode.
func (t *trainer) ended(sum float64) {
	t.episodes++
	t.sums = append(t.sums, sum)
	if len(t.sums) > recent {
		t.sums = t.sums[1:]
	}
}
