package submit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Slurm is the Slurm workload manager, driven by its commands sbatch and squeue.
type Slurm struct {
	Partition, Account string // the cluster's default if empty
	Time, Memory       string // limits of a task as sbatch reads them, such as 4:00:00 and 8G; none if empty
}

// Script implements Engine: an array job for sbatch.
func (s Slurm) Script(j Job) (string, error) {
	options := []string{"--job-name=" + j.Name, fmt.Sprintf("--array=1-%d", j.Tasks),
		fmt.Sprintf("--cpus-per-task=%d", j.CPUs),
		"--requeue", "--open-mode=append", "--chdir=" + j.Dir, "--output=" + strings.Replace(j.LogPath(0),
			"task-0.log", "task-%a.log", 1)}
	for _, o := range [][2]string{{"--partition=", s.Partition}, {"--account=", s.Account}, {"--time=", s.Time},
		{"--mem=", s.Memory}} {
		if o[1] != "" {
			options = append(options, o[0]+o[1])
		}
	}
	var text strings.Builder
	text.WriteString("#!/bin/sh\n")
	for _, o := range options {
		if strings.ContainsAny(o, "\n\"\\") {
			return "", fmt.Errorf("submit: a Slurm script cannot have quotes, backslashes or line ends, as in %q; use "+
				"another folder", o)
		}
		fmt.Fprintf(&text, "#SBATCH \"%s\"\n", o)
	}
	fmt.Fprintf(&text, "export GOMAXPROCS=%d\nexec %s\n", j.CPUs, j.shell(`"$SLURM_ARRAY_TASK_ID"`))
	return text.String(), nil
}

// Submit implements Engine.
func (s Slurm) Submit(ctx context.Context, j Job, tasks []int) error {
	script, err := s.Script(j)
	if err != nil {
		return err
	}
	_, err = output(ctx, script, "sbatch", "--parsable", "--array="+ranges(tasks))
	return err
}

// Tasks implements Engine. Slurm forgets tasks that ended a while ago.
func (s Slurm) Tasks(ctx context.Context, j Job) (map[int]State, error) {
	text, err := output(ctx, "", "squeue", "--me", "--name="+j.Name, "--states=all", "--array", "--noheader",
		"--format=%K|%F|%T|%r")
	if err != nil {
		return nil, err
	}
	states, newest := map[int]State{}, map[int]int{}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) != 4 {
			return nil, fmt.Errorf("submit: squeue says %q, want four fields", line)
		}
		task, err1 := strconv.Atoi(fields[0])
		job, err2 := strconv.Atoi(fields[1])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("submit: squeue says %q: %w", line, err)
		}
		if job < newest[task] {
			continue
		}
		newest[task], states[task] = job, slurmState(fields[2], fields[3])
	}
	return states, nil
}

// slurmState reads the state of a job as squeue tells it.
func slurmState(state, reason string) State {
	s := State{Phase: Ended, Reason: state}
	switch state {
	case "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD":
		s.Phase = Waiting
	case "RUNNING", "COMPLETING", "CONFIGURING", "STAGE_OUT", "SIGNALING", "STOPPED", "SUSPENDED", "RESIZING":
		s.Phase = Running
	case "CANCELLED":
		s.Phase = Cancelled
	}
	if reason != "" && reason != "None" {
		s.Reason += ": " + reason
	}
	return s
}

// Leave implements Engine.
func (s Slurm) Leave(j Job) string {
	return fmt.Sprintf(goesOn, "squeue --me --name="+j.Name, "scancel --me --name="+j.Name)
}

// goesOn is what engines say whose tasks do without the command that submitted them.
const goesOn = "What was submitted goes on without this command, and the same command follows it again.\n" +
	"  look:    %s\n  cancel:  %s"

// ranges writes ascending numbers as 1-3,7.
func ranges(numbers []int) string {
	numbers = slices.Sorted(slices.Values(numbers))
	var out []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		text := strconv.Itoa(numbers[i])
		if end > i {
			text += "-" + strconv.Itoa(numbers[end])
		}
		out, i = append(out, text), end+1
	}
	return strings.Join(out, ",")
}

// output runs one of an engine's commands and returns what it writes.
func output(ctx context.Context, stdin, name string, args ...string) (string, error) {
	if _, err := exec.LookPath(name); err != nil {
		return "",
			fmt.Errorf("submit: the command %s is not on PATH; run this where it is, or choose another engine", name)
	}
	c := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("submit: %s: %w: %s", name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.String(), nil
}
