package iqlearn

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

const (
	observation, actions = 3, 4
	discount, beta       = 0.9, 2.0
)

func testConfig() neural.Config {
	c := neural.Default()
	c.Hidden, c.Steps, c.ReportEvery, c.Folds, c.Backend = []int{7, 6}, 2, 1, 0, "go"
	return c
}

// testTask has random demonstrations, in as many runs.
func testTask(runs int) *neural.Task {
	random := rand.New(rand.NewPCG(1, 2))
	task := &neural.Task{Observation: observation, Actions: actions, Discount: discount, Beta: beta}
	for r := range runs {
		demos := neuraltest.Demos(random, observation, actions)
		task.Runs = append(task.Runs, neural.Run{Demos: demos, Seed: uint64(r)})
	}
	return task
}

// plainLoss is the negative objective in plain Go, and what it is made of.
func plainLoss(p neuraltest.Parameters, o Objective, b *neuraltest.Batch) (total, logLikelihood, reward, value,
	chi2 float64) {
	temperature := o.Temperature
	if temperature == 0 {
		temperature = 1 / beta
	}
	soft := func(state []float64) (q []float64, v float64) {
		scaled := make([]float64, actions)
		for a, out := range p.Network(network, neural.Heads, actions, state) {
			q = append(q, out[0])
			scaled[a] = out[0] / temperature
		}
		return q, temperature * floats.LogSumExp(scaled)
	}
	n := float64(len(b.State))
	for i := range b.State {
		q, v := soft(b.State[i])
		_, next := soft(b.Next[i])
		r := q[b.Action[i]] - b.Discount[i]*next
		reward += r / n
		chi2 += r * r / n / (4 * o.Alpha)
		logLikelihood += (q[b.Action[i]] - v) / temperature / n
		value += (v - b.Discount[i]*next) / n
	}
	return value - reward + chi2, logLikelihood, reward, value, chi2
}

func TestLossAndGradientAgreeWithPlainGo(t *testing.T) {
	for _, o := range []Objective{DefaultObjective(), {Temperature: 0.3, Alpha: 0.1}} {
		m := neuraltest.Fit(t, testTask(1))(New(testConfig(), o))[0]
		b := neuraltest.NewBatch(10, observation, actions, discount, rand.New(rand.NewPCG(3, 4)))
		total, terms, gradient, err := neuraltest.Evaluate(m, b)
		if err != nil {
			t.Fatal(err)
		}
		p := neuraltest.NewParameters(m)
		want, logLikelihood, reward, value, chi2 := plainLoss(p, o, b)
		if !scalar.EqualWithinAbs(total, want, 2e-6*(1+math.Abs(want))) { // float32
			t.Errorf("%+v: loss %g, plain Go has %g", o, total, want)
		}
		for name, want := range map[string]float64{neural.TermLogLikelihood: logLikelihood, "reward": reward,
			"value": value, "chi2": chi2} {
			if got := terms[name]; !scalar.EqualWithinAbs(got, want, 2e-6*(1+math.Abs(want))) || want == 0 {
				t.Errorf("%+v: %s %g, plain Go has %g", o, name, got, want)
			}
		}
		for name, got := range gradient {
			for _, i := range []int{0, len(got) / 2, len(got) - 1} {
				want := p.Difference(name, i, func(p neuraltest.Parameters) float64 {
					total, _, _, _, _ := plainLoss(p, o, b)
					return total
				})
				if !scalar.EqualWithinAbs(got[i], want, 1e-5) { // float32, of terms of about 1
					t.Errorf("%+v: gradient in %s[%d] is %g, the difference quotient %g", o, name, i, got[i], want)
				}
			}
		}
	}
}

