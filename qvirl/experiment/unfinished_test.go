package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
)

// TestUnitsKeepHowFarTheyHaveCome: what a unit leaves is there when it is computed again, and gone once it is finished
// or the run starts over.
func TestUnitsKeepHowFarTheyHaveCome(t *testing.T) {
	dir := t.TempDir()
	found := 0 // files that units have found
	do := func(fail bool, o Options) error {
		plan, _ := fake(fakeConfig{Worlds: 4, Chunk: 2})
		folder := ""
		plan.Unfinished = func(dir string) { folder = dir }
		compute := plan.Run
		plan.Run = func(ctx context.Context, unit int, progress irl.Progress) (*Result, error) {
			mine := filepath.Join(folder, plan.Units[unit].Name)
			if _, err := os.Stat(filepath.Join(mine, "file")); err == nil {
				found++
			}
			if err := os.MkdirAll(mine, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(mine, "file"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if fail && unit == 1 {
				return nil, errors.New("enough")
			}
			return compute(ctx, unit, progress)
		}
		o.Out = dir
		_, err := Run(context.Background(), plan, o)
		return err
	}
	left := func() int {
		folders, _ := filepath.Glob(filepath.Join(dir, UnfinishedDir, "*"))
		return len(folders)
	}
	if err := do(true, Options{}); err == nil || left() != 1 || found != 0 {
		t.Errorf("error %v, %d folders left, %d found", err, left(), found)
	}
	if err := do(true, Options{Resume: true}); err == nil || left() != 1 || found != 1 {
		t.Errorf("resumed: error %v, %d folders left, %d found", err, left(), found)
	}
	if err := do(false, Options{Overwrite: true}); err != nil || left() != 0 || found != 1 {
		t.Errorf("started over: error %v, %d folders left, %d found", err, left(), found)
	}
}
