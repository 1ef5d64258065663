package widgets

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// Explorer is an interactive view of posteriors over a world: a map of means, standard deviations, policies and more,
// and the marginals of the state that is clicked, or reached by the arrow keys. The first posterior is what the others
// are compared with.
//
// With Knobs there are several Settings, one for each combination of their values, the last knob varying fastest: the
// reader chooses demonstrations, β, or the number of refining transitions, by value.
type Explorer struct {
	Title    string
	XLabel   string // of the reward, with its unit if it has one
	World    exhibit.World
	Knobs    []Knob
	Settings []Setting
}

// Knob is something that the reader sets to one of several values. Values that are numbers at equal distances become a
// slider, others a list.
type Knob struct {
	Name   string   // beside the slider
	Values []string // as shown, one for each position
	Start  int      // the position of the value that the view begins with
}

// Setting is what is shown at one combination of the knobs' values: the same methods in each setting, in the same
// order. A posterior that several settings share is stored once.
type Setting struct {
	Visits     []int                // demonstrated decisions in each state, or nil
	Posteriors []*exhibit.Posterior // of each method
}

// Explore returns the view of posteriors over the rewards of one world. Title and XLabel may be changed.
func Explore(world exhibit.World, posteriors ...*exhibit.Posterior) Explorer {
	return Explorer{Title: "Posterior explorer", XLabel: "reward", World: world,
		Settings: []Setting{{Posteriors: posteriors}}}
}

// maxExplored is the largest specification in bytes: it is stored in the notebook.
const maxExplored = 600_000

// start is the setting that the view begins with.
func (m Explorer) start() Setting {
	at := 0
	for _, k := range m.Knobs {
		at = at*len(k.Values) + k.Start
	}
	return m.Settings[at]
}

// heading is the title with the values of the knobs that the view begins with.
func (m Explorer) heading() string {
	var values []string
	for _, k := range m.Knobs {
		values = append(values, k.Name+": "+k.Values[k.Start])
	}
	if len(values) == 0 {
		return m.Title
	}
	return strings.TrimSpace(m.Title + " (" + strings.Join(values, ", ") + ")")
}

// Figure implements Drawing: the maps of means and standard deviations in the setting that the view begins with, which
// the title names. They stand for the view where it is not shown.
func (m Explorer) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	mean, std := HeatRow{Label: "mean", Diverges: true, Decimals: 1}, HeatRow{Label: "standard deviation", Decimals: 1}
	for _, p := range m.start().Posteriors {
		mean.Values = append(mean.Values, eachMarginal(p, exhibit.Marginal.Mean))
		std.Values = append(std.Values, eachMarginal(p, exhibit.Marginal.StdDev))
	}
	return HeatMaps{Title: m.heading(), Width: m.World.Width, Height: m.World.Height, Columns: m.methods(),
		Rows: []HeatRow{mean, std}, Terminal: m.World.Terminal, names: m.World.States}.Figure()
}

func eachMarginal(p *exhibit.Posterior, f func(exhibit.Marginal) float64) []float64 {
	out := make([]float64, len(p.Marginals))
	for s, d := range p.Marginals {
		out[s] = f(d)
	}
	return out
}

// methods are the names of the posteriors' methods.
func (m Explorer) methods() (out []string) {
	for _, p := range m.Settings[0].Posteriors {
		out = append(out, p.Method)
	}
	return out
}

func (m Explorer) validate() error {
	if err := checkWorld("Explorer.World", m.World); err != nil {
		return err
	}
	combinations := 1
	err := forEach("Explorer.Knobs", m.Knobs, func(field string, k Knob) error {
		combinations *= len(k.Values)
		return check.First(refuse(len(k.Values) == 0, "%s, %q, has no values", field, k.Name),
			checkState(field+".Start", k.Start, len(k.Values)))
	})
	err = check.First(err, refuse(len(m.Settings) != combinations, "Explorer has %d settings, want %d, one for each "+
		"combination of the knobs' values", len(m.Settings), combinations))
	return check.First(err, forEach("Explorer.Settings", m.Settings, func(field string, s Setting) error {
		var methods []string
		err := forEach(field+".Posteriors", s.Posteriors, func(field string, p *exhibit.Posterior) error {
			if err := m.checkPosterior(field, p); err != nil {
				return err
			}
			methods = append(methods, p.Method)
			return checkMethods(p.Method)
		})
		return check.First(refuse(len(s.Posteriors) == 0, "%s has no posteriors", field), checkEach(field+".Visits",
			s.Visits, m.World.Width*m.World.Height, "one for each state"), err, refuse(err == nil &&
			!slices.Equal(methods, m.methods()), "%s has the methods %q, the first setting others", field, methods))
	}))
}

