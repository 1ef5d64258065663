package widgets

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/exhibit"
)

//go:embed vega
var vegaFiles embed.FS

// object is a JSON object.
type object = map[string]any

// vegaView is a Vega 5 specification whose signals and tables are filled in. What a reader operates has the name of its
// signal: an input of a page is found by it, as input[name="state"].
type vegaView object

// newVegaView reads a specification of the folder vega. What is wrong with one is a fault of this package.
func newVegaView(name string) vegaView {
	text, err := vegaFiles.ReadFile("vega/" + name + ".vg.json")
	var v vegaView
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		panic(fmt.Sprintf("widgets: the Vega specification %s: %v", name, err))
	}
	v["config"] = vegaConfig(false)
	return v
}

// named returns the entry of a list of the specification that bears the name.
func (v vegaView) named(list, name string) object {
	for _, entry := range v[list].([]any) {
		if entry := entry.(object); entry["name"] == name {
			return entry
		}
	}
	panic(fmt.Sprintf("widgets: the Vega specification has no %s in its %s", name, list)) // a fault of this package
}

// set gives signals their first values. An empty list becomes an expression: on the way to the kernel, which is by
// package gob, the list itself would become null.
func (v vegaView) set(values object) {
	for name, value := range values {
		signal := v.named("signals", name)
		if of, ok := value.([]any); ok && len(of) == 0 {
			delete(signal, "value")
			signal["update"] = "[]"
			continue
		}
		signal["value"] = value
	}
}

// setWorld gives the signals that each map of a world has their first values: its size in cells, and what its states
// are called and which of them end an episode.
func (v vegaView) setWorld(w exhibit.World) {
	ends := w.Terminal
	if ends == nil {
		ends = make([]bool, w.Width*w.Height)
	}
	v.set(object{"columns": w.Width, "rows": w.Height, "names": list(stateNames(w)), "ends": list(ends)})
}

// bind changes how a signal is operated.
func (v vegaView) bind(signal string, options object) {
	maps.Copy(v.named("signals", signal)["bind"].(object), options)
}

// addSignals puts signals before the others.
func (v vegaView) addSignals(signals ...any) { v["signals"] = append(signals, v["signals"].([]any)...) }

// table fills a table. It goes into the notebook as one text, where lists would take a line for each number.
func (v vegaView) table(name string, rows [][]string) {
	v.named("data", name)["values"] = string(csvText(rows))
}

// list returns the values as Vega takes them.
func list[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
		if f, ok := any(v).(float64); ok {
			if out[i] = rounded(f); !finite(f) {
				out[i] = nil
			}
		}
	}
	return out
}

func (r ramp) hex() []any {
	out := make([]any, len(r))
	for i, c := range r {
		out[i] = hex(c)
	}
	return out
}

// short writes four significant digits, and nothing for what is not finite.
func short(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(rounded(v), 'g', -1, 64)
}

// scaled writes heights in thousandths of the highest.
func scaled(heights []float64) string {
	top := slices.Max(heights)
	return whole(heights, func(h float64) float64 {
		if top > 0 {
			return 999 * h / top
		}
		return 0
	})
}

// whole writes what is made of values as whole numbers.
func whole(values []float64, of func(v float64) float64) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strconv.Itoa(int(math.Round(of(v))))
	}
	return strings.Join(out, " ")
}

func finite(x ...float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// maxCells is the largest map: what is shown of each state is stored in the notebook, and cells must be seen.
const maxCells = 2500

// checkWorld refuses worlds that cannot be shown as a map. field is named in errors.
func checkWorld(field string, w exhibit.World) error {
	if err := checkGrid(field, w.Width, w.Height); err != nil {
		return err
	}
	n := w.Width * w.Height
	for name, got := range map[string]int{"States": len(w.States), "Terminal": len(w.Terminal), "Truth": len(w.Truth)} {
		if got != 0 && got != n {
			return fmt.Errorf("widgets: %s.%s has %d entries, want %d, one for each state, or none", field, name, got,
				n)
		}
	}
	if w.Moves != nil && w.Actions != nil && len(w.Moves) != len(w.Actions) {
		return fmt.Errorf("widgets: %s has %d moves of %d actions", field, len(w.Moves), len(w.Actions))
	}
	return checkFinite(field+".Truth", w.Truth)
}

// stateNames are the names of a world's states, or their numbers.
func stateNames(w exhibit.World) []string { return namesOr(w.States, w.Width*w.Height) }

func namesOr(names []string, n int) []string {
	if names != nil {
		return names
	}
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i)
	}
	return out
}

// checkPolicy refuses what are no action probabilities of so many states, and returns the number of actions.
func checkPolicy(field string, policy []float64, states int) (actions int, err error) {
	if len(policy) == 0 || len(policy)%states != 0 {
		return 0, fmt.Errorf("widgets: %s has %d entries, want as many for each of %d states", field, len(policy),
			states)
	}
	actions = len(policy) / states
	if err := forEach(field, policy, checkProbability); err != nil {
		return 0, err
	}
	for s := range states {
		if sum := floats.Sum(policy[s*actions : (s+1)*actions]); math.Abs(sum-1) > 1e-6 {
			return 0, fmt.Errorf("widgets: %s: the probabilities of state %d sum to %g", field, s, sum)
		}
	}
	return actions, nil
}

func checkProbability(field string, p float64) error {
	return refuse(!(p >= 0 && p <= 1+1e-9), "%s = %g is not a probability", field, p)
}

// percentages writes probabilities, or correlations, as whole percentages.
func percentages(p []float64) string { return whole(p, func(v float64) float64 { return 100 * v }) }

// checkSize refuses a specification that would weigh the notebook down.
func checkSize(name string, v vegaView) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("widgets: the Vega specification of %s: %w", name, err)
	}
	if len(text) > maxExplored {
		return fmt.Errorf("widgets: %s would store %d kB in the notebook, want at most %d: show fewer states, "+
			"methods or settings", name, len(text)/1000, maxExplored/1000)
	}
	return nil
}

// ends are those of a range as Vega takes them.
func (s span) ends() []any { return list([]float64{s.low, s.high}) }

// domain is the range of a colour scale as Vega takes it, which is not empty.
func (s span) domain() []any {
	if s.high = math.Max(s.high, s.low+1e-9); s.low > s.high {
		s = span{0, 1}
	}
	return s.ends()
}
