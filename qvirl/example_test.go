package qvirl_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/irl"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// rooms is a corridor of three rooms, of which the last ends the episode. Index: room·2 + action; actions: left, right.
var rooms = [][]mdp.Transition{
	{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 0.1}, {Next: 1, Prob: 0.9}},
	{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 1, Prob: 0.1}, {Next: 2, Prob: 0.9}},
	nil, nil,
}

// demonstrated is the corridor where somebody went right twice.
func demonstrated() *qvirl.Problem {
	m := must(mdp.New(3, 2, rooms, nil))
	return &qvirl.Problem{MDP: m, Prior: qvirl.IndependentPrior(3, 0, 2), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}}}
}

// fit returns the posterior of a method by its name.
func fit(name string, problem *qvirl.Problem) qvirl.Posterior {
	method := must(qvirl.NewMethod(name, qvirl.Options{Seed: 1, Backend: "go"}))
	return must(method.Fit(context.Background(), []*qvirl.Problem{problem}, nil))[0]
}

// A problem, its posterior with the verdict on it, and what being in a room may be worth to the demonstrator.
func Example() {
	rows := [][]mdp.Transition{ // three rooms in a row; index room·2 + action; actions: left, right
		{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 0.1}, {Next: 1, Prob: 0.9}},
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 1, Prob: 0.1}, {Next: 2, Prob: 0.9}},
		nil, nil, // room 2 ends the episode
	}
	m, err := mdp.New(3, 2, rows, nil) // nil: episodes start anywhere
	if err != nil {
		log.Fatal(err)
	}
	problem := &qvirl.Problem{MDP: m, Prior: qvirl.IndependentPrior(3, 0, 2), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}}}
	result, err := qvirl.Fit(context.Background(), problem)
	if err != nil {
		log.Fatal(err)
	}
	low, high := result.Posterior.Reward(0).Interval(0.5)
	fmt.Printf("reliable: %t; with probability 0.5, room 0 is worth %.0f to %.0f\n", result.Converged, low, high)
	// Output: reliable: true; with probability 0.5, room 0 is worth -3 to -1
}

// What a posterior says in sum, and a file to keep it in.
func ExampleSaveResult() {
	ctx, problem, path := context.Background(), demonstrated(), filepath.Join(os.TempDir(), "posterior.npz")
	defer os.Remove(path)
	result, err := qvirl.Fit(ctx, problem) // as the command: result.Posterior, Verdict, Converged, Reason
	if err != nil {
		log.Fatal(err)
	}
	summary, err := qvirl.Summarise(result.Posterior) // means, standard deviations, the expert's policy
	if err != nil {
		log.Fatal(err)
	}
	if err := qvirl.SaveResult(path, result, qvirl.AnswerOptions{}); err != nil {
		log.Fatal(err)
	}
	again, err := qvirl.LoadResult(path) // with its problem and the verdict
	if err != nil {
		log.Fatal(err)
	}
	same := math.Abs(summary.RewardMean[0]-again.Posterior.Reward(0).Mean()) < 1e-6
	fmt.Println("as before:", same && again.Verdict == result.Verdict)
	// Output: as before: true
}

// The recommended method beside exact sampling.
func ExampleNewMethod() {
	for _, name := range []string{"qvirl-matched", "valuewalk"} {
		first := fit(name, demonstrated()).Reward(0)
		fmt.Printf("%s: mean %.0f, standard deviation %.0f\n", name, first.Mean(), first.StdDev())
	}
	// Output:
	// qvirl-matched: mean -2, standard deviation 1
	// valuewalk: mean -2, standard deviation 1
}

// Joint samples of rewards and values, and the policy that they predict.
func ExamplePosterior() {
	samples := must(fit("qvirl-matched", demonstrated()).Sample(rand.New(rand.NewPCG(1, 2)), 1000))
	n, rewards := samples.Reward.Dims()
	policy := irl.ColumnMeans(samples.Policies(2, 2))
	fmt.Printf("%d samples of %d rewards; in room 1 the demonstrator goes right with probability %.1f\n", n, rewards,
		policy[3])
	// Output: 1000 samples of 3 rewards; in room 1 the demonstrator goes right with probability 0.9
}

