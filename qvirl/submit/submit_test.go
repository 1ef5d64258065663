package submit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/progress"
	"github.com/go-birl/birl/qvirl/experiment"
)

// roleVariable makes the test program compute a shard, and says how: "well", or "badly", which ends after one unit.
const roleVariable = "SUBMIT_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	shard, err := experiment.ParseShard(os.Args[3]) // OUT --shard i/n
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := experiment.Options{Out: os.Args[1], Shard: shard, Events: func(e progress.Event) {
		if role == "badly" && e.Kind == progress.UnitFinished {
			cancel()
		}
	}}
	if role == "never" {
		cancel()
	}
	if role == "slowly" {
		time.Sleep(time.Minute)
	}
	if _, err := experiment.Run(ctx, plan(), o); err != nil {
		fmt.Println("this is why:", err)
		os.Exit(3)
	}
	os.Exit(0)
}

// shares are those of the plan's units in the job's tasks.
func shares(p *experiment.Plan, j Job) Shares { return experiment.Shares(p, j.Out, j.Tasks) }

// plan is one of eleven units, whose rows are known numbers.
func plan() *experiment.Plan {
	p := &experiment.Plan{Experiment: "fake", Scale: "quick", Config: 1}
	for i := range 11 {
		seed := uint64(i)
		p.Units = append(p.Units, experiment.Unit{Name: fmt.Sprintf("unit-%02d", i), On: i,
			Owns: func(r experiment.Row) bool { return r.Seed == seed },
			Run: func(ctx context.Context, _ *experiment.Stages) (*experiment.Result, error) {
				rng := rand.New(rand.NewPCG(seed, 0))
				return &experiment.Result{Rows: []experiment.Row{{Environment: "world", Method: "a", Seed: seed,
					Metric: "w1", Value: rng.NormFloat64()}}}, ctx.Err()
			}})
	}
	return p
}

// whole returns the rows of an uninterrupted run. Like the tasks it is of no checkout, whose commit rows would name.
func whole(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	if _, err := experiment.Run(context.Background(), plan(), experiment.Options{Out: dir}); err != nil {
		t.Fatal(err)
	}
	return rowsOf(t, dir)
}

func rowsOf(t *testing.T, dir string) string {
	t.Helper()
	if _, err := experiment.Merge(nil, dir); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, experiment.RowsFile))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// job is one of four tasks that the test program computes.
func job(t *testing.T, role string) Job {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleVariable, role)
	out := t.TempDir()
	return Job{Name: "fake-1", Command: []string{self, out}, Dir: out, Out: out, Tasks: 4, CPUs: 1}
}

// TestLocalTasksGiveTheRowsOfOneRun: with tasks that die after each unit, too, which are submitted again for as long as
// they get on, even without Retries.
func TestLocalTasksGiveTheRowsOfOneRun(t *testing.T) {
	want := whole(t)
	for _, role := range []string{"well", "badly"} {
		j := job(t, role)
		var notes []string
		last := Progress{}
		o := Options{Every: 10 * time.Millisecond, Events: func(p Progress) {
			if p.Note != "" {
				notes = append(notes, p.Note)
			} else {
				last = p
			}
		}}
		if err := Run(t.Context(), shares(plan(), j), j, &Local{Parallel: 2}, o); err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		if got := rowsOf(t, j.Out); got != want {
			t.Errorf("%s: the rows differ from those of one run:\n%s", role, got)
		}
		if last.Done != 11 || last.Total != 11 || last.Fraction != 1 || last.Running+last.Waiting != 0 {
			t.Errorf("%s: the last progress is %+v", role, last)
		}
		// each of the four tasks ends badly with every unit: eleven times, four of them with nothing left
		if again := map[string]int{"well": 0, "badly": 7}[role]; len(notes) != again {
			t.Errorf("%s: %d tasks were submitted again, want %d: %q", role, len(notes), again, notes)
		}
		if err := Run(t.Context(), shares(plan(), j), j, refusing{}, o); err != nil {
			t.Errorf("%s: a finished job was submitted again: %v", role, err)
		}
	}
}

// refusing is an engine that knows nothing and submits nothing.
type refusing struct{ Engine }

