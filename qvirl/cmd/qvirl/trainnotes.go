package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

// outlier says where the largest action of the demonstrations is, if many actions below it never occur.
func (o *trainOptions) outlier(t *neural.Task) error {
	seen, largest, episode := map[int]bool{}, -1, 0
	for i, d := range t.Runs[0].Demos {
		for _, a := range d.Actions {
			seen[a] = true
			if a > largest {
				largest, episode = a, i
			}
		}
	}
	if o.actions != 0 || largest < 10*len(seen) {
		return nil
	}
	return fmt.Errorf("the demonstrations have only %d different actions, of which the largest, in demonstration %d, "+
		"is %d: if that is a mistake, correct %s; if most actions never occur, renumber them", len(seen), episode,
		largest, o.demos)
}

// noteDemos says what in the demonstrations may not be as it was meant, and returns whether it said anything of the
// features' units. config is what replaces the default's fields.
func (o *trainOptions) noteDemos(w io.Writer, t *neural.Task, config []byte) (units bool) {
	noteFile(w, o.demos, o.ignored, o.remarks)
	noteEnvironments(w, o.demos, t.Environment, "--env", o.env)
	if a := o.auxiliary; a != nil {
		noteFile(w, o.aux, a.Ignored, a.Remarks())
		noteEnvironments(w, o.demos, t.Environment, o.aux, a.Environment)
		if sameFile(o.aux, o.demos) {
			fmt.Fprintf(w, "note: --aux %s is the file of --demos: auxiliary trajectories by another policy than the "+
				"expert's tell more\n", o.aux)
		}
	}
	return noteUnits(w, t, config)
}

// noteFile says what in a file is ignored, and what was remarked about it.
func noteFile(w io.Writer, path string, ignored, remarks []string) {
	if len(ignored) > 0 {
		fmt.Fprintf(w, "note: %s: unknown or misspelt arrays are ignored: %s; see train --help\n", path,
			strings.Join(ignored, ", "))
	}
	for _, remark := range remarks {
		fmt.Fprintf(w, "note: %s: %s\n", path, remark)
	}
}

// noteEnvironments says so if two things are of environments with different ids; "" is one that is not known.
func noteEnvironments(w io.Writer, a, environment, b, other string) {
	if environment != "" && other != "" && environment != other {
		fmt.Fprintf(w, "note: %s is of the environment %s, and %s of %s\n", a, environment, b, other)
	}
}

// noteUnits says which features of the demonstrations networks that see them in their own units, as by default, see
// little of: those that vary so little that they are next to nothing, and those of order one that often saturate.
// config is what replaces the default's fields. It returns whether there are any.
func noteUnits(w io.Writer, t *neural.Task, config []byte) bool {
	const (
		unseen    = 2e-3 // a fiftieth of the default's Unit
		constant  = 1e-6 // of the largest magnitude: rounding errors
		saturated = 1
		often     = 0.1 // of the states
	)
	var c struct{ Training struct{ Unit *float64 } }
	if json.Unmarshal(config, &c) == nil && c.Training.Unit != nil || t.Image != (neural.Image{}) {
		return false
	}
	features := make([][]float64, t.Observation)
	for _, d := range t.Runs[0].Demos {
		for i, x := range d.Observations {
			features[i%t.Observation] = append(features[i%t.Observation], float64(x))
		}
	}
	var small, large []string
	standard := neural.Standardised(t.Runs[0].Demos, t.Observation)
	for f, x := range features {
		if standard[f] {
			continue
		}
		beyond := floats.Count(func(v float64) bool { return math.Abs(v) > saturated }, x)
		std := stat.PopStdDev(x, nil)
		switch name := strconv.Itoa(f); {
		case std > constant*floats.Norm(x, math.Inf(1)) && std < unseen:
			small = append(small, name)
		case float64(beyond) > often*float64(len(x)):
			large = append(large, name)
		}
	}
	const standardised = `--config with {"Training": {"Unit": 0, "Range": 2}} standardises all`
	if len(small) > 0 {
		fmt.Fprintf(w, "note: features whose standard deviation is below %g hardly reach the networks: "+
			"%s; store them in smaller units, or %s\n", unseen, some(small), standardised)
	}
	if len(large) > 0 {
		fmt.Fprintf(w, "note: features of order one saturate at %d in the networks, and these (counted from 0) "+
			"exceed it in more than a tenth of the states: %s; %s\n", saturated, some(large), standardised)
	}
	return len(small)+len(large) > 0
}

// some returns the first ten names as text, with an ellipsis where there are more.
func some(names []string) string {
	if len(names) > 10 {
		names = append(slices.Clone(names[:10]), "…")
	}
	return strings.Join(names, ", ")
}

// noteFit says so if training ended before the model predicts what it learnt from better than a uniform guess does, or
// if models of parts of the demonstrations predict the others hardly better than the frequencies of the actions do:
// then it advises several β, if train may take them, and before all else other units, if noteUnits has named features.
func noteFit(w io.Writer, m neural.Model, betas, units bool) {
	const little = 0.3
	curve := m.Curve()
	if len(curve) == 0 { // of an ensemble
		return
	}
	last := curve[len(curve)-1]
	guess := -math.Log(float64(m.Spec().Actions))
	if likelihood, ok := last.Terms[neural.TermLogLikelihood]; ok && likelihood < guess {
		fmt.Fprintf(w, "note: after %s the log-likelihood of the demonstrations is %.2f, a uniform guess has %.2f: "+
			"give it more --steps\n", progress.Count(last.Step, "step", "steps"), likelihood, guess)
	}
	if m.Calibration() != nil && m.Spec().Demos == 1 {
		fmt.Fprintln(w, "note: its probabilities were calibrated on parts of the one trajectory there is: on other "+
			"episodes they are less reliable than the trust says")
	}
	if c := m.Calibration(); c != nil && c.Trust < little {
		advice := "learn from more demonstrations"
		if betas {
			advice += ", or have it choose among several --beta, such as 1,5,20"
		}
		if units {
			advice = "first change the units of the features that are named above; after that, " + advice
		}
		fmt.Fprintf(w, "note: what it learnt predicts left-out parts of the demonstrations hardly better than the "+
			"action frequencies do (trust %.2f of 1): %s\n", c.Trust, advice)
	}
}

// mayTakeBetas reports whether of the one β that was given train may make several, to choose among.
func (o *trainOptions) mayTakeBetas(entry *catalogue.Method) bool {
	return entry.Beta && len(o.betas) == 1 && !o.explores()
}

// explores reports whether the apprentice is to explore an environment.
func (o *trainOptions) explores() bool { return o.env != "" && o.explore && !o.branches }
