package registry

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
)

// listed are the fields of configs whose entries are units, or rows of them, of their own.
var listed = strings.Fields("At Betas Demos Draws Experts Families Games HeldOut Judged KLWeights KnownStds Lambdas " +
	"Learners Methods Networks Problems ReferenceAt Runs Seeds Sides Sizes Suspects Transitions")

// TestNothingIsListedTwice: each list of each config, with its first entry again, is refused before a unit is computed.
func TestNothingIsListedTwice(t *testing.T) {
	tried := 0
	for _, d := range Definitions() {
		plan, err := d.Plan(experiment.Settings{Scale: d.Scales[0]})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(plan.Config)
		if err != nil {
			t.Fatal(err)
		}
		var walk func(value any, path ...string)
		walk = func(value any, path ...string) {
			if fields, ok := value.(map[string]any); ok {
				for name, field := range fields {
					walk(field, append(slices.Clone(path), name)...)
				}
				return
			}
			list, ok := value.([]any)
			if !ok || len(list) == 0 || !slices.Contains(listed, path[len(path)-1]) {
				return
			}
			var override any = append(slices.Clone(list), list[0])
			for _, name := range slices.Backward(path) {
				override = map[string]any{name: override}
			}
			text, err := json.Marshal(override)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			if _, err := d.Plan(experiment.Settings{Scale: d.Scales[0], Override: text}); err == nil {
				t.Errorf("%s: %s is accepted with its first entry twice", d.Name, strings.Join(path, "."))
			}
		}
		var config any
		if err := json.Unmarshal(text, &config); err != nil {
			t.Fatal(err)
		}
		walk(config)
	}
	if tried < 30 {
		t.Errorf("%d lists were tried, want more", tried)
	}
}
