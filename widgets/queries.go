package widgets

import (
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Queries shows what a learner asked for next, after each number of queries: the worth of asking in each state, and how
// much is unknown before the answer and after it. The reader slides the number of queries.
type Queries struct {
	Title string
	Label string // of the scores, such as “expected information gain (nats)”
	World exhibit.World
	Steps []QueryStep
}

// QueryStep is what stood after so many queries as there were steps before.
type QueryStep struct {
	Scores []float64 // of asking in each state; nil after the last query
	Query  int       // the state that is asked for; −1 for none
	Std    []float64 // of each reward
	Visits []int     // demonstrated decisions in each state
	Return float64   // of the apprentice
}

func (m Queries) validate() error {
	states := m.World.Width * m.World.Height
	err := check.First(checkWorld("Queries.World", m.World), refuse(len(m.Steps) < 2,
		"Queries has %d steps, want at least 2: before the first answer and after it", len(m.Steps)))
	for i, s := range m.Steps {
		field := fmt.Sprintf("Queries.Steps[%d]", i)
		last := i == len(m.Steps)-1
		if !last || s.Scores != nil {
			err = check.First(err, checkLength(field+".Scores", len(s.Scores), states, "one for each state"))
		}
		err = check.First(
			err, refuse(s.Query < -1 || s.Query >= states || s.Query < 0 && !last, "%s.Query = %d, want 0..%d",
				field, s.Query, states-1), checkLength(field+".Std", len(s.Std), states, "one for each state"),
			checkLength(field+".Visits", len(s.Visits), states, "one for each state"),
			checkFinite(field+".Scores", s.Scores), checkFinite(field+".Std", s.Std),
			refuse(!finite(s.Return), "%s.Return = %g is not finite", field, s.Return))
	}
	return err
}

// Figure implements Drawing: the first query, and one half way, and the last, each marked in its maps by "?".
func (m Queries) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	last := len(m.Steps) - 2 // the last query
	at := slices.Compact([]int{0, last / 2, last})
	scores, std := HeatRow{Label: m.Label, Decimals: 1}, HeatRow{Label: "reward std", Decimals: 1}
	var titles []string
	var asked []int
	for _, i := range at {
		s := m.Steps[i]
		titles = append(titles, fmt.Sprintf("after %s: return %.0f, asks in state %s",
			progress.Count(i, "query", "queries"), s.Return, stateNames(m.World)[s.Query]))
		scores.Values, std.Values = append(scores.Values, s.Scores), append(std.Values, s.Std)
		asked = append(asked, s.Query)
	}
	return HeatMaps{Title: m.Title, Width: m.World.Width, Height: m.World.Height, Terminal: m.World.Terminal,
		Columns: titles, Rows: []HeatRow{scores, std}, asked: asked, names: m.World.States}.Figure()
}

// Vega returns the Vega 5 specification of the interactive view, whose slider is called queries.
func (m Queries) Vega() (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	cells := csvLines{{"i", "s", "score", "before", "after", "visits"}}
	steps := csvLines{{"i", "query", "return", "next"}}
	scores, stds := emptySpan(), emptySpan()
	for i, step := range m.Steps[:len(m.Steps)-1] {
		next := m.Steps[i+1]
		scores.include(step.Scores...)
		stds.include(step.Std...)
		stds.include(next.Std...)
		for s := range step.Std {
			cells.add(i, s, short(step.Scores[s]), short(step.Std[s]), short(next.Std[s]), step.Visits[s])
		}
		steps.add(i, step.Query, short(step.Return), short(next.Return))
	}
	return newVega("Queries", ofWorld(m.World, object{"size": max(8, min(44, 260/m.World.Width)), "title": m.Title,
		"label": m.Label, "scores": scores.domain(), "stds": stds.domain(), "sequential": sequential.hex(),
		"most": len(m.Steps) - 2, "cells": cells, "steps": steps, "maps": []object{
			{"name": "acquisition", "title": "label", "x": "0", "scale": "worth", "field": "score", "format": ".2f"},
			{"name": "before", "title": "'standard deviation of the reward, before'", "x": "mapWidth + 36",
				"scale": "unknown", "field": "before", "format": ".1f"},
			{"name": "after", "title": "'after the answer'", "x": "2 * (mapWidth + 36)", "scale": "unknown",
				"field": "after", "format": ".1f"}}}))
}

// ShowQueries displays the interactive view of m. JupyterLab draws it, also in a saved notebook and without a kernel;
// elsewhere stand the first query, one half way, and the last.
func ShowQueries(m Queries) error { return showSpec(vega, m, m.Vega) }
