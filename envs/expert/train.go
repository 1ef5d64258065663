package expert

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/gomlx/compute"

	"github.com/go-birl/birl/envs/check"
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
	// Resumed is told, if it is not nil, when training goes on from Checkpoint.
	Resumed func()
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
	Epsilon        float64 // probability of a random action
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
	spec := pool.Spec()
	if err := c.checkRun(spec, pool.Len(), o); err != nil {
		return nil, err
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
	if resumed && o.Resumed != nil {
		o.Resumed()
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

// checkRun refuses a config that is not valid, or does not suit the environments and the options.
func (c Config) checkRun(spec gym.Spec, environments int, o Options) error {
	if err := c.Validate(); err != nil {
		return err
	}
	if spec.ID != c.Environment || environments != c.Environments {
		return fmt.Errorf("expert: the pool has %d environments %s, the config says %d of %s", environments, spec.ID,
			c.Environments, c.Environment)
	}
	if c.Lives != nil && (*c.Lives < 0 || *c.Lives >= spec.Size()) {
		return fmt.Errorf("expert: lives = %d, want an index of the observation's %d numbers", *c.Lives, spec.Size())
	}
	if o.Rewards != nil && o.Loss != nil {
		return fmt.Errorf("expert: Options has Rewards and a Loss, want one of them")
	}
	if o.Rewards != nil && c.Discount == 1 {
		return fmt.Errorf("expert: discount = 1, want less with Options.Rewards: ends are worth them for ever")
	}
	return check.First(c.checkAlike(spec.Actions), c.checkUnits(spec.Size()))
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
			return fmt.Errorf("expert: replay = %d holds no more than the pilot's transitions, none of which is "+
				"forgotten with demonstrated = %d; raise replay", c.Replay, c.Demonstrated)
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

// digest tells demonstrations apart: the start of the SHA-256 of their observations and actions.
func digest(demos []demo.Trajectory) string {
	h := sha256.New()
	for i := range demos {
		fmt.Fprintln(h, demos[i].Sum(), demos[i].Actions, demos[i].Terminated)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:8])
}
