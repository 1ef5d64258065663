// Command sample draws from the exact posterior on a random gridworld, and looks at what the demonstrator would do.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

func main() {
	world, err := gridworld.Random(gridworld.Config{Width: 3, Height: 3, RewardStd: 3, TopFraction: 0.2, Slip: 0.1}, 1)
	if err != nil {
		log.Fatal(err)
	}
	demos, err := world.Demonstrate(4, 5, 2, 0.9, 1)
	if err != nil {
		log.Fatal(err)
	}
	method, err := valuewalk.New(valuewalk.Default())
	if err != nil {
		log.Fatal(err)
	}
	problem := &irl.Problem{MDP: world.MDP, Prior: irl.IndependentPrior(9, 0, 3), Discount: 0.9, Beta: 2,
		Demos: mdp.Flatten(demos)}
	posteriors, err := method.Fit(context.Background(), []*irl.Problem{problem}, nil)
	if err != nil {
		log.Fatal(err)
	}
	ok, _ := irl.Converged(posteriors[0])
	fmt.Println("the chains agree:", ok)
}
