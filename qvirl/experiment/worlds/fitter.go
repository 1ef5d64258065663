package worlds

import (
	"context"

	"github.com/go-birl/birl/qvirl/irl"
)

// Fitter fits the methods of a config to worlds. It keeps the methods, some of which compile a program once. It is not
// safe for concurrent use.
type Fitter struct {
	config  Config
	backend string
	methods map[string]irl.Method
}

// NewFitter returns a fitter of the config's methods. backendName is what QVIRL computes on, as backend.Get takes it.
func (c Config) NewFitter(backendName string) *Fitter {
	return &Fitter{config: c, backend: backendName, methods: map[string]irl.Method{}}
}

// Fit fits the method of the given name to worlds, and returns their posteriors. progress may be nil.
func (f *Fitter) Fit(ctx context.Context, name string, worlds []*World, progress irl.Progress) ([]irl.Posterior,
	error) {
	m := f.methods[name]
	if m == nil {
		var err error
		if m, err = f.config.Method(name, f.backend); err != nil {
			return nil, err
		}
		f.methods[name] = m
	}
	return m.Fit(ctx, Problems(worlds), progress)
}
