package gym

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-birl/birl/envs/process"
)

// The worker's script, in parts: the first keeps standard output clear, the last ends in the main loop.
var (
	//go:embed wire.py
	wireScript string
	//go:embed snapshot.py
	snapshotScript string
	//go:embed branch.py
	branchScript string
	//go:embed atari.py
	atariScript string
	//go:embed worker.py
	workerScript string
)

// patience is how long a worker that was asked to end, or to say where it hangs, is given.
const patience = 500 * time.Millisecond

// worker is a Python process with some environments, of which first is the lowest index in the pool.
type worker struct {
	first, count int
	limit        time.Duration   // of a request
	open         context.Context // of the pool
	cmd          *exec.Cmd
	in           *os.File // requests
	out          *os.File // answers
	messages     reader
	spinner      spinner // for batches, as other answers take longer
	stderr       *tail
	started      time.Time
	since        atomic.Int64    // when the present request began, as now has it; 0 without one
	allowed      atomic.Int64    // how many nanoseconds it may take
	timer        *time.Timer     // calls overdue
	watched      <-chan struct{} // Done of the context that unwatch stops watching
	unwatch      func() bool
	guard        sync.Mutex
	asking       <-chan struct{} // Done of the present request's context; nil without one
	hung         atomic.Bool     // it exceeded its time limit and was ended for that
	ended        chan struct{}   // closed when the process is gone
	waitErr      error           // how it ended, valid once ended is closed
	killOnce     sync.Once
}

// startWorker starts a process, which isolated keeps from the user's own packages and PYTHON variables. Its
// environments are made by the first request.
func startWorker(ctx context.Context, python string, isolated bool, c Config, first int) (*worker, error) {
	w := &worker{first: first, count: c.EnvsPerWorker, limit: c.StepLimit, open: ctx, stderr: &tail{},
		ended: make(chan struct{})}
	w.started, w.unwatch = time.Now(), func() bool { return true }
	theirIn, in, err := pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	w.in, w.out, w.messages = in, out, reader{r: out}
	args := []string{"-u", "-c", wireScript + snapshotScript + branchScript + atariScript + workerScript}
	if isolated {
		args = append([]string{"-I"}, args...)
	}
	w.cmd = exec.Command(python, args...)
	w.cmd.Env = workerEnvironment()
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = theirIn, theirOut, w.stderr
	if c.Stderr != nil {
		w.cmd.Stderr = io.MultiWriter(w.stderr, c.Stderr)
	}
	w.cmd.WaitDelay = patience               // for what a process that it started keeps open
	process.OwnGroup(w.cmd, syscall.SIGKILL) // for one that is in a step: one that waits notices by itself
	err = w.cmd.Start()
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		if w.cmd.Process != nil {
			process.KillGroup(w.cmd.Process)
			_ = w.cmd.Wait()
		}
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	go func() {
		w.waitErr = w.cmd.Wait()
		close(w.ended)
	}()
	return w, nil
}

// workerEnvironment is this process's environment, without a window, and with one thread for each worker's algebra, as
// there are as many workers as the user wants processors busy. What the user has set stays.
func workerEnvironment() []string {
	env := os.Environ()
	for _, v := range [][2]string{
		{"SDL_VIDEODRIVER", "dummy"}, {"SDL_AUDIODRIVER", "dummy"}, {"PYGAME_HIDE_SUPPORT_PROMPT", "1"},
		{"MPLBACKEND", "Agg"},
		{"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"},
	} {
		if _, set := os.LookupEnv(v[0]); !set {
			env = append(env, v[0]+"="+v[1])
		}
	}
	return env
}

// kill ends the process and all it started, at once.
func (w *worker) kill() {
	w.killOnce.Do(func() { process.KillGroup(w.cmd.Process) })
}

// reap waits until the dismissed process is gone, and ends it if it stays.
func (w *worker) reap() error {
	select {
	case <-w.ended:
	case <-time.After(patience):
	}
	w.unwatch()
	if w.timer != nil {
		w.timer.Stop()
	}
	w.kill() // what it may have started
	<-w.ended
	return w.out.Close()
}

// send writes a request.
func (w *worker) send(message []byte) error {
	_, err := w.in.Write(message)
	return err
}

// watch ends the worker when ctx does, or after the limit, so that a read of its answer returns. The caller calls idle
// when it has the answer. What watches is kept from request to request, because making it anew costs more than a fast
// step's share.
func (w *worker) watch(ctx context.Context, limit time.Duration) {
	w.allowed.Store(int64(limit))
	w.since.Store(w.now())
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, w.overdue)
	} else {
		w.timer.Reset(limit)
	}
	done := ctx.Done()
	if done != w.watched {
		w.unwatch()
		w.watched, w.unwatch = done, context.AfterFunc(ctx, func() {
			w.guard.Lock()
			defer w.guard.Unlock()
			if w.asking == done { // not the next request, with another context
				w.kill()
			}
		})
	}
	w.guard.Lock()
	w.asking = done
	w.guard.Unlock()
	if ctx.Err() != nil { // it may have ended before the worker was busy
		w.kill()
	}
}

func (w *worker) idle() {
	w.since.Store(0)
	w.guard.Lock()
	w.asking = nil
	w.guard.Unlock()
}

// now returns the nanoseconds since the worker was started, which no change of the clock changes. They are not 0.
func (w *worker) now() int64 { return int64(time.Since(w.started)) + 1 }

