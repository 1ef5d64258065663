package expert

import (
	"context"
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
)

// mark adds a point to the learning curve.
func (t *trainer) mark(ctx context.Context) error {
	e, err := t.expert()
	if err != nil {
		return err
	}
	policy := e.Greedy()
	if t.config.Best {
		policy = e.Boltzmann(t.config.Beta)
	}
	played, err := play(ctx, t.pool, policy, t.config.CurveEpisodes, curveSeed)
	if err != nil {
		return err
	}
	p := Point{Steps: t.steps, Episodes: t.episodes, Return: played.Returns().Mean,
		Ended: demo.Ended(played.Trajectories)}
	if t.options.Rewards != nil {
		if p.Objective, err = t.objective(played.Trajectories); err != nil {
			return err
		}
		p.Played = played.Transitions()
		if n := len(t.curve); n > 0 {
			p.Played += t.curve[n-1].Played
		}
	}
	best := math.Inf(-1)
	for _, q := range t.curve {
		best = max(best, t.merit(q))
	}
	if t.selects() && t.merit(p) > best {
		t.best = e.network
	}
	if len(t.losses) > 0 {
		p.Loss = stat.Mean(t.losses, nil)
	}
	t.curve = append(t.curve, p)
	return nil
}

// selects tells whether the expert is the network of the best point of the curve, by merit.
func (t *trainer) selects() bool { return t.options.Rewards != nil || t.config.Best }

func (t *trainer) merit(p Point) float64 {
	if t.options.Rewards != nil {
		return p.Objective
	}
	return p.Return
}

// evaluate makes the evaluations at the end.
func (e *Expert) evaluate(ctx context.Context, pool *gym.Pool) error {
	for _, p := range e.Players(e.Config.Beta) {
		v, err := Evaluate(ctx, pool, p, e.Config.EvaluationEpisodes)
		if err != nil {
			return err
		}
		e.Evaluations = append(e.Evaluations, v)
	}
	return nil
}
