package widgets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
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
		Columns: titles, Rows: []HeatRow{row}}.Figure()
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

// Change shows what a demonstration, or another prior, changed: maps of the posterior means before and after, of the
// share of the standard deviation that is left, and the marginals that changed most.
type Change struct {
	Title         string
	World         exhibit.World
	Before, After *exhibit.Posterior
	Names         []string       // of the two, such as "wide prior", "narrow prior"; nil for "before it", "after it"
	Demonstrated  map[int]string // labels of states on the map, such as what was done there; nil for none
}

// changedMost is how many marginals are shown.
const changedMost = 3

// Figure implements Drawing.
func (m Change) Figure() (*Figure, error) {
	e := Explore(m.World, m.Before, m.After)
	if m.Before != nil && m.After != nil && m.Before.Method != m.After.Method {
		return nil, fmt.Errorf("widgets: Change is from %q to %q, want one method", m.Before.Method, m.After.Method)
	}
	if err := check.First(e.validate(), checkEach("Change.Names", m.Names, 2, "Before and After")); err != nil {
		return nil, err
	}
	names, versions := stateNames(m.World), m.Names
	if versions == nil {
		versions = []string{"before it", "after it"}
	}
	before, after := eachMarginal(m.Before, exhibit.Marginal.Mean), eachMarginal(m.After, exhibit.Marginal.Mean)
	left := make([]float64, len(before))
	order := make([]int, len(before))
	change := make([]float64, len(before)) // the distance of the quantiles, on average
	for s := range left {
		left[s], order[s] = 1, s
		if std := m.Before.Marginals[s].StdDev(); std > 0 {
			left[s] = m.After.Marginals[s].StdDev() / std
		}
		for u := 0.05; u < 1; u += 0.1 {
			change[s] += math.Abs(m.After.Marginals[s].Quantile(u)-m.Before.Marginals[s].Quantile(u)) / 10
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(change[b], change[a]) })
	w, h := m.World.Width, m.World.Height
	marginals := Marginals{Title: "The rewards that changed most", XLabel: "reward", Methods: versions}
	for _, s := range order[:min(changedMost, len(order))] {
		panel := MarginalPanel{Title: "state " + names[s],
			Distributions: []Distribution{m.Before.Marginals[s], m.After.Marginals[s]}}
		if m.World.Truth != nil {
			panel.Truth = &m.World.Truth[s]
		}
		marginals.Panels = append(marginals.Panels, panel)
	}
	maps := func(names []string, row HeatRow) HeatMaps {
		return HeatMaps{side: 160, Width: w, Height: h, Columns: names, Rows: []HeatRow{row},
			Terminal: m.World.Terminal, Marked: m.Demonstrated}
	}
	return Stack{Title: m.Title, Rows: [][]Drawing{{
		maps(versions, HeatRow{Label: "posterior mean", Diverges: true, Decimals: 1,
			Values: [][]float64{before, after}}),
		maps([]string{fmt.Sprintf("σ, %s over %s", versions[1], versions[0])},
			HeatRow{Label: "ratio", Decimals: 2, Values: [][]float64{left}})},
		{marginals}}}.Figure()
}

// Mixing returns the traces of chains, and beneath them the ranks of their draws among those of all chains: both look
// alike for all chains if these have the same distribution (Vehtari et al. 2021).
func Mixing(title, quantity string, chains [][]float64) (Stack, error) {
	ranks, err := ChainRanks("", chains)
	if err != nil {
		return Stack{}, err
	}
	return Stack{Title: title, Rows: [][]Drawing{{Traces{Panels: []TracePanel{{quantity, chains}}}}, {ranks}}}, nil
}
