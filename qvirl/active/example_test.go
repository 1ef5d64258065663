package active_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/active"
)

// A learner asks an expert three times what to do in a corridor of five rooms, where it would learn most.
func ExampleLoop() {
	const rooms = 5
	rows := make([][]mdp.Transition, 2*rooms) // index room·2 + action; actions: left, right
	for s := range rooms - 1 {                // the last room ends the episode
		rows[2*s] = []mdp.Transition{{Next: max(s-1, 0), Prob: 1}}
		rows[2*s+1] = []mdp.Transition{{Next: s + 1, Prob: 1}}
	}
	m, err := mdp.New(rooms, 2, rows, nil)
	if err != nil {
		log.Fatal(err)
	}
	problem := &qvirl.Problem{MDP: m, Prior: qvirl.IndependentPrior(rooms, 0, 2), Discount: 0.9, Beta: 2}
	// A simulated expert. A real one is a function that returns what was demonstrated from the state.
	ask, err := active.Expert(problem, []float64{-1, -1, -1, -1, 5}, 3, 1) // at most 3 steps
	if err != nil {
		log.Fatal(err)
	}
	method, err := qvirl.NewMethod("qvirl-matched", qvirl.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	loop := active.Loop{Fit: active.Fit(method), Acquisition: active.RewardEIG{Length: 3, Trajectories: 100},
		Queries: 3, Samples: 500}
	var gains []float64 // nats, of the query that was asked
	err = loop.Do(context.Background(), []active.Run{{Problem: problem, Ask: ask, Seed: 1}},
		func(_ int, steps []active.Step) error { // a step for each run
			if step := steps[0]; step.Query >= 0 { // −1 after the last one
				gains = append(gains, step.Scores[active.Best(step.Scores)].Value)
			}
			return nil
		}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d queries; the last is worth less than half of the first: %t\n", len(gains), gains[2] < gains[0]/2)
	// Output: 3 queries; the last is worth less than half of the first: true
}
