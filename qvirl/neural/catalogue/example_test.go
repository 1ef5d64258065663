package catalogue_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// A walker on a line goes to 0, from either side. Files of demonstrations are read by demo.Open.
func Example() {
	var demos []demo.Trajectory
	for _, start := range []float32{-4, 5, -6, 3} {
		t := demo.Trajectory{Observations: []float32{start}, Truncated: true, Seed: demo.NoSeed}
		for x := start; x != 0; t.Observations = append(t.Observations, x) {
			if x < 0 {
				x++
				t.Actions = append(t.Actions, 1)
			} else {
				x--
				t.Actions = append(t.Actions, 0)
			}
		}
		demos = append(demos, t)
	}

	method, err := catalogue.Find("bc") // the quickest of catalogue.Names()
	if err != nil {
		log.Fatal(err)
	}
	training := neural.Default()
	training.Hidden, training.Steps, training.LearningRate, training.Folds = []int{16}, 300, 0.01, 0
	training.Backend = "go" // without XLA
	learner, err := method.New(training)
	if err != nil {
		log.Fatal(err)
	}
	models, err := learner.Fit(context.Background(), &neural.Task{Observation: 1, Actions: 2, Discount: 0.9, Beta: 3,
		Runs: []neural.Run{{Demos: demos}}}, nil)
	if err != nil {
		log.Fatal(err)
	}

	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := models[0].Save(dir); err != nil {
		log.Fatal(err)
	}
	model, err := catalogue.Load(dir, "go")
	if err != nil {
		log.Fatal(err)
	}
	at, err := model.Predict([]float32{-2, 2}) // log-probabilities and values, [2, 2]
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("up rather than down at -2:", at.LogProbs[1] > at.LogProbs[0])
	fmt.Println("up rather than down at +2:", at.LogProbs[3] > at.LogProbs[2])
	// Output:
	// up rather than down at -2: true
	// up rather than down at +2: false
}
