package widgets

import (
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
)

// liveInterval is the least time between two updates of a live drawing.
const liveInterval = time.Second

// Live is a drawing in the output of a notebook's cell that changes while the cell runs, such as the curves of a
// training. Without a reader (see Headless) only its end is shown; without a notebook, nothing. Its methods may be
// called from several goroutines.
type Live struct {
	id string // of the output that is updated

	mu    sync.Mutex
	shown time.Time // when the output was last updated
	last  Drawing
}

// NewLive returns a live drawing, of which nothing is seen before the first update.
func NewLive() *Live { return &Live{id: "birl-live-" + gonbui.UniqueId()} }

// Update replaces the drawing, at most once a second.
func (l *Live) Update(d Drawing) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = d
	now := time.Now()
	if Headless() || now.Sub(l.shown) < liveInterval {
		return nil
	}
	l.shown = now
	return l.show(renderFast)
}

func (l *Live) show(render renderer) error {
	out, err := render(l.last)
	if err != nil {
		return apologise(err)
	}
	update(l.id, out)
	return nil
}

// Done shows what the last update brought.
func (l *Live) Done() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		return nil
	}
	err := l.show(render)
	gonbui.Sync()
	return err
}
