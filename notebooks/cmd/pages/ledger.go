package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// ledger is notebooks/claims.yaml.
type ledger struct {
	// Labels are all of the paper that must have a claim: labels of its figures, tables and theorems.
	Labels []string `yaml:"labels"`
	Claims []claim  `yaml:"claims"`
}

// claim is something that the paper says.
type claim struct {
	At      string  `yaml:"at"`      // label in the paper, or empty for a sentence of its text
	Section string  `yaml:"section"` // where it stands
	Claim   string  `yaml:"claim"`   // in plain English
	Quote   string  `yaml:"quote"`   // as the paper has it; its LaTeX commands left out
	Page    string  `yaml:"page"`    // name of a page
	Checks  []check `yaml:"checks"`
	// NotAttempted says why nothing was computed; Checks then hold the paper's numbers alone.
	NotAttempted string `yaml:"not_attempted"`
	Note         string `yaml:"note"` // a sentence on what came out; a template, as prose is

	outcomes []outcome
	held     int // outcomes that hold
	verdict  verdict
}

// check is one comparison. Rule is one of
//
//	agree K    |ours − other| ≤ K standard errors of the difference
//	above K    ours − other  >  K standard errors of the difference; by its sign where none is known. above -2: not
//	           significantly below
//	below K    other − ours  >  K standard errors
//	within X   |ours − other| ≤ X
//	at least X, at most X
//	test       a test of the package Ours[0] by the name Ours[1] exists; the test suite runs it
//	picture    the notebook Ours[0] holds a figure that is described by the other words of Ours
//
// where other is Than, if it is given, and else Paper.
type check struct {
	Of    string `yaml:"of"`    // what is compared, in words
	Paper string `yaml:"paper"` // mean ± standard error, or a number
	Ours  string `yaml:"ours"`  // a choice of rows
	Than  string `yaml:"than"`  // another, or a number
	Rule  string `yaml:"rule"`
}

type verdict string

const (
	reproduced   verdict = "reproduced"
	partly       verdict = "partly"
	not          verdict = "not reproduced"
	notAttempted verdict = "not attempted"
)

// outcome is a check that has been made.
type outcome struct {
	check
	holds       bool
	paper, ours *estimate // nil where there is none
	than        *estimate
	difference  string // in standard errors, or in units; empty where there is none
}

