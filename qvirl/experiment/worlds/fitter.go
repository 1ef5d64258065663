package worlds

import (
	"context"
	"sync"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Fitter fits methods to worlds. It keeps the methods, some of which compile a program once.
type Fitter struct {
	new func(name string) (irl.Method, error)

	mutex   sync.Mutex
	methods map[string]irl.Method
}

// NewFitter returns a fitter of the methods that a function makes.
func NewFitter(new func(name string) (irl.Method, error)) *Fitter {
	return &Fitter{new: new, methods: map[string]irl.Method{}}
}

// NewFitter returns a fitter of the config's methods. backendName is what QVIRL computes on, as backend.Get takes it.
func (c Config) NewFitter(backendName string) *Fitter {
	return NewFitter(func(name string) (irl.Method, error) { return c.Method(name, backendName) })
}

// Fit fits the method of the given name to worlds, and returns their posteriors. progress may be nil.
func (f *Fitter) Fit(ctx context.Context, name string, worlds []*World, progress irl.Progress) ([]irl.Posterior,
	error) {
	m, err := f.Method(name)
	if err != nil {
		return nil, err
	}
	return m.Fit(ctx, Problems(worlds), progress)
}

// Stage runs the stage that fits the method of the given name to worlds, whose time counts as key's.
func (f *Fitter) Stage(ctx context.Context, t *experiment.Stages, key, name string,
	worlds []*World) ([]irl.Posterior, error) {
	return experiment.Stage(t, key, name, func(progress irl.Progress) ([]irl.Posterior, error) {
		return f.Fit(ctx, name, worlds, progress)
	})
}

// Method returns the method of the given name.
func (f *Fitter) Method(name string) (m irl.Method, err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if m = f.methods[name]; m == nil {
		if m, err = f.new(name); err == nil {
			f.methods[name] = m
		}
	}
	return m, err
}

// Known are worlds with their exact posteriors, which others are compared with.
type Known struct {
	Grids []*World
	Exact []*valuewalk.Posterior
	Refs  []metric.References
}

// Known samples the exact posteriors of the worlds of some seeds, once for the units of a group.
func (c Config) Known(ctx context.Context, f *Fitter, seeds []uint64, t *experiment.Stages) (*Known, error) {
	return experiment.Share(ctx, ValueWalk, func() (*Known, error) {
		grids, err := c.Worlds(seeds)
		if err != nil {
			return nil, err
		}
		posts, err := f.Stage(ctx, t, ValueWalk, ValueWalk, grids)
		if err != nil {
			return nil, err
		}
		k := &Known{Grids: grids}
		for i, post := range posts {
			exact := post.(*valuewalk.Posterior)
			ref, err := metric.NewReference(grids[i].Problem, exact.Samples())
			if err != nil {
				return nil, err
			}
			k.Exact, k.Refs = append(k.Exact, exact), append(k.Refs, metric.References{Exact: ref})
		}
		return k, nil
	})
}
