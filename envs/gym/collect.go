package gym

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
)

// Policy chooses an action for each of the observations [k, …]. random[i] is the generator of the episode that
// observation i belongs to; a policy that draws from it alone, and treats each observation by itself, gives the same
// episodes in a pool of any size.
type Policy func(observations Array, random []*rand.Rand) (actions []int, err error)

// RandomPolicy chooses among n actions with equal probabilities.
func RandomPolicy(n int) Policy {
	return func(_ Array, random []*rand.Rand) ([]int, error) {
		actions := make([]int, len(random))
		for i, r := range random {
			actions[i] = r.IntN(n)
		}
		return actions, nil
	}
}

// CollectOptions say what to collect.
type CollectOptions struct {
	Episodes int // to collect
	// FirstSeed is the seed of the first episode's environment; those that follow have the next ones.
	FirstSeed int64
	// PolicySeed is that of the policy's generators.
	PolicySeed uint64
	// MaxSteps ends an episode after so many steps, neither terminated nor truncated, if it is not 0. One of more than
	// 100,000 is an error unless this or a TimeLimit among the pool's wrappers says that it may be.
	MaxSteps int
	// Progress is told how many episodes have ended, if it is not nil.
	Progress func(done int)
	// MaxRestarts is how often new worker processes take the place of a pool of which one died or exceeded its time
	// limit. Episodes that have ended are kept, and those under way begin anew, so that the episodes are the same as
	// without.
	MaxRestarts int
	// Restarted is told why, if it is not nil.
	Restarted func(cause error)

	function string // a Python policy, see CollectPython
}

// episode is one that is under way in an environment.
type episode struct {
	number     int
	trajectory demo.Trajectory
	random     *rand.Rand
	last       Array // the observation to act on
	script     []int // in a replay, the actions of the episode
}

// see adds an observation to the trajectory: the last frame of a stack as bytes, others as float32s.
func (e *episode) see(observation Array, stack int) error {
	e.last = observation
	t := &e.trajectory
	if stack == 0 {
		numbers := observation.Float32()
		if err := demo.CheckObservation(numbers); err != nil {
			return fmt.Errorf("observation%w", err)
		}
		if i := observation.rounded(numbers); i >= 0 {
			return fmt.Errorf("observation[%d] is about %.0f; integers beyond 2²⁴ are rounded in demonstrations, "+
				"which hold float32: have the environment count from a start, or give digits apart", i, numbers[i])
		}
		t.Observations = append(t.Observations, numbers...)
		return nil
	}
	if t.Frames == nil {
		size := len(observation.Bytes) / stack
		t.Frames = &demo.Frames{Size: size, Stack: stack, Pixels: make([]uint8, 0, (len(e.script)+1)*size)}
	}
	t.Frames.Pixels = append(t.Frames.Pixels, observation.Bytes[len(observation.Bytes)-t.Frames.Size:]...)
	return nil
}

// CheckPool refuses a context or a pool that is nil.
func CheckPool(ctx context.Context, p *Pool) error {
	return check.First(check.Context("gym", ctx), check.NotNil("gym: the pool", p,
		"one that gym.Open has opened without an error"))
}

// Collect lets the policy act until the episodes have ended, and returns them in the order of their seeds. Observations
// that Gymnasium's FrameStackObservation makes of bytes come out as frames, each once. The pool has to be opened with
// autoreset Disabled. With an error comes what was collected until then, in which episodes may be missing or have
// neither end. After a restart the pool stays closed, and the processes in its place end with the collection.
func Collect(ctx context.Context, p *Pool, policy Policy, o CollectOptions) (_ []demo.Trajectory, err error) {
	if err := CheckPool(ctx, p); err != nil {
		return nil, err
	}
	switch {
	case p.config.Autoreset != Disabled:
		return nil, fmt.Errorf("gym: collecting wants a pool with Config.Autoreset %q, this one has %q", Disabled,
			p.config.Autoreset)
	case o.Episodes < 1:
		return nil, fmt.Errorf("gym: CollectOptions.Episodes is %d, want at least 1", o.Episodes)
	case o.FirstSeed < 0 || o.MaxSteps < 0 || o.MaxRestarts < 0:
		return nil, fmt.Errorf("gym: CollectOptions has a negative seed or number of steps or restarts")
	}
	c := newCollector(p, o)
	err = c.run(ctx, policy)
	for range o.MaxRestarts {
		if fault, ok := errors.AsType[*Error](err); !ok || !fault.Died || ctx.Err() != nil {
			break
		}
		if o.Restarted != nil {
			o.Restarted(err)
		}
		fresh, failed := Open(ctx, p.config)
		if failed != nil {
			err = errors.Join(err, failed)
			break
		}
		defer fresh.Close() // its episodes are all that is wanted of it
		c.restart(fresh)
		err = c.run(ctx, policy)
	}
	var out []demo.Trajectory
	for _, e := range c.all {
		if e != nil && e.trajectory.Len() > 0 {
			out = append(out, e.trajectory)
		}
	}
	return out, err
}

// collector is the state of a collection.
type collector struct {
	pool    *Pool
	options CollectOptions
	stack   int                  // frames in an observation, or 0
	scripts []demo.Trajectory    // in a replay, what has to happen in each episode
	finish  func(*episode) error // is told of each that has ended, if it is not nil
	running []*episode           // by environment; nil where there is nothing left to do
	all     []*episode           // by number; nil where it has not begun
	next    int                  // no episode before this number is waiting to begin
	done    int
}

