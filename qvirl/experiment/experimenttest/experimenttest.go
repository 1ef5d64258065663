// Package experimenttest runs whole experiments in tests.
package experimenttest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-birl/birl/envs/check/checktest"
	"github.com/go-birl/birl/qvirl/experiment"
)

// Run runs an experiment of that name on the pure Go backend, whole or shard after shard, in a folder of its own, and
// returns its rows, the text of their file and the record. A unit that is missing at the end fails the test.
func Run[C experiment.Config](t testing.TB, name string, c C, shards ...experiment.Shard) (rows []experiment.Row,
	text string, record *experiment.Record) {
	t.Helper()
	dir := t.TempDir()
	if len(shards) == 0 {
		shards = []experiment.Shard{{}}
	}
	for _, s := range shards {
		plan, err := experiment.NewPlan(name, "tiny", "go", c)
		if err != nil {
			t.Fatal(err)
		}
		record, err = experiment.Run(context.Background(), plan, experiment.Options{Out: dir, Shard: s})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !record.Complete {
		t.Fatalf("units %v are missing", record.Missing)
	}
	raw, err := os.ReadFile(filepath.Join(dir, experiment.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	if rows, err = experiment.ParseRows(raw, experiment.RowsFile); err != nil {
		t.Fatal(err)
	}
	return rows, string(raw), record
}

// Keys returns the keys of the units of an experiment, by their names.
func Keys[C experiment.Config](t testing.TB, c C) map[string]string {
	t.Helper()
	plan, err := experiment.NewPlan("keys", "tiny", "go", c)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := plan.Keys()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i, u := range plan.Units {
		out[u.Name] = keys[i]
	}
	return out
}

// Refuses spoils configs that are right, and wants errors that contain the key.
func Refuses[C experiment.Config](t testing.TB, right func() C, spoil map[string]func(*C)) {
	t.Helper()
	checktest.Refuses(t, right, func(c C) (*experiment.Plan, error) {
		return experiment.NewPlan("refused", "tiny", "go", c)
	}, spoil)
}
