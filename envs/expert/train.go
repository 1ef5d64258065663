package expert

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gomlx/compute"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// The streams of random numbers of a seed. Each segment has one of its own, from streamSegments on.
const (
	streamWeights     = 1
	streamPretraining = 2
	streamSegments    = 1 << 32
)

// recent is how many episodes the mean return in a Progress is of.
const recent = 100

// Options say what training does beside learning.
type Options struct {
	// Checkpoint is a file, ending in .npz, in which the run is stored at each point of the learning curve, and from
	// which it goes on if it is there. Empty stores nothing.
	Checkpoint string
	// Progress is told how training goes on, after each step of the environments, if it is not nil.
	Progress func(Progress)
	// Prelude is told, if it is not nil, how far what precedes those steps has come: "episodes of the pilot", or
	// "steps of pretraining".
	Prelude func(what string, done, total int)
	// Rewards, if it is not nil, takes the place of the environment's rewards. The end of an episode is then worth what
	// Ends says, or else its last state's reward, for ever, and the expert is the network of the greatest
	// Point.Objective, whose episodes stand in for the evaluations at the end: the environment's own rewards decide
	// nothing.
	Rewards Rewards
	// Ends, if it is not nil, says with Rewards what the ends of episodes pay.
	Ends Ends
	// Loss, if it is not nil, takes the place of the quantile Huber loss, and ends are absorbing: nothing is cut off
	// there, and each adds, for every action, the transition from the last state to itself. The expert is the network
	// in the end, and is not evaluated.
	Loss Loss
	// Demonstrations are trajectories of which each batch has Config.Demonstrated transitions.
	Demonstrations []demo.Trajectory
	// Source says what Rewards and Loss are: a run goes on from a checkpoint only with the same, and with the same
	// Demonstrations.
	Source string
}

// Progress is how far training has come.
type Progress struct {
	// Steps of the environments are done, of Total. Episodes have ended.
	Steps, Total, Episodes int
	// Return is the mean of the last 100 episodes in training, NaN before the first, and Loss the last one.
	Return, Loss   float64
	Epsilon        float64
	StepsPerSecond float64
}

// String says it in a line, without what there is nothing of yet.
func (p Progress) String() string {
	text := fmt.Sprintf("%d of %d steps, %d episodes", p.Steps, p.Total, p.Episodes)
	if !math.IsNaN(p.Return) {
		text += fmt.Sprintf(", return %.2f", p.Return)
	}
	if !math.IsNaN(p.Loss) {
		text += fmt.Sprintf(", loss %.4f", p.Loss)
	}
	return text + fmt.Sprintf(", ε %.2f, %.0f steps/s", p.Epsilon, p.StepsPerSecond)
}

// Train trains an expert in the pool, which has to be opened as Config.Gym says. A run that was stopped, at whatever
// moment, goes on from its checkpoint, and ends with the same expert as if it had not been.
func Train(ctx context.Context, on compute.Backend, pool *gym.Pool, c Config, o Options) (*Expert, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	spec := pool.Spec()
	if spec.ID != c.Environment || pool.Len() != c.Environments {
		return nil, fmt.Errorf("expert: the pool has %d environments %s, the config says %d of %s", pool.Len(), spec.ID,
			c.Environments, c.Environment)
	}
	if c.Lives != nil && (*c.Lives < 0 || *c.Lives >= spec.Size()) {
		return nil, fmt.Errorf("expert: Lives = %d, want an index of the observation's %d numbers", *c.Lives,
			spec.Size())
	}
	if err := c.checkAlike(spec.Actions); err != nil {
		return nil, err
	}
	if err := c.checkUnits(spec.Size()); err != nil {
		return nil, err
	}
	if o.Rewards != nil && o.Loss != nil {
		return nil, fmt.Errorf("expert: Options has Rewards and a Loss, want one of them")
	}
	if o.Rewards != nil && c.Discount == 1 {
		return nil, fmt.Errorf("expert: Discount = 1, want less with Options.Rewards: ends are worth them for ever")
	}
	if len(o.Demonstrations) > 0 {
		o.Source += ", demonstrations " + digest(o.Demonstrations)
	}
	l, err := newLearner(on, c, spec.Size(), spec.Actions, o.Loss)
	if err != nil {
		return nil, err
	}
	defer l.free()
	t := &trainer{config: c, options: o, pool: pool, learner: l, replay: newReplay(spec.Size(), c.Replay),
		loss: math.NaN()}
	if err := t.demonstrate(); err != nil {
		return nil, err
	}
	resumed, err := t.resume()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if !resumed {
		if err := t.fly(ctx); err != nil {
			return nil, err
		}
	}
	if len(o.Demonstrations) == 0 {
		t.demonstrated = t.replay.first()
	}
	if !resumed {
		if err := t.pretrain(ctx); err != nil {
			return nil, err
		}
	}
	for t.steps < c.Steps {
		if err := t.segment(ctx); err != nil {
			return nil, err
		}
		if err := t.mark(ctx); err != nil {
			return nil, err
		}
		t.seconds += time.Since(began).Seconds()
		began = time.Now()
		if err := t.store(); err != nil {
			return nil, err
		}
	}
	e, err := t.expert()
	if err != nil {
		return nil, err
	}
	e.Backend = on.Name()
	if t.selects() {
		e.network = t.best
	}
	if o.Rewards != nil || o.Loss != nil {
		return e, nil
	}
	return e, e.evaluate(ctx, pool)
}

