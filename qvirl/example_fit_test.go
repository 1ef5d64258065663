package qvirl_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/method"
)

// walked is the corridor where somebody went right twice in each room.
func walked() *qvirl.Problem {
	p := demonstrated()
	p.Demos = append(p.Demos, p.Demos...)
	return p
}

// How sure one can be: 90 % of the posterior of a reward lie between two quantiles. Nobody who liked the first room
// would leave it.
func ExampleFit() {
	result, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(method.Reference), qvirl.WithSeed(7))
	if err != nil {
		log.Fatal(err)
	}
	low, high := result.Posterior.Reward(0).Interval(0.9)
	fmt.Println("the first room costs something, surely:", low < high && high < 0)
	fmt.Println("the prior was less sure:", high-low < 0.7*2*1.645*2)
	// Output:
	// the first room costs something, surely: true
	// the prior was less sure: true
}

// The expert's policy, averaged over the posterior: what else it may do, and how surely.
func ExampleSummarise() {
	result, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(method.Reference))
	if err != nil {
		log.Fatal(err)
	}
	summary, err := qvirl.Summarise(result.Posterior)
	if err != nil {
		log.Fatal(err)
	}
	for room := range 2 {
		fmt.Printf("room %d: right with a probability above 0.8: %v\n", room, summary.Policy[room*2+1] > 0.8)
	}
	fmt.Printf("room 2, where nothing matters: %.2f\n", summary.Policy[2*2+1])
	// Output:
	// room 0: right with a probability above 0.8: true
	// room 1: right with a probability above 0.8: true
	// room 2, where nothing matters: 0.50
}

// A prior under which rooms that are close have similar rewards, by a kernel over their positions.
func ExampleKernelPrior() {
	positions := mat.NewDense(3, 1, []float64{0, 1, 2})
	kernel := qvirl.Kernel{Name: "rbf", Lengthscale: []float64{1}, Std: []float64{2}}
	prior, err := qvirl.KernelPrior(kernel, positions, make([]float64, 3))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("covariances with the first: %.3f\n", mat.Row(nil, 0, prior.Covariance()))
	problem := walked()
	problem.Prior = prior
	result, err := qvirl.Fit(context.Background(), problem, qvirl.WithMethod(method.Reference))
	if err != nil {
		log.Fatal(err)
	}
	samples, err := result.Posterior.Sample(rand.New(rand.NewPCG(1, 0)), 2000)
	if err != nil {
		log.Fatal(err)
	}
	better := 0
	for i := range 2000 {
		if samples.Reward.At(i, 2) > samples.Reward.At(i, 0) {
			better++
		}
	}
	fmt.Println("the exit is surely better than the start:", better > 1500)
	// Output:
	// covariances with the first: [4.000 2.426 0.541]
	// the exit is surely better than the start: true
}

// What is wrong with a problem is an error that says it, and a posterior that may not be relied on another.
func ExampleFit_errors() {
	problem := walked()
	problem.Beta = -1
	_, err := qvirl.Fit(context.Background(), problem)
	fmt.Println(err)
	fmt.Println(errors.Is(err, qvirl.ErrBadProblem))
	result, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(method.AVRIL), qvirl.WithoutEscalation())
	fmt.Println(errors.Is(err, qvirl.ErrNotConverged), result.Returned, result.Verdict)
	// Output:
	// irl: β = -1, want a number from 1e-60 to 1e+60
	// true
	// true avril refine
}
