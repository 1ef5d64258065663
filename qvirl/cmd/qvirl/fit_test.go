package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
)

// writeProblem writes a corridor of three states (action 0 stays, action 1 moves right) as problem.npz, where the
// demonstrator walks to the end; with state-action rewards if pairs.
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

// answer is what a file of an answer holds.
type answer struct {
	arrays                    map[string]*npz.Array
	verdict, returned, reason string
	converged                 bool
}

// readAnswer reads an answer, whose texts must be there and fit together.
func readAnswer(t *testing.T, path string) answer {
	t.Helper()
	archive, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	a := answer{arrays: map[string]*npz.Array{}}
	texts := map[string]*string{"verdict": &a.verdict, "returned": &a.returned, "reason": &a.reason}
	for _, name := range archive.Names() {
		if text, err := archive.Text(name); err == nil {
			if to := texts[name]; to != nil {
				*to = text
			}
			continue
		}
		if a.arrays[name], err = archive.Array(name); err != nil {
			t.Fatal(err)
		}
	}
	if a.reason == "" || a.arrays["converged"] == nil || len(a.arrays["converged"].Shape) > 0 {
		t.Fatalf("reason %q, converged %v", a.reason, a.arrays["converged"])
	}
	a.converged = a.arrays["converged"].Data[0] == 1
	return a
}

// quickFlags make each method quick enough for a test.
var quickFlags = map[string]string{
	"reference":     `{"Samples": 2000, "Warmup": 200, "MinESS": 400}`,
	"valuewalk":     `{"Samples": 2000, "Warmup": 300, "MinESS": 400}`,
	"qvirl-matched": `{"Start": {"Steps": 300}, "Match": {"Transitions": 10}}`,
	"qvirl":         `{"Steps": 300, "Rounds": 2}`,
	"qvirl-refined": `{"Start": {"Steps": 300}, "Walk": {"Transitions": 10, "Samples": 2000}}`,
	"policywalk":    `{"Samples": 2000, "MinESS": 400}`,
	"avril":         `{}`,
}

func TestFitWithEveryMethod(t *testing.T) {
	for _, pairs := range []bool{false, true} {
		means := map[string][]float64{}
		for method, config := range quickFlags {
			inScratch(t)
			writeProblem(t, pairs)
			os.WriteFile("c.json", []byte(config), 0o644)
			args := []string{"fit", "--problem", "problem.npz", "--method", method, "--out", "a.npz", "--config",
				"c.json"}
			sampler := method == "reference" || method == "valuewalk" || method == "policywalk"
			if !sampler {
				args = append(args, "--samples", "50")
			}
			if method == "avril" {
				args = append(args, "--lambda", "0.1")
			}
			status, out, errs := run(t, args...)
			if status != 0 {
				t.Fatalf("%s: %s", method, errs)
			}
			expect(t, method, out, "converged: ", "in a.npz")
			expect(t, method, errs, "cost: ")
			a := readAnswer(t, "a.npz")
			// Every method ends at an answer that may be relied on: its own if that is trusted, and that of chains
			// otherwise.
			want := map[string]string{"converged": method, "trust": method, "refine": "refined",
				"do not use": "reference"}[a.verdict]
			if !a.converged || a.returned != want || sampler != (a.verdict == "converged") ||
				!sampler != strings.Contains(errs, "verdict: "+a.verdict) {
				t.Errorf("%s: verdict %q, returned %q, converged %v: %s", method, a.verdict, a.returned, a.converged,
					a.reason)
			}
			for name, shape := range map[string]int{"reward_mean": 3, "reward_cov": 9, "value_mean": 3, "value_std": 3,
				"action_probs": 6} {
				if pairs && strings.HasPrefix(name, "reward") {
					shape = map[string]int{"reward_mean": 6, "reward_cov": 36}[name]
				}
				if a.arrays[name] == nil || len(a.arrays[name].Data) != shape {
					t.Errorf("%s: %s is %v, want %d numbers", method, name, a.arrays[name], shape)
				}
			}
			rows := 50
			if sampler {
				rows = 2000
			}
			if x := a.arrays["reward_samples"]; x == nil || x.Shape[0] != rows {
				t.Errorf("%s: reward_samples %v, want %d", method, x, rows)
			}
			rhat, ess := a.arrays["rhat"], a.arrays["ess_bulk"]
			if chains := a.returned != method || sampler; chains != (rhat != nil) || chains != (ess != nil) || chains &&
				!(rhat.Data[1] < 1.05 && ess.Data[1] > 100) {
				t.Errorf("%s: rhat %v, ess_bulk %v", method, rhat, ess)
			}
			if p := a.arrays["action_probs"].Data; !(p[1] > 0.55) || !scalar.EqualWithinAbs(p[0]+p[1], 1, 1e-6) {
				t.Errorf("%s: action probabilities %v: want the demonstrated action 1 to be likely in state 0", method,
					p)
			}
			means[method] = a.arrays["reward_mean"].Data
		}
		for i, exact := range means["reference"] {
			for method := range quickFlags {
				// 0.1 of the standard deviation of at most 2 that a trusted answer may be off, and 4 errors of 400
				// effective samples in either
				if tolerance := 2 * (0.1 + 4*math.Sqrt(2./400)); !scalar.EqualWithinAbs(means[method][i], exact,
					tolerance) {
					t.Errorf("pairs %v: mean of reward %d: reference %g, %s %g", pairs, i, exact, method,
						means[method][i])
				}
			}
		}
		last := len(means["reference"]) - 1
		if !pairs && !(means["reference"][last] > 0.3) {
			t.Errorf("mean reward of the last state %g, want it positive", means["reference"][last])
		}
	}
}

