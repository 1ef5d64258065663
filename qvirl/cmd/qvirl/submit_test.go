package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/qvirl/submit"
)

func TestSubmitDryRun(t *testing.T) {
	inScratch(t)
	if err := os.WriteFile("c.json", []byte(`{"Offset": 10}`), 0o644); err != nil {
		t.Fatal(err)
	}
	here, _ := os.Getwd()
	flags := map[string][]string{"slurm": {"--partition", "short"},
		"kubernetes": {"--image", "i", "--claim", "c", "--mount", here}}
	for engine, parts := range map[string][]string{
		"slurm": {`#SBATCH "--array=1-9"`, `#SBATCH "--partition=short"`, `"$SLURM_ARRAY_TASK_ID"/9`,
			"/d/config.json --shard"},
		"kubernetes": {`"completions": 9`, `"claimName": "c"`, "/d/logs"},
		"local":      {"GOMAXPROCS=2", "--shard 9/9"},
	} {
		status, out, errs := run(t, append([]string{"submit", "fake", "--scale", "paper", "--engine", engine, "--tasks",
			"16", "--cpus", "2", "--out", "d", "--config", "c.json", "--dry-run"}, flags[engine]...)...)
		if status != 0 {
			t.Fatal(errs)
		}
		expect(t, engine, out, parts...)
		expect(t, engine, out, here+"/d")
		if _, err := os.Stat("d"); err == nil {
			t.Errorf("%s: a dry run made the folder", engine)
		}
	}
}

// TestSubmitOfWhatIsFinished submits nothing, and makes the rows anew.
func TestSubmitOfWhatIsFinished(t *testing.T) {
	inScratch(t)
	if status, _, errs := run(t, "run", "fake", "--out", "d"); status != 0 {
		t.Fatal(errs)
	}
	if err := os.Remove("d/rows.csv"); err != nil {
		t.Fatal(err)
	}
	status, out, errs := run(t, "submit", "fake", "--engine", "local", "--tasks", "2", "--out", "d")
	if status != 0 {
		t.Fatal(errs)
	}
	expect(t, "output", out, "8 rows of fake")
	expect(t, "message", errs, "all 4 units of fake are finished; nothing is submitted")
}

// TestSubmitBesideAnother leaves the folder as it is while another command has claimed it.
func TestSubmitBesideAnother(t *testing.T) {
	inScratch(t)
	release, err := command.ClaimFolder("d")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	status, _, errs := run(t, "submit", "fake", "--engine", "local", "--tasks", "2", "--out", "d")
	if entries, err := os.ReadDir("d"); status != 1 || !strings.Contains(errs, "another command writes to") ||
		err != nil || len(entries) != 1 { // the lock
		t.Errorf("status %d, %q; %d files, error %v", status, errs, len(entries), err)
	}
}

// onItsWay is an engine one of whose tasks runs.
type onItsWay struct{ submit.Engine }

func (onItsWay) Tasks(context.Context, submit.Job) (map[int]submit.State, error) {
	return map[int]submit.State{0: {Phase: submit.Ended}, 1: {Phase: submit.Running}}, nil
}

func (onItsWay) Leave(submit.Job) string { return "end them with: scancel" }

// TestSubmitFollowsWhatIsOnItsWay only with the settings that it was submitted with, and replaces nothing meanwhile.
func TestSubmitFollowsWhatIsOnItsWay(t *testing.T) {
	out := t.TempDir()
	if err := os.WriteFile(filepath.Join(out, scriptFile), []byte("run"), 0o644); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"run": "",
		"run --scale paper": "1 tasks of fake that were submitted with other settings go on; give the same settings " +
			"to follow them, wait for them, or cancel them.\nend them with",
	} {
		var errs strings.Builder
		c := &cobra.Command{}
		c.SetErr(&errs)
		c.SetContext(t.Context())
		o := submitOptions{engine: "local"}
		err := o.prepare(c, submit.Job{Name: "fake", Out: out}, onItsWay{}, script)
		if want == "" && (err != nil || !strings.Contains(errs.String(), "following 1 tasks")) ||
			want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: message %q, error %v, want %q", script, &errs, err, want)
		}
		if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 {
			t.Errorf("%s: %d files, error %v", script, len(entries), err)
		}
	}
}

func TestSubmitRefuses(t *testing.T) {
	inScratch(t)
	for says, args := range map[string][]string{
		"there is slurm, kubernetes and local": {"--engine", "sge", "--tasks", "2"},
		"needs --image and --claim":            {"--engine", "kubernetes", "--tasks", "2"},
		"--tasks = 0, want at least 1":         {"--engine", "local", "--tasks", "0"},
		"--retries = -1, want at least 0":      {"--engine", "local", "--tasks", "1", "--retries", "-1"},
		"--every 0s: want a positive time":     {"--engine", "local", "--tasks", "1", "--every", "0s"},
		`required flag(s) "engine", "tasks"`:   nil,
		"is not on PATH":                       {"--engine", "slurm", "--tasks", "2", "--out", "d"},
		"slurm takes it as in 8G":              {"--engine", "slurm", "--tasks", "2", "--memory", "8Gi"},
		"want minutes, or as in 4:00:00":       {"--engine", "slurm", "--tasks", "2", "--time", "1hour"},
		"kubernetes takes it as in 8Gi": {"--engine", "kubernetes", "--tasks", "2", "--image", "i", "--claim", "c",
			"--memory", "8GB"},
		"--image is a flag of --engine kubernetes, not of slurm": {"--engine", "slurm", "--tasks", "2",
			"--image", "i"},
		"--memory is a flag of --engine slurm or kubernetes, not of local": {"--engine", "local", "--tasks", "2",
			"--memory", "8G"},
		"not on the volume": {"--engine", "kubernetes", "--tasks", "2", "--image", "i",
			"--claim", "c"},
	} {
		t.Setenv("PATH", "")
		if status, _, errs := run(t, append([]string{"submit", "fake"}, args...)...); status != 1 ||
			!strings.Contains(errs, says) {
			t.Errorf("%q: status %d, %q, want %q", args, status, errs, says)
		}
		if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
			t.Fatalf("%q: left %v, error %v", args, entries, err)
		}
	}
}
