package neural

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/demo"
)

// TestTrainingGoesOnFromAModel: the first step of Adam moves each parameter by the learning rate or not at all, which
// shows where training began; what belongs to the data is of the new ones, and states keep their units.
func TestTrainingGoesOnFromAModel(t *testing.T) {
	task := testTask(2)
	before := fit(t, testConfig(), classifier{}, task)[1]
	c := testConfig()
	c.Steps, c.WeightDecay = 1, 0
	more := *task
	more.Runs = []Run{{Demos: slices.Concat(task.Runs[1].Demos, []demo.Trajectory{task.HeldOut[1].Slice(0, 10)}),
		From: before, Seed: 9}}
	after := fit(t, c, classifier{}, &more)[0]
	if !slices.Equal(after.Scale().Mean, before.Scale().Mean) || !slices.Equal(after.Scale().Std, before.Scale().Std) {
		t.Errorf("states are in units of %+v, before of %+v", after.Scale(), before.Scale())
	}
	moved := 0
	for i, p := range after.Parameters() {
		old := before.Parameters()[i].Value
		if p.Fixed {
			if want := float32(18 + 10); p.Value[0] != want || old[0] != 18 {
				t.Errorf("the number of transitions is %g, before %g, want %g and 18", p.Value[0], old[0], want)
			}
			continue
		}
		for k, x := range p.Value {
			step := math.Abs(float64(x - old[k]))
			if step > 0.0101 { // the learning rate, and rounding
				t.Fatalf("%s[%d] was %g and is %g after a step", p.Name, k, old[k], x)
			}
			if step > 0.009 {
				moved++
			}
		}
	}
	if moved < 20 {
		t.Errorf("%d parameters moved", moved)
	}

	c.Folds = 2
	l, err := NewLearner("test", c, classifier{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fit(context.Background(), &more, nil); err == nil || !strings.Contains(err.Error(), "Folds") {
		t.Errorf("error %v where models of parts would go on from one that has seen them", err)
	}
	c.Folds, c.Hidden = 0, []int{8, 7}
	if l, err = NewLearner("test", c, classifier{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Fit(context.Background(), &more, nil); err == nil || !strings.Contains(err.Error(), "Run.From") {
		t.Errorf("error %v for a model of another size", err)
	}
	more.Actions = 3
	if err := more.Validate(); err == nil || !strings.Contains(err.Error(), "2 actions") {
		t.Errorf("error %v for a model of other actions", err)
	}
}

func TestOutputsAreWhatPredictionsAreMadeOf(t *testing.T) {
	task := testTask(1)
	m := fit(t, testConfig(), classifier{}, task)[0]
	states := task.HeldOut[0].Observations
	outputs, err := m.Outputs(states)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(states)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(outputs, p.Values) { // the logits are the values
		t.Errorf("outputs %v, values %v", outputs, p.Values)
	}
	if p, err := m.Predict(nil); err != nil || len(p.LogProbs) != 0 {
		t.Errorf("of no observations: %v, error %v", p, err)
	}
	unknown := slices.Clone(states)
	unknown[4] = float32(math.NaN())
	if _, err := m.Predict(unknown); err == nil || !strings.Contains(err.Error(), "observations[4] is NaN") {
		t.Errorf("an observation that is no number: error %v", err)
	}
	if _, err := m.Outputs(states[:4]); err == nil {
		t.Error("no error for 4 numbers as observations of 3")
	}
}
