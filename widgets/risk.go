package widgets

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Risk shows what an apprentice does at each level of caution: its policy, and the distribution of its return under the
// posterior. At the level α it maximises the conditional value at risk, the mean return in the worst α of all draws; at
// 1, the mean. The reader slides the level.
type Risk struct {
	Title  string
	XLabel string // of the return
	World  exhibit.World
	Values []float64 // of the states, for the colours of the map, [states]; nil leaves it white
	Label  string    // of the values
	Levels []RiskLevel
}

// RiskLevel is the apprentice at one level.
type RiskLevel struct {
	Level   float64   // in (0, 1], ascending
	Policy  []float64 // [states·actions]
	Returns []float64 // under each draw of the posterior
}

// riskLabel names a level.
func (l RiskLevel) label() string { return fmt.Sprintf("α = %g", l.Level) }

// Figure implements Drawing: the policies and distributions of the lowest and the highest level.
func (m Risk) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	first, last := m.Levels[0], m.Levels[len(m.Levels)-1]
	tails := Tails{XLabel: m.XLabel, Level: math.Min(first.Level, 0.999), Panels: []TailPanel{{}}}
	var maps []Drawing
	for _, l := range []RiskLevel{first, last} {
		tails.Methods = append(tails.Methods, l.label())
		tails.Panels[0].Samples = append(tails.Panels[0].Samples, l.Returns)
		worldMap := Map{Title: l.label(), Width: m.World.Width, Height: m.World.Height, Values: m.Values,
			ValueLabel: m.Label, Decimals: 1, Terminal: m.World.Terminal, side: 260}
		if slices.Equal(m.World.Moves, gridworld.Moves[:]) { // those that Map draws
			worldMap.Policy = l.Policy
		}
		maps = append(maps, worldMap)
	}
	return Stack{Title: m.Title, Rows: [][]Drawing{maps, {tails}}}.Figure()
}

func (m Risk) validate() error {
	if err := checkWorld("Risk.World", m.World); err != nil {
		return err
	}
	states, before := m.World.Width*m.World.Height, 0.0
	return check.First(checkEach("Risk.Values", m.Values, states, "one for each state"), checkFinite("Risk.Values",
		m.Values),
		refuse(len(m.Levels) < 2, "Risk has %d levels, want at least 2", len(m.Levels)),
		forEach("Risk.Levels", m.Levels, func(field string, l RiskLevel) error {
			ascends := l.Level > before && l.Level <= 1
			before = l.Level
			actions, err := checkPolicy(field+".Policy", l.Policy, states)
			n := len(m.World.Moves)
			return check.First(refuse(!ascends, "%s.Level = %g, want ascending numbers in (0, 1]", field, l.Level), err,
				refuse(n != 0 && n != actions, "%s.Policy has %d actions, Risk.World.Moves %d", field, actions, n),
				refuse(len(l.Returns) < 2, "%s.Returns has %d entries, want at least 2", field, len(l.Returns)),
				checkFinite(field+".Returns", l.Returns))
		}))
}

// Vega returns the Vega 5 specification of the interactive view, whose slider is called level.
func (m Risk) Vega() (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	states := m.World.Width * m.World.Height
	xs := Tails{Panels: []TailPanel{{Samples: [][]float64{m.Levels[0].Returns,
		m.Levels[len(m.Levels)-1].Returns}}}}.extent()
	var values []string
	policies, densities := csvLines{{"l", "s", "p"}}, csvLines{{"l", "x", "y", "worst"}}
	levels := csvLines{{"l", "mean", "tail", "quantile"}}
	for i, l := range m.Levels {
		values = append(values, strconv.FormatFloat(l.Level, 'g', -1, 64))
		actions := len(l.Policy) / states
		for s := range states {
			policies.add(i, s, percentages(l.Policy[s*actions:(s+1)*actions]))
		}
		t := newTail(l.Returns, math.Min(l.Level, 1), xs)
		for k, x := range t.x {
			worst := 0
			if x <= t.quantile {
				worst = 1
			}
			densities.add(i, short(x), short(t.density[k]), worst)
		}
		levels.add(i, short(t.mean), short(t.tail), short(t.quantile))
	}
	signal, position := Knob{Name: "level α", Values: values, Start: 0}.signal("level")
	return newVega("Risk", ofWorld(m.World, object{"values": list(m.Values), "size": cellPixels(m.World),
		"moves": m.World.Moves, "actions": namesOr(m.World.Actions, len(m.Levels[0].Policy)/states), "title": m.Title,
		"xLabel": m.XLabel, "label": m.Label, "extent": xs.ends(), "highest": m.Levels[len(m.Levels)-1].Level,
		"domain": newScale(true, m.Values).ends(), "diverging": diverging.hex(),
		"controls": []object{signal, {"name": "at", "update": position}},
		"policies": policies, "densities": densities, "levels": levels}))
}

// ShowRisk displays the interactive view of m. JupyterLab draws it, also in a saved notebook and without a kernel;
// elsewhere stands the figure of the lowest and the highest level.
func ShowRisk(m Risk) error { return showSpec(vega, m, m.Vega) }

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

// Figure implements Drawing: the first query, and one half way, and the last.
func (m Queries) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	last := len(m.Steps) - 2 // the last query
	at := slices.Compact([]int{0, last / 2, last})
	scores, std := HeatRow{Label: m.Label, Decimals: 1}, HeatRow{Label: "reward std", Decimals: 1}
	var titles []string
	marked := map[int]string{}
	for _, i := range at {
		s := m.Steps[i]
		titles = append(titles, fmt.Sprintf("after %s: return %.0f, asks in state %s", count(i, "query", "queries"),
			s.Return, stateNames(m.World)[s.Query]))
		scores.Values, std.Values = append(scores.Values, s.Scores), append(std.Values, s.Std)
		marked[s.Query] = "?"
	}
	if len(at) > 1 {
		marked = nil
	}
	return HeatMaps{Title: m.Title, Width: m.World.Width, Height: m.World.Height, Terminal: m.World.Terminal,
		Columns: titles, Rows: []HeatRow{scores, std}, Marked: marked}.Figure()
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