func (m Explorer) checkPosterior(field string, p *exhibit.Posterior) error {
	if p == nil {
		return fmt.Errorf("widgets: %s is nil", field)
	}
	states := m.World.Width * m.World.Height
	if err := check.First(checkLength(field+".Marginals", len(p.Marginals), states, "one for each state"),
		forEach(field+".Marginals", p.Marginals, checkMarginal)); err != nil {
		return err
	}
	actions, err := checkPolicy(field+".Policy", p.Policy, states)
	for name, n := range map[string]int{"Actions": len(m.World.Actions), "Moves": len(m.World.Moves)} {
		err = check.First(err, refuse(n != 0 && n != actions, "%s.Policy has %d actions, Explorer.World.%s %d", field,
			actions, name, n))
	}
	return check.First(checkEach(field+".RHat", p.RHat, states, "one for each state, or none"),
		checkEach(field+".ESS", p.ESS, states, "one for each state, or none"), err)
}

// Vega returns the Vega 5 specification of the view, which begins with the given state. Its inputs are called state,
// method, quantity, show0, show1 … (the methods) and knob0, knob1 …
func (m Explorer) Vega(state int) (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	states := m.World.Width * m.World.Height
	if state < 0 || state >= states {
		return nil, fmt.Errorf("widgets: Explorer begins with state %d, which is outside 0..%d", state, states-1)
	}
	var labels, colors []string
	var dashes [][]any
	for _, a := range appearances(m.methods()) {
		labels, colors, dashes = append(labels, a.label), append(colors, hex(a.color)), append(dashes,
			vegaDashes(a.dashes))
	}
	for i, label := range labels {
		if slices.Index(labels, label) < i {
			return nil, fmt.Errorf("widgets: Explorer has two posteriors of the method %q, and a reader could not "+
				"choose between them: give each a Method of its own, such as \"Second run\"", label)
		}
	}
	first := labels[0]
	actions := len(m.Settings[0].Posteriors[0].Policy) / states
	titles := object{"mean": "mean", "deviation": "standard deviation", "ratio": "σ over that of " + first,
		"difference": "mean less that of " + first + ", in its σ", "policy": "probability of the best action",
		"visits": "demonstrated decisions"}
	truths := []any{} // the lowest and the highest
	if m.World.Truth != nil {
		truths = span{slices.Min(m.World.Truth), slices.Max(m.World.Truth)}.ends()
	}
	data := ofWorld(m.World, object{"labels": labels, "colors": colors, "dashes": dashes,
		"actions": namesOr(m.World.Actions, actions), "moves": m.World.Moves, "truth": list(m.World.Truth),
		"size": cellPixels(m.World), "extent": truths, "sequential": sequential.hex(), "diverging": diverging.hex(),
		"mapTitles": titles, "title": m.Title, "xLabel": m.XLabel, "state": strconv.Itoa(state), "method": first,
		"quantities": []any{titles["mean"], titles["deviation"], titles["ratio"], titles["difference"],
			titles["policy"], titles["visits"]}})
	m.fill(data)
	m.controls(data, labels)
	return newVega("Explorer", data)
}

// controls adds the knobs, and a box for each method.
func (m Explorer) controls(data object, labels []string) {
	var signals []object
	setting, shown := "0", []string{}
	for i, k := range m.Knobs {
		name := "knob" + strconv.Itoa(i)
		signal, position := k.signal(name)
		signals = append(signals, signal)
		setting = fmt.Sprintf("(%s) * %d + %s", setting, len(k.Values), position)
	}
	for j, label := range labels {
		name := "show" + strconv.Itoa(j)
		signals = append(signals, input(name, true, "checkbox", label, object{}))
		shown = append(shown, name)
	}
	data["controls"], data["setting"], data["shown"] = signals, setting, "["+strings.Join(shown, ", ")+"]"
}

// input is a signal that the reader sets by an input of a kind, with its label and its options.
func input(signal string, value any, kind string, label any, options object) object {
	options["input"], options["name"] = kind, label
	return object{"name": signal, "value": value, "bind": options}
}

// signal returns the signal of a knob, and the expression for the position of its value.
func (k Knob) signal(name string) (signal object, position string) {
	if first, step, ok := k.steps(); ok {
		last := first + step*float64(len(k.Values)-1)
		return input(name, first+step*float64(k.Start), "range", k.Name+" ",
			object{"min": first, "max": last, "step": step}), fmt.Sprintf("round((%s - %g) / %g)", name, first, step)
	}
	return input(name, k.Values[k.Start], "select", k.Name+" ", object{"options": k.Values}),
		fmt.Sprintf("indexof(%s, %s)", vegaTexts(k.Values), name)
}

// steps returns the first value and the distance of numbers at equal distances.
func (k Knob) steps() (first, step float64, ok bool) {
	if len(k.Values) < 3 {
		return 0, 0, false
	}
	numbers := make([]float64, len(k.Values))
	for i, text := range k.Values {
		var err error
		if numbers[i], err = strconv.ParseFloat(text, 64); err != nil {
			return 0, 0, false
		}
	}
	first, step = numbers[0], numbers[1]-numbers[0]
	for i, v := range numbers {
		if step <= 0 || math.Abs(v-first-step*float64(i)) > 1e-9*step {
			return 0, 0, false
		}
	}
	return first, step, true
}

