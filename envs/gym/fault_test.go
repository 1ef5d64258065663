//go:build installed

package gym

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// faulty returns the config of two workers with two environments each that go wrong in a way.
func faulty(t testing.TB, fault string) Config {
	return Config{ID: "Faulty-v0", Imports: []string{"faulty"}, PythonPath: []string{testdata(t)},
		Options: map[string]any{"fault": fault}, Workers: 2, EnvsPerWorker: 2}
}

// run steps until something goes wrong, and checks that the pool stays closed with the same error.
func run(t *testing.T, ctx context.Context, p *Pool, steps int) (done int, err error) {
	t.Helper()
	for done = range steps {
		if _, err = p.Step(ctx, []int{0, 1, 1, 0}); err != nil {
			if _, again := p.Step(ctx, []int{0, 1, 1, 0}); again == nil || again.Error() != err.Error() {
				t.Errorf("after the fault a step gives the error %v", again)
			}
			for _, w := range p.workers {
				if alive(w.cmd.Process.Pid) {
					t.Errorf("worker process %d lives on after a fault", w.cmd.Process.Pid)
				}
			}
			return done, err
		}
	}
	return steps, nil
}

func TestFaultsNameTheirEnvironment(t *testing.T) {
	for _, c := range []struct {
		fault string
		want  []string
	}{
		{"raise", []string{"environment 0 (seed 100)", "step with action 0", "ZeroDivisionError: the wheel came off",
			"faulty.py", "line"}},
		{"exit", []string{"environments 0 to 1 (seeds 100, 101)", "exit status 7", "last words"}},
		{"nan", []string{"environment 0 (seed 100)", "observation[1] is NaN"}},
		{"nan reward", []string{"environment 0 (seed 100)", "the reward is NaN"}},
		{"vector reward", []string{"environment 0 (seed 100)", "the reward is array([0., 0.]), want a number"}},
		{"four", []string{"environment 0 (seed 100)", "step returned (", "want (observation, reward, terminated",
			"0.26"}},
		{"shape", []string{"environment 0 (seed 100)", "shape (7,)", "(2,)"}},
		{"hang", []string{"environments 0 to 1 (seeds 100, 101)", "time limit of 1.5s", "faulty.py", "in step"}},
	} {
		t.Run(c.fault, func(t *testing.T) {
			config := faulty(t, c.fault)
			config.StepLimit = 1500 * time.Millisecond
			if c.fault != "hang" {
				config.StepLimit = time.Minute
			}
			p := open(t, config)
			reset(t, p)
			done, err := run(t, t.Context(), p, 10)
			fault, ok := errors.AsType[*Error](err)
			if !ok || done != 2 || fault.ID != "Faulty-v0" {
				t.Fatalf("after %d steps: error %v (%T), want an *Error after 2", done, err, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
		})
	}
}

// An environment of before Gym 0.26 is said to be one.
func TestResetsWithoutInfo(t *testing.T) {
	p := open(t, faulty(t, "bare reset"))
	_, err := p.Reset(t.Context(), seedsFrom(100, p.Len()))
	if err == nil || !strings.Contains(err.Error(),
		"reset returned array([0., 0.], dtype=float32), want (observation, info), as since Gym 0.26") {
		t.Errorf("error %v, want one that says what reset returned", err)
	}
}

// A reward in an array of one number is that number, in steps and in branches.
func TestArraysOfOneRewardAreNumbers(t *testing.T) {
	p := open(t, faulty(t, "array reward"))
	reset(t, p)
	b, err := p.Step(t.Context(), []int{0, 1, 2, 0})
	if err != nil || !slices.Equal(b.Rewards, []float64{0, 1, 2, 0}) {
		t.Errorf("%+v, error %v", b, err)
	}
	branches, err := p.Branch(t.Context(), 1, 2, []int64{1})
	if err != nil || branches.Rewards[0] != 2 {
		t.Errorf("%+v, error %v", branches, err)
	}
}

func TestPrintsDoNoHarm(t *testing.T) {
	var log tail
	c := faulty(t, "print")
	c.Workers, c.EnvsPerWorker, c.Stderr = 1, 4, &log
	p := open(t, c)
	reset(t, p)
	if done, err := run(t, t.Context(), p, 10); err != nil {
		t.Fatalf("after %d steps: %v", done, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "and more from a child") {
		t.Errorf("what was printed is lost; kept is %q", log.String())
	}
}

// A Python that greets on its standard output before the bridge's script runs cannot be talked to.
func TestGarbageIsQuoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho Welcome to this wonderful Python\nexec sleep 100\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Config{ID: "CartPole-v1", Python: path})
	if !errors.Is(err, errGarbage) || !strings.Contains(err.Error(), "Welcome to this wonderful") ||
		!strings.Contains(err.Error(), "CartPole-v1") {
		t.Errorf("error %v, want one that quotes the garbage", err)
	}
}

func TestLeftProcessesWouldBeSeen(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1"})
	if pid := p.workers[0].cmd.Process.Pid; !slices.Contains(marked(), pid) || !alive(pid) {
		t.Errorf("worker process %d is not among %v", pid, marked())
	}
}

func TestKilledWorker(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1", Workers: 2, EnvsPerWorker: 2})
	reset(t, p)
	if err := syscall.Kill(p.workers[1].cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := run(t, t.Context(), p, 10)
	if err == nil || !strings.Contains(err.Error(), "signal: killed") ||
		!strings.Contains(err.Error(), "environments 2 to 3 (seeds 102, 103)") {
		t.Errorf("error %v, want one that names the dead worker's environments", err)
	}
}

func TestContextEndsAStep(t *testing.T) {
	cause := errors.New("the user changed her mind")
	for _, which := range []string{"the step's", "the pool's"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		openCtx, stepCtx := t.Context(), ctx
		if which == "the pool's" {
			openCtx, stepCtx = ctx, t.Context()
		}
		p, err := Open(openCtx, faulty(t, "hang"))
		if err != nil {
			t.Fatal(err)
		}
		reset(t, p)
		time.AfterFunc(200*time.Millisecond, func() { cancel(cause) })
		start := time.Now()
		if _, err := run(t, stepCtx, p, 10); !errors.Is(err, cause) {
			t.Errorf("%s context: error %v, want its cause", which, err)
		}
		if time.Since(start) > 30*time.Second {
			t.Errorf("%s context ended the step after %v", which, time.Since(start))
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, Config{ID: "CartPole-v1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("opening with an ended context: %v", err)
	}
}

// A context that ends after its request was answered does not concern the requests that follow.
func TestContextOfAnAnsweredStep(t *testing.T) {
	c := faulty(t, "")
	c.Workers = 1
	p := open(t, c)
	reset(t, p)
	for k := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := p.Step(ctx, []int{0, 1})
		cancel()
		if err == nil {
			_, err = p.Step(t.Context(), []int{0, 1})
		}
		if err != nil {
			t.Fatalf("step %d: %v", k, err)
		}
	}
}

// What an environment has started ends with its worker.
func TestGrandchildrenEndToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	t.Setenv("CHILD_FILE", file)
	c := faulty(t, "child")
	c.Workers = 1
	p := open(t, c)
	reset(t, p)
	for range 3 {
		step(t, p, []int{0, 0})
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || !alive(pid) {
		t.Fatalf("the environment started %q (error %v)", text, err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	expectEnd(t, pid)
}

// expectEnd waits until a process that is not this one's child is gone.
func expectEnd(t *testing.T, pid int) {
	t.Helper()
	for range 200 {
		if !alive(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
}

// roles of this test program as a child process: a caller that ends without closing its pool.
func init() {
	play = func(role string) {
		p, err := Open(context.Background(), Config{ID: "Faulty-v0", Imports: []string{"faulty"},
			PythonPath: []string{os.Getenv("TESTDATA")},
			Options:    map[string]any{"fault": "hang"}, Workers: 2})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		if _, err := p.Reset(context.Background(), nil); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, w := range p.workers {
			fmt.Println(w.cmd.Process.Pid)
		}
		switch role {
		case "panic":
			panic("the caller has a bug")
		case "killed in a step":
			time.AfterFunc(300*time.Millisecond, func() { syscall.Kill(os.Getpid(), syscall.SIGKILL) })
			for {
				p.Step(context.Background(), []int{0, 0})
			}
		}
	}
}

func TestWorkersEndWithACallerThat(t *testing.T) {
	for _, role := range []string{"panic", "killed in a step"} {
		t.Run(role, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), roleVariable+"="+role, "TESTDATA="+testdata(t))
			out, err := cmd.Output()
			if err == nil {
				t.Error("the caller ended well")
			}
			pids := strings.Fields(string(out))
			if len(pids) != 2 {
				t.Fatalf("the caller wrote %q", out)
			}
			for _, text := range pids {
				pid, err := strconv.Atoi(text)
				if err != nil {
					t.Fatal(err)
				}
				expectEnd(t, pid)
			}
		})
	}
}

func TestArgumentsAreRefusedWithoutHarm(t *testing.T) {
	p := open(t, Config{ID: "CartPole-v1", EnvsPerWorker: 2})
	if _, err := p.Snapshot(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "not begun") {
		t.Errorf("snapshot before a reset: error %v", err)
	}
	reset(t, p)
	for _, c := range []struct {
		actions []int
		want    string
	}{{[]int{0, 2}, "actions[1] is 2, want 0 to 1"}, {[]int{-1, 0}, "actions[0] is -1"},
		{[]int{0}, "1 actions for 2"}} {
		if _, err := p.Step(t.Context(), c.actions); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("actions %v: error %v, want %q", c.actions, err, c.want)
		}
	}
	if _, err := p.Snapshot(t.Context(), 2); err == nil {
		t.Error("a snapshot of an environment that is not there")
	}
	if _, err := p.Restore(t.Context(), 0, Snapshot(`{"kind":"dream"}`)); err == nil ||
		!strings.Contains(err.Error(), "dream") {
		t.Errorf("restoring nonsense: error %v", err)
	}
	if _, err := p.Restore(t.Context(), 0, Snapshot(`{`)); err == nil {
		t.Error("half a snapshot is restored")
	}
	step(t, p, []int{0, 1})
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Step(t.Context(), []int{0, 1}); !errors.Is(err, ErrClosed) {
		t.Errorf("a step of a closed pool: error %v", err)
	}
}

func TestOpeningSaysWhatIsMissing(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "venv")
	python, _, err := findPython("")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, "-I", "-m", "venv", "--without-pip", bare).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "gymnasium.py"),
		[]byte("raise ImportError('a library of its own is missing')\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	for name, text := range map[string]string{"moon.py": "import gymnasium, mars\n", "sun.py": "import gymnasium\n"} {
		if err := os.WriteFile(filepath.Join(own, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ofOwn := func(module string) Config {
		return Config{ID: "CartPole-v1", Imports: []string{module}, PythonPath: []string{own}}
	}
	with := func(change func(*Config)) Config {
		c := Config{ID: "CartPole-v1"}
		change(&c)
		return c
	}
	for name, c := range map[string]struct {
		config   Config
		want     []string
		sentence bool
	}{
		"no Python": {with(func(c *Config) { c.Python = "/nowhere/python" }), []string{mend}, true},
		"no Gymnasium": {with(func(c *Config) { c.Python = filepath.Join(bare, "bin", "python") }),
			[]string{"gymnasium is not installed", mend}, true},
		"broken Gymnasium": {with(func(c *Config) { c.PythonPath = []string{broken} }),
			[]string{"starting: ImportError: a library of its own is missing", "gymnasium.py"}, false},
		"no module": {with(func(c *Config) { c.Imports = []string{"moonbase"} }),
			[]string{"moonbase is not installed", mend}, true},
		"what a module imports": {ofOwn("moon"),
			[]string{"mars, which the module moon imports, is not installed", mend}, true},
		"a file's name": {ofOwn("sun.py"), []string{"no Python module sun.py: modules are named without .py, as sun,",
			"--python-path"}, true},
		"no folder": {with(func(c *Config) { c.PythonPath = []string{own, own + "/absent"} }),
			[]string{"--python-path " + own + "/absent: ", "want a folder"}, true},
		"negative": {Config{ID: "CartPole-v1", Workers: -1, EnvsPerWorker: -2}, []string{"Config.Workers is -1"}, true},
		"no such id": {with(func(c *Config) { c.ID = "CartPool-v1" }), []string{"CartPool-v1", "doesn't exist",
			"--import"}, true},
		"no such option": {with(func(c *Config) { c.Options = map[string]any{"moon": 1} }),
			[]string{"moon", "unexpected keyword"}, false},
		"spaces": {Config{ID: "Odd-v0", Imports: []string{"faulty"}, PythonPath: []string{testdata(t)}},
			[]string{"Odd-v0", "want Discrete (an ActionWrapper that numbers"}, true},
		"not JSON": {with(func(c *Config) { c.Options = map[string]any{"f": func() {}} }), []string{"not JSON"},
			true},
		"constructor": {with(func(c *Config) { *c = faulty(t, "constructor") }),
			[]string{"Faulty-v0", "never succeeds"}, false},
		"start limit": {with(func(c *Config) { c.StartLimit = time.Millisecond }), []string{"time limit of 1ms"},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), c.config)
			if err == nil {
				t.Fatal("it opened")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q:\n%v", want, err)
				}
			}
			if c.sentence && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is more than a sentence:\n%v", err)
			}
		})
	}
}
