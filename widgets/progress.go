package widgets

import (
	"fmt"
	"html"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
)

// progressInterval is the least time between two updates of a progress line.
const progressInterval = 200 * time.Millisecond

// Progress is a line in the output of a notebook's cell that tells how far a computation has come. Without a reader
// (see Headless) only its end is told; without a notebook, nothing. Its methods may be called from several goroutines.
//
// An interrupt of the cell ends the line, which then says how far it came and what Interrupted says, and goes on to end
// the cell.
type Progress struct {
	Interrupted string // what is kept of a computation that is interrupted; set before the first report, or empty

	label string
	id    string // of the output that is updated
	start time.Time

	mu       sync.Mutex
	shown    time.Time // when the line was last updated
	last     string    // status of the last report
	fraction float64   // that is complete
	signals  chan os.Signal
	ended    sync.Once
}

// NewProgress returns a progress line that begins with a label, or with the Label of a method.
func NewProgress(label string) *Progress {
	p := &Progress{label: Label(label), id: "birl-progress-" + gonbui.UniqueId(), start: time.Now(),
		signals: make(chan os.Signal, 1)}
	if gonbui.IsNotebook {
		signal.Notify(p.signals, os.Interrupt)
		go p.watch()
	}
	return p
}

// watch waits for an interrupt, ends the line, and hands the interrupt on to whoever else waits for one, or to the
// system, which ends the cell's program.
func (p *Progress) watch() {
	if _, interrupted := <-p.signals; !interrupted {
		return
	}
	p.ended.Do(func() {
		signal.Stop(p.signals)
		p.mu.Lock()
		text := fmt.Sprintf("interrupted after %s at %.0f %%", brief(time.Since(p.start)), 100*p.fraction)
		if p.Interrupted != "" {
			text += "; " + p.Interrupted
		}
		p.end(text)
		p.mu.Unlock()
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(os.Interrupt) // without it, the next interrupt ends the cell
		}
	})
}

// end replaces the line for good.
func (p *Progress) end(text string) {
	gonbui.UpdateHTML(p.id, `<span style="opacity:0.8">`+html.EscapeString(p.label+": "+text)+`</span>`)
	gonbui.Sync()
}

// Report says that done of total units are complete, with a short status such as the present loss. The line is updated
// at most five times a second.
func (p *Progress) Report(done, total int, status string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.fraction = status, share(done, total)
	now := time.Now()
	if Headless() || now.Sub(p.shown) < progressInterval {
		return
	}
	p.shown = now
	gonbui.UpdateHTML(p.id, progressHTML(p.label, done, total, status, now.Sub(p.start)))
}

// Done replaces the line by how long the computation took.
func (p *Progress) Done() {
	p.ended.Do(func() {
		signal.Stop(p.signals)
		close(p.signals)
		p.mu.Lock()
		defer p.mu.Unlock()
		text := brief(time.Since(p.start))
		if p.last != "" {
			text += " · " + p.last
		}
		p.end(text)
	})
}

// share is done of total, between 0 and 1.
func share(done, total int) float64 {
	if total <= 0 {
		return 0
	}
	return min(max(float64(done)/float64(total), 0), 1)
}

// progressHTML is the line: a bar, the count, the status and the time that is left.
func progressHTML(label string, done, total int, status string, elapsed time.Duration) string {
	fraction := share(done, total)
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