// vegaTexts writes texts as a list of Vega's expressions.
func vegaTexts(texts []string) string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = strconv.Quote(t)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

const (
	exploredPoints = 40 // of a curve
	exploredBars   = 28 // of a histogram
)

// fill adds the tables of the view, the numbers of each setting's posteriors in them, and the domains of the colours.
func (m Explorer) fill(data object) {
	var ids [][]int
	seen := map[*exhibit.Posterior]int{}
	marginals := csvLines{{"q", "s", "mean", "sd", "low", "high", "rhat", "ess", "rank", "from", "to", "peak", "bars",
		"density"}}
	policies, visits := csvLines{{"q", "s", "p"}}, csvLines{{"v", "s", "n"}}
	means, stds, ratios, apart, most := emptySpan(), emptySpan(), emptySpan(), emptySpan(), 1
	for i, setting := range m.Settings {
		var shown []int
		for _, p := range setting.Posteriors {
			id, ok := seen[p]
			if !ok {
				id = len(seen)
				seen[p] = id
				actions := len(p.Policy) / len(p.Marginals)
				for s := range p.Marginals {
					marginals.add(m.row(id, s, p)...)
					policies.add(id, s, percentages(p.Policy[s*actions:(s+1)*actions]))
				}
			}
			shown = append(shown, id)
			for s, d := range p.Marginals {
				means.include(d.Mean())
				stds.include(d.StdDev())
				if first := setting.Posteriors[0].Marginals[s]; first.StdDev() > 0 {
					ratios.include(d.StdDev() / first.StdDev())
					apart.include((d.Mean() - first.Mean()) / first.StdDev())
				}
			}
		}
		ids = append(ids, shown)
		for s, n := range setting.Visits {
			if n > 0 {
				visits.add(i, s, n)
				most = max(most, n)
			}
		}
	}
	about := func(s span) []any { // 0
		top := max(-s.low, s.high, 1e-9)
		return span{-top, top}.ends()
	}
	data["domains"] = object{"mean": about(means), "deviation": stds.domain(), "ratio": ratios.domain(),
		"difference": about(apart), "policy": []any{0, 1}, "visits": []any{0, most}}
	data["posteriors"], data["marginals"], data["policies"], data["visits"] = ids, marginals, policies, visits
}

// row describes the marginal of a state.
func (m Explorer) row(id, s int, p *exhibit.Posterior) []any {
	d := p.Marginals[s]
	rank := math.NaN()
	if m.World.Truth != nil {
		rank = shareBelow(d, m.World.Truth[s])
	}
	from, to, heights, bars := outline(d)
	row := []any{id, s}
	for _, v := range []float64{d.Mean(), d.StdDev(), d.Quantile(0.05), d.Quantile(0.95), entryOrNaN(p.RHat, s),
		entryOrNaN(p.ESS, s), rank, from, to, slices.Max(heights)} {
		row = append(row, short(v))
	}
	return append(row, bars, scaled(heights))
}

// outline returns the density of a distribution at points from one end of the central 99.2 % to the other, or the
// heights of bars ("1") where it is known by samples.
func outline(d exhibit.Marginal) (from, to float64, heights []float64, bars string) {
	xs := span{d.Quantile(marginalTail), d.Quantile(1 - marginalTail)}
	if !(xs.high > xs.low) { // a point
		xs = xs.padded(1e-3)
	} else {
		xs = xs.padded(0.05)
	}
	if of, ok := d.(Sampled); ok {
		return xs.low, xs.high, binned(of.Sorted(), xs, exploredBars), "1"
	}
	for _, x := range uniform(xs, exploredPoints) {
		heights = append(heights, density(d, x))
	}
	return xs.low, xs.high, heights, "0"
}

// shareBelow returns the probability of a value below x: the share of samples, or by bisection of the quantiles.
func shareBelow(d exhibit.Marginal, x float64) float64 {
	if of, ok := d.(Sampled); ok {
		at, _ := slices.BinarySearch(of.Sorted(), x)
		return float64(at) / float64(len(of.Sorted()))
	}
	low, high := 0.0, 1.0
	for range 40 {
		if middle := (low + high) / 2; d.Quantile(middle) < x {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}

// ShowExplorer displays the interactive view of m, which begins with the given state. JupyterLab draws it, also in a
// saved notebook, one that it does not trust, and without a kernel; elsewhere stand maps of means and standard
// deviations.
//
// The arrow keys move through the map while its number is being edited, or, outside of JupyterLab, which has uses of
// its own for them, while the pointer is over the view.
func ShowExplorer(m Explorer, state int) error {
	return showSpec(vega, m, func() (map[string]any, error) { return m.Vega(state) })
}