func (refusing) Tasks(context.Context, Job) (map[int]State, error) { return nil, nil }
func (refusing) Submit(context.Context, Job, []int) error          { return errors.New("refused") }
func (refusing) Leave(Job) string                                  { return "left" }

// TestEngineThatRefuses: nothing goes on of which nothing was submitted, and what runs beside does.
func TestEngineThatRefuses(t *testing.T) {
	for want, states := range map[string]map[int]State{
		"no task is submitted: refused; %s keeps what tasks read": nil, "refused\nleft": {1: {Phase: Running}},
	} {
		j := Job{Name: "x", Out: t.TempDir(), Tasks: 2}
		want = strings.ReplaceAll(want, "%s", j.Out)
		err := Run(t.Context(), shares(plan(), j), j, busy{states: states}, Options{Every: time.Millisecond})
		if err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "left") != (states != nil) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// busy is an engine that runs some tasks and refuses others.
type busy struct {
	refusing
	states map[int]State
}

func (b busy) Tasks(context.Context, Job) (map[int]State, error) { return b.states, nil }

func TestTasksThatDoNotGetOnAreGivenUp(t *testing.T) {
	j := job(t, "never")
	var notes []string
	err := Run(t.Context(), shares(plan(), j), j, &Local{Parallel: 4}, Options{Every: 10 * time.Millisecond, Retries: 2,
		Events: func(p Progress) { notes = append(notes, p.Note) }})
	if err == nil {
		t.Fatal("no error")
	}
	if !strings.Contains(strings.Join(notes, "\n"), "; attempt 3 without a further unit: given up") {
		t.Errorf("no note says that the third attempt was the last: %q", notes)
	}
	for _, part := range []string{"4 of 4 tasks failed", "task 2", "exit status 3", j.LogPath(2), "this is why:"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error lacks %q: %v", part, err)
		}
	}
	log, err := os.ReadFile(j.LogPath(2))
	if n := strings.Count(string(log), "this is why:"); err != nil || n != 3 {
		t.Errorf("the task ran %d times (error %v), want once and two times again", n, err)
	}
}

