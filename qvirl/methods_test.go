package qvirl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/inferencedata"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/problemfile"
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

// TestEveryMethodOfTheRegistry fits each method by its name and compares what its posterior answers with what the
// registry says.
func TestEveryMethodOfTheRegistry(t *testing.T) {
	quick := map[string]string{
		method.Matched: `{"Start": {"Steps": 300}}`, method.QVIRL: `{"Steps": 600}`,
		method.Refined:   `{"Start": {"Steps": 300}}`,
		method.ValueWalk: `{"Samples": 2000, "MinESS": 400}`, method.Reference: `{}`,
		method.PolicyWalk: `{"Samples": 2000, "MinESS": 400}`, method.AVRIL: `{}`,
	}
	means := map[string]float64{}
	for _, entry := range method.Fitters() {
		m, err := qvirl.NewMethod(entry.Name, qvirl.Options{Seed: 1, Backend: "go",
			Config: json.RawMessage(quick[entry.Name])})
		if err != nil {
			t.Fatal(err)
		}
		posts, err := m.Fit(context.Background(), []*qvirl.Problem{corridor(t)}, nil)
		if err != nil {
			t.Fatalf("%s: %v", entry.Name, err)
		}
		means[entry.Name] = posts[0].Reward(2).Mean()
		told, is := posts[0].(irl.Computed)
		if !is {
			t.Fatalf("%s does not say how its computation went", entry.Name)
		}
		for name, v := range told.Computation() {
			if _, err := metric.Lookup("", name); err != nil || math.IsNaN(v) {
				t.Errorf("%s says that %s is %g: %v", entry.Name, name, v, err)
			}
		}
		_, values := posts[0].(irl.ValuePosterior)
		_, beta := posts[0].(irl.BetaPosterior)
		for answer, can := range map[method.Answer]bool{method.Rewards: true, method.Values: values} {
			if says := strings.Contains(fmt.Sprint(entry.Answers), string(answer)); says != can {
				t.Errorf("%s: the registry says that it answers %v, but for %s: %v", entry.Name, entry.Answers, answer,
					can)
			}
		}
		if strings.Contains(fmt.Sprint(entry.Answers), string(method.Beta)) && !beta {
			t.Errorf("%s has no marginal of β", entry.Name)
		}
	}
	// The demonstrator prefers the end of the corridor, and all that are close to exact agree on how much: of a prior
	// standard deviation of 2, within a fifth.
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
	if _, err := qvirl.NewMethod("qvirl", qvirl.Options{Config: json.RawMessage(`{"Step": 3}`)}); err == nil ||
		!strings.Contains(err.Error(), `"Step"`) {
		t.Errorf("error %v for a bad config", err)
	}
	for _, m := range method.Fitters() {
		c, err := qvirl.MethodConfig(m.Name)
		var fields map[string]any // none of a method without settings
		if text, _ := json.Marshal(c); err != nil || json.Unmarshal(text, &fields) != nil || fields == nil {
			t.Errorf("%s: default config %s (error %v)", m.Name, text, err)
		}
	}
}

