package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/overlay"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// noRefinement is the default of --refine.
const noRefinement = -1

// newMethod returns the method that the flags ask for.
func (o *fitOptions) newMethod(flags *pflag.FlagSet, stderr io.Writer) (irl.Method, error) {
	text, err := overlay.Read(o.configFile)
	if err != nil {
		return nil, err
	}
	trained := []string{method.Matched, method.QVIRL}
	computed := append(slices.Clone(trained), method.Refined) // on a backend
	for _, of := range []struct {
		flag    string
		methods []string
	}{{"lambda", []string{method.AVRIL}}, {"nodet", []string{method.ValueWalk}}, {"backend", computed},
		{"refine", trained}} {
		if flags.Changed(of.flag) && !slices.Contains(of.methods, o.method) {
			return nil, fmt.Errorf("--%s is a flag of the method %s, not of %s", of.flag,
				strings.Join(of.methods, " or "), o.method)
		}
	}
	if err := check.NotNegative("--lambda", o.lambda); err != nil {
		return nil, err
	}
	if o.refine != noRefinement && o.refine < 0 {
		return nil, fmt.Errorf("--refine %d: want a number of transitions that is not negative", o.refine)
	}
	override := o.given(flags, text)
	m, err := qvirl.NewMethod(o.method, qvirl.Options{Seed: o.seed, Backend: o.backend, Config: override})
	if err != nil {
		return nil, overlay.OfFile(o.configFile, err)
	}
	if flags.Changed("backend") || override != nil && slices.Contains(computed, o.method) { // for Adam alone
		if _, err := describeBackend(o.backend, stderr); err != nil {
			return nil, err
		}
	}
	return o.refined(m)
}

// given returns the JSON object of a --config in which the flags that were given win.
func (o *fitOptions) given(flags *pflag.FlagSet, object json.RawMessage) json.RawMessage {
	for _, field := range []struct {
		flag, name string
		value      any // nil where the method is told by its options
	}{{"seed", "Seed", nil}, {"backend", "Backend", nil}, {"lambda", "Lambda", o.lambda},
		{"nodet", "NoDeterminant", o.noDet}} {
		if flags.Changed(field.flag) {
			object = withField(object, field.name, field.value)
		}
	}
	return object
}

// withField sets a field of a JSON object to a finite value, in place of those of the same name in the object and in
// its parts; nil removes these. No object stays none without a value, and what is no object stays as it is.
func withField(object json.RawMessage, name string, value any) json.RawMessage {
	if len(object) == 0 && value != nil {
		object = json.RawMessage("{}")
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil || fields == nil { // null, for one
		return object
	}
	for key, part := range fields {
		if fields[key] = withField(part, name, nil); strings.EqualFold(key, name) { // as decoding matches them
			delete(fields, key)
		}
	}
	if value != nil {
		fields[name], _ = json.Marshal(value)
	}
	out, _ := json.Marshal(fields)
	return out
}

// sampled reports whether the method is a sampler.
func (o *fitOptions) sampled() bool {
	entry, err := method.Lookup(o.method)
	return err == nil && entry.Sampler
}

// refined returns a method with the refinement that --refine asks for.
func (o *fitOptions) refined(m irl.Method) (irl.Method, error) {
	if o.refine == noRefinement {
		return m, nil
	}
	r := valuewalk.DefaultRefine()
	r.Transitions, r.Seed = o.refine, o.seed
	if r.Transitions == 0 {
		r.Kept = 1 // a walker's later samples would be refined ones
	}
	refined, err := valuewalk.NewRefined(m.Name(), m, r)
	if err != nil {
		return nil, fmt.Errorf("--refine: %w", err)
	}
	return refined, nil
}
