package main

import (
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/predictive"
)

const (
	predictiveDraws = 500
	leastPredictive = 0.01 // p-value below which, or that far from 1, a model is said not to fit
)

// misfit says so where the demonstrations are not such as the model would give, whatever its rewards.
func (o *fitOptions) misfit(post irl.Posterior) string {
	p, err := predictive.Check(post, predictiveDraws, o.seed)
	switch {
	case err != nil: // nothing is demonstrated, or the posterior has no draws
		return ""
	case p < leastPredictive:
		return fmt.Sprintf("the model may not fit: the demonstrated actions are less predictable than the model's own "+
			"(posterior predictive p < %g): the expert may be less rational than β says, or not choose by "+
			"Boltzmann's policy", leastPredictive)
	case p > 1-leastPredictive:
		return fmt.Sprintf("the model may not fit: the demonstrated actions are more predictable than the model's own "+
			"(posterior predictive p > %g): the expert may be more rational than β says", 1-leastPredictive)
	}
	return ""
}

// idle says so where demonstrations are in terminal states: rewards of states make all actions alike there.
func idle(problem *irl.Problem) string {
	terminal := func(d mdp.Step) bool { return problem.MDP.Terminal(d.State) }
	first := slices.IndexFunc(problem.Demos, terminal)
	if first < 0 || !problem.StateOnly() {
		return ""
	}
	return fmt.Sprintf("demos[%d] is in the state %d, where the episode ends with every action: it tells nothing of "+
		"the rewards, and nor do others in such states", first, problem.Demos[first].State)
}

// endless says so where a state that others lead to, and in which nothing is demonstrated, never leads anywhere else:
// in tables such as Gymnasium's, episodes end there.
func endless(problem *irl.Problem) string {
	m := problem.MDP
	open := make([]bool, m.States())    // lead elsewhere, may end an episode, or are demonstrated in
	reached := make([]bool, m.States()) // from another state
	for s := range open {
		for a := range m.Actions() {
			next, _ := m.Row(s, a)
			open[s] = open[s] || len(next) == 0
			for _, to := range next {
				open[s], reached[to] = open[s] || int(to) != s, reached[to] || int(to) != s
			}
		}
	}
	for _, d := range problem.Demos {
		open[d.State] = true
	}
	first, others := -1, 0
	for s := range open {
		switch {
		case open[s] || !reached[s]:
		case first < 0:
			first = s
		default:
			others++
		}
	}
	if first < 0 {
		return ""
	}
	more := ""
	if others > 0 {
		more = fmt.Sprintf(" (and %s)", progress.Count(others, "other", "others"))
	}
	return fmt.Sprintf("the state %d%s leads to itself for ever, whatever is done; where episodes end there, leave "+
		"all its transitions zero", first, more)
}

// slow says so where QVIRL takes a quarter of an hour or more.
func slow(problem *irl.Problem) string {
	hours, width := qvirl.HoursNeed(problem)
	if hours < 0.25 {
		return ""
	}
	return fmt.Sprintf("in the best numbering found, states and their successors are up to %d apart: training may "+
		"take about %.2g hours; where transitions lead nearby, it takes minutes", width, hours)
}
