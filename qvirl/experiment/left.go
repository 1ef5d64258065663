package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Left checks all that Run checks before it computes, and returns the numbers of the plan's units that Run would
// compute.
func Left(plan *Plan, o Options) ([]int, error) {
	r, err := prepare(plan, o)
	if err != nil {
		return nil, err
	}
	return r.todo, nil
}

// FinishedUnits returns the names of the units that a folder holds, by the names of their records, which it does not
// read.
func FinishedUnits(dir string) (map[string]bool, error) {
	entries, err := os.ReadDir(filepath.Join(dir, UnitsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	out := map[string]bool{}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(name, ".") {
			out[name] = true
		}
	}
	return out, nil
}

// Units returns the numbers of the plan's units that the shard holds.
func (s Shard) Units(plan *Plan) []int {
	var out []int
	for i := range plan.Units {
		if s.holds(i) {
			out = append(out, i)
		}
	}
	return out
}
