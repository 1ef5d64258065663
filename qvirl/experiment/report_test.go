package experiment

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/overlay"
)

func TestTabulate(t *testing.T) {
	row := func(name string, seed uint64, metric string, value float64) Row {
		r := RowOf(name, "w", 5, seed)
		r.Experiment, r.Metric, r.Value = "e", metric, value
		return r
	}
	rows := []Row{row("qvirl", 1, "w1", 1), row("qvirl", 2, "w1", 3), row("qvirl", 3, "w1", 5),
		row("qvirl", 1, "tv", 7), row("avril", 1, "w1", 9)}
	paper := exhibit.Reference{Name: "paper", Values: map[string]map[string]exhibit.Estimate{
		"qvirl": {"w1": {Mean: 2, StdErr: 0.5}}, "valuewalk": {"tv": {StdErr: math.NaN()}}}}
	table, err := Tabulate(rows, []string{"valuewalk", "qvirl", "policywalk"}, exhibit.Table{Columns: []exhibit.Column{
		{Metric: "w1", Name: "W1", Decimals: 3}, {Metric: "tv", Name: "TV", Decimals: 3}}}, paper)
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 1 || table.Rows[0].Method != "qvirl" {
		t.Fatalf("rows %+v, want qvirl alone: the others have no rows", table.Rows)
	}
	w1 := table.Rows[0].Cells[0]
	if e := w1.Estimate; e.Mean != 3 || !scalar.EqualWithinAbs(e.StdErr, 2/math.Sqrt(3), 1e-15) || e.N != 3 {
		t.Errorf("w1 of qvirl: %+v, want 3 ± 2/√3 over 3 seeds", e)
	}
	if r := w1.References[0]; r == nil || r.Mean != 2 || r.StdErr != 0.5 {
		t.Errorf("the paper's w1 of qvirl: %+v", r)
	}
	if c := table.Rows[0].Cells[1]; c.Estimate.Mean != 7 || !math.IsNaN(c.Estimate.StdErr) || c.References[0] != nil {
		t.Errorf("tv of qvirl: %+v, want 7 with an unknown standard error, and no reference", c)
	}
	if _, err := Tabulate(rows, []string{"absent"}, *table); err == nil {
		t.Error("a table without rows was made")
	}
}

func TestOverride(t *testing.T) {
	c := config
	if err := overlay.JSON(&c, []byte(`{"Offset": 3}`)); err != nil || c != (fakeConfig{14, 2, 3}) {
		t.Errorf("%+v, error %v", c, err)
	}
	for _, bad := range []string{`{"Ofset": 3}`, `{"Offset": "x"}`, `{} {}`, `[`} {
		if err := overlay.JSON(&c, []byte(bad)); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}

// TestPaired: the first less the second, in the seeds that both have.
func TestPaired(t *testing.T) {
	e := Paired(map[uint64]float64{1: 5, 2: 7, 3: 100}, map[uint64]float64{2: 3, 1: 3, 4: -100})
	if e == nil || e.Mean != 3 || e.N != 2 || !scalar.EqualWithinAbs(e.StdErr, 1, 1e-15) {
		t.Errorf("%+v, want 3 ± 1 of two seeds", e)
	}
	if e := Paired(map[uint64]float64{1: 5}, map[uint64]float64{2: 3}); e != nil {
		t.Errorf("%+v of no seed in common", e)
	}
}

// TestRecordsSpanTheirUnits: from the earliest start to the latest end, in whatever order units were computed.
func TestRecordsSpanTheirUnits(t *testing.T) {
	r := &Record{Seconds: map[string]float64{}, Processor: map[string]float64{}}
	for _, at := range [][2]int64{{20, 50}, {10, 40}, {30, 45}} {
		r.add(&UnitRecord{UnitSummary: UnitSummary{Started: time.Unix(at[0], 0), Finished: time.Unix(at[1], 0)}})
	}
	if r.Started.Unix() != 10 || r.Finished.Unix() != 50 {
		t.Errorf("from %d to %d, want from 10 to 50", r.Started.Unix(), r.Finished.Unix())
	}
}

func TestLatestCommitIsOfTheUnitThatWasFinishedLast(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	r := Record{Machines: []Machine{{Commit: "aaaa"}, {Commit: "bbbb"}, {Commit: "cccc"}},
		Units: []UnitSummary{{Machine: 0, Finished: at(1)}, {Machine: 2, Finished: at(3)}, {Machine: 1,
			Finished: at(2)}}}
	if got := r.LatestCommit(); got != "3 commits, the latest cccc" {
		t.Error(got)
	}
}

// TestFailuresAreNotShared: the next unit of the group makes anew what could not be made.
func TestFailuresAreNotShared(t *testing.T) {
	ctx, failed := withShared(t.Context()), errors.New("failed")
	share := func(ctx context.Context, value int, err error) (int, error) {
		return Share(ctx, "it", func() (int, error) { return value, err })
	}
	if _, err := share(ctx, 0, failed); !errors.Is(err, failed) {
		t.Errorf("error %v, want that of making it", err)
	}
	for _, value := range []int{2, 3} {
		if got, err := share(ctx, value, nil); got != 2 || err != nil {
			t.Errorf("%d, error %v; want 2, made once", got, err)
		}
	}
}
