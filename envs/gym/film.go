package gym

import (
	"context"
	"fmt"
	"image"
	"maps"
	"math/rand/v2"

	"github.com/go-birl/birl/envs/demo"
)

// Film lets a policy act in one environment from a seed, for at most so many steps if that is not 0, and returns the
// episode with a picture of each state in which it acted. Of c count the environment and its options.
func Film(ctx context.Context, c Config, policy Policy, seed int64, steps int) (
	episode *demo.Trajectory, pictures []image.Image, err error) {
	c.Workers, c.EnvsPerWorker, c.Autoreset = 1, 1, Disabled
	c.Options = notNil(maps.Clone(c.Options))
	c.Options["render_mode"] = "rgb_array"
	pool, err := Open(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	defer pool.Close()
	episodes, err := Collect(ctx, pool, func(observations Array, random []*rand.Rand) ([]int, error) {
		picture, err := pool.Render(ctx, 0)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, picture)
		return policy(observations, random)
	}, CollectOptions{Episodes: 1, FirstSeed: seed, MaxSteps: steps})
	if err != nil {
		return nil, nil, err
	}
	if len(episodes) != 1 {
		return nil, nil, fmt.Errorf("gym: filming gave %d episodes, want 1", len(episodes))
	}
	return &episodes[0], pictures, nil
}
