package widgets

import (
	"encoding/csv"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/exhibit"
)

// named returns the entry of a list of a Vega specification that bears the name.
func named(spec map[string]any, list, name string) map[string]any {
	for _, entry := range spec[list].([]any) {
		if entry := entry.(map[string]any); entry["name"] == name {
			return entry
		}
	}
	return nil
}

// exampleViews are a Vega specification of each kind.
func exampleViews() map[string]func() (map[string]any, error) {
	return map[string]func() (map[string]any, error){"explorer": func() (map[string]any, error) {
		return exampleExplorer().Vega(0)
	}, "risk": exampleRisk().Vega, "queries": exampleQueries().Vega, "correlations": exampleCorrelations().Vega,
		"trajectory": exampleTrajectory().Vega}
}

// tableOf reads a table of a Vega specification: a map for each row.
func tableOf(t *testing.T, spec map[string]any, name string) (rows []map[string]string) {
	t.Helper()
	text := named(spec, "data", name)["values"].(string)
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, v := range line {
			row[lines[0][i]] = v
		}
		rows = append(rows, row)
	}
	return rows
}

func numberOf(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Whatever a specification draws refers to tables and scales that there are, and no two signals have one name.
func TestVegaSpecificationsAreWhole(t *testing.T) {
	for name, vega := range exampleViews() {
		v, err := vega()
		if err != nil {
			t.Fatal(err)
		}
		tables, scales, signals := map[string]bool{"one": true}, map[string]bool{}, map[string]bool{}
		var walk func(x any, visit func(key string, value any))
		walk = func(x any, visit func(key string, value any)) {
			switch x := x.(type) {
			case map[string]any:
				for key, value := range x {
					visit(key, value)
					walk(value, visit)
				}
			case []any:
				for _, value := range x {
					walk(value, visit)
				}
			}
		}
		names := func(to map[string]bool) func(key string, value any) {
			return func(key string, value any) {
				entries, ok := value.([]any)
				if ok && (key == "data" || key == "scales") && (key == "data") == (to["one"]) {
					for _, e := range entries {
						to[e.(map[string]any)["name"].(string)] = true
					}
				}
			}
		}
		walk(v, names(tables))
		walk(v, names(scales))
		for _, s := range v["signals"].([]any) {
			n := s.(map[string]any)["name"].(string)
			if signals[n] {
				t.Errorf("%s: two signals are called %s", name, n)
			}
			signals[n] = true
		}
		walk(v, func(key string, value any) {
			text, ok := value.(string)
			if !ok {
				return
			}
			if (key == "source" && text != "window" || key == "from" && text != "number") && !tables[text] {
				t.Errorf("%s: there is no table %s", name, text)
			}
			if (key == "scale" || key == "fill" && text == "color") && !scales[text] {
				t.Errorf("%s: there is no scale %s", name, text)
			}
		})
		if len(tables) < 3 || len(scales) < 1 {
			t.Errorf("%s: %d tables, %d scales", name, len(tables), len(scales))
		}
	}
}

// A world without a map, without true values and without names has no lists that are null when they have reached the
// kernel, which Vega takes for broken.
func TestVegaOfBareWorlds(t *testing.T) {
	bare := exhibit.World{Width: 3, Height: 2}
	e, r, q, c := exampleExplorer(), exampleRisk(), exampleQueries(), exampleCorrelations()
	e.World, r.World, q.World, c.World, r.Values = bare, bare, bare, bare, nil
	for name, vega := range map[string]func() (map[string]any, error){"explorer": func() (map[string]any, error) {
		return e.Vega(0)
	}, "risk": r.Vega, "queries": q.Vega, "correlations": c.Vega, "trajectory": exampleTrajectory().Vega} {
		spec, err := vega()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, broken := range []string{`:[]`, `[],`, `[]]`} {
			if at := strings.Index(string(text), broken); at >= 0 {
				t.Errorf("%s has an empty list: …%s", name, text[max(0, at-60):at+10])
			}
		}
	}
}
