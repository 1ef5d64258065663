package main

import (
	"bytes"
	"context"
	"math"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// writeProblem writes a corridor of three states (action 0 stays, action 1 moves right) as problem.npz, where the demonstrator
// walks to the end; with state-action rewards if pairs.
func writeProblem(t *testing.T, pairs bool) {
	t.Helper()
	to := func(s int) []mdp.Transition { return []mdp.Transition{{Next: s, Prob: 1}} }
	m, err := mdp.New(3, 2, [][]mdp.Transition{to(0), to(1), to(1), to(2), nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 3
	if pairs {
		n = 6
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(n, 0, 2), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}, {State: 0, Action: 1}, {State: 1, Action: 1}}}
	if err := problemfile.Write("problem.npz", p); err != nil {
		t.Fatal(err)
	}
}

// answer reads the arrays of an answer.
func answer(t *testing.T, path string) map[string]*npz.Array {
	t.Helper()
	archive, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	out := map[string]*npz.Array{}
	for _, name := range archive.Names() {
		if _, err := archive.Text(name); err == nil {
			continue
		}
		if out[name], err = archive.Array(name); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// quickFlags make each method quick enough for a test.
var quickFlags = map[string]string{
	"valuewalk": `{"Samples": 2000, "Warmup": 300, "MinESS": 400}`,
	"qvirl":     `{"Start": {"Steps": 300}, "Match": {"Transitions": 10}}`,
	"paper":     `{"Steps": 600}`,
	"avril":     `{}`,
}

func TestFitWithEveryMethod(t *testing.T) {
	for _, pairs := range []bool{false, true} {
		means := map[string][]float64{}
		for method, config := range quickFlags {
			inScratch(t)
			writeProblem(t, pairs)
			os.WriteFile("c.json", []byte(config), 0o644)
			args := []string{"fit", "--problem", "problem.npz", "--method", method, "--out", "a.npz", "--config", "c.json"}
			if method == "avril" {
				args = append(args, "--samples", "50", "--lambda", "0.1")
			}
			status, out, errs := run(t, args...)
			if status != 0 {
				t.Fatalf("%s: %s", method, errs)
			}
			expect(t, method, out, "converged", "in a.npz")
			a := answer(t, "a.npz")
			for name, shape := range map[string]int{"reward_mean": 3, "reward_cov": 9, "value_mean": 3, "value_std": 3, "action_probs": 6} {
				if pairs && strings.HasPrefix(name, "reward") {
					shape = map[string]int{"reward_mean": 6, "reward_cov": 36}[name]
				}
				if a[name] == nil || len(a[name].Data) != shape {
					t.Errorf("%s: %s is %v, want %d numbers", method, name, a[name], shape)
				}
			}
			if rows := map[string]int{"valuewalk": 2000, "avril": 50}[method]; rows > 0 != (a["reward_samples"] != nil) || rows > 0 && a["reward_samples"].Shape[0] != rows {
				t.Errorf("%s: reward_samples %v, want %d", method, a["reward_samples"], rows)
			}
			if mcmc := method == "valuewalk"; mcmc != (a["rhat"] != nil) || mcmc != (a["ess_bulk"] != nil) || mcmc && !(a["rhat"].Data[1] < 1.05 && a["ess_bulk"].Data[1] > 100) {
				t.Errorf("%s: rhat %v, ess_bulk %v", method, a["rhat"], a["ess_bulk"])
			}
			if p := a["action_probs"].Data; !(p[1] > 0.55) || !scalar.EqualWithinAbs(p[0]+p[1], 1, 1e-6) {
				t.Errorf("%s: action probabilities %v: want the demonstrated action 1 to be likely in state 0", method, p)
			}
			means[method] = a["reward_mean"].Data
		}
		// Both posteriors say that the demonstrator prefers the end of the corridor: their means agree within half a prior
		// standard deviation.
		for i, exact := range means["valuewalk"] {
			for _, method := range []string{"qvirl", "paper"} {
				if !scalar.EqualWithinAbs(means[method][i], exact, 1) {
					t.Errorf("pairs %v: mean of reward %d: ValueWalk %g, %s %g", pairs, i, exact, method, means[method][i])
				}
			}
		}
		last := len(means["valuewalk"]) - 1
		if !pairs && !(means["valuewalk"][last] > 0.3) {
			t.Errorf("mean reward of the last state %g, want it positive", means["valuewalk"][last])
		}
	}
}

func TestRefinedFit(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	os.WriteFile("c.json", []byte(quickFlags["qvirl"]), 0o644)
	if status, _, errs := run(t, "fit", "--problem", "problem.npz", "--method", "valuewalk", "--out", "exact.npz"); status != 0 {
		t.Fatal(errs)
	}
	exact := answer(t, "exact.npz")["reward_mean"].Data
	for _, k := range []string{"0", "10"} {
		status, out, errs := run(t, "fit", "--problem", "problem.npz", "--method", "qvirl", "--refine", k, "--out", "a.npz", "--config", "c.json")
		if status != 0 {
			t.Fatal(errs)
		}
		expect(t, "refined", out, "in a.npz")
		expect(t, "refined", errs, "verdict: ", "effective sample size")
		a := answer(t, "a.npz")
		if rows := a["reward_samples"].Shape[0]; rows != valuewalk.DefaultRefine().Samples {
			t.Errorf("%d samples", rows)
		}
		for i, mean := range a["reward_mean"].Data {
			// 4 standard errors of either, for a standard deviation of 2 and 1000 effective samples
			if k == "10" && !scalar.EqualWithinAbs(mean, exact[i], 4*2*math.Sqrt(2./1000)) {
				t.Errorf("mean of reward %d: refined %g, ValueWalk %g", i, mean, exact[i])
			}
		}
	}
}

// TestFitInfersBeta fits the methods that infer β to a problem with a prior over it, and checks that the others refuse.
func TestFitInfersBeta(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	p, err := problemfile.Read("problem.npz")
	if err != nil {
		t.Fatal(err)
	}
	p.BetaLogStd = 1
	if err := problemfile.Write("problem.npz", p); err != nil {
		t.Fatal(err)
	}
	means := map[string]float64{}
	for _, args := range [][]string{{"--method", "valuewalk"}, {"--method", "qvirl", "--samples", "100"}, {"--method", "qvirl", "--refine", "10"}} {
		status, out, errs := run(t, append([]string{"fit", "--problem", "problem.npz", "--out", "a.npz"}, args...)...)
		if status != 0 {
			t.Fatal(errs)
		}
		expect(t, args[1], out, "in a.npz")
		a := answer(t, "a.npz")
		if a["beta_mean"] == nil || a["beta_std"] == nil || len(a["beta_samples"].Data) != a["reward_samples"].Shape[0] {
			t.Fatalf("%v: the answer holds no β", args)
		}
		means[args[len(args)-1]] = a["beta_mean"].Data[0]
	}
	// of about 3, with a standard deviation of about as much: a third of it is many Monte Carlo errors
	if exact := means["valuewalk"]; !scalar.EqualWithinAbs(means["100"], exact, 1) || !scalar.EqualWithinAbs(means["10"], exact, 1) {
		t.Errorf("means of β %v", means)
	}
	for _, method := range []string{"paper", "avril"} {
		if status, _, errs := run(t, "fit", "--problem", "problem.npz", "--out", "a.npz", "--method", method); status != 1 || !strings.Contains(errs, "takes β as known") && !strings.Contains(errs, "take β as known") {
			t.Errorf("%s: status %d, %q", method, status, errs)
		}
	}
}

func TestFitIsDeterminedByItsSeed(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	var means []float64
	for _, seed := range []string{"1", "1", "2"} {
		if status, _, errs := run(t, "fit", "--problem", "problem.npz", "--method", "valuewalk", "--seed", seed, "--out", "a.npz"); status != 0 {
			t.Fatal(errs)
		}
		means = append(means, answer(t, "a.npz")["reward_mean"].Data[0])
	}
	if means[0] != means[1] || means[0] == means[2] {
		t.Errorf("seeds 1, 1 and 2 gave the means %v", means)
	}
}

func TestBadFits(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	os.WriteFile("text.npz", []byte("hello"), 0o644)
	os.WriteFile("bad.json", []byte(`{"Sample": 2}`), 0o644)
	for want, change := range map[string][]string{
		"no method \"magic\"":            {"--method", "magic"},
		"absent.npz":                     {"--problem", "absent.npz"},
		"text.npz":                       {"--problem", "text.npz"},
		"cannot write nowhere/a.npz":     {"--out", "nowhere/a.npz"},
		"problem.npz that is read":       {"--out", "./problem.npz"},
		"not a regular file":             {"--out", "."},
		"--lambda is a flag of the meth": {"--lambda", "1"},
		"--nodet is a flag":              {"--method", "avril", "--nodet"},
		"Lambda = -1":                    {"--method", "avril", "--lambda", "-1"},
		`"Sample"`:                       {"--config", "bad.json"},
		"--refine is a flag":             {"--refine", "3"},
		"Transitions = -2":               {"--method", "qvirl", "--refine", "-2"},
		"--samples -2":                   {"--samples", "-2"},
		"abacus":                         {"--method", "qvirl", "--backend", "abacus"},
	} {
		args := append([]string{"fit", "--problem", "problem.npz", "--method", "valuewalk", "--out", "a.npz"}, change...)
		status, _, errs := run(t, args...)
		if status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%v: status %d, %q; want 1 and %q", change, status, errs, want)
		}
		if _, err := os.Stat("a.npz"); err == nil {
			t.Fatalf("%v: an answer was written", change)
		}
	}
	if status, _, errs := run(t, "fit", "--problem", "problem.npz"); status != 1 || !strings.Contains(errs, `"out"`) {
		t.Errorf("missing flags: status %d, %q", status, errs)
	}
}

func TestInterruptedFitWritesNothing(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	ctx, stop := context.WithCancel(context.Background())
	stop()
	var out, errs bytes.Buffer
	status := command.Execute(ctx, newRoot(nil), []string{"fit", "--problem", "problem.npz", "--method", "valuewalk", "--out", "a.npz"}, &out, &errs)
	if status != 130 || !strings.Contains(errs.String(), "nothing was written") {
		t.Errorf("status %d, %q", status, errs.String())
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (error %v), want the problem alone", entries, err)
	}
}