// TestInterruptedLocalTasksEnd: no process is left.
func TestInterruptedLocalTasksEnd(t *testing.T) {
	j := job(t, "slowly")
	ctx, cancel := context.WithCancel(t.Context())
	l := &Local{Parallel: 3}
	began := time.Now()
	err := Run(ctx, shares(plan(), j), j, l, Options{Every: 10 * time.Millisecond, Events: func(p Progress) {
		if p.Running == 3 && p.Waiting == 1 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "processes have ended") ||
		time.Since(began) > 30*time.Second {
		t.Errorf("error %v after %v", err, time.Since(began))
	}
	states, _ := l.Tasks(ctx, j)
	for task, s := range states {
		if s.Phase == Running {
			t.Errorf("task %d still runs", task)
		}
	}
	if logs, err := filepath.Glob(filepath.Join(j.Out, LogsDir, "*")); err != nil || len(logs) != 3 {
		t.Errorf("%d tasks were started, error %v, want the three that ran", len(logs), err)
	}
}

// scripted is an engine whose answers are written down: one map for each time that it is asked.
type scripted struct {
	refusing
	answers   []map[int]State
	submitted [][]int
	on        func(asked int)
	asked     int
}

func (s *scripted) Tasks(context.Context, Job) (map[int]State, error) {
	s.asked++
	if s.on != nil {
		s.on(s.asked)
	}
	if s.asked > len(s.answers) {
		return nil, errors.New("asked too often")
	}
	return s.answers[s.asked-1], nil
}

func (s *scripted) Submit(_ context.Context, _ Job, tasks []int) error {
	s.submitted = append(s.submitted, slices.Clone(tasks))
	return nil
}

// TestCancellation: one task of several is submitted again; where all are cancelled, one after the other, that is
// meant.
func TestCancellation(t *testing.T) {
	running, cancelled := State{Phase: Running}, State{Phase: Cancelled}
	two := plan()
	two.Units = two.Units[:2]
	j := Job{Name: "x", Out: t.TempDir(), Tasks: 2}
	all := &scripted{answers: []map[int]State{nil, {1: running, 2: running}, {1: cancelled, 2: running},
		{1: cancelled, 2: cancelled}}}
	if err := Run(t.Context(), shares(two, j), j, all, Options{Every: time.Millisecond, Retries: 3}); !errors.Is(err,
		errCancelled) {
		t.Errorf("error %v", err)
	}
	if want := [][]int{{1, 2}}; !cmp.Equal(all.submitted, want) {
		t.Errorf("submitted %v, want %v", all.submitted, want)
	}
	one := &scripted{answers: []map[int]State{nil, {1: running, 2: running}, {1: cancelled, 2: running},
		{1: cancelled, 2: running}, {1: running, 2: running}, nil}}
	one.on = func(asked int) {
		if asked < 6 {
			return
		}
		if _, err := experiment.Run(t.Context(), two, experiment.Options{Out: j.Out}); err != nil {
			t.Error(err)
		}
	}
	if err := Run(t.Context(), shares(two, j), j, one, Options{Every: time.Millisecond, Retries: 3}); err != nil {
		t.Errorf("error %v", err)
	}
	if want := [][]int{{1, 2}, {1}}; !cmp.Equal(one.submitted, want) {
		t.Errorf("submitted %v, want %v", one.submitted, want)
	}
}

// TestHeldTasks are submitted when the others have ended, and not at all if their units are there.
func TestHeldTasks(t *testing.T) {
	held, ended := State{Phase: Held}, State{}
	three := plan()
	three.Units = three.Units[:3]
	j := Job{Name: "x", Out: t.TempDir(), Tasks: 3}
	compute := func(s experiment.Shard) {
		if _, err := experiment.Run(t.Context(), three, experiment.Options{Out: j.Out, Shard: s}); err != nil {
			t.Error(err)
		}
	}
	compute(experiment.Shard{Index: 3, Count: 3})
	e := &scripted{answers: []map[int]State{{1: {Phase: Running}, 2: held, 3: held}, {1: ended}, nil}}
	e.on = func(asked int) {
		switch asked {
		case 2:
			compute(experiment.Shard{Index: 1, Count: 3})
			if len(e.submitted) > 0 {
				t.Errorf("submitted %v while another task ran", e.submitted)
			}
		case 3:
			compute(experiment.Shard{})
		}
	}
	waiting := 0
	if err := Run(t.Context(), shares(three, j), j, e, Options{Every: time.Millisecond, Events: func(p Progress) {
		waiting = max(waiting, p.Waiting)
	}}); err != nil {
		t.Error(err)
	}
	if want := [][]int{{2}}; !cmp.Equal(e.submitted, want) || waiting != 1 {
		t.Errorf("submitted %v, want %v; %d tasks waited, want 1", e.submitted, want, waiting)
	}
}

// TestEngineThatDoesNotAnswer: once is nothing, as long as something was submitted.
func TestEngineThatDoesNotAnswer(t *testing.T) {
	j := Job{Name: "x", Out: t.TempDir(), Tasks: 1}
	if err := Run(t.Context(), shares(plan(), j), j, &scripted{}, Options{Every: time.Millisecond}); err == nil ||
		!strings.Contains(err.Error(), "asked too often") || !strings.Contains(err.Error(), "left") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &scripted{answers: []map[int]State{nil}, on: func(asked int) {
		if asked > 3 {
			cancel()
		}
	}}
	if err := Run(ctx, shares(plan(), j), j, s, Options{Every: time.Millisecond}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRanges(t *testing.T) {
	for text, want := range map[string][]int{"": nil, "3": {3}, "1-3,7": {1, 2, 3, 7}, "0,2-4": {0, 2, 3, 4}} {
		got, err := numbers(text)
		if err != nil || !cmp.Equal(got, want) || ranges(got) != text {
			t.Errorf("%q: %v, which is %q, error %v", text, got, ranges(got), err)
		}
	}
	if _, err := numbers("1-x"); err == nil {
		t.Error("no error")
	}
}

// TestSlurmScript runs the script as Slurm does, with a folder that a shell must not read as two.
func TestSlurmScript(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's here")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	j := Job{Name: "x", Command: []string{"/bin/echo", "a b", dir}, Dir: dir, Out: dir, Tasks: 16, CPUs: 4}
	script, err := Slurm{Partition: "short", Time: "1:00:00", Memory: "8G"}.Script(j)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"--array=1-16"`, `"--cpus-per-task=4"`, `"--partition=short"`,
		`"--time=1:00:00"`, `"--mem=8G"`,
		`"--requeue"`, `"--output=` + dir + `/logs/task-%a.log"`} {
		if !strings.Contains(script, "\n#SBATCH "+part+"\n") {
			t.Errorf("the script lacks %s:\n%s", part, script)
		}
	}
	c := exec.Command("sh")
	c.Stdin, c.Env = strings.NewReader(script), append(os.Environ(), "SLURM_ARRAY_TASK_ID=7")
	if out, err := c.Output(); err != nil || string(out) != "a b "+dir+" --shard 7/16\n" {
		t.Errorf("the script says %q (error %v)", out, err)
	}
	if _, err := (Slurm{}).Script(Job{Out: "/a\"b"}); err == nil {
		t.Error("a quote in a folder was accepted")
	}
}

func TestSlurmStates(t *testing.T) {
	for state, want := range map[string]Phase{"PENDING": Waiting, "RUNNING": Running, "COMPLETING": Running,
		"CANCELLED": Cancelled,
		"COMPLETED": Ended, "FAILED": Ended, "TIMEOUT": Ended, "NODE_FAIL": Ended, "PREEMPTED": Ended,
		"OUT_OF_MEMORY": Ended} {
		if got := slurmState(state, "None"); got.Phase != want || got.Reason != state {
			t.Errorf("%s: %+v", state, got)
		}
	}
	if got := slurmState("FAILED", "NonZeroExitCode"); got.Reason != "FAILED: NonZeroExitCode" {
		t.Errorf("%+v", got)
	}
}

// TestSlurmTellsOfTheNewestJob: a task that was submitted again is in several, in any order.
func TestSlurmTellsOfTheNewestJob(t *testing.T) {
	dir := t.TempDir()
	const lines = `1|12|RUNNING|None\n1|7|TIMEOUT|None\n2|7|RUNNING|None\n2|12|CANCELLED|None\n`
	const squeue = "#!/bin/sh\nprintf '" + lines + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "squeue"), []byte(squeue), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	got, err := Slurm{}.Tasks(t.Context(), Job{Name: "x"})
	want := map[int]State{1: {Running, "RUNNING"}, 2: {Cancelled, "CANCELLED"}}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("states %v, error %v, want %v", got, err, want)
	}
}

func TestJobStates(t *testing.T) {
	running := `{"metadata": {"annotations": {"birl/tasks": "3,5,9,10"}},
		"status": {"active": 2, "ready": 1, "completedIndexes": "1", "failedIndexes": "0"%s}}`
	got, err := jobStates(fmt.Appendf(nil, running, ""), 10)
	want := map[int]State{3: {Waiting, "Failed"}, 5: {Held, "Complete"}, 9: {Running, ""}, 10: {Waiting, ""}}
	for _, other := range []int{1, 2, 4, 6, 7, 8} {
		want[other] = State{Phase: Held}
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v (error %v), want %v", got, err, want)
	}
	got, err = jobStates(fmt.Appendf(nil, running,
		`, "conditions": [{"type": "Failed", "status": "True", "reason": "FailedIndexes", "message": "it has failed indexes"}]`),
		10)
	failed := State{Ended, "FailedIndexes: it has failed indexes"}
	want = map[int]State{3: failed, 5: {Ended, "Complete"}, 9: failed, 10: failed}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v (error %v), want %v", got, err, want)
	}
}

func TestManifestNeedsTheVolume(t *testing.T) {
	k := Kubernetes{Image: "i", Claim: "c", Mount: "/results"}
	if _, err := k.Script(Job{Name: "x", Command: []string{"qvirl"}, Out: "/resultsx/pq", Tasks: 1}); err == nil ||
		!strings.Contains(err.Error(), "/resultsx/pq") {
		t.Errorf("error %v", err)
	}
}
