// Package portrait makes plain data of posteriors, for figures.
package portrait

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Options say how a posterior is looked at.
type Options struct {
	Draws  int    // of a posterior that does not consist of chains, at least 2
	Seed   uint64 // of these draws
	Action int    // whose rewards are shown where these are of state-action pairs
}

// Of returns the posterior of a method as plain data: its marginals, its draws, how well its chains agree, and the
// policy that it predicts, the mean over draws of
//
//	π(a|s) ∝ exp(β Q*(s,a)).
func Of(method string, post irl.Posterior, o Options) (*exhibit.Posterior, error) {
	if err := irl.CheckPosterior("portrait", post); err != nil {
		return nil, err
	}
	p := post.Problem()
	actions := p.MDP.Actions()
	if o.Action < 0 || o.Action >= actions {
		return nil, fmt.Errorf("portrait: action %d is outside 0..%d", o.Action, actions-1)
	}
	out := &exhibit.Posterior{Method: method}
	samples, chains, err := mcmc.Draws(post, rand.New(rand.NewPCG(o.Seed, 0)), o.Draws, 2)
	if err != nil {
		return nil, fmt.Errorf("portrait: %w", err)
	}
	out.Policy = irl.ColumnMeans(samples.Policies(actions, p.Beta))
	columns := make([]int, p.MDP.States())
	for s := range columns {
		columns[s] = s
		if !p.StateOnly() {
			columns[s] = s*actions + o.Action
		}
		out.Marginals = append(out.Marginals, post.Reward(columns[s]))
		if chains != nil {
			draws := chains.ByChain(mat.Col(nil, columns[s], samples.Reward))
			rHat, bulkESS, _ := mcmc.Diagnose(draws)
			out.RHat, out.ESS = append(out.RHat, rHat), append(out.ESS, bulkESS)
		}
	}
	n, _ := samples.Reward.Dims()
	for i := range n {
		row := make([]float64, len(columns))
		for s, c := range columns {
			row[s] = samples.Reward.At(i, c)
		}
		out.Draws = append(out.Draws, row)
	}
	return out, nil
}

// Grid returns a gridworld as a map.
func Grid(w *gridworld.World) exhibit.World {
	return exhibit.World{Width: w.Width, Height: w.Height, Actions: gridworld.ActionNames[:], Moves: gridworld.Moves[:],
		Terminal: w.Terminal, Truth: w.Reward}
}

// States returns the states of a problem in rows of about as many as there are rows. The last row must be full: so many
// columns as divide the number of states.
func States(p *irl.Problem) exhibit.World {
	states, actions := p.MDP.States(), p.MDP.Actions()
	columns := int(math.Ceil(math.Sqrt(float64(states))))
	for states%columns != 0 {
		columns++
	}
	w := exhibit.World{Width: columns, Height: states / columns}
	for s := range states {
		w.States, w.Terminal = append(w.States, p.StateName(s)), append(w.Terminal, p.MDP.Terminal(s))
	}
	for a := range actions {
		w.Actions = append(w.Actions, p.ActionName(a))
	}
	return w
}

// Visits counts the demonstrated decisions in each state.
func Visits(p *irl.Problem) []int {
	out := make([]int, p.MDP.States())
	for _, d := range p.Demos {
		out[d.State]++
	}
	return out
}

// Decisions returns what was demonstrated in each state, and how probable the posterior holds it to be.
func Decisions(post irl.Posterior, o Options) ([]exhibit.Decision, error) {
	if err := irl.CheckPosterior("portrait", post); err != nil {
		return nil, err
	}
	p := post.Problem()
	samples, _, err := mcmc.Draws(post, rand.New(rand.NewPCG(o.Seed, 0)), o.Draws, 2)
	if err != nil {
		return nil, fmt.Errorf("portrait: %w", err)
	}
	actions := p.MDP.Actions()
	policies, counts := samples.Policies(actions, p.Beta), p.DemoCounts()
	var out []exhibit.Decision
	for i, times := range counts {
		if times == 0 {
			continue
		}
		s := i / actions
		predicted, err := irl.NewEmpirical(mat.Col(nil, i, policies))
		if err != nil {
			return nil, fmt.Errorf("portrait: %w", err)
		}
		state, action := p.StateName(s), p.ActionName(i%actions)
		if p.StateNames == nil {
			state = "state " + state
		}
		if p.ActionNames == nil {
			action = "action " + action
		}
		low, high := predicted.Interval(0.9)
		out = append(out, exhibit.Decision{State: state, Action: action, Times: int(times),
			Of: int(floats.Sum(counts[s*actions : (s+1)*actions])), Mean: predicted.Mean(), Low: low,
			High: high})
	}
	return out, nil
}
