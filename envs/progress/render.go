package progress

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	barWidth = 24
	// lineEvery is how often progress is told where it cannot overwrite the last line.
	lineEvery = 15 * time.Second
	// drawEvery keeps a terminal from flickering.
	drawEvery = 100 * time.Millisecond
)

// JSON returns a listener that writes each event as one line of JSON.
func JSON(w io.Writer) func(Event) {
	e := json.NewEncoder(w)
	return func(event Event) { e.Encode(event) } // a reader that went away must not stop the computation
}

// HTML returns an event as a line of a page: the label, a bar, and the text.
func HTML(label string, e Event) string {
	return fmt.Sprintf(`<span>%s </span><span style="display:inline-block;width:160px;height:9px;border:1px solid `+
		`rgba(128,128,128,0.7);border-radius:3px"><span style="display:block;height:100%%;width:%.1f%%;`+
		`background:#56b4e9"></span></span><span> %s</span>`, html.EscapeString(label), 100*e.Fraction,
		html.EscapeString(e.text(" · ")))
}

// Terminal returns a listener that tells a person how far a computation has come: a bar on a terminal, lines elsewhere.
func Terminal(w io.Writer) func(Event) {
	f, ok := w.(*os.File)
	t := &terminal{w: w, rewrites: ok && term.IsTerminal(int(f.Fd()))}
	return t.event
}

// terminal is where events are written.
type terminal struct {
	w        io.Writer
	rewrites bool      // whether a line can take the place of the last
	last     time.Time // when something was written
}

func (t *terminal) event(e Event) {
	every := lineEvery
	if t.rewrites {
		every = drawEvery
	}
	if e.Kind == Progressed && time.Since(t.last) < every {
		return
	}
	t.last = time.Now()
	if t.rewrites {
		full := int(e.Fraction*barWidth + 0.5)
		Rewrite(t.w, "["+strings.Repeat("█", full)+strings.Repeat("·", barWidth-full)+"] "+e.text("  "))
		if e.Kind == Finished || e.Kind == Failed {
			fmt.Fprintln(t.w)
		}
	} else {
		fmt.Fprintln(t.w, e.text("  "))
	}
	for _, note := range e.Notes {
		if t.rewrites {
			Rewrite(t.w, "")
		}
		if e.Unit != "" {
			note = e.Unit + ": " + note
		}
		fmt.Fprintln(t.w, "note:", note)
	}
}

// Rewrite replaces the line that a terminal's cursor is in. Other text can take the place of an empty one. The terminal
// cuts off what does not fit: of a line that it wrapped, the next call would replace the last part alone.
func Rewrite(w io.Writer, line string) {
	if line != "" {
		line = "\x1b[?7l" + line + "\x1b[?7h" // wrapping off, and on again
	}
	fmt.Fprint(w, "\r\x1b[K"+line)
}

// text is what all writings say, in parts with a separator between them.
func (e Event) text(separator string) string {
	parts := []string{fmt.Sprintf("%3.0f %%", 100*e.Fraction)}
	if e.Total > 1 {
		parts = append(parts, fmt.Sprintf("%d/%d units", e.Done, e.Total))
	}
	switch {
	case e.Kind == Finished:
		parts = append(parts, "done in "+brief(e.Elapsed))
	case e.Left > 0:
		parts = append(parts, brief(e.Left)+" left")
	}
	for _, more := range []string{e.Unit, e.Status} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return strings.Join(parts, separator)
}