// TestEveryPosteriorIsKept saves the posterior of each method, loads it without being told what it is, and compares
// what both answer.
func TestEveryPosteriorIsKept(t *testing.T) {
	quick := map[string]string{
		method.Matched: `{"Start": {"Steps": 300}}`, method.QVIRL: `{"Steps": 100, "Rounds": 1}`,
		method.Refined:   `{"Start": {"Steps": 300}}`,
		method.ValueWalk: `{"Samples": 2000, "MinESS": 400}`, method.PolicyWalk: `{"Samples": 2000, "MinESS": 400}`,
	}
	for _, entry := range method.Fitters() {
		m, err := qvirl.NewMethod(entry.Name, qvirl.Options{Seed: 1, Backend: "go",
			Config: json.RawMessage(quick[entry.Name])})
		if err != nil {
			t.Fatal(err)
		}
		posts, err := m.Fit(context.Background(), []*qvirl.Problem{corridor(t)}, nil)
		if err != nil {
			t.Fatalf("%s: %v", entry.Name, err)
		}
		path := filepath.Join(t.TempDir(), "posterior.npz")
		if err := qvirl.Save(path, posts[0]); err != nil {
			t.Fatalf("%s: %v", entry.Name, err)
		}
		other := filepath.Join(t.TempDir(), "answer.npz")
		doubted := &qvirl.Result{Posterior: posts[0], Returned: entry.Name, Verdict: qvirl.DoNotUse, Reason: "a doubt"}
		if err := qvirl.SaveResult(other, doubted, qvirl.AnswerOptions{Draws: 100}); err != nil {
			t.Fatal(err)
		}
		if ignored, err := problemfile.Ignored(other); err != nil || len(ignored) > 0 {
			t.Errorf("as a problem, the answer has the strange arrays %v (error %v)", ignored, err)
		}
		r, err := qvirl.LoadResult(other)
		if err != nil || r.Verdict != qvirl.DoNotUse || r.Returned != entry.Name || r.Reason != "a doubt" ||
			!errors.Is(r.Err(), qvirl.ErrNotConverged) {
			t.Errorf("%s: a doubted result became %+v: %v", entry.Name, r, err)
		}
		if r, err := qvirl.LoadResult(path); err != nil || r.Verdict != qvirl.NotJudged || r.Converged {
			t.Errorf("%s: a posterior alone became %+v: %v", entry.Name, r, err)
		}
		for _, file := range []string{path, other} {
			loaded, err := qvirl.Load(file)
			if err != nil {
				t.Fatalf("%s: %v", entry.Name, err)
			}
			for i := range 3 { // samples are kept in single precision
				a, b := posts[0].Reward(i), loaded.Reward(i)
				if math.Abs(a.Mean()-b.Mean()) > 1e-5 || math.Abs(a.Quantile(0.9)-b.Quantile(0.9)) > 1e-5 ||
					!(b.StdDev() > 0.1) {
					t.Errorf("%s: reward %d: mean %g and quantile %g became %g and %g", entry.Name, i, a.Mean(),
						a.Quantile(0.9), b.Mean(), b.Quantile(0.9))
				}
			}
			before, why := irl.Converged(posts[0])
			if after, because := irl.Converged(loaded); after != before || because != why {
				t.Errorf("%s: converged %v (%s) became %v (%s)", entry.Name, before, why, after, because)
			}
			if p := loaded.Problem(); p.Beta != 2 || len(p.Demos) != 2 || p.MDP.States() != 3 {
				t.Errorf("%s: the problem became %+v", entry.Name, p)
			}
		}
	}
	if _, err := qvirl.Load(filepath.Join(t.TempDir(), "none.npz")); err == nil ||
		!strings.Contains(err.Error(), "none.npz") {
		t.Errorf("error %v for a file that is not there", err)
	}
}

// TestFilesAreNamedByWhatTheyHold: ArviZ opens no .npz, and nothing here a .nc.
func TestFilesAreNamedByWhatTheyHold(t *testing.T) {
	post, dir := fit(method.Reference, walked()), t.TempDir()
	for name, write := range map[string]func(path string) error{
		"x.nc": func(path string) error {
			return qvirl.SaveResult(path, &qvirl.Result{Posterior: post}, qvirl.AnswerOptions{})
		},
		"y.NC":  func(path string) error { return qvirl.Save(path, post) },
		"z.nc":  func(path string) error { return problemfile.Write(path, walked()) },
		"x.npz": func(path string) error { return inferencedata.Write(path, post, inferencedata.Options{Draws: 10}) },
	} {
		path := filepath.Join(dir, name)
		if err := write(path); err == nil || !strings.Contains(err.Error(), name+": want a name that ends in") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
