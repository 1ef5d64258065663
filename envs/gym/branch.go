package gym

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
)

// Branch takes an action in copies of environment env, whose episode must be under way, one copy for each seed of its
// random generator, and returns what they gave, copy by copy: draws of what the action leads to. The environment itself
// stays where it is. The batch has no final observations.
//
// A copy is one of the whole worker process, wrappers and emulators included, of which a system without fork has none.
// Randomness that does not come from the environment's own np_random is the same in all copies.
func (p *Pool) Branch(ctx context.Context, env, action int, seeds []int64) (*Batch, error) {
	if action < 0 || action >= p.spec.Actions {
		return nil, fmt.Errorf("gym: a branch with action %d, want 0 to %d", action, p.spec.Actions-1)
	}
	if len(seeds) == 0 {
		return nil, fmt.Errorf("gym: a branch without seeds")
	}
	for i, s := range seeds {
		if s < 0 {
			return nil, fmt.Errorf("gym: seeds[%d] is %d, want none below 0", i, s)
		}
	}
	n := len(seeds)
	b := newBatch(p.spec, n)
	more := map[string]any{"action": action, "seeds": seeds}
	err := p.single(ctx, env, "branch", askBranch, more, func(body []byte) error {
		const head = 8 + 2 // of each: reward, terminated, truncated
		if len(body) != n*(head+p.spec.bytes()) {
			return fmt.Errorf("%w: %d branches of %d bytes", errGarbage, n, len(body))
		}
		for i := range n {
			b.Rewards[i] = math.Float64frombits(binary.LittleEndian.Uint64(body))
			b.Terminated[i], b.Truncated[i] = body[8] != 0, body[9] != 0
			copy(b.Obs.Row(i).Bytes, body[head:])
			body = body[head+p.spec.bytes():]
			if at := b.Obs.Row(i).nan(); at >= 0 || math.IsNaN(b.Rewards[i]) {
				return fmt.Errorf("branch %d has NaN as its reward or in its observation", i)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}
