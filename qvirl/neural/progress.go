package neural

import (
	"fmt"
	"sync"

	"github.com/go-birl/birl/qvirl/irl"
)

// watcher puts the progress of the programs of a task together.
type watcher struct {
	mutex    sync.Mutex
	watch    func(Point)
	progress irl.Progress
	steps    int   // of each program
	done     []int // by program
}

// program returns what program i reports its points to.
func (w *watcher) program(i int) func(Point) {
	return func(p Point) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		w.done[i] = p.Step
		done := 0
		for _, d := range w.done {
			done += d
		}
		if w.watch != nil {
			w.watch(p)
		}
		w.progress.Report(done, w.steps*len(w.done), p.status())
	}
}

// status sums a point up: averages over its runs.
func (p Point) status() string {
	loss, kl, likelihood, heldOut, hasHeldOut := 0.0, 0.0, 0.0, 0.0, true
	n := float64(len(p.Runs))
	for _, r := range p.Runs {
		loss += r.Loss / n
		likelihood += r.Terms[TermLogLikelihood] / n
		kl += r.Terms[TermKL] / n
		if r.HeldOut == nil {
			hasHeldOut = false
			continue
		}
		heldOut += *r.HeldOut / n
	}
	text := fmt.Sprintf("step %d, loss %.4g", p.Step, loss)
	if _, ok := p.Runs[0].Terms[TermKL]; ok {
		text += fmt.Sprintf(", KL %.4g", kl)
	}
	text += fmt.Sprintf(", log-likelihood %.3f", likelihood)
	if hasHeldOut {
		text += fmt.Sprintf(" (held out %.3f)", heldOut)
	}
	return text + fmt.Sprintf(", %.0f steps/s", p.StepsPerSecond)
}
