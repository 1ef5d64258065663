package experiment

import "context"

// scratchDir is the folder of a run's results in which units that are not finished keep their state.
const scratchDir = ".unfinished"

type scratchKey struct{}

// Scratch returns the folder in which the unit that is being computed may keep its state, which a run with Resume goes
// on from; it need not be there. It is removed when the unit is finished. Without a run it is empty.
func Scratch(ctx context.Context) string {
	dir, _ := ctx.Value(scratchKey{}).(string)
	return dir
}

// WithScratch returns a context of a unit whose scratch folder is dir.
func WithScratch(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, scratchKey{}, dir)
}
