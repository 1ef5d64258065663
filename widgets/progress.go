package widgets

import (
	"fmt"
	"html"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
)

// progressInterval is the least time between two updates of a progress line.
const progressInterval = 200 * time.Millisecond

// Progress is a line in the output of a notebook's cell that tells how far a computation has come. Without a reader
// (see Headless) only its end is told; without a notebook, nothing. Its methods may be called from several goroutines.
type Progress struct {
	label string
	id    string // of the output that is updated
	start time.Time

	mu    sync.Mutex
	shown time.Time // when the line was last updated
	last  string    // status of the last report
}

// NewProgress returns a progress line that begins with a label, or with the Label of a method.
func NewProgress(label string) *Progress {
	return &Progress{label: Label(label), id: "birl-progress-" + gonbui.UniqueId(), start: time.Now()}
}

// Report says that done of total units are complete, with a short status such as the present loss. The line is updated
// at most five times a second.
func (p *Progress) Report(done, total int, status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = status
	now := time.Now()
	if Headless() || now.Sub(p.shown) < progressInterval {
		return
	}
	p.shown = now
	gonbui.UpdateHTML(p.id, progressHTML(p.label, done, total, status, now.Sub(p.start)))
}

// Done replaces the line by how long the computation took.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s: %s", p.label, brief(time.Since(p.start)))
	if p.last != "" {
		text += " · " + p.last
	}
	gonbui.UpdateHTML(p.id, `<span style="opacity:0.8">`+html.EscapeString(text)+`</span>`)
	gonbui.Sync()
}

// progressHTML is the line: a bar, the count, the status and the time that is left.
func progressHTML(label string, done, total int, status string, elapsed time.Duration) string {
	fraction := 0.0
	if total > 0 {
		fraction = min(max(float64(done)/float64(total), 0), 1)
	}
	text := fmt.Sprintf("%3.0f %%", 100*fraction)
	if status != "" {
		text += " · " + status
	}
	if fraction > 0 && fraction < 1 && elapsed > time.Second {
		left := time.Duration(float64(elapsed) * (1 - fraction) / fraction)
		text += " · " + brief(left) + " left"
	}
	return fmt.Sprintf(`<span>%s </span><span style="display:inline-block;width:160px;height:9px;border:1px solid rgba(128,128,128,0.7);`+
		`border-radius:3px"><span style="display:block;height:100%%;width:%.1f%%;background:%s"></span></span><span> %s</span>`,
		html.EscapeString(label), 100*fraction, hex(skyBlue), html.EscapeString(text))
}

// brief is a duration to two or three digits.
func brief(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", 1000*d.Seconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
}
