package qvirl

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/overlay"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// Options say how NewMethod configures a method.
type Options struct {
	Seed    uint64          // of everything random
	Backend string          // what variational methods compute on, as backend.Get takes it; empty for the best there is
	Config  json.RawMessage // an object whose fields replace those of the method's default configuration; nil for none
}

// MatchedConfig is the configuration of qvirl-matched: of the posterior that the walk starts from, and of the walk.
type MatchedConfig struct {
	Start tabular.Config
	Match valuewalk.RefineConfig
}

// RefinedConfig is the configuration of qvirl-refined.
type RefinedConfig struct {
	Start tabular.Config
	Walk  valuewalk.RefineConfig
}

// builder makes the default configuration of a method, and the method of one.
type builder struct {
	config func(o Options) any
	build  func(config any) (Method, error)
}

// builders make the methods that package method lists as Fitters.
var builders = map[string]builder{
	method.Matched: {
		func(o Options) any {
			c := &MatchedConfig{Start: tabular.StartConfig(), Match: matched.Default()}
			c.Start.Seed, c.Start.Backend, c.Match.Seed = o.Seed, o.Backend, o.Seed
			return c
		},
		func(config any) (Method, error) {
			c := config.(*MatchedConfig)
			start, err := tabular.New(c.Start)
			if err != nil {
				return nil, err
			}
			return matched.New(method.Matched, start, matched.WarpedRewards, c.Match)
		},
	},
	method.QVIRL: {
		func(o Options) any {
			c := tabular.DefaultConfig()
			c.Seed, c.Backend = o.Seed, o.Backend
			return &c
		},
		func(config any) (Method, error) { return tabular.New(*config.(*tabular.Config)) },
	},
	method.Refined: {
		func(o Options) any {
			c := &RefinedConfig{Start: tabular.StartConfig(), Walk: valuewalk.DefaultRefine()}
			c.Start.Seed, c.Start.Backend, c.Walk.Seed = o.Seed, o.Backend, o.Seed
			return c
		},
		func(config any) (Method, error) {
			c := config.(*RefinedConfig)
			start, err := tabular.New(c.Start)
			if err != nil {
				return nil, err
			}
			return valuewalk.NewRefined(method.Refined, start, c.Walk)
		},
	},
	method.Reference: {
		func(o Options) any {
			c := reference.Default()
			c.Seed = o.Seed
			return &c
		},
		func(config any) (Method, error) { return reference.New(*config.(*reference.Config)) },
	},
	method.ValueWalk: {
		func(o Options) any {
			c := valuewalk.Default()
			c.Seed = o.Seed
			return &c
		},
		func(config any) (Method, error) { return valuewalk.New(*config.(*valuewalk.Config)) },
	},
	method.PolicyWalk: {
		func(o Options) any {
			c := policywalk.Default()
			c.Seed = o.Seed
			return &c
		},
		func(config any) (Method, error) { return policywalk.New(*config.(*policywalk.Config)) },
	},
	method.AVRIL: {
		func(o Options) any {
			c := avril.Default()
			c.Seed = o.Seed
			return &c
		},
		func(config any) (Method, error) { return avril.New(*config.(*avril.Config)) },
	},
}

// NewMethod returns a method by its name: qvirl-matched, the recommended one, or another of method.Fitters.
func NewMethod(name string, o Options) (Method, error) {
	b, err := builderOf(name)
	if err != nil {
		return nil, err
	}
	c := b.config(o)
	if err := overlay.JSON(c, o.Config); err != nil {
		return nil, fmt.Errorf("qvirl: %s: %w", name, err)
	}
	return b.build(c)
}

// MethodConfig returns the default configuration of a method of method.Fitters, to be shown as JSON.
func MethodConfig(name string) (any, error) {
	b, err := builderOf(name)
	if err != nil {
		return nil, err
	}
	return b.config(Options{}), nil
}

func builderOf(name string) (builder, error) {
	b, ok := builders[name]
	if now := method.Canonical(name); !ok && now != name {
		return b, fmt.Errorf("qvirl: the method %q is now called %s", name, now)
	}
	if !ok {
		return b, fmt.Errorf("qvirl: no method %q fits problems on finite MDPs; want one of %s",
			name, strings.Join(method.Names(method.Fitters()), ", "))
	}
	return b, nil
}
