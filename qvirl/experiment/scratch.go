package experiment

import (
	"context"
	"path/filepath"
)

// scratchDir is the folder of a run's results in which units that are not finished keep their state.
const scratchDir = ".unfinished"

type scratchKey struct{}

// Scratch returns the folder in which the unit that is being computed may keep its state, which a run with Resume goes
// on from; it need not be there. It is removed when the unit is finished. Without a run it is empty.
func Scratch(ctx context.Context) string {
	dir, _ := ctx.Value(scratchKey{}).(string)
	return dir
}

// withScratch returns a context of a unit's own scratch folder.
func (r *runner) withScratch(ctx context.Context, unit string) context.Context {
	return context.WithValue(ctx, scratchKey{}, filepath.Join(r.options.Out, scratchDir, unit))
}
