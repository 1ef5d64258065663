package gym

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// Pool is one vectorised environment: its environments 0, …, Len() − 1 are spread over worker processes. Its methods
// may be called from several goroutines; they take turns. While one of them is in Continue, another Continue waits, but
// what else is asked of the pool is asked of the copies that it makes, and is lost with them.
type Pool struct {
	config  Config
	spec    Spec
	workers []*worker
	message []byte // a request to step, kept for the next one
	seeds   []int64

	continuing sync.Mutex // held for a whole Continue, which has many requests

	mutex    sync.Mutex
	fault    error       // what closed the pool
	detach   func() bool // from the context of Open
	standing []standing  // of each environment
	copies   bool        // of the workers answer, see inCopies
}

// standing is the snapshot that an environment was restored to and has not left, and the observation there; empty if
// there is none.
type standing struct {
	snapshot string
	obs      Array
}

// ErrClosed is the error of a closed pool's methods.
var ErrClosed = errors.New("gym: the pool is closed")

// Open starts the workers and makes their environments, which have to be reset before the first step. The pool must be
// closed; it closes itself when ctx ends. An error says what is missing and how to install it.
func Open(ctx context.Context, c Config) (_ *Pool, err error) {
	if c, err = c.withDefaults(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("gym: opening %s: %w", c.ID, err)
	}
	python, ours, err := findPython(c.Python)
	if err != nil {
		return nil, err
	}
	n := c.Workers * c.EnvsPerWorker
	p := &Pool{config: c, seeds: slices.Repeat([]int64{-1}, n), standing: make([]standing, n)}
	defer func() {
		if err != nil {
			_ = p.closeWorkers() // err is what the user has to know
		}
	}()
	for i := range c.Workers {
		w, err := startWorker(ctx, python, ours, c, i*c.EnvsPerWorker)
		if err != nil {
			return nil, fmt.Errorf("gym: starting %s: %w; `%s` installs a Python", python, err, mend)
		}
		p.workers = append(p.workers, w)
		if err := w.begin(ctx, c); err != nil {
			return nil, p.openError(err)
		}
	}
	for i, w := range p.workers {
		spec, err := w.ready(ctx, c)
		if err != nil {
			return nil, p.openError(err)
		}
		if i == 0 {
			p.spec = spec
		} else if !slices.Equal(spec.Shape, p.spec.Shape) || spec.DType != p.spec.DType ||
			spec.Actions != p.spec.Actions {
			return nil, fmt.Errorf("gym: opening %s: its spaces differ from worker to worker", c.ID)
		}
	}
	detach := context.AfterFunc(ctx, func() {
		for _, w := range p.workers {
			w.kill() // a step under way returns
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		_ = p.fail(fmt.Errorf("gym: %s: %w", c.ID, context.Cause(ctx)))
	})
	p.mutex.Lock() // ctx may have ended already
	p.detach = detach
	p.mutex.Unlock()
	return p, nil
}

// openError words a failed start: one sentence where something is missing, the traceback where an environment failed.
func (p *Pool) openError(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		e.ID = p.config.ID
		e.Doing = cmp.Or(e.Doing, "starting")
		return e
	}
	return fmt.Errorf("gym: opening %s: %w", p.config.ID, err)
}

// Spec describes the environments.
func (p *Pool) Spec() Spec { return p.spec }

// Len returns the number of environments.
func (p *Pool) Len() int { return len(p.seeds) }

// Close ends the workers and waits until they are gone. Closing twice is no error.
func (p *Pool) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fault != nil {
		return nil
	}
	p.fault = ErrClosed
	return p.closeWorkers()
}

func (p *Pool) closeWorkers() error {
	if p.detach != nil {
		p.detach()
	}
	var errs []error
	for _, w := range p.workers {
		errs = append(errs, w.in.Close()) // it closes its environments and ends by itself
	}
	for _, w := range p.workers {
		errs = append(errs, w.reap())
	}
	return errors.Join(errs...)
}

// fail closes the pool for a reason, which it returns. The caller holds the mutex.
func (p *Pool) fail(reason error) error {
	if p.fault == nil {
		p.fault = reason
		for _, w := range p.workers {
			w.kill()
		}
		_ = p.closeWorkers() // the reason is what the user has to know
	}
	return p.fault
}

// faultOf makes a worker's error the pool's.
func (p *Pool) faultOf(w *worker, doing string, err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = w.fault(err)
	}
	e.ID = p.config.ID
	e.Doing = cmp.Or(e.Doing, doing)
	e.Seeds = slices.Clone(p.seeds[e.First : e.Last+1])
	return p.fail(e)
}

// nanFault is the fault of an environment that gave NaN.
func (p *Pool) nanFault(env int, doing, what string) error {
	return p.fail(&Error{ID: p.config.ID, First: env, Last: env, Seeds: p.seeds[env : env+1 : env+1], Doing: doing,
		Err: fmt.Errorf("%s is NaN", what)})
}