// evaluate makes the evaluations at the end.
func (e *Expert) evaluate(ctx context.Context, pool *gym.Pool) error {
	c := e.Config
	plays := []struct {
		name   string
		policy gym.Policy
	}{{"greedy", e.Greedy()}, {fmt.Sprintf("Boltzmann, β = %g", c.Beta), e.Boltzmann(c.Beta)}}
	for _, play := range plays {
		v, err := Evaluate(ctx, pool, play.policy, c.EvaluationEpisodes)
		if err != nil {
			return err
		}
		v.Policy = play.name
		e.Evaluations = append(e.Evaluations, v)
	}
	return nil
}

// trainer is a run.
type trainer struct {
	config  Config
	options Options
	pool    *gym.Pool
	learner *learner
	replay  *replay
	// demonstrated are the transitions of Options.Demonstrations, which are never forgotten.
	demonstrated *replay

	steps, episodes int
	curve           []Point
	best            network // of the best point of the curve, if the run selects it
	seconds         float64 // up to the last checkpoint

	sums   []float64 // returns of the last episodes
	loss   float64
	losses []float64 // since the last point of the curve
}

// expert returns the target network as it is.
func (t *trainer) expert() (*Expert, error) {
	n, err := t.learner.network()
	if err != nil {
		return nil, err
	}
	spec := t.pool.Spec()
	return &Expert{network: n, Description: Description{
		Config: t.config, ObservationShape: append([]int{}, spec.Shape...), Actions: spec.Actions,
		Versions: spec.Versions,
		Seconds:  t.seconds, Curve: t.curve,
	}}, nil
}

// fly fills the replay with the pilot's episodes.
func (t *trainer) fly(ctx context.Context) error {
	c := t.config
	if c.Pilot == "" {
		return nil
	}
	trajectories, err := gym.CollectPython(ctx, t.pool, c.Pilot,
		gym.CollectOptions{Episodes: c.PilotEpisodes, FirstSeed: pilotSeed, Progress: func(done int) {
			t.prelude("episodes of the pilot", done, c.PilotEpisodes)
		}})
	if err != nil {
		return fmt.Errorf("expert: the pilot: %w", err)
	}
	if err := t.recall(t.replay, trajectories); err != nil {
		return err
	}
	if c.Demonstrated > 0 {
		if t.replay.count == t.replay.capacity { // nothing could be forgotten for what comes next
			return fmt.Errorf("expert: Replay = %d holds no more than the pilot's transitions, none of which is "+
				"forgotten with Demonstrated = %d; raise Replay", c.Replay, c.Demonstrated)
		}
		t.replay.keep()
	}
	return nil
}

// pretrain learns from the pilot's transitions.
func (t *trainer) pretrain(ctx context.Context) error {
	random := rand.New(rand.NewPCG(t.config.Seed, streamPretraining))
	for i := range t.config.Pretraining {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("expert: pretraining: %w", err)
		}
		if err := t.learn(t.replay, random); err != nil {
			return err
		}
		t.prelude("steps of pretraining", i+1, t.config.Pretraining)
	}
	return nil
}

// prelude tells Options.Prelude.
func (t *trainer) prelude(what string, done, total int) {
	if f := t.options.Prelude; f != nil {
		f(what, done, total)
	}
}

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

// learn makes a gradient step on transitions of a replay, with the demonstrated ones that belong to a batch.
func (t *trainer) learn(from *replay, random *rand.Rand) error {
	c := t.config
	drawn := from.sample(batch{}, c.Batch-c.Demonstrated, random)
	if c.Demonstrated > 0 {
		drawn = t.demonstrated.sample(drawn, c.Demonstrated, random)
	}
	loss, err := t.learner.learn(c.learningRate(t.steps), drawn)
	if err != nil {
		return err
	}
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return fmt.Errorf("expert: the loss is %g after %d steps; a smaller LearningRate or RewardScale may help",
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

// mark adds a point to the learning curve.
func (t *trainer) mark(ctx context.Context) error {
	e, err := t.expert()
	if err != nil {
		return err
	}
	policy := e.Greedy()
	if t.config.Best {
		policy = e.Boltzmann(t.config.Beta)
	}
	played, err := play(ctx, t.pool, policy, t.config.CurveEpisodes, curveSeed)
	if err != nil {
		return err
	}
	p := Point{Steps: t.steps, Episodes: t.episodes, Return: played.Returns().Mean,
		Ended: demo.Ended(played.Trajectories)}
	if t.options.Rewards != nil {
		if p.Objective, err = t.objective(played.Trajectories); err != nil {
			return err
		}
		p.Played = played.Transitions()
		if n := len(t.curve); n > 0 {
			p.Played += t.curve[n-1].Played
		}
	}
	best := math.Inf(-1)
	for _, q := range t.curve {
		best = max(best, t.merit(q))
	}
	if t.selects() && t.merit(p) > best {
		t.best = e.network
	}
	if len(t.losses) > 0 {
		p.Loss = stat.Mean(t.losses, nil)
	}
	t.curve = append(t.curve, p)
	return nil
}

// selects tells whether the expert is the network of the best point of the curve, by merit.
func (t *trainer) selects() bool { return t.options.Rewards != nil || t.config.Best }

func (t *trainer) merit(p Point) float64 {
	if t.options.Rewards != nil {
		return p.Objective
	}
	return p.Return
}

// digest tells demonstrations apart: the start of the SHA-256 of their observations and actions.
func digest(demos []demo.Trajectory) string {
	h := sha256.New()
	for i := range demos {
		fmt.Fprintln(h, demos[i].Sum(), demos[i].Actions, demos[i].Terminated)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
