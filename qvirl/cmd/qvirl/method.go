package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

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
	override := json.RawMessage(text)
	trained := []string{method.Matched, method.QVIRL}
	of := map[string][]string{"lambda": {method.AVRIL}, "nodet": {method.ValueWalk}, "backend": append(trained,
		method.Refined), "refine": trained}
	for flag, methods := range of {
		if flags.Changed(flag) && !slices.Contains(methods, o.method) {
			return nil, fmt.Errorf("--%s is a flag of the method %s, not of %s", flag, strings.Join(methods, " or "),
				o.method)
		}
	}
	switch o.method {
	case method.AVRIL:
		if math.IsNaN(o.lambda) || math.IsInf(o.lambda, 0) {
			return nil, fmt.Errorf("--lambda %g: want a finite number that is not negative", o.lambda)
		}
		override = withField(override, "Lambda", o.lambda)
	case method.ValueWalk:
		override = withField(override, "NoDeterminant", o.noDet)
	}
	m, err := qvirl.NewMethod(o.method, qvirl.Options{Seed: o.seed, Backend: o.backend, Config: override})
	if err != nil {
		return nil, overlay.OfFile(o.configFile, err)
	}
	if flags.Changed("backend") || override != nil && slices.Contains(of["backend"], o.method) { // for Adam alone
		if _, err := describeBackend(o.backend, stderr); err != nil {
			return nil, err
		}
	}
	return o.refined(m)
}

// withField adds a field of a finite value to a JSON object that lacks it; what is no object stays as it is, for the
// method to refuse.
func withField(object json.RawMessage, name string, value any) json.RawMessage {
	var fields map[string]json.RawMessage
	if len(object) > 0 && json.Unmarshal(object, &fields) != nil {
		return object
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if _, has := fields[name]; !has {
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