// readYAML decodes a file and refuses fields that it does not know.
func readYAML(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readLedger reads and judges the claims.
func readLedger(root string, r *results) (*ledger, error) {
	l := new(ledger)
	if err := readYAML(filepath.Join(root, "notebooks", "claims.yaml"), l); err != nil {
		return nil, err
	}
	covered := map[string]bool{}
	for i := range l.Claims {
		c := &l.Claims[i]
		covered[c.At] = true
		if err := c.judge(root, r); err != nil {
			return nil, fmt.Errorf("claims.yaml: %q: %w", c.Claim, err)
		}
	}
	for _, label := range l.Labels {
		if !covered[label] {
			return nil, fmt.Errorf("claims.yaml: no claim is at %s", label)
		}
	}
	return l, nil
}

// judge makes the checks of a claim and sets its verdict.
func (c *claim) judge(root string, r *results) error {
	if c.Claim == "" || c.Section == "" || c.Page == "" {
		return errors.New("a claim needs claim, section and page")
	}
	for _, k := range c.Checks {
		var o outcome
		var err error
		if c.NotAttempted != "" {
			o.check = k
			o.paper, err = parsePaper(k.Paper)
			if k.Rule != "" || k.Ours != "" {
				err = fmt.Errorf("%s: what is not attempted has no rule and no rows", k.Of)
			}
		} else {
			o, err = k.make(root, r)
		}
		if err != nil {
			return err
		}
		if o.holds {
			c.held++
		}
		c.outcomes = append(c.outcomes, o)
	}
	switch {
	case c.NotAttempted != "":
		c.verdict = notAttempted
	case len(c.Checks) == 0:
		return errors.New("neither checks nor not_attempted")
	case c.held == len(c.Checks):
		c.verdict = reproduced
	case c.held == 0:
		c.verdict = not
	default:
		c.verdict = partly
	}
	return nil
}

// hasNumbers reports whether a number is compared: whether some check is neither a picture nor a test of the code.
func (c claim) hasNumbers() bool {
	return slices.ContainsFunc(c.Checks, func(k check) bool { return k.Rule != "picture" && k.Rule != "test" })
}

// parsePaper reads "mean ± standard error", "number" or nothing.
func parsePaper(text string) (*estimate, error) {
	if text == "" {
		return nil, nil
	}
	mean, stdErr, has := strings.Cut(text, "±")
	e := &estimate{stdErr: math.NaN()}
	var err error
	if e.mean, err = strconv.ParseFloat(strings.TrimSpace(mean), 64); err == nil && has {
		e.stdErr, err = strconv.ParseFloat(strings.TrimSpace(stdErr), 64)
	}
	if err != nil {
		return nil, fmt.Errorf("paper: %q: want a number, or mean ± standard error", text)
	}
	return e, nil
}

// make makes a check.
func (k check) make(root string, r *results) (o outcome, err error) {
	o.check = k
	fail := func(err error) (outcome, error) { return o, fmt.Errorf("%s: %w", k.Of, err) }
	if o.paper, err = parsePaper(k.Paper); err != nil {
		return fail(err)
	}
	switch k.Rule {
	case "test":
		o.holds, err = hasTest(root, k.Ours)
		return o, err
	case "picture":
		o.holds, err = hasPicture(root, k.Ours)
		return o, err
	}
	if o.ours, err = r.estimate(k.Ours); err != nil {
		return fail(err)
	}
	i := strings.LastIndex(k.Rule, " ")
	limit, err := strconv.ParseFloat(k.Rule[i+1:], 64)
	if i < 0 || err != nil {
		return fail(fmt.Errorf("unknown rule %q", k.Rule))
	}
	rule := k.Rule[:i]
	switch rule {
	case "at least", "at most":
		o.holds = o.ours.mean >= limit
		if rule == "at most" {
			o.holds = o.ours.mean <= limit
		}
		return o, nil
	}
	other := o.paper
	if k.Than != "" {
		if o.than, err = parsePaper(k.Than); err != nil {
			o.than, err = r.estimate(k.Than)
		}
		if err != nil {
			return fail(err)
		}
		other = o.than
	}
	if other == nil {
		return fail(fmt.Errorf("the rule %q needs paper or than", k.Rule))
	}
	difference := difference(o.ours, other)
	d, se := difference.mean, difference.stdErr
	if se > 0 {
		decimals := 1
		if s := math.Abs(d / se); number(s, 1) == number(math.Abs(limit), 1) && s != math.Abs(limit) {
			decimals = 2 // rounded to one, it would be the rule's limit
		}
		o.difference = signed(d/se, decimals) + " s.e."
	}
	switch rule {
	case "agree":
		if se == 0 {
			return fail(fmt.Errorf("no standard error is known; use the rule within"))
		}
		o.holds = math.Abs(d) <= limit*se
	case "within":
		o.holds = math.Abs(d) <= limit
		o.difference = "difference " + signed(d, (&estimate{mean: d}).decimals())
	case "above":
		o.holds = d > limit*se
	case "below":
		o.holds = -d > limit*se
	default:
		return fail(fmt.Errorf("unknown rule %q", k.Rule))
	}
	return o, nil
}

// hasTest reports whether the Go files of a package hold a test, both named by text.
func hasTest(root, text string) (bool, error) {
	dir, name, _ := strings.Cut(text, " ")
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil || len(files) == 0 || name == "" {
		return false, fmt.Errorf("test: %q: want PACKAGE TestName", text)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return false, err
		}
		if bytes.Contains(src, []byte("\nfunc "+name+"(")) {
			return true, nil
		}
	}
	return false, fmt.Errorf("test: %s has no %s", dir, name)
}

// hasPicture reports whether a notebook holds a figure whose description has the words after its name.
func hasPicture(root, text string) (bool, error) {
	name, words, _ := strings.Cut(text, " ")
	nb, err := readNotebook(root, name)
	if err != nil {
		return false, err
	}
	for _, f := range nb.figures() {
		if strings.Contains(strings.ToLower(f.description), strings.ToLower(words)) {
			return true, nil
		}
	}
	return false, fmt.Errorf("picture: no figure of %s is described by %q", name, words)
}
