// Command fit is what an importer writes first: a problem, the recommended method, an interval.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl"
)

func main() {
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}}, nil, nil}, nil)
	if err != nil {
		log.Fatal(err)
	}
	problem := &qvirl.Problem{MDP: m, Prior: qvirl.IndependentPrior(2, 0, 1), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 0, Action: 1}}}
	method, err := qvirl.NewMethod("qvirl-matched", qvirl.Options{Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	posteriors, err := method.Fit(context.Background(), []*qvirl.Problem{problem}, nil)
	if err != nil {
		log.Fatal(err)
	}
	stay, leave := posteriors[0].Reward(0), posteriors[0].Reward(1)
	low, high := leave.Interval(0.9)
	fmt.Printf("leaving pays %.1f to %.1f\n", low, high)
	fmt.Println("leaving pays more than staying:", leave.Mean() > stay.Mean())
}
