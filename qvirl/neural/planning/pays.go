package planning

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
)

// pays is what an apprentice is planned for.
type pays struct {
	rewards  expert.Rewards
	ends     expert.Ends
	endWorth float64 // of a demonstrated end, in demonstrated steps
}

// pays returns the rewards (E r − K sd r − μ)/u of the process, with the risk K and with u so that the mean of E r at
// demonstrated pairs is 1: a shift changes no plan, as ends are worth theirs for ever, and the scale is the learner's.
//
// Of an episode's end the process says nothing, as a crash may look like a landing once it is over. An end is like a
// demonstrated one if what led to it is, too: after the step from s to s' it pays, with the correlations k of states
// and the demonstrated ends j,
//
//	r_end = w e − K √(1 − e²) σ/u   with   e = max_j √(k(s, s_j) k(s', s'_j)),
//
// w demonstrated steps' rewards where e = 1, and the prior's, less its part of the deviation σ, where nobody ended. The
// worth w is EndWorth, or else 1, or what seeking says of the demonstrations, compared with episodes of a random
// policy. Where demonstrations end, and none of many episodes of the random policy does in as many steps, an end is no
// accident, and e = 1.
func (c Config) pays(p *Process, demos, random []demo.Trajectory) (out pays, err error) {
	mean, _ := p.Rewards(pairsOf(demos), false)
	prior := p.prior.Mean
	unit := stat.Mean(mean, nil) - prior
	if !(unit > 0) {
		return out, fmt.Errorf("planning: the model does not put the demonstrated rewards above its prior's mean "+
			"(%.3g below), so that there is nothing to plan for; with auxiliary transitions, from --env or --aux in "+
			"training, it may", -unit)
	}
	out.rewards = func(observations []float32, actions []int) ([]float64, error) {
		out := p.Averse(Pairs{Observations: observations, Actions: actions}, c.Risk)
		for i := range out {
			out[i] = (out[i] - prior) / unit
		}
		return out, nil
	}
	if out.endWorth = c.EndWorth; out.endWorth == 0 {
		if out.endWorth, err = seeking(out.rewards, c.Learner.Discount, demos, random); err != nil {
			return out, err
		}
	}
	always := 0.0
	if demo.Ended(demos) > 0 && len(random) > 0 && demo.Ended(random) == 0 {
		always = 1
	}
	out.ends = func(from, to []float32) (float64, error) {
		e := always
		for i := range demos {
			if t := &demos[i]; t.Terminated {
				n := t.Len()
				e = max(e, math.Sqrt(p.near(from, t.Observation(n-1))*p.near(to, t.Observation(n))))
			}
		}
		return out.endWorth*e - c.Risk*math.Sqrt(1-e*e)*p.prior.Std/unit, nil
	}
	return out, nil
}

// randomEpisodes is how many episodes of a random policy tell how soon one ends that seeks nothing. Where none of them
// ends, so many times as many tell that none ever does: with 100, one in thirty is hardly ever missed.
const randomEpisodes, timesAsMany = 10, 10

// atRandom collects episodes of a random policy, cut off after so many steps; none for 0 steps.
func atRandom(ctx context.Context, pool *gym.Pool, actions int, seed int64, steps int) (all []demo.Trajectory,
	err error) {
	for k := 0; k < timesAsMany && steps > 0 && demo.Ended(all) == 0; k++ {
		some, err := gym.Collect(ctx, pool, gym.RandomPolicy(actions), gym.CollectOptions{Episodes: randomEpisodes,
			FirstSeed: seed + int64(k*randomEpisodes), MaxSteps: steps})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// horizons is how far before its end a demonstration is looked at by seeking, in multiples of 1/(1 − γ): what is
// farther off counts by less than e⁻³ = 0.05.
const horizons = 3

// seeking returns how many demonstrated steps an end is worth to a demonstrator. One who reaches the end sooner than a
// random policy, in the mean of γ^T over all episodes, where those without end count 0, is taken to seek it, as in
// Acrobot. By rewards of steps alone it could as well linger for ever where these are highest, at max r. That it went
// on, an end of half the demonstrated one's worth has to explain, in the mean over demonstrations of T steps:
//
//	Σ_t γ^t r_t + ½ w γ^T/(1 − γ) = max r/(1 − γ).
//
// Where the end comes sooner by chance, as in CartPole, where it is a fall, or in Lunar Lander, where it may be a
// crash, w is 1: demonstrations do not say whether they seek an end or come to it late.
func seeking(rewards expert.Rewards, discount float64, demos, random []demo.Trajectory) (float64, error) {
	if soonness(demos, discount) <= soonness(random, discount) {
		return 1, nil
	}
	var steps, tails []float64
	best := math.Inf(-1)
	for i := range demos {
		t := &demos[i]
		if !t.Terminated {
			continue
		}
		pairs := pairsOf([]demo.Trajectory{t.Slice(max(0, t.Len()-int(horizons/(1-discount))), t.Len())})
		r, err := rewards(pairs.Observations, pairs.Actions)
		if err != nil {
			return 0, err
		}
		best = max(best, floats.Max(r))
		sum, factor := 0.0, 1.0
		for _, x := range r {
			sum += factor * x
			factor *= discount
		}
		steps, tails = append(steps, (1-discount)*sum), append(tails, factor)
	}
	return max(1, 2*(best-stat.Mean(steps, nil))/stat.Mean(tails, nil)), nil
}

// soonness returns the mean of γ^T over episodes of T steps, where those that reach no end count 0.
func soonness(episodes []demo.Trajectory, discount float64) float64 {
	sum := 0.0
	for i := range episodes {
		if t := &episodes[i]; t.Terminated {
			sum += math.Pow(discount, float64(t.Len()))
		}
	}
	return sum / float64(max(1, len(episodes)))
}

// longestEnded is the length of the longest trajectory that reached an end.
func longestEnded(demos []demo.Trajectory) (n int) {
	for i := range demos {
		if t := &demos[i]; t.Terminated {
			n = max(n, t.Len())
		}
	}
	return n
}
