//go:build installed

package activelander

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
)

// tiny is the experiment with short computations.
func tiny() Config {
	c := Paper()
	c.Runs, c.At, c.Candidates, c.Length, c.Episodes = []uint64{4}, []int{0, 2}, 6, 3, 2
	c.Segments.Length, c.Segments.Draws = 3, 20
	c.Training.Hidden, c.Training.Batch, c.Training.Steps, c.MoreSteps = []int{8}, 8, 20, 5
	return c
}

// measured leaves out what is not the same in every run.
func measured(rows []experiment.Row) []experiment.Row {
	return slices.DeleteFunc(rows, func(r experiment.Row) bool {
		return r.Metric == ChoosingSeconds || r.Metric == TrainingSeconds
	})
}

func TestWholeExperiment(t *testing.T) {
	rows, _, record := experimenttest.Run(t, Name, tiny())
	count, asked := map[string]int{}, map[string][]float64{}
	first := map[string]float64{}
	for _, r := range rows {
		if r.Experiment != Name || r.Environment != "LunarLander-v3" || r.Seed != 4 || r.Demos > 2 {
			t.Fatalf("row %+v", r)
		}
		count[r.Metric]++
		if r.Metric == Query {
			asked[r.Method] = append(asked[r.Method], r.Value)
		}
		if r.Metric == Return && r.Demos == 0 {
			first[r.Method] = r.Value
		}
	}
	for metric, want := range map[string]int{Return: 6, HeldOut: 6, Query: 6, QueryScore: 6, QueryStdErr: 6,
		ChoosingSeconds: 6, TrainingSeconds: 6} {
		if count[metric] != want {
			t.Errorf("%d rows of %s, want %d", count[metric], metric, want)
		}
	}
	for method, candidates := range asked {
		if len(candidates) != 2 || candidates[0] == candidates[1] || max(candidates[0], candidates[1]) > 5 {
			t.Errorf("%s asks about %v", method, candidates)
		}
		if first[method] != first[EIG] || record.Seconds[method] <= 0 {
			t.Errorf("%s begins with %g, %s with %g; seconds %v", method, first[method], EIG, first[EIG],
				record.Seconds)
		}
	}
}

// TestUnfinishedCoursesGoOn stops a course after its first answer; what goes on from there gives the same rows.
func TestUnfinishedCoursesGoOn(t *testing.T) {
	c := tiny()
	c.Methods = []string{EIG}
	dir := t.TempDir()
	run := func(ctx context.Context, stop func(status string)) ([]experiment.Row, error) {
		plan, err := experiment.NewPlan(Name, "tiny", "go", c)
		if err != nil {
			t.Fatal(err)
		}
		ctx = experiment.WithScratch(ctx, filepath.Join(dir, plan.Units[0].Name))
		r, err := plan.Units[0].Run(ctx, experiment.NewStages(func(_, _ int, status string) { stop(status) }))
		if err != nil {
			return nil, err
		}
		return measured(r.Rows), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := run(ctx, func(status string) {
		if strings.HasSuffix(status, "query 2") {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want the context's", err)
	}
	if kept, _ := filepath.Glob(filepath.Join(dir, "run-04-qvirl-eig", "model-*")); len(kept) != 1 ||
		filepath.Base(kept[0]) != "model-1" {
		t.Fatalf("kept %q, want the model after one answer", kept)
	}
	c.Methods = []string{EIG, Random} // other units make no difference
	begun := false
	got, err := run(t.Context(), func(status string) {
		begun = begun || strings.HasSuffix(status, "trajectory") || strings.HasSuffix(status, "query 1")
	})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	want, err := run(t.Context(), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	for i := range want { // rows of runs that are put together know their experiment
		if got[i] != want[i] {
			t.Errorf("row %+v, without a stop %+v", got[i], want[i])
		}
	}
	if begun || len(got) != len(want) || len(want) != 10 {
		t.Errorf("%d rows, want %d; begun anew: %t", len(got), len(want), begun)
	}
}
