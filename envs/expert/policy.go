package expert

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/mdp"
)

// Greedy returns the policy that takes the action of the greatest value.
func (e *Expert) Greedy() gym.Policy {
	return e.policy(func(values []float64, _ *rand.Rand) int { return floats.MaxIdx(values) })
}

// Boltzmann returns the policy π(a|s) ∝ exp(β Q(s,a)).
func (e *Expert) Boltzmann(beta float64) gym.Policy {
	return e.policy(func(values []float64, random *rand.Rand) int { return draw(values, beta, random) })
}

// policy returns the policy that chooses by the actions' values in a state.
func (e *Expert) policy(choose func(values []float64, random *rand.Rand) int) gym.Policy {
	return func(observations gym.Array, random []*rand.Rand) ([]int, error) {
		values, err := e.Values(observations.Float32())
		if err != nil {
			return nil, err
		}
		actions := make([]int, len(random))
		for i, r := range random {
			actions[i] = choose(values[i*e.Actions:(i+1)*e.Actions], r)
		}
		return actions, nil
	}
}

// draw draws an action by the Boltzmann policy on its value.
func draw(values []float64, beta float64, random *rand.Rand) int {
	return mdp.Draw(random, mdp.Boltzmann(nil, values, len(values), beta))
}

// LogProbs returns log π(a|s) [k, actions] of the Boltzmann policy for observations [k, …].
func (e *Expert) LogProbs(observations []float32, beta float64) ([]float64, error) {
	values, err := e.Values(observations)
	if err != nil {
		return nil, err
	}
	return mdp.LogBoltzmann(values, values, e.Actions, beta), nil
}

// Always returns the policy that takes one action.
func Always(action int) gym.Policy {
	return func(_ gym.Array, random []*rand.Rand) ([]int, error) {
		return slices.Repeat([]int{action}, len(random)), nil
	}
}

// Player is a policy by a name.
type Player struct {
	Name   string
	Policy gym.Policy
}

// Players returns the expert's two policies: the greedy one, and the Boltzmann policy at β.
func (e *Expert) Players(beta float64) []Player {
	return []Player{{"greedy", e.Greedy()}, {fmt.Sprintf("Boltzmann, β = %g", beta), e.Boltzmann(beta)}}
}

// Evaluation sums up episodes that a policy has played.
type Evaluation struct {
	// Policy says who played.
	Policy   string       `json:"policy"`
	Episodes int          `json:"episodes"`
	Returns  demo.Returns `json:"returns"`
	// Length is the mean number of steps in an episode.
	Length float64 `json:"length"`
}

// evaluationSeed is the first seed of an evaluation's environments, curveSeed that of the episodes in the learning
// curve, pilotSeed that of the pilot's. Training's own are from trainingSeed on.
const evaluationSeed, curveSeed, pilotSeed, trainingSeed = 1_000_000, 2_000_000, 3_000_000, 1 << 30

// Evaluate lets a player play, always from the same seeds. The pool has to be opened as Config.Gym says.
func Evaluate(ctx context.Context, pool *gym.Pool, p Player, episodes int) (Evaluation, error) {
	set, err := play(ctx, pool, p.Policy, episodes, evaluationSeed)
	if err != nil {
		return Evaluation{}, err
	}
	return Evaluation{Policy: p.Name, Episodes: episodes, Returns: *set.Returns(),
		Length: float64(set.Transitions()) / float64(episodes)}, nil
}

// play returns episodes with the seeds that follow seed.
func play(ctx context.Context, pool *gym.Pool, policy gym.Policy, episodes int, seed int64) (*demo.Set, error) {
	set := &demo.Set{Description: pool.Describe()}
	var err error
	set.Trajectories, err = gym.Collect(ctx, pool, policy, gym.CollectOptions{Episodes: episodes, FirstSeed: seed,
		PolicySeed: uint64(seed)})
	if err != nil {
		return nil, fmt.Errorf("expert: evaluating: %w", err)
	}
	return set, nil
}

// entropy returns −Σ p log p of log-probabilities.
func entropy(logProbs []float64) float64 {
	h := 0.0
	for _, l := range logProbs {
		if p := math.Exp(l); p > 0 {
			h -= p * l
		}
	}
	return h
}