// TestFitKeepsWhatIsNotTrusted takes AVRIL's answer, which no verdict trusts, as it is, and asks to be told.
// An answer for ArviZ is a netCDF file, asked for by its ending or by the flag; the table of the posterior is printed.
func TestFitForArviZ(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	fit := []string{"fit", "--problem", "problem.npz", "--method", "reference"}
	status, out, errs := run(t, append(fit, "--summary", "--out", "a.nc")...)
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "the table", out, "hdi_97%", "reward[2]", "value[0]")
	if status, _, errs = run(t, append(fit, "--format", "netcdf", "--out", "b")...); status != 0 {
		t.Fatal(errs)
	}
	status, _, errs = run(t, append(fit, "--samples", "9000", "--out", "c.nc")...)
	if status != 0 || strings.Contains(errs, "repeated") {
		t.Errorf("status %d, %q", status, errs)
	}
	expect(t, "samples of another number", errs, "--samples 9000: so many", "all 8000 draws of the chains")
	a, errA := os.ReadFile("a.nc")
	b, errB := os.ReadFile("b")
	if errA != nil || errB != nil || !bytes.Equal(a, b) || !bytes.HasPrefix(a, []byte("\x89HDF\r\n")) {
		t.Errorf("%d and %d bytes, %v, %v; want the same HDF5 file", len(a), len(b), errA, errB)
	}
	status, _, errs = run(t, append(fit, "--format", "zarr", "--out", "c")...)
	if status == 0 {
		t.Error("the format zarr was accepted")
	}
	expect(t, "the format zarr", errs, "npz or netcdf")
}

// TestNamesSayTheFormat: an answer's name is never that of another kind of file.
func TestNamesSayTheFormat(t *testing.T) {
	for _, c := range []struct{ out, format, want, err string }{
		{"a.npz", "", "npz", ""}, {"a.NC", "", "netcdf", ""}, {"a", "npz", "npz", ""}, {"a.h5", "netcdf", "netcdf", ""},
		{"a.nc", "netcdf", "netcdf", ""}, {"a.json", "", "", "--out a.json: want a name that ends in .npz or .nc"},
		{"a", "", "", "want a name that ends in .npz or .nc, or --format"},
		{"a.npz", "netcdf", "", "the ending stands for npz, and --format asks for netcdf"},
		{"a.nc", "npz", "", "the ending stands for netcdf, and --format asks for npz"},
	} {
		o := fitOptions{out: c.out, format: c.format}
		err := o.setFormat()
		if c.err == "" && (err != nil || o.format != c.want) || c.err != "" && (err == nil ||
			!strings.Contains(err.Error(), c.err)) {
			t.Errorf("--out %s --format %q: %q, error %v, want %q", c.out, c.format, o.format, err, c.want+c.err)
		}
	}
}

