package widgets

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/exhibit"
)

//go:embed vega
var vegaFiles embed.FS

// object is a JSON object.
type object = map[string]any

// views are the specifications of the folder vega, of Vega 5 and Vega-Lite 5, as templates. What a reader operates has
// the name of its signal: an input of a page is found by it, as input[name="state"].
var views = template.Must(template.New("").Funcs(template.FuncMap{"json": jsonText, "signals": signals, "args": args,
	"csv":  func(rows csvLines) (string, error) { return jsonText(string(csvText(rows))) },
	"last": func(n int) int { return n - 1 },
}).ParseFS(vegaFiles, "vega/*.tmpl"))

func jsonText(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// signals writes signals with their first values. An empty list becomes an expression: on the way to the kernel, which
// is by package gob, the list itself would become null.
func signals(data object, names ...string) (string, error) {
	out := make([]string, len(names))
	for i, name := range names {
		value, ok := data[name]
		if !ok {
			return "", fmt.Errorf("the signal %s has no value", name)
		}
		text, err := jsonText(value)
		if err != nil {
			return "", fmt.Errorf("the signal %s: %w", name, err)
		}
		if out[i] = fmt.Sprintf(`{"name": %q, "value": %s}`, name, text); text == "[]" || text == "null" {
			out[i] = fmt.Sprintf(`{"name": %q, "update": "[]"}`, name)
		}
	}
	return strings.Join(out, ", "), nil
}

// args returns the data of a part of a specification: those of the whole, and others by name.
func args(of object, others ...any) object {
	out := maps.Clone(of)
	for i := 0; i < len(others); i += 2 {
		out[others[i].(string)] = others[i+1]
	}
	return out
}

// newView returns a specification that is filled in, with or without lines of a grid.
func newView(name string, grid bool, data object) (map[string]any, error) {
	var text bytes.Buffer
	var spec object
	err := views.ExecuteTemplate(&text, name+".tmpl", data)
	if err == nil {
		err = json.Unmarshal(text.Bytes(), &spec)
	}
	if err != nil {
		return nil, fmt.Errorf("widgets: the specification %s: %w", name, err)
	}
	spec["config"] = vegaConfig(grid)
	return spec, nil
}

// newVega returns the Vega specification of a widget, and refuses one that would weigh the notebook down.
func newVega(widget string, data object) (map[string]any, error) {
	v, err := newView(strings.ToLower(widget)+".vg", false, data)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(v)
	if err == nil && len(text) > maxExplored {
		err = fmt.Errorf("widgets: %s would store %d kB in the notebook, want at most %d: show fewer states, "+
			"methods or settings", widget, len(text)/1000, maxExplored/1000)
	}
	return v, err
}

// ofWorld adds to the data of a view what each map of a world shows: its size in cells, and what its states are called
// and which of them end an episode.
func ofWorld(w exhibit.World, data object) object {
	ends := w.Terminal
	if ends == nil {
		ends = make([]bool, w.Width*w.Height)
	}
	maps.Copy(data, object{"columns": w.Width, "rows": w.Height, "names": stateNames(w), "ends": ends,
		"last": len(ends) - 1})
	return data
}

// list returns the numbers as Vega takes them.
func list(values []float64) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if finite(v) {
			out[i] = rounded(v)
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
	return actions, checkSums(field, policy, actions, false)
}

// checkSums refuses probabilities that do not sum to 1 in each state, or to 0 where that is allowed.
func checkSums(field string, policy []float64, actions int, zero bool) error {
	for s := range len(policy) / actions {
		if sum := floats.Sum(policy[s*actions : (s+1)*actions]); math.Abs(sum-1) > 1e-6 && (sum != 0 || !zero) {
			return fmt.Errorf("widgets: %s: the probabilities of state %d sum to %g, want 1", field, s, sum)
		}
	}
	return nil
}

// percentages writes probabilities, or correlations, as whole percentages.
func percentages(p []float64) string { return whole(p, func(v float64) float64 { return 100 * v }) }

// ends are those of a range as Vega takes them.
func (s span) ends() []any { return list([]float64{s.low, s.high}) }

// domain is the range of a colour scale as Vega takes it, which is not empty.
func (s span) domain() []any {
	if s.high = math.Max(s.high, s.low+1e-9); s.low > s.high {
		s = span{0, 1}
	}
	return s.ends()
}
