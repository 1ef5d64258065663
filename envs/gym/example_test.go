package gym_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-birl/birl/envs/gym"
)

// Sixteen environments in two processes; it is not run here, for want of Python.
func ExampleOpen() {
	ctx, seeds, actions := context.Background(), make([]int64, 16), make([]int, 16)
	// also Imports, Options, Wrappers; gym.ByID(id, true) for what commands make of an id
	pool, err := gym.Open(ctx, gym.Config{ID: "LunarLander-v3", Workers: 2, EnvsPerWorker: 8})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	obs, err := pool.Reset(ctx, seeds) // [16, 8], one seed for each
	if err != nil {
		log.Fatal(err)
	}
	batch, err := pool.Step(ctx, actions) // observations, rewards, terminated, truncated, final observations
	if err != nil {
		log.Fatal(err)
	}
	snapshot, err := pool.Snapshot(ctx, 3) // pool.Restore brings any environment of the kind back to it
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(obs, batch, snapshot)
}

// Demonstrations in an Atari game that are stored as seeds and actions.
func ExampleOpenDemos() {
	ctx, buffer := context.Background(), make([]uint8, 4*84*84)
	set, err := gym.OpenDemos(ctx, "pong.npz", gym.ReplayOptions{}) // as demo.Open, replayed where it has to be
	if err != nil {
		log.Fatal(err)
	}
	frames := set.Trajectories[0].Frames // bytes, each frame once
	frames.Observation(buffer, 17)       // the stack [4, 84, 84] that observation 17 is
}
