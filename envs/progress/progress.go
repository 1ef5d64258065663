// Package progress says how far long computations have come: an Event, and how it is written on a terminal, as JSON,
// and in a notebook.
package progress

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Event is something that happened during a computation, which consists of units.
type Event struct {
	Kind     Kind     `json:"event"`
	Unit     string   `json:"unit,omitempty"`
	Done     int      `json:"units_done"`              // finished units
	Total    int      `json:"units"`                   // all of them
	Fraction float64  `json:"fraction"`                // of the work, in 0..1
	Elapsed  float64  `json:"seconds"`                 // since the beginning
	Left     float64  `json:"seconds_left,omitempty"`  // estimate; 0 while unknown
	Status   string   `json:"status,omitempty"`        // what the unit is doing
	Missing  []string `json:"missing_units,omitempty"` // at the end: units that are to be computed elsewhere
	Rows     int      `json:"rows,omitempty"`          // at the end: rows in the folder
	Notes    []string `json:"notes,omitempty"`         // of a unit; at the beginning, what is computed anew and why
	Out      string   `json:"out,omitempty"`           // at the end
	Error    string   `json:"error,omitempty"`         // of a failed computation
}

// Kind is what an event is about.
type Kind string

// The kinds of events.
const (
	Started      Kind = "started"
	Progressed   Kind = "progress"
	UnitFinished Kind = "unit"
	Finished     Kind = "finished"
	Failed       Kind = "failed"
)

// Left returns the seconds that are left after some that have led to a fraction of the work; 0 while that is nothing.
func Left(elapsed, fraction float64) float64 {
	if fraction <= 0 {
		return 0
	}
	return elapsed * (1 - fraction) / fraction
}

// Every returns a function that says, at first and then at most so often, that it is time for a line. It is not for
// concurrent use.
func Every(interval time.Duration) func() bool {
	var last time.Time
	return func() bool {
		due := time.Since(last) >= interval
		if due {
			last = time.Now()
		}
		return due
	}
}

// firstEstimate is the seconds in which a Meter does not estimate the time left: a first stage that there is nothing to
// do in, or compilation, tells nothing of the rest.
const firstEstimate = 1

// recent is the share of the time so far whose pace is taken for that of the rest: stages differ, and what has turned
// out to be longer than expected leaves less of the fraction to each of its seconds.
const recent = 0.25

// Meter tells a listener how far a computation of one unit has come. Its methods may be called from several goroutines.
type Meter struct {
	mutex sync.Mutex
	show  func(Event)
	unit  string
	start time.Time
	marks []mark // of the recent past, the first of them older; in order
}

// mark is how far a computation had come, of 0..1, after some seconds.
type mark struct{ seconds, fraction float64 }

// left returns the seconds that are left at the pace of the recent past, 0 where nothing was done in it.
func (m *Meter) left(now mark) float64 {
	if last := len(m.marks) - 1; last < 0 || now.seconds > (1+recent/16)*m.marks[last].seconds {
		m.marks = append(m.marks, now)
	}
	for len(m.marks) > 1 && m.marks[1].seconds <= (1-recent)*now.seconds {
		m.marks = m.marks[1:]
	}
	then := m.marks[0]
	switch {
	case then.seconds > (1-recent)*now.seconds: // there is no older one
		return Left(now.seconds, now.fraction)
	case then.fraction >= now.fraction:
		return 0
	}
	return (now.seconds - then.seconds) * (1 - now.fraction) / (now.fraction - then.fraction)
}

// NewMeter returns the meter of a computation that begins now, of the given name.
func NewMeter(show func(Event), unit string) *Meter {
	return &Meter{show: show, unit: unit, start: time.Now()}
}

// Report says that done of total parts are complete, with a short status such as the present loss.
func (m *Meter) Report(done, total int, status string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	e := Event{Kind: Progressed, Unit: m.unit, Total: 1, Status: strings.TrimSpace(status),
		Elapsed: time.Since(m.start).Seconds()}
	if total > 0 {
		e.Fraction = min(max(float64(done)/float64(total), 0), 1)
	}
	if left := m.left(mark{e.Elapsed, e.Fraction}); e.Elapsed >= firstEstimate {
		e.Left = left
	}
	m.show(e)
}

// Finish says that the computation is complete, and what e says beside that.
func (m *Meter) Finish(e Event) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	e.Kind, e.Unit, e.Done, e.Total, e.Fraction = Finished, m.unit, 1, 1, 1
	e.Elapsed = time.Since(m.start).Seconds()
	m.show(e)
}

// Elapsed is the time since the beginning, in words.
func (m *Meter) Elapsed() string { return Brief(time.Since(m.start)) }

// Count is a number of things, in words: "1 trajectory", "2 trajectories".
func Count(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprint(n, " ", many)
}

// Brief is a duration to two or three digits.
func Brief(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", 1000*d.Seconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 3*time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

// brief is Brief of seconds.
func brief(seconds float64) string { return Brief(time.Duration(seconds * float64(time.Second))) }