// TestFitFlagsWinOverTheConfig: those that are given do, wherever the config has the field.
func TestFitFlagsWinOverTheConfig(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	const short = `{"Samples": 80, "Warmup": 40, "MinESS": 4, "MaxIterations": 100`
	for name, text := range map[string]string{"plain.json": short + `}`, "seed.json": short + `, "seed": 7}`} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	means := func(config string, flags ...string) []float64 {
		t.Helper()
		status, _, errs := run(t, append([]string{"fit", "--problem", "problem.npz", "--method", "policywalk",
			"--config", config, "--out", "a.npz"}, flags...)...)
		if status != 0 {
			t.Fatal(errs)
		}
		return readAnswer(t, "a.npz").arrays["reward_mean"].Data
	}
	third, seventh := means("plain.json", "--seed", "3"), means("plain.json", "--seed", "7")
	if got := means("seed.json", "--seed", "3"); !slices.Equal(got, third) || slices.Equal(got, seventh) {
		t.Errorf("with --seed 3: %v, want %v", got, third)
	}
	if got := means("seed.json"); !slices.Equal(got, seventh) {
		t.Errorf("without --seed: %v, want the config's, %v", got, seventh)
	}
	for _, c := range []struct{ object, want string }{
		{`{"Start": {"seed": 1, "Steps": 2}, "Match": null, "SEED": [3]}`, `{"Match":null,"Start":{"Steps":2}}`},
		{"", ""}, {"3", "3"},
	} {
		if got := withField(json.RawMessage(c.object), "Seed", nil); string(got) != c.want {
			t.Errorf("%s without Seed: %s, want %s", c.object, got, c.want)
		}
	}
	for _, object := range []string{"", `{"lambda": 1}`} {
		if got := withField(json.RawMessage(object), "Lambda", 0.5); string(got) != `{"Lambda":0.5}` {
			t.Errorf("%q with Lambda: %s", object, got)
		}
	}
}

