package widgets

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
)

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
			Terminal: m.World.Terminal, Marked: m.Demonstrated, names: m.World.States}
	}
	return Stack{Title: m.Title, Rows: [][]Drawing{{
		maps(versions, HeatRow{Label: "posterior mean", Diverges: true, Decimals: 1,
			Values: [][]float64{before, after}}),
		maps([]string{fmt.Sprintf("σ, %s over %s", versions[1], versions[0])},
			HeatRow{Label: "ratio", Decimals: 2, Values: [][]float64{left}})},
		{marginals}}}.Figure()
}
