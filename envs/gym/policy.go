package gym

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
)

// PythonPolicy returns the policy of a Python function, given as "module:function", such as the pilot that comes with
// Lunar Lander, "gymnasium.envs.box2d.lunar_lander:heuristic". It is called as function(env, observation) and returns
// an action. env is one of the environments, to ask about its kind; the observation need not be its own. The first
// worker computes for all.
func (p *Pool) PythonPolicy(ctx context.Context, function string) Policy {
	return func(observations Array, random []*rand.Rand) ([]int, error) {
		var actions []int
		more := map[string]any{
			"function": function, "count": len(random),
			"observations": base64.StdEncoding.EncodeToString(observations.Bytes),
		}
		err := p.single(ctx, 0, "ask the policy "+function, askPolicy, askPolicy, more, func(body []byte) error {
			rest, err := splitText(body, &actions)
			if err == nil && (len(rest) > 0 || len(actions) != len(random)) {
				err = fmt.Errorf("%w: %d actions for %d observations", errGarbage, len(actions), len(random))
			}
			return err
		})
		return actions, err
	}
}
