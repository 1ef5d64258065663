package qvirl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
)

// corridor is three rooms in a row, of which the last ends the episode; the demonstrator went right twice.
func corridor(t testing.TB) *qvirl.Problem {
	t.Helper()
	m, err := mdp.New(3, 2, [][]mdp.Transition{
		{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 0.1}, {Next: 1, Prob: 0.9}}, // room 0: left, right
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 1, Prob: 0.1}, {Next: 2, Prob: 0.9}},
		nil, nil,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &qvirl.Problem{MDP: m, Prior: qvirl.IndependentPrior(3, 0, 2), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}}}
}

// TestEveryMethodOfTheRegistry fits each method by its name and compares what its posterior answers with what the registry says.
func TestEveryMethodOfTheRegistry(t *testing.T) {
	quick := map[string]string{
		method.Matched: `{"Start": {"Steps": 300}}`, method.QVIRL: `{"Steps": 600}`, method.Refined: `{"Start": {"Steps": 300}}`,
		method.ValueWalk: `{"Samples": 2000, "MinESS": 400}`, method.Reference: `{}`, method.PolicyWalk: `{"Samples": 2000, "MinESS": 400}`, method.AVRIL: `{}`,
	}
	means := map[string]float64{}
	for _, entry := range method.Fitters() {
		m, err := qvirl.NewMethod(entry.Name, qvirl.Options{Seed: 1, Backend: "go", Config: json.RawMessage(quick[entry.Name])})
		if err != nil {
			t.Fatal(err)
		}
		posts, err := m.Fit(context.Background(), []*qvirl.Problem{corridor(t)}, nil)
		if err != nil {
			t.Fatalf("%s: %v", entry.Name, err)
		}
		means[entry.Name] = posts[0].Reward(2).Mean()
		_, values := posts[0].(irl.ValuePosterior)
		_, beta := posts[0].(irl.BetaPosterior)
		for answer, can := range map[method.Answer]bool{method.Rewards: true, method.Values: values} {
			if says := strings.Contains(fmt.Sprint(entry.Answers), string(answer)); says != can {
				t.Errorf("%s: the registry says that it answers %v, but for %s: %v", entry.Name, entry.Answers, answer, can)
			}
		}
		if strings.Contains(fmt.Sprint(entry.Answers), string(method.Beta)) && !beta {
			t.Errorf("%s has no marginal of β", entry.Name)
		}
	}
	// The demonstrator prefers the end of the corridor, and all that are close to exact agree on how much: of a prior standard deviation of
	// 2, within a fifth.
	for _, name := range []string{method.Matched, method.Refined, method.Reference, method.PolicyWalk} {
		if exact := means[method.ValueWalk]; !(exact > 0.1) || math.Abs(means[name]-exact) > 0.4 {
			t.Errorf("mean reward of the last room: %s %.3f, ValueWalk %.3f", name, means[name], exact)
		}
	}
}

func TestUnknownMethods(t *testing.T) {
	for name, want := range map[string]string{"magic": "qvirl-matched, qvirl, ", "bc": "qvirl-matched, qvirl, "} {
		if _, err := qvirl.NewMethod(name, qvirl.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
		if _, err := qvirl.MethodConfig(name); err == nil {
			t.Errorf("%s has a default config", name)
		}
	}
	if _, err := qvirl.NewMethod("qvirl", qvirl.Options{Config: json.RawMessage(`{"Step": 3}`)}); err == nil || !strings.Contains(err.Error(), `"Step"`) {
		t.Errorf("error %v for a bad config", err)
	}
	for _, m := range method.Fitters() {
		c, err := qvirl.MethodConfig(m.Name)
		if text, _ := json.Marshal(c); err != nil || !strings.Contains(string(text), "Seed") {
			t.Errorf("%s: default config %s (error %v)", m.Name, text, err)
		}
	}
}
