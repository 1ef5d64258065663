package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-birl/birl/qvirl/experiment"
)

const (
	barWidth = 24
	// lineEvery is how often progress is told where it cannot overwrite the last line.
	lineEvery = 15 * time.Second
	// drawEvery keeps a terminal from flickering.
	drawEvery = 100 * time.Millisecond
)

// newProgress returns a listener that tells a person how far a run has come: a bar on a terminal, lines elsewhere.
func newProgress(w io.Writer) func(experiment.Event) {
	p := &progress{w: w, terminal: isTerminal(w)}
	return p.event
}

// newJSON returns a listener that writes each event as one line of JSON.
func newJSON(w io.Writer) func(experiment.Event) {
	e := json.NewEncoder(w)
	return func(event experiment.Event) { e.Encode(event) } // a reader that went away must not stop the run
}

type progress struct {
	w        io.Writer
	terminal bool
	last     time.Time // when something was written
	width    int       // of the bar's line on the terminal
}

func (p *progress) event(e experiment.Event) {
	every := lineEvery
	if p.terminal {
		every = drawEvery
	}
	if e.Kind == experiment.Progressed && time.Since(p.last) < every {
		return
	}
	p.last = time.Now()
	if p.terminal {
		p.draw(bar(e.Fraction) + " " + progressLine(e))
		if e.Kind == experiment.Finished || e.Kind == experiment.Failed {
			fmt.Fprintln(p.w)
		}
	} else {
		fmt.Fprintln(p.w, progressLine(e))
	}
	for _, note := range e.Notes {
		p.clear()
		if e.Unit != "" {
			note = e.Unit + ": " + note
		}
		fmt.Fprintln(p.w, "note:", note)
	}
}

// draw replaces the bar's line.
func (p *progress) draw(line string) {
	n := len([]rune(line))
	fmt.Fprint(p.w, "\r", line, strings.Repeat(" ", max(p.width-n, 0)))
	p.width = n
}

// clear empties the bar's line, so that other text can take its place.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprint(p.w, "\r", strings.Repeat(" ", p.width), "\r")
		p.width = 0
	}
}

func bar(fraction float64) string {
	full := int(fraction*barWidth + 0.5)
	return "[" + strings.Repeat("█", full) + strings.Repeat("·", barWidth-full) + "]"
}

func progressLine(e experiment.Event) string {
	parts := []string{fmt.Sprintf("%3.0f %%", 100*e.Fraction), fmt.Sprintf("%d/%d units", e.Done, e.Total)}
	switch {
	case e.Kind == experiment.Finished:
		parts = append(parts, "done in "+duration(e.Elapsed))
	case e.Left > 0:
		parts = append(parts, duration(e.Left)+" left")
	}
	if e.Unit != "" {
		parts = append(parts, e.Unit)
	}
	if e.Status != "" {
		parts = append(parts, e.Status)
	}
	return strings.Join(parts, "  ")
}

func duration(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// stopwatch estimates the time left from the fraction of the work that is done.
type stopwatch struct{ start time.Time }

func newStopwatch() stopwatch { return stopwatch{time.Now()} }

// estimate returns the seconds since the start, and those left; 0 while that is unknown.
func (s stopwatch) estimate(fraction float64) (elapsed, left float64) {
	elapsed = time.Since(s.start).Seconds()
	if fraction > 0 {
		left = elapsed * (1 - fraction) / fraction
	}
	return elapsed, left
}