// overdue ends the worker if it is at one request for longer than is allowed.
func (w *worker) overdue() {
	since := w.since.Load()
	if since == 0 || w.now()-since < w.allowed.Load() {
		return // it was answered, or the timer was set again at this moment
	}
	w.hung.Store(true)
	process.AskWhere(w.cmd.Process) // its answer goes to its standard error
	select {
	case <-w.ended:
	case <-time.After(patience):
	}
	w.kill()
}

// told is the JSON of an answer that reports a failure.
type told struct {
	Refused   bool   `json:"refused"`
	Missing   string `json:"missing"`
	Importer  string `json:"importer"` // the module that imports what is missing; empty for the worker itself
	ROM       string `json:"rom"`
	Slot      int    `json:"slot"`
	Doing     string `json:"doing"`
	Message   string `json:"message"`
	Traceback string `json:"traceback"`
}

// refusal is a request that the worker refused without harm.
type refusal struct{ text string }

func (r refusal) Error() string { return r.text }

// receive reads the answer to a request. Its error is a refusal, or a fault that ends the pool.
func (w *worker) receive(ctx context.Context, want byte, limit time.Duration) ([]byte, error) {
	w.watch(ctx, limit)
	if want == tellBatch {
		w.spinner.wait(func() bool { return readable(w.out) })
	}
	kind, body, err := w.messages.next()
	w.idle()
	switch {
	case err != nil:
		return nil, w.explain(ctx, limit, err)
	case kind == want:
		return body, nil
	case kind != tellError:
		return nil, fmt.Errorf("%w: an answer %q to a request for %q", errGarbage, kind, want)
	}
	var t told
	if _, err := splitText(body, &t); err != nil {
		return nil, err
	}
	if name, ending := strings.CutSuffix(t.Missing, ".py"); ending && t.Importer == "" {
		return nil, fmt.Errorf("there is no Python module %s: modules are named without .py, as %s, and --python-path "+
			"names the folder that they are in", t.Missing, filepath.Base(name))
	}
	if t.Importer != "" {
		t.Missing += ", which the module " + t.Importer + " imports,"
	}
	if t.Missing != "" {
		return nil, fmt.Errorf("%s is not installed for %s; `%s` installs what the project's environments need, and "+
			"--python-path names the folder of a module of your own", t.Missing, w.cmd.Path, mend)
	}
	if t.ROM != "" {
		return nil, fmt.Errorf("%w: %s; the wheel of ale-py brings the games, and `%s` installs it (ALE_ROMS_DIR, "+
			"where it is set, names another folder)", ErrROM, t.ROM, mend)
	}
	if t.Refused {
		return nil, refusal{t.Message}
	}
	e := w.fault(errors.New(t.Message))
	e.Doing, e.Traceback = t.Doing, t.Traceback
	if t.Slot >= 0 && t.Slot < w.count {
		e.First, e.Last = w.first+t.Slot, w.first+t.Slot
	}
	return nil, e
}

// fault is one of all the worker's environments.
func (w *worker) fault(err error) *Error {
	return &Error{First: w.first, Last: w.first + w.count - 1, Err: err}
}

// explain finds out why there was no answer.
func (w *worker) explain(ctx context.Context, limit time.Duration, err error) error {
	e := w.fault(err)
	if errors.Is(err, errGarbage) {
		w.kill()
		return e
	}
	select { // the pipe may break a moment before the process is gone
	case <-w.ended:
	case <-time.After(4 * patience):
		w.kill()
		<-w.ended
	}
	e.Stderr = w.stderr.String()
	switch {
	case w.hung.Load():
		e.Err, e.Died = fmt.Errorf("no answer within the time limit of %v", limit), true
	case ctx.Err() != nil:
		e.Err, e.Stderr = context.Cause(ctx), ""
	case w.open.Err() != nil:
		e.Err, e.Stderr = context.Cause(w.open), ""
	case w.waitErr != nil:
		e.Err, e.Died = fmt.Errorf("the worker process %d died: %w", w.cmd.Process.Pid, w.waitErr), true
	default:
		e.Err, e.Died = fmt.Errorf("the worker process %d ended", w.cmd.Process.Pid), true
	}
	return e
}

// begin asks for the environments; ready waits for them.
func (w *worker) begin(ctx context.Context, c Config) error {
	message, err := jsonMessage(askInit, c.request())
	if err != nil {
		return fmt.Errorf("the options are not JSON: %w", err)
	}
	if err := w.send(message); err != nil {
		return w.explain(ctx, c.StartLimit, err)
	}
	return nil
}

func (w *worker) ready(ctx context.Context, c Config) (Spec, error) {
	body, err := w.receive(ctx, askInit, c.StartLimit)
	if err != nil {
		return Spec{}, err
	}
	var answer struct {
		Spec
		Start int
	}
	if _, err := splitText(body, &answer); err != nil {
		return Spec{}, err
	}
	spec := answer.Spec
	spec.ID, spec.start = c.ID, answer.Start
	if spec.DType.size() == 0 {
		return Spec{}, fmt.Errorf("its observations are of the type %s, which the bridge does not know", spec.DType)
	}
	if spec.Size() <= 0 {
		return Spec{}, fmt.Errorf("its observations have the shape %v", spec.Shape)
	}
	return spec, nil
}
