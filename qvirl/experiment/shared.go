package experiment

import "context"

// scratchDir is the folder of a run's results in which units that are not finished keep their state.
const scratchDir = ".unfinished"

type (
	scratchKey struct{}
	sharedKey  struct{}
)

// Scratch returns the folder in which the unit that is being computed may keep its state, which a later run goes on
// from; it need not be there. It is removed when the unit is finished. Without a run it is empty.
func Scratch(ctx context.Context) string {
	dir, _ := ctx.Value(scratchKey{}).(string)
	return dir
}

// WithScratch returns a context of a unit whose scratch folder is dir.
func WithScratch(ctx context.Context, dir string) context.Context {
	return context.WithValue(ctx, scratchKey{}, dir)
}

// Share returns what make returns, which the units of a group that are computed by the same process make once: the
// samples, for instance, that all methods are compared with. Outside of any group each call makes it anew.
func Share[T any](ctx context.Context, name string, make func() (T, error)) (T, error) {
	shared, _ := ctx.Value(sharedKey{}).(map[string]any)
	if made, ok := shared[name].(T); ok {
		return made, nil
	}
	made, err := make()
	if err == nil && shared != nil {
		shared[name] = made
	}
	return made, err
}

// withShared returns a context of the units of a group.
func withShared(ctx context.Context) context.Context {
	return context.WithValue(ctx, sharedKey{}, map[string]any{})
}