// Whether the chains of a sampler agree. Of an approximation, Result.Converged says whether it may be relied on.
func ExamplePosterior_convergence() {
	ok, reason := irl.Converged(fit("valuewalk", demonstrated()))
	fmt.Println(ok, strings.HasPrefix(reason, "R̂ ≤ 1.0"))
	// Output: true true
}

// Rewards that are expected to be alike in neighbouring rooms.
func ExampleCorrelatedPrior() {
	problem := demonstrated()
	problem.Prior = qvirl.CorrelatedPrior(make([]float64, 3), mat.NewSymDense(3, []float64{4, 3, 2, 3, 4, 3, 2, 3, 4}))
	fmt.Println(problem.Validate())
	// Output: <nil>
}

// A demonstrator of unknown rationality: β has a log-normal prior and is inferred with the rewards.
func ExampleProblem_beta() {
	problem := demonstrated()
	problem.BetaLogStd = 1
	beta := fit("qvirl-matched", problem).(irl.BetaPosterior).Beta()
	fmt.Printf("median %.0f, with 90 %% probability above %.1f\n", beta.Quantile(0.5), beta.Quantile(0.1))
	// Output: median 2, with 90 % probability above 0.7
}

// What is wrong with a problem is said by argument, index and value.
func ExampleProblem_Validate() {
	problem := demonstrated()
	problem.Demos[1].Action = 2
	fmt.Println(problem.Validate())
	// Output: mdp: demos[1]: action 2 is outside 0..1
}

// The policy that is best in the mean, and the one that is best in the worst tenth of the cases.
func Example_apprentice() {
	problem := demonstrated()
	posterior := fit("qvirl-matched", problem)
	mean := must(apprentice.MeanPolicy(posterior))
	samples := must(posterior.Sample(rand.New(rand.NewPCG(1, 2)), 200))
	cautious := must(apprentice.CVaRPolicy(problem, samples.Reward, 0.1))
	fmt.Printf("right in room 1: %.0f by the mean, %.0f by the worst tenth\n", mean[3], cautious.Policy[3])
	// Output: right in room 1: 1 by the mean, 1 by the worst tenth
}

// Where a demonstration would tell most.
func Example_query() {
	problem := demonstrated()
	posterior := fit("qvirl-matched", problem)
	rng := rand.New(rand.NewPCG(1, 2))
	samples := must(posterior.Sample(rng, 500))
	gain := active.RewardEIG{Length: 3, Trajectories: 200}
	scores := must(gain.Score(problem, samples, active.States(problem.MDP), rng))
	fmt.Println("ask in room", active.Best(scores))
	// Output: ask in room 0
}

// A random gridworld, a demonstrator in it, and what is learnt.
func Example_gridworld() {
	world := must(gridworld.Random(gridworld.Config{Width: 3, Height: 3, RewardMean: -1, RewardStd: 3, TopFraction: 0.2,
		Slip: 0.1}, 7))
	demos := must(world.Demonstrate(5, 5, 2, 0.9, 7))
	problem := &qvirl.Problem{MDP: world.MDP, Prior: qvirl.IndependentPrior(9, -1, 3), Discount: 0.9, Beta: 2,
		Demos: mdp.Flatten(demos)}
	posterior := fit("qvirl-matched", problem)
	inside := 0
	for s, reward := range world.Reward {
		if low, high := posterior.Reward(s).Interval(0.9); low <= reward && reward <= high {
			inside++
		}
	}
	fmt.Printf("%d of %d true rewards are in their 90 %% intervals\n", inside, len(world.Reward))
	// Output: 8 of 9 true rewards are in their 90 % intervals
}
