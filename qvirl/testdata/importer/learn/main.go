// Command learn clones a demonstrator's behaviour from observations.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/cloning"
)

func main() {
	d := demo.Trajectory{Observations: []float32{0}}
	for i := range 40 { // the action follows the sign of the observation
		d.Actions = append(d.Actions, i%2)
		d.Observations = append(d.Observations, float32(2*((i+1)%2)-1))
	}
	c := neural.Default()
	c.Hidden, c.Steps, c.Folds = []int{8}, 50, 0
	method, err := cloning.New(c)
	if err != nil {
		log.Fatal(err)
	}
	models, err := method.Fit(context.Background(), &neural.Task{Observation: 1, Actions: 2, Discount: 0.9, Beta: 1,
		Runs: []neural.Run{{Demos: []demo.Trajectory{d}, Seed: 1}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("models:", len(models))
}
