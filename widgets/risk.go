package widgets

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/check"
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

// label names a level.
func (l RiskLevel) label() string { return fmt.Sprintf("α = %g", l.Level) }

// Figure implements Drawing: the policies and distributions of the lowest and the highest level. Where actions do not
// move on the map, each state has the name of its likeliest.
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
		if m.World.Moves != nil {
			worldMap.Policy, worldMap.Moves = l.Policy, m.World.Moves
		} else {
			worldMap.Marked = m.likeliest(l.Policy)
		}
		maps = append(maps, worldMap)
	}
	return Stack{Title: m.Title, Rows: [][]Drawing{maps, {tails}}}.Figure()
}

// likeliest returns the name of a policy's likeliest action in each state in which an episode goes on.
func (m Risk) likeliest(policy []float64) map[int]string {
	actions := len(policy) / (m.World.Width * m.World.Height)
	names, marked := namesOr(m.World.Actions, actions), map[int]string{}
	for s := range m.World.Width * m.World.Height {
		if m.World.Terminal == nil || !m.World.Terminal[s] {
			marked[s] = names[floats.MaxIdx(policy[s*actions:(s+1)*actions])]
		}
	}
	return marked
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
