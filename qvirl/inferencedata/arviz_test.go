//go:build installed

package inferencedata

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/qvirl/loo"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/summary"
)

// The real ArviZ opens what is written, draws it, and finds the numbers that this project finds: R̂, effective sample
// sizes, intervals and Monte Carlo errors agree to 1e-6.
func TestArviZ(t *testing.T) {
	command.UseInstallation()
	python := os.Getenv(command.PythonVariable)
	for name, c := range map[string]struct{ pairs, beta bool }{"states": {}, "pairs": {true, true}} {
		t.Run(name, func(t *testing.T) {
			p := newProblem(t, c.pairs, c.beta)
			p.StateNames = []string{"start", "größe Ω", "end"}
			post := sample(t, p)
			path := filepath.Join(t.TempDir(), "p.nc")
			o := Options{Draws: 100, Seed: 1, Attributes: map[string]string{"method": "reference"}}
			if err := Write(path, post, o); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command(python, "testdata/look.py", path).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
			}
			var got struct {
				Summary       map[string]map[string]float64
				ELPD          float64 `json:"elpd_loo"`
				Loo, KHat     []float64
				LogLikelihood float64 `json:"log_likelihood"`
				Actions       []string
				Groups        []string
				Attributes    map[string]string
				Dims          map[string][]string
				Stats         struct {
					Energy, AcceptanceRate, Diverging float64
					Type                              string
				}
			}
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatal(err)
			}
			lines, err := summary.Table(post, 100, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(lines) != len(got.Summary) {
				t.Errorf("%d lines, ArviZ has %d", len(lines), len(got.Summary))
			}
			for _, l := range lines {
				theirs, ok := got.Summary[l.Name]
				if !ok {
					t.Errorf("ArviZ has no %s", l.Name)
				}
				for column, ours := range map[string]float64{"mean": l.Mean, "sd": l.Std, "hdi_3%": l.Low,
					"hdi_97%": l.High, "mcse_mean": l.MeanError, "ess_bulk": l.BulkESS, "ess_tail": l.TailESS,
					"r_hat": l.RHat} {
					if !(math.Abs(theirs[column]-ours) <= 1e-6*(1e-3+math.Abs(ours))) {
						t.Errorf("%s of %s: ArviZ has %.9g, we have %.9g", column, l.Name, theirs[column], ours)
					}
				}
			}
			// Leaving one decision out predicts it worse than with it, and better than by a fair coin.
			if !(got.ELPD < got.LogLikelihood && got.ELPD > 4*math.Log(0.5)) {
				t.Errorf("expected log density %g; of the decisions that were seen %g", got.ELPD, got.LogLikelihood)
			}
			ours, err := loo.Of("reference", post, 0, 0)
			if err != nil || len(ours.Pointwise) != len(got.Loo) {
				t.Fatalf("%d decisions, ArviZ has %d; %v", len(ours.Pointwise), len(got.Loo), err)
			}
			for i, v := range ours.Pointwise {
				if !(math.Abs(v-got.Loo[i]) <= 1e-6) || !(math.Abs(ours.KHat[i]-got.KHat[i]) <= 1e-6) {
					t.Errorf("decision %d left out: ArviZ has %.9g and k̂ %.9g, we have %.9g and %.9g", i, got.Loo[i],
						got.KHat[i], v, ours.KHat[i])
				}
			}
			if !reflect.DeepEqual(got.Actions, p.ActionNames) || got.Attributes["method"] != "reference" {
				t.Errorf("actions %v, attributes %v", got.Actions, got.Attributes)
			}
			// Means over the draws, against the sampler's own record.
			var accepted, diverged float64
			transitions := post.(interface{ Transitions() []mcmc.Transition }).Transitions()
			for _, t := range transitions {
				accepted += t.Acceptance / float64(len(transitions))
				if t.Divergent {
					diverged += 1 / float64(len(transitions))
				}
			}
			if s := got.Stats; s.Type != "bool" || math.Abs(s.AcceptanceRate-accepted) > 1e-9 ||
				math.Abs(s.Diverging-diverged) > 1e-9 || math.IsNaN(s.Energy) {
				t.Errorf("sample_stats %+v; the mean acceptance is %g and the share of divergences %g", s, accepted,
					diverged)
			}
			want := "chain draw state"
			if c.pairs {
				want += " action"
			}
			if dims := strings.Join(got.Dims["reward"], " "); dims != want {
				t.Errorf("the reward's dimensions are %s, want %s", dims, want)
			}
			if groups := strings.Join(got.Groups, " "); groups !=
				"constant_data log_likelihood observed_data posterior prior sample_stats" {
				t.Errorf("groups %s", groups)
			}
		})
	}
}

// ArviZ opens a trajectory's file, summarises each step as we do, and leaves one action out after the other.
func TestArviZTrajectory(t *testing.T) {
	command.UseInstallation()
	path := filepath.Join(t.TempDir(), "t.nc")
	walk := lineTrajectory(3, 12)
	m := trainQVIRL(t)
	if err := WriteTrajectory(path, m, &walk, Options{Draws: 400, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	root, err := NewTrajectory(m, &walk, Options{Draws: 400, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(os.Getenv(command.PythonVariable), "-W", "ignore", "-c", `
import sys, json, arviz
data = arviz.from_netcdf(sys.argv[1])
table = arviz.summary(data, var_names=["reward"], round_to="none")
arviz.plot_forest(data, var_names=["reward"])
print(json.dumps({"mean": list(table["mean"]), "elpd": float(arviz.loo(data).elpd_loo), "groups": sorted(data.groups()),
                  "dims": list(data.posterior["q"].dims), "method": data.attrs["method"]}))`, path).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	var got struct {
		Mean         []float64
		ELPD         float64
		Groups, Dims []string
		Method       string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	reward := mat.NewDense(400, walk.Len(), find(t, root, "posterior", "reward").Data.([]float64))
	for i, mean := range got.Mean {
		if want := stat.Mean(mat.Col(nil, i, reward), nil); math.Abs(mean-want) > 1e-9*(1+math.Abs(want)) {
			t.Errorf("step %d: ArviZ has the mean %g, we have %g", i, mean, want)
		}
	}
	if len(got.Mean) != walk.Len() || !(got.ELPD < 0 && got.ELPD > -100) || got.Method != "qvirl" ||
		strings.Join(got.Dims, " ") != "chain draw step action" || strings.Join(got.Groups, " ") !=
		"constant_data log_likelihood observed_data posterior prior" {
		t.Errorf("%+v", got)
	}
}