func TestTheLossIsClonesWithRegularisation(t *testing.T) {
	// V(s) − γV(s') − (Q(s,a) − γV(s')) = −T log π(a|s)
	models := neuraltest.Fit(t, testTask(1))(New(testConfig(), DefaultObjective()))
	b := neuraltest.NewBatch(10, observation, actions, discount, rand.New(rand.NewPCG(5, 6)))
	total, terms, _, err := neuraltest.Evaluate(models[0], b)
	if err != nil {
		t.Fatal(err)
	}
	// float32
	if want := -terms[neural.TermLogLikelihood]/beta + terms["chi2"]; !scalar.EqualWithinAbs(total, want, 1e-5) ||
		total == 0 {
		t.Errorf("loss %g, want −log-likelihood/β + χ² = %g", total, want)
	}
}

func TestModelsWhoseObjectiveNamesAValueTermStillLoad(t *testing.T) {
	models := neuraltest.Fit(t, testTask(1))(New(testConfig(), DefaultObjective()))
	dir := t.TempDir()
	if err := models[0].Save(dir); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, neural.DescriptionFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	older := regexp.MustCompile(`"alpha": ?0.5`).ReplaceAllString(string(text), `"alpha":0.5,"value":"td"`)
	if older == string(text) {
		t.Fatalf("the description has no α: %s", text)
	}
	if err := os.WriteFile(path, []byte(older), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := neural.Load[Objective](dir, "go"); err != nil || m.Objective() != DefaultObjective() {
		t.Errorf("loaded %+v, error %v", m, err)
	}
}

func TestEnsembleAveragesProbabilities(t *testing.T) {
	c := testConfig()
	c.Folds = 2 // of each member
	member, err := New(c, DefaultObjective())
	if err != nil {
		t.Fatal(err)
	}
	l, err := neural.NewEnsembleLearner(NameEnsemble, member, 3)
	if err != nil {
		t.Fatal(err)
	}
	task := testTask(2)
	models, err := l.Fit(context.Background(), task, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := models[1].(*neural.Ensemble)
	states := task.Runs[1].Demos[0].Observations
	got, err := e.Predict(states)
	if err != nil {
		t.Fatal(err)
	}
	mean, own := make([]float64, len(got.LogProbs)), make([]float64, len(got.LogProbs))
	var first []float32
	for i, m := range e.Members() {
		p, err := m.Predict(states)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = p.LogProbs
		}
		for k, x := range p.LogProbs {
			mean[k] += math.Exp(float64(x)) / 3
			own[k] += math.Exp(float64(p.Own[k])) / 3
		}
	}
	differ := false
	for k := range mean {
		if !scalar.EqualWithinAbs(math.Exp(float64(got.LogProbs[k])), mean[k], 1e-6) { // float32
			t.Fatalf("probability %d is %g, the members' mean %g", k, math.Exp(float64(got.LogProbs[k])), mean[k])
		}
		if !scalar.EqualWithinAbs(math.Exp(float64(got.Own[k])), own[k], 1e-6) || got.Values[k] != got.Own[k] ||
			math.Abs(mean[k]-own[k]) < 1e-6 {
			t.Fatalf("before calibration, probability %d is %g, the members' mean %g, the value %g", k,
				math.Exp(float64(got.Own[k])), own[k], got.Values[k])
		}
		differ = differ || math.Abs(float64(got.LogProbs[k]-first[k])) > 1e-3
	}
	if !differ {
		t.Error("the members are all the same")
	}
	dir := t.TempDir()
	if err := e.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := neural.LoadEnsemble(dir, func(dir string) (neural.Model, error) {
		return neural.Load[Objective](dir,
			"go")
	})
	if err != nil {
		t.Fatal(err)
	}
	again, err := loaded.Predict(states)
	if err != nil {
		t.Fatal(err)
	}
	for k := range again.LogProbs {
		if again.LogProbs[k] != got.LogProbs[k] {
			t.Fatalf("log-probability %d is %g after loading, %g before", k, again.LogProbs[k], got.LogProbs[k])
		}
	}
}

func TestObjectivesOutOfRangeAreRefused(t *testing.T) {
	for field, o := range map[string]Objective{
		"temperature = NaN": {Temperature: math.NaN(), Alpha: 1}, "alpha = 0": {},
	} {
		if _, err := New(testConfig(), o); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%+v: error %v, want one that names %s", o, err, field)
		}
	}
}
