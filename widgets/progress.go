package widgets

import (
	"fmt"
	"html"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"

	"github.com/go-birl/birl/envs/progress"
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
	meter *progress.Meter

	mu      sync.Mutex
	shown   time.Time      // when the line was last updated
	last    progress.Event // as it was told last
	signals chan os.Signal
	ended   sync.Once
}

// NewProgress returns a progress line that begins with a label, or with the Label of a method.
func NewProgress(label string) *Progress {
	p := &Progress{label: Label(label), id: "birl-progress-" + gonbui.UniqueId(), signals: make(chan os.Signal, 1)}
	p.meter = progress.NewMeter(p.show, "")
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
		text := "interrupted after " + p.meter.Elapsed()
		p.mu.Lock()
		text += fmt.Sprintf(" at %.0f %%", 100*p.last.Fraction)
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
	gonbui.UpdateHTML(p.id, `<span style="opacity:0.8">`+html.EscapeString(minus(p.label+": "+text))+`</span>`)
	gonbui.Sync()
}

// Report says that done of total units are complete, with a short status such as the present loss. The line is updated
// at most five times a second.
func (p *Progress) Report(done, total int, status string) { p.meter.Report(done, total, status) }

func (p *Progress) show(e progress.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = e
	if now := time.Now(); !Headless() && now.Sub(p.shown) >= progressInterval {
		p.shown = now
		gonbui.UpdateHTML(p.id, progress.HTML(p.label, e))
	}
}

// Done replaces the line by how long the computation took.
func (p *Progress) Done() {
	p.ended.Do(func() {
		signal.Stop(p.signals)
		close(p.signals)
		text := p.meter.Elapsed()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.last.Status != "" {
			text += " · " + p.last.Status
		}
		p.end(text)
	})
}
