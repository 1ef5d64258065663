package widgets

import (
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Correlations is a map of how the reward of one state goes together with those of all others under a posterior. The
// reader clicks the state; in the figure, the States stand side by side.
type Correlations struct {
	Title  string
	World  exhibit.World
	Draws  [][]float64 // joint draws, [draws][states]
	States []int       // in the figure; the view begins with the first
}

func (m Correlations) validate() error {
	states := m.World.Width * m.World.Height
	return check.First(checkWorld("Correlations.World", m.World), refuse(len(m.States) == 0 || len(m.States) > 4,
		"Correlations has %d states, want 1 to 4", len(m.States)), forEach("Correlations.States", m.States,
		func(field string, s int) error { return checkState(field, s, states) }),
		checkDraws("Correlations.Draws", m.Draws, states))
}

// with returns the correlations of all states' rewards with that of one. A reward without spread has none: 0.
func (m Correlations) with(columns [][]float64, state int) []float64 {
	out := make([]float64, len(columns))
	for s := range out {
		if out[s] = stat.Correlation(columns[s], columns[state], nil); math.IsNaN(out[s]) {
			out[s] = 0
		}
	}
	return out
}

// Figure implements Drawing.
func (m Correlations) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	names := stateNames(m.World)
	columns := transposed(m.Draws, len(names))
	row := HeatRow{Label: "correlation", Diverges: true, Decimals: 1}
	var titles []string
	for _, s := range m.States {
		titles, row.Values = append(titles, "with state "+names[s]), append(row.Values, m.with(columns, s))
	}
	return HeatMaps{Title: m.Title, Width: m.World.Width, Height: m.World.Height, Terminal: m.World.Terminal,
		Columns: titles, Rows: []HeatRow{row}, names: m.World.States}.Figure()
}

// Vega returns the Vega 5 specification of the interactive view.
func (m Correlations) Vega() (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	columns := transposed(m.Draws, m.World.Width*m.World.Height)
	rows := csvLines{{"s", "r"}} // in hundredths
	for s := range columns {
		rows.add(s, percentages(m.with(columns, s)))
	}
	return newVega("Correlations", ofWorld(m.World, object{"size": cellPixels(m.World), "diverging": diverging.hex(),
		"title": m.Title, "state": strconv.Itoa(m.States[0]), "correlations": rows}))
}

// cellPixels is how large cells of an interactive map are.
func cellPixels(w exhibit.World) int { return max(8, min(44, 360/w.Width, 400/w.Height)) }

// ShowCorrelations displays the interactive view of m: a click on a state, or the arrow keys while its number is being
// edited, choose the state. Elsewhere stands the figure.
func ShowCorrelations(m Correlations) error { return showSpec(vega, m, m.Vega) }