// Reset begins a new episode in every environment and returns the first observations [n, …]. seeds holds a seed for
// each, or is nil: then each goes on with its random generator, which is a random one before the first seed.
func (p *Pool) Reset(ctx context.Context, seeds []int64) (Array, error) {
	return p.ResetEnvs(ctx, firstEnvs(p.Len()), seeds)
}

// firstEnvs returns the indices of the first n environments.
func firstEnvs(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// ResetEnvs begins a new episode in the given environments and returns their first observations [len(envs), …], in that
// order. seeds holds a seed for each of them, or is nil.
func (p *Pool) ResetEnvs(ctx context.Context, envs []int, seeds []int64) (Array, error) {
	if seeds != nil && len(seeds) != len(envs) {
		return Array{}, fmt.Errorf("gym: %d seeds for %d environments", len(seeds), len(envs))
	}
	for k, seed := range seeds {
		if seed < 0 {
			return Array{}, fmt.Errorf("gym: seeds[%d] is %d, want none below 0", k, seed)
		}
	}
	return p.begin(ctx, "reset", askReset, envs, nil, func(slots, which []int) any {
		of := make([]*int64, len(which))
		if seeds != nil {
			for i, k := range which {
				of[i], p.seeds[envs[k]] = &seeds[k], seeds[k]
			}
		}
		return map[string]any{"envs": slots, "seeds": of}
	})
}

// begin asks for the first observations of the given environments, as each does, and returns them [len(envs), …]. They
// stand at the snapshots then, if there are any.
func (p *Pool) begin(ctx context.Context, doing string, kind byte, envs []int, snapshots []Snapshot,
	request func(slots, which []int) any) (Array, error) {
	size := p.spec.bytes()
	out := p.spec.array(len(envs))
	leaving := func(slots, which []int) any {
		for _, k := range which {
			p.standing[envs[k]] = standing{}
		}
		return request(slots, which)
	}
	err := p.each(ctx, doing, kind, tellObservations, envs, leaving, func(w *worker, body []byte, which []int) error {
		if len(body) != w.count*size {
			return fmt.Errorf("%w: %d bytes of observations", errGarbage, len(body))
		}
		for _, k := range which {
			copy(out.Row(k).Bytes, body[(envs[k]-w.first)*size:])
			if at := out.Row(k).nan(); at >= 0 {
				return p.nanFault(envs[k], doing, fmt.Sprintf("observation[%d]", at))
			}
			if snapshots != nil {
				obs := out.Row(k)
				obs.Bytes = slices.Clone(obs.Bytes)
				p.standing[envs[k]] = standing{string(snapshots[k]), obs}
			}
		}
		return nil
	})
	return out, err
}

// each asks the workers about those of the environments that are their own, all workers at the same time. request makes
// what a worker is asked from its slots, those of envs[which], and use takes its answer, of the kind tell. What a
// worker refuses leaves the pool open.
func (p *Pool) each(ctx context.Context, doing string, ask, tell byte, envs []int,
	request func(slots, which []int) any, use func(w *worker, body []byte, which []int) error) error {
	slots, which := make([][]int, len(p.workers)), make([][]int, len(p.workers))
	seen := make([]bool, p.Len())
	for k, env := range envs {
		if env < 0 || env >= p.Len() {
			return fmt.Errorf("gym: envs[%d] is %d, want 0 to %d", k, env, p.Len()-1)
		}
		if seen[env] {
			return fmt.Errorf("gym: envs[%d] names environment %d a second time", k, env)
		}
		seen[env] = true
		w := env / p.config.EnvsPerWorker
		slots[w], which[w] = append(slots[w], env%p.config.EnvsPerWorker), append(which[w], k)
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fault != nil {
		return p.fault
	}
	for i, w := range p.workers {
		if len(slots[i]) == 0 {
			continue
		}
		message, err := jsonMessage(ask, request(slots[i], which[i]))
		if err == nil {
			err = w.send(message)
		}
		if err != nil {
			return p.faultOf(w, doing, w.explain(ctx, w.limit, err))
		}
	}
	var refused error
	for i, w := range p.workers {
		if len(slots[i]) == 0 {
			continue
		}
		body, err := w.receive(ctx, tell, w.limit)
		if r, ok := errors.AsType[refusal](err); ok {
			refused = fmt.Errorf("gym: %s, environment %d, %s: %w", p.config.ID, w.first+slots[i][0], doing, r)
			continue
		}
		if err == nil {
			err = use(w, body, which[i])
		}
		if err != nil {
			return p.faultOf(w, doing, err)
		}
	}
	return refused
}

// Batch is what a step gave, environment by environment.
type Batch struct {
	// Obs [n, …] are the observations to act on next: after the end of an episode, under SameStep, the new episode's
	// first.
	Obs Array
	// Rewards [n] are those of the actions taken, also where they ended the episode.
	Rewards []float64
	// Terminated [n] says that the episode reached an end, Truncated [n] that it was cut off. Both can be true.
	Terminated, Truncated []bool
	// Final [n] is, under SameStep, the last observation of an episode that ended in this step; its Bytes are nil
	// elsewhere. Under Disabled all are empty, as Obs has them.
	Final []Array
}

// newBatch returns a batch of n without final observations.
func newBatch(s Spec, n int) *Batch {
	return &Batch{Obs: s.array(n), Rewards: make([]float64, n), Terminated: make([]bool, n), Truncated: make([]bool, n)}
}

// Done reports whether environment i's episode ended in this step.
func (b *Batch) Done(i int) bool { return b.Terminated[i] || b.Truncated[i] }

// Leave is the action that leaves an environment alone, under Disabled only: it is not stepped, the batch repeats its
// last observation, with no reward and no end.
const Leave = -1

// Step takes one action in every environment. An action out of range is refused, with its index, before anything
// happens.
func (p *Pool) Step(ctx context.Context, actions []int) (*Batch, error) {
	if len(actions) != p.Len() {
		return nil, fmt.Errorf("gym: %d actions for %d environments", len(actions), p.Len())
	}
	for i, a := range actions {
		if (a < 0 || a >= p.spec.Actions) && (a != Leave || p.config.Autoreset != Disabled) {
			return nil, fmt.Errorf("gym: actions[%d] is %d, want 0 to %d", i, a, p.spec.Actions-1)
		}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.fault != nil {
		return nil, p.fault
	}
	for i, a := range actions {
		if a != Leave && !p.copies {
			p.standing[i] = standing{}
		}
	}
	for _, w := range p.workers {
		p.message = appendHeader(p.message[:0], askStep, 8*w.count)
		for _, a := range actions[w.first : w.first+w.count] {
			p.message = binary.LittleEndian.AppendUint64(p.message, uint64(a+p.spec.start))
		}
		if err := w.send(p.message); err != nil {
			return nil, p.faultOf(w, "step", w.explain(ctx, w.limit, err))
		}
	}
	b := newBatch(p.spec, p.Len())
	b.Final = make([]Array, p.Len())
	for _, w := range p.workers {
		body, err := w.receive(ctx, tellBatch, w.limit)
		if err == nil {
			err = p.unpack(w, body, b)
		}
		if err != nil {
			return nil, p.faultOf(w, "step", err)
		}
	}
	return b, p.checkNaN(actions, b)
}

// unpack copies a worker's answer to a step to its place in the batch: rewards, terminated, truncated, padding to a
// multiple of 8 bytes, observations, final observations.
func (p *Pool) unpack(w *worker, body []byte, b *Batch) error {
	size, n := p.spec.bytes(), w.count
	flags := 8 * n
	first := flags + 2*n + (8-2*n%8)%8
	if len(body) < first+n*size {
		return fmt.Errorf("%w: a batch of %d bytes", errGarbage, len(body))
	}
	final := body[first+n*size:]
	for k := range n {
		i := w.first + k
		b.Rewards[i] = math.Float64frombits(binary.LittleEndian.Uint64(body[8*k:]))
		b.Terminated[i], b.Truncated[i] = body[flags+k] != 0, body[flags+n+k] != 0
		if p.config.Autoreset == SameStep && b.Done(i) {
			if len(final) < size {
				return fmt.Errorf("%w: a batch of %d bytes lacks final observations", errGarbage, len(body))
			}
			b.Final[i] = Array{DType: p.spec.DType, Shape: p.spec.Shape, Bytes: slices.Clone(final[:size])}
			final = final[size:]
		}
	}
	if len(final) > 0 {
		return fmt.Errorf("%w: a batch of %d bytes", errGarbage, len(body))
	}
	copy(b.Obs.Bytes[w.first*size:], body[first:first+n*size])
	return nil
}

// checkNaN refuses a batch with NaN in it.
func (p *Pool) checkNaN(actions []int, b *Batch) error {
	fault := func(i int, what string) error {
		return p.nanFault(i, fmt.Sprintf("step with action %d", actions[i]), what)
	}
	at := b.Obs.nan()
	for i := range b.Rewards {
		if math.IsNaN(b.Rewards[i]) {
			return fault(i, "the reward")
		}
		if k := b.Final[i].nan(); k >= 0 {
			return fault(i, fmt.Sprintf("observation[%d]", k))
		}
		if at >= 0 && at/p.spec.Size() == i {
			return fault(i, fmt.Sprintf("observation[%d]", at%p.spec.Size()))
		}
	}
	return nil
}
