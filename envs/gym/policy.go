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

// ask returns the actions that a Python function chooses in the given environments.
func (p *Pool) ask(ctx context.Context, function string, envs []int) ([]int, error) {
	actions := make([]int, len(envs))
	return actions, p.each(ctx, "ask the policy "+function, askPolicy, askPolicy, envs, func(slots, _ []int) any {
		return map[string]any{"function": function, "envs": slots}
	}, func(_ *worker, body []byte, which []int) error {
		var chosen []int
		rest, err := splitText(body, &chosen)
		if err != nil {
			return err
		}
		if len(rest) > 0 || len(chosen) != len(which) {
			return fmt.Errorf("%w: %d actions for %d environments", errGarbage, len(chosen), len(which))
		}
		for i, k := range which {
			actions[k] = chosen[i]
		}
		return nil
	})
}
