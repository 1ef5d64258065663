package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// TestBetaIsChosen: of several β the model is that of the one that best predicts left-out demonstrations.
func TestBetaIsChosen(t *testing.T) {
	t.Chdir(t.TempDir())
	writeDemos(t, "demos.npz", 6)
	for name, folds := range map[string]int{"folds.json": 2, "none.json": 0} {
		text := fmt.Sprintf(`{"Training": {"Hidden": [4, 4], "Batch": 4, "ReportEvery": 10, "Folds": %d}}`, folds)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(method, config, beta string) (stdout, stderr string, status int) {
		args := []string{"train", "--demos", "demos.npz", "--method", method, "--config", config, "--out", "model",
			"--trajectories", "5", "--held-out", "5:6", "--backend", "go", "--steps", "40"}
		if beta != "" {
			args = append(args, "--beta", beta)
		}
		return runQVIRL(args...)
	}
	for want, try := range map[string][3]string{
		"no β makes a difference": {"bc", "folds.json", "1,5"},
		"want a positive number":  {"qvirl", "folds.json", "1,-5"},
		"Folds = 0":               {"qvirl", "none.json", "1,5"},
		"--beta is missing":       {"qvirl", "folds.json", ""},
	} {
		if _, stderr, status := run(try[0], try[1], try[2]); status != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%v: status %d, %q", try, status, stderr)
		}
	}
	stdout, stderr, status := run("qvirl", "folds.json", "0.01,1,100")
	if status != 0 || !strings.Contains(stdout, "held-out log-likelihood") {
		t.Fatalf("status %d, %q, %q", status, stdout, stderr)
	}
	best, chosen, noted := math.Inf(-1), 0.0, 0
	for line := range strings.Lines(stderr) {
		var beta, foreseen float64
		if n, _ := fmt.Sscanf(line, "note: β = %g predicts left-out parts of the demonstrations with %g",
			&beta, &foreseen); n == 2 {
			if noted++; foreseen > best {
				best, chosen = foreseen, beta
			}
		}
	}
	m, err := catalogue.Load("model", "go")
	if err != nil {
		t.Fatal(err)
	}
	rounding := 6e-4 // of the note
	if noted != 3 || !(best < 0) || m.Spec().Beta != chosen || math.Abs(m.Calibration().Foreseen-best) > rounding {
		t.Errorf("the model has β = %g and predicts with %.4f; the notes: %s", m.Spec().Beta, m.Calibration().Foreseen,
			stderr)
	}
	if want := fmt.Sprintf(" with β = %g in ", chosen); !strings.Contains(stdout, want) {
		t.Errorf("want%sin %q", want, stdout)
	}
	if _, err := os.Stat("model/" + neural.CheckpointDir); err == nil {
		t.Error("the checkpoint is left over")
	}
}

// TestBetasGoWithWhatDoesNotExplore: several β can be chosen among wherever the apprentice does not explore, as with
// branches, too, and a single one is said to be one of several then.
func TestBetasGoWithWhatDoesNotExplore(t *testing.T) {
	entry, err := catalogue.Find("qvirl")
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []struct {
		explore, branches, may bool
		successors             int
	}{{true, false, false, 1}, {true, true, true, 1}, {false, true, true, 1}, {false, false, true, 4}} {
		o := &trainOptions{method: "qvirl", betas: []float64{1, 5}, steps: 1, successors: try.successors,
			explore: try.explore, branches: try.branches}
		o.env = "CartPole-v1"
		err := o.validate(entry, newTrain().Flags())
		if (err == nil) != try.may {
			t.Errorf("%+v: error %v", try, err)
		}
		if o.betas = o.betas[:1]; o.mayTakeBetas(entry) != try.may {
			t.Errorf("%+v: advises several β: %t", try, !try.may)
		}
	}
}

// timedMethod is one whose trainings take as many seconds as β says.
type timedMethod struct{ neural.Method }

func (timedMethod) Fit(_ context.Context, t *neural.Task, _ irl.Progress) ([]neural.Model, error) {
	return []neural.Model{timedModel{beta: t.Beta}}, nil
}

type timedModel struct {
	neural.Model
	beta float64
}

func (m timedModel) Seconds() float64                 { return m.beta }
func (m timedModel) Calibration() *neural.Calibration { return &neural.Calibration{Foreseen: -m.beta} }
func (m timedModel) Spec() neural.Spec                { return neural.Spec{Beta: m.beta} }

// TestTimeOfAllTrainings: that of choosing among several β is of all of them, also where it begins anew.
func TestTimeOfAllTrainings(t *testing.T) {
	for want, betas := range map[string][]float64{"in 53 s": {30, 3, 20}, "in 7 s": {7}} {
		o := trainOptions{method: "qvirl", betas: betas}
		for range 2 {
			best, err := o.fit(t.Context(), timedMethod{}, &neural.Task{Beta: betas[0]}, nil, io.Discard)
			if err != nil || best.Spec().Beta != slices.Min(betas) {
				t.Fatalf("%v: %+v, error %v", betas, best, err)
			}
			var says strings.Builder
			if err := o.tell(&says, best, nil); err != nil || !strings.Contains(says.String(), want) {
				t.Errorf("%v: %q, error %v, want %q", betas, says.String(), err, want)
			}
		}
	}
}