func newCollector(p *Pool, o CollectOptions) *collector {
	return &collector{pool: p, options: o, stack: p.config.stack(p.spec), running: make([]*episode, p.Len()),
		all: make([]*episode, o.Episodes)}
}

// restart goes on in another pool: what was under way begins anew.
func (c *collector) restart(p *Pool) {
	for i, e := range c.running {
		if e != nil {
			c.all[e.number], c.running[i] = nil, nil
		}
	}
	c.pool, c.next = p, 0
}

// waiting returns the number of the first episode that has not begun, or that of all episodes.
func (c *collector) waiting() int {
	for c.next < len(c.all) && c.all[c.next] != nil {
		c.next++
	}
	return c.next
}

func (c *collector) run(ctx context.Context, policy Policy) error {
	if err := c.begin(ctx); err != nil {
		return err
	}
	for c.done < c.options.Episodes {
		actions, err := c.act(ctx, policy)
		if err != nil {
			return err
		}
		b, err := c.pool.Step(ctx, actions)
		if err != nil {
			return err
		}
		for i, e := range c.running {
			if e == nil {
				continue
			}
			t := &e.trajectory
			err := demo.CheckReward(b.Rewards[i])
			if err != nil {
				err = fmt.Errorf("the reward %w", err)
			} else {
				err = e.see(b.Obs.Row(i), c.stack)
			}
			if err != nil {
				return &Error{ID: c.pool.config.ID, First: i, Last: i, Seeds: []int64{t.Seed},
					Doing: fmt.Sprintf("step with action %d", actions[i]), Err: err}
			}
			t.Actions, t.Rewards = append(t.Actions, actions[i]), append(t.Rewards, b.Rewards[i])
			t.Terminated, t.Truncated = b.Terminated[i], b.Truncated[i]
			if t.Len() == endless && !b.Done(i) && !c.limited() {
				return &Error{ID: c.pool.config.ID, First: i, Last: i, Seeds: []int64{t.Seed}, Doing: "step",
					Err: fmt.Errorf("the episode has not ended after %d steps; give episodes a limit (--max-steps)",
						endless)}
			}
			if b.Done(i) || c.options.MaxSteps > 0 && t.Len() >= c.options.MaxSteps || t.Len() == len(e.script) {
				c.running[i] = nil
				c.done++
				if c.finish != nil {
					if err := c.finish(e); err != nil {
						return err
					}
				}
				if c.options.Progress != nil {
					c.options.Progress(c.done)
				}
			}
		}
		if err := c.begin(ctx); err != nil {
			return err
		}
	}
	return nil
}

// endless is the number of steps after which an episode without a limit counts as one that never ends.
const endless = 100_000

// limited reports whether somebody said how long episodes may be.
func (c *collector) limited() bool {
	return c.scripts != nil || c.options.MaxSteps > 0 ||
		slices.ContainsFunc(c.pool.config.Wrappers, func(w Wrapper) bool { return w.Class == timeLimit })
}

// begin starts episodes in the environments that have none, as long as there are any left.
func (c *collector) begin(ctx context.Context) error {
	var envs []int
	var seeds []int64
	for i, e := range c.running {
		if n := c.waiting(); e == nil && n < len(c.all) {
			seed := c.options.FirstSeed + int64(n)
			var script []int
			if c.scripts != nil {
				seed, script = c.scripts[n].Seed, c.scripts[n].Actions
			}
			c.running[i] = &episode{
				number: n, trajectory: demo.Trajectory{Seed: seed}, script: script,
				random: rand.New(rand.NewPCG(c.options.PolicySeed, uint64(n))),
			}
			c.all[n] = c.running[i]
			envs, seeds = append(envs, i), append(seeds, seed)
		}
	}
	if len(envs) == 0 {
		return nil
	}
	obs, err := c.pool.ResetEnvs(ctx, envs, seeds)
	if err != nil {
		return err
	}
	for k, i := range envs {
		if err := c.running[i].see(obs.Row(k), c.stack); err != nil {
			return &Error{ID: c.pool.config.ID, First: i, Last: i, Seeds: seeds[k : k+1 : k+1], Doing: "reset",
				Err: err}
		}
	}
	return nil
}

// act asks the policy about the environments with an episode, and leaves the others alone.
func (c *collector) act(ctx context.Context, policy Policy) ([]int, error) {
	if c.scripts != nil {
		actions := slices.Repeat([]int{Leave}, len(c.running))
		for i, e := range c.running {
			if e != nil {
				actions[i] = e.script[e.trajectory.Len()]
			}
		}
		return actions, nil
	}
	var envs []int
	var random []*rand.Rand
	var observations []Array
	for i, e := range c.running {
		if e != nil {
			envs, random, observations = append(envs, i), append(random, e.random), append(observations, e.last)
		}
	}
	return c.pool.chosen(envs, observations, func(obs Array) ([]int, error) {
		if f := c.options.function; f != "" {
			return c.pool.ask(ctx, f, envs)
		}
		return policy(obs, random)
	})
}

// Describe returns the description of a set that was collected in the pool.
func (p *Pool) Describe() demo.Description {
	d := demo.Description{
		Environment: p.config.ID, Versions: p.spec.Versions,
		ObservationShape: append([]int{}, p.spec.Shape...), Actions: p.spec.Actions,
	}
	if r := p.config.Recipe(); len(r.Imports)+len(r.Options)+len(r.Wrappers) > 0 {
		d.Made = r
	}
	return d
}
