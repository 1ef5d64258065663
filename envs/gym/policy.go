package gym

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/envs/demo"
)

// CollectPython is [Collect] with the policy of a Python function, given as "module:function", such as the pilot that
// comes with Lunar Lander, "gymnasium.envs.box2d.lunar_lander:heuristic". It is called as function(env, observation)
// with each environment that is under way and its last observation, and returns an action.
func CollectPython(ctx context.Context, p *Pool, function string, o CollectOptions) ([]demo.Trajectory, error) {
	o.function = function
	return Collect(ctx, p, nil, o)
}

// ask returns the actions that a Python function chooses in the given environments, which are in ascending order.
func (p *Pool) ask(ctx context.Context, function string, envs []int) ([]int, error) {
	var actions []int
	for _, w := range p.workers {
		var slots []int
		for _, env := range envs {
			if slot := env - w.first; slot >= 0 && slot < w.count {
				slots = append(slots, slot)
			}
		}
		if len(slots) == 0 {
			continue
		}
		more := map[string]any{"function": function, "envs": slots}
		err := p.single(ctx, w.first, "ask the policy "+function, askPolicy, more, func(body []byte) error {
			var chosen []int
			rest, err := splitText(body, &chosen)
			if err == nil && (len(rest) > 0 || len(chosen) != len(slots)) {
				err = fmt.Errorf("%w: %d actions for %d environments", errGarbage, len(chosen), len(slots))
			}
			actions = append(actions, chosen...)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return actions, nil
}