// TestSlowProblemsAreAnnounced: those in which everything leads anywhere, and not those of near steps.
func TestSlowProblemsAreAnnounced(t *testing.T) {
	const states = 2100
	for name, next := range map[string]func(s, k int) int{
		"near":     func(s, k int) int { return (s + k) % states },
		"anywhere": func(s, k int) int { return (s*17 + 911*k + 3) % states },
	} {
		rows := make([][]mdp.Transition, states)
		for s := range rows {
			for k := range 3 {
				rows[s] = append(rows[s], mdp.Transition{Next: next(s, k), Prob: 1. / 3})
			}
		}
		m, err := mdp.New(states, 1, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		note := slow(&irl.Problem{MDP: m, Prior: irl.IndependentPrior(states, 0, 1)})
		if (note == "") != (name == "near") || note != "" && !strings.Contains(note, "hours") {
			t.Errorf("%s: %q", name, note)
		}
	}
}

// A problem of many states, given without the zeros of its transitions, is fitted by the method that can; and refused
// with what it would take where there may not be taken so much.
func TestFitOfManyStates(t *testing.T) {
	inScratch(t)
	const states = 2100
	rows := make([][]mdp.Transition, 2*states)
	for s := range states - 1 {
		rows[2*s] = []mdp.Transition{{Next: s, Prob: 1}}
		rows[2*s+1] = []mdp.Transition{{Next: s + 1, Prob: 1}}
	}
	m, err := mdp.New(states, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := problemfile.Write("large.npz", &irl.Problem{MDP: m, Prior: irl.IndependentPrior(states, 0, 2),
		Discount: 0.9, Beta: 2, Demos: []mdp.Step{{State: 0, Action: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("c.json", []byte(`{"Rank": 3, "Steps": 1, "Rounds": 1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	fit := []string{"fit", "--problem", "large.npz", "--config", "c.json", "--method", "qvirl", "--out", "a.npz"}
	status, out, errs := run(t, fit...)
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "the end", out, "not judged: qvirl posterior over 2100 rewards")
	a := readAnswer(t, "a.npz")
	if !strings.Contains(a.reason, "the chains that judge would take") || a.converged ||
		a.arrays["reward_std"].Data[1000] < 1.5 || a.arrays["transitions"] != nil ||
		len(a.arrays["posterior_z_factor"].Data) != 3*states {
		t.Errorf("reason %q, converged %v", a.reason, a.converged)
	}
	status, _, errs = run(t, append(fit, "--memory", "30MB")...)
	if status == 0 {
		t.Error("the fit was not refused")
	}
	expect(t, "the refusal", errs, "fitting it by qvirl is estimated to take", "MB of memory, more than the 30 MB")
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
	for _, args := range [][]string{{"--method", "reference"}, {"--method", "valuewalk"}, {"--method", "qvirl-matched",
		"--no-escalate", "--samples", "100"},
		{"--method", "qvirl-matched", "--no-escalate", "--refine", "10"}} {
		status, out, errs := run(t, append([]string{"fit", "--problem", "problem.npz", "--out", "a.npz"}, args...)...)
		if status != 0 {
			t.Fatal(errs)
		}
		expect(t, args[1], out, "in a.npz")
		a := readAnswer(t, "a.npz").arrays
		if a["beta_mean"] == nil || a["beta_std"] == nil ||
			len(a["beta_samples"].Data) != a["reward_samples"].Shape[0] {
			t.Fatalf("%v: the answer holds no β", args)
		}
		means[args[len(args)-1]] = a["beta_mean"].Data[0]
	}
	// of about 3, with a standard deviation of about as much: a third of it is many Monte Carlo errors
	for args, mean := range means {
		if !scalar.EqualWithinAbs(mean, means["reference"], 1) {
			t.Errorf("%s: means of β %v", args, means)
		}
	}
	for _, method := range []string{"qvirl", "avril"} {
		status, _, errs := run(t, "fit", "--problem", "problem.npz", "--out", "a.npz", "--no-escalate", "--method",
			method)
		if status != 1 || !strings.Contains(errs, "of log β = 1), but "+method+" takes β as known") {
			t.Errorf("%s: status %d, %q", method, status, errs)
		}
	}
}

// TestFitNotesWhatTellsNothing: demonstrations in terminal states, if rewards are of states, and draws that are
// repeated.
func TestFitNotesWhatTellsNothing(t *testing.T) {
	inScratch(t)
	os.WriteFile("c.json", []byte(quickFlags["reference"]), 0o644)
	for _, c := range []struct {
		pairs, ends bool
		samples     string
		want        []string
	}{
		{ends: true, samples: "2001", want: []string{"problem.npz: demos[4] is in the state 2, where the episode ends",
			"--samples 2001: the posterior consists of 2000 draws"}},
		{samples: "2000"},
		{pairs: true, ends: true, samples: "50"},
	} {
		writeProblem(t, c.pairs)
		if c.ends {
			p, err := problemfile.Read("problem.npz")
			if err != nil {
				t.Fatal(err)
			}
			p.Demos = append(p.Demos, mdp.Step{State: 2, Action: 1}, mdp.Step{State: 2})
			if err := problemfile.Write("problem.npz", p); err != nil {
				t.Fatal(err)
			}
		}
		status, _, errs := run(t, "fit", "--problem", "problem.npz", "--method", "reference", "--config", "c.json",
			"--samples", c.samples, "--out", "a.npz")
		if status != 0 || strings.Count(errs, "demos[")+strings.Count(errs, "--samples") != len(c.want) {
			t.Errorf("%+v: status %d, %s", c, status, errs)
		}
		expect(t, "fit", errs, c.want...)
	}
}

// TestFitNotesModelsThatDoNotFit: an expert who takes the worse of two actions of known rewards as often as the better,
// and one who always takes a slightly better one.
func TestFitNotesModelsThatDoNotFit(t *testing.T) {
	inScratch(t)
	m, err := mdp.New(1, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 1}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		gap    float64 // between the actions' rewards
		better int     // of 40 demonstrated actions
		want   string
	}{
		{gap: 3, better: 20, want: "less predictable than the model's own (posterior predictive p < 0.01)"},
		{gap: 0.1, better: 40, want: "more predictable than the model's own (posterior predictive p > 0.99)"},
		{gap: 1, better: 29},
	} {
		p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, 0, 0.01), Discount: 0, Beta: 1}
		p.Prior.Mean[1] = c.gap
		for i := range 40 {
			step := mdp.Step{Action: 1}
			if i >= c.better {
				step.Action = 0
			}
			p.Demos = append(p.Demos, step)
		}
		if err := problemfile.Write("p.npz", p); err != nil {
			t.Fatal(err)
		}
		status, _, errs := run(t, "fit", "--problem", "p.npz", "--method", "reference", "--out", "a.npz")
		if status != 0 || strings.Contains(errs, "may not fit") != (c.want != "") || !strings.Contains(errs, c.want) {
			t.Errorf("%+v: status %d, %s", c, status, errs)
		}
	}
}

// TestEndlessStates: of goals that lead to themselves for ever, those count that are reached, and not demonstrated in.
func TestEndlessStates(t *testing.T) {
	to := func(s int) []mdp.Transition { return []mdp.Transition{{Next: s, Prob: 1}} }
	for _, c := range []struct {
		goals int // states from 1 on that lead to themselves
		from0 []mdp.Transition
		demos []mdp.Step
		want  string
	}{
		{goals: 1, from0: to(1), want: "the state 1 leads to itself for ever, whatever is done; where"},
		{goals: 2, from0: []mdp.Transition{{Next: 1, Prob: 0.5}, {Next: 2, Prob: 0.5}},
			want: "the state 1 (and 1 other) leads"},
		{goals: 1, from0: to(1), demos: []mdp.Step{{State: 1}}},
		{goals: 1, from0: to(0)}, // where nothing leads to the goal
		{goals: 1, from0: nil},
	} {
		rows := [][]mdp.Transition{c.from0, c.from0}
		for s := 1; s <= c.goals; s++ {
			rows = append(rows, to(s), to(s))
		}
		m, err := mdp.New(1+c.goals, 2, rows, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := endless(&irl.Problem{MDP: m, Demos: c.demos}); (got == "") != (c.want == "") ||
			!strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
	rows := [][]mdp.Transition{to(1), to(1), to(1), nil} // one action of the goal ends the episode
	m, err := mdp.New(2, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := endless(&irl.Problem{MDP: m}); got != "" {
		t.Errorf("a state that can be left: %q", got)
	}
}

func TestFitIsDeterminedByItsSeed(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	var means []float64
	for _, seed := range []string{"1", "1", "2"} {
		if status, _, errs := run(t, "fit", "--problem", "problem.npz", "--method", "valuewalk", "--seed", seed,
			"--out", "a.npz"); status != 0 {
			t.Fatal(errs)
		}
		means = append(means, readAnswer(t, "a.npz").arrays["reward_mean"].Data[0])
	}
	if means[0] != means[1] || means[0] == means[2] {
		t.Errorf("seeds 1, 1 and 2 gave the means %v", means)
	}
}

// TestFitOfKnownReward: a standard deviation of zero leaves a reward known, and an array of no meaning is named.
func TestFitOfKnownReward(t *testing.T) {
	inScratch(t)
	writeProblem(t, false)
	archive, err := npz.Open("problem.npz")
	if err != nil {
		t.Fatal(err)
	}
	arrays := map[string]npz.Array{"prior_stdd": npz.Scalar(1)}
	for _, name := range archive.Names() {
		a, err := archive.Array(name)
		if err != nil {
			t.Fatal(err)
		}
		arrays[name] = *a
	}
	archive.Close()
	arrays["prior_std"], arrays["prior_mean"] = npz.Floats([]float64{2, 0, 2}, 3), npz.Floats([]float64{0, 1.5, 0}, 3)
	if err := npz.Write("known.npz", arrays); err != nil {
		t.Fatal(err)
	}
	status, _, errs := run(t, "fit", "--problem", "known.npz", "--out", "a.npz")
	if status != 0 || !strings.Contains(errs, "ignored: prior_stdd;") {
		t.Fatalf("status %d, %q; want the note on prior_stdd", status, errs)
	}
	a := readAnswer(t, "a.npz")
	mean, std := a.arrays["reward_mean"].Data, a.arrays["reward_std"].Data
	if !a.converged || mean[1] != 1.5 || std[1] > 1e-12 || !(std[0] > 0.5) || !(std[2] > 0.5) {
		t.Errorf("converged %v, means %v, standard deviations %v", a.converged, mean, std)
	}
	writeProblem(t, false)
	if _, _, errs := run(t, "fit", "--problem", "problem.npz", "--method", "valuewalk", "--no-verdict", "--out",
		"b.npz"); strings.Contains(errs, "ignored") {
		t.Errorf("a note where nothing is ignored: %q", errs)
	}
}
