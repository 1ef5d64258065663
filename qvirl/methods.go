package qvirl

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-birl/birl/qvirl/avril"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/overlay"
	"github.com/go-birl/birl/qvirl/policywalk"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// ErrUnknownMethod is the error, for errors.Is, of a name that is no method's.
var ErrUnknownMethod = errors.New("unknown method")

// Options say how NewMethod configures a method.
type Options struct {
	Seed    uint64          // of everything random
	Backend string          // what variational methods compute on, as backend.Get takes it; empty for the best there is
	Config  json.RawMessage // an object whose fields replace those of the method's default configuration; nil for none
}

// MatchedConfig is the configuration of qvirl-matched.
type MatchedConfig struct {
	Start tabular.Config         // of the posterior that the walk starts from
	Match valuewalk.RefineConfig // of the walk whose samples the answer is matched to
}

// RefinedConfig is the configuration of qvirl-refined.
type RefinedConfig struct {
	Start tabular.Config         // of the posterior that the walk starts from
	Walk  valuewalk.RefineConfig // of the walk whose samples are the answer
}

// builder makes the default configuration of a method, and the method of one.
type builder struct {
	config func(o Options) any
	build  func(config any) (Method, error)
}

// builderFor returns the builder of a method, given its default configuration, what the options set in it, and what
// makes the method of it.
func builderFor[C any, M Method](defaults func() C, set func(c *C, o Options), build func(C) (M, error)) builder {
	return builder{
		func(o Options) any {
			c := defaults()
			set(&c, o)
			return &c
		},
		func(config any) (Method, error) {
			m, err := build(*config.(*C))
			return m, overlay.Invalid(err)
		},
	}
}

// builders make the methods that package method lists as Fitters.
var builders = map[string]builder{
	method.Matched: builderFor(
		func() MatchedConfig { return MatchedConfig{Start: tabular.StartConfig(), Match: matched.Default()} },
		func(c *MatchedConfig, o Options) {
			c.Start.Seed, c.Start.Backend, c.Match.Seed = o.Seed, o.Backend, o.Seed
		},
		func(c MatchedConfig) (Method, error) {
			start, err := tabular.New(c.Start)
			if err != nil {
				return nil, err
			}
			return matched.New(method.Matched, start, matched.WarpedRewards, c.Match)
		}),
	method.QVIRL: builderFor(tabular.Default,
		func(c *tabular.Config, o Options) { c.Seed, c.Backend = o.Seed, o.Backend }, tabular.New),
	method.Refined: builderFor(
		func() RefinedConfig {
			return RefinedConfig{Start: tabular.StartConfig(), Walk: valuewalk.DefaultRefine()}
		},
		func(c *RefinedConfig, o Options) {
			c.Start.Seed, c.Start.Backend, c.Walk.Seed = o.Seed, o.Backend, o.Seed
		},
		func(c RefinedConfig) (Method, error) {
			start, err := tabular.New(c.Start)
			if err != nil {
				return nil, err
			}
			return valuewalk.NewRefined(method.Refined, start, c.Walk)
		}),
	method.Reference: builderFor(reference.Default, func(c *reference.Config, o Options) { c.Seed = o.Seed },
		reference.New),
	method.ValueWalk: builderFor(valuewalk.Default, func(c *valuewalk.Config, o Options) { c.Seed = o.Seed },
		valuewalk.New),
	method.PolicyWalk: builderFor(policywalk.Default, func(c *policywalk.Config, o Options) { c.Seed = o.Seed },
		policywalk.New),
	method.AVRIL: builderFor(avril.Default, func(c *avril.Config, o Options) { c.Seed = o.Seed }, avril.New),
}

// NewMethod returns a method by its name: qvirl-matched, the recommended one, or another of method.Fitters.
func NewMethod(name string, o Options) (Method, error) {
	b, err := builderOf(name)
	if err != nil {
		return nil, err
	}
	if o.Backend != "" {
		if _, err := backend.Get(o.Backend); err != nil {
			return nil, err
		}
	}
	c := b.config(o)
	if err := overlay.JSON(c, o.Config); err != nil {
		return nil, fmt.Errorf("qvirl: the method %s: %w", name, err)
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
	if !ok {
		return b, fmt.Errorf("qvirl: %w: no %q fits problems on finite MDPs; want one of %s",
			ErrUnknownMethod, name, strings.Join(method.Names(method.Fitters()), ", "))
	}
	return b, nil
}
