//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	commands "github.com/go-birl/birl/envs/command"
)

func TestInterruptEndsGrandchildren(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	grandchild := 0
	c := child(t, "parent")
	c.stdout = func(line string) {
		grandchild, _ = strconv.Atoi(line)
		cancel()
	}
	_ = c.run(ctx)
	if grandchild == 0 {
		t.Fatal("the child did not start its own child")
	}
	// The grandchild belongs to nobody now, and init may take a moment to reap it.
	for range 100 {
		if syscall.Kill(grandchild, 0) != nil || zombie(grandchild) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d lives on", grandchild)
}

func zombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(text), ") Z ")
}

// TestChildrenHearWhatAsksToEnd: a signal that only the parent gets reaches the child, and a parent that is killed
// takes it along.
func TestChildrenHearWhatAsksToEnd(t *testing.T) {
	for sent, want := range map[syscall.Signal]syscall.Signal{
		syscall.SIGINT: syscall.SIGINT, syscall.SIGTERM: syscall.SIGTERM, syscall.SIGHUP: syscall.SIGHUP,
		syscall.SIGKILL: syscall.SIGTERM,
	} {
		if sent == syscall.SIGKILL && runtime.GOOS != "linux" {
			continue // the system has no signal for a parent's death
		}
		if sent == syscall.SIGHUP && signal.Ignored(sent) {
			continue // the suite runs under nohup, which its programs heed
		}
		c := child(t, "passes")
		parent := exec.Command(c.name)
		parent.Env = c.env
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		parent.Stdout = in
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		in.Close()
		lines := bufio.NewReader(out)
		if line, err := lines.ReadString('\n'); line != "ready\n" {
			t.Fatalf("the child says %q (error %v)", line, err)
		}
		if err := parent.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
		if err := out.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); line != want.String()+"\n" {
			t.Errorf("after %v to its parent the child hears %q (error %v)", sent, line, err)
			_ = parent.Process.Kill()
		}
		if err := parent.Wait(); (err == nil) != (sent != syscall.SIGKILL) {
			t.Errorf("after %v the parent ends with %v", sent, err)
		}
		out.Close()
	}
}

// The kernelspec starts the clone's own GoNB whatever the clone's path and the caller's Go settings are.
func TestLaunchScript(t *testing.T) {
	l := clone(t)
	script, err := os.ReadFile("jupyter/kernels/gonb/launch.sh")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(l.kernelspec(), "launch.sh")
	writeFiles(t, l.kernelspec(), map[string]string{"launch.sh": string(script)})

	start := func() (string, error) {
		cmd := exec.Command("sh", path, "connection file.json")
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off", "PJRT_PLUGIN_LIBRARY_PATH=",
			"BIRL_PYTHON=")
		cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool { return strings.HasPrefix(e, "XLA_FLAGS=") })
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := start(); err == nil || !strings.Contains(out, "kernel-setup install") {
		t.Errorf("without GoNB: error %v, output %q, want the command that installs it", err, out)
	}

	gonb := "#!/bin/sh\nprintf '%s|' \"$@\" \"$GOFLAGS\" \"${GOWORK-unset}\" \"$PJRT_PLUGIN_LIBRARY_PATH\" " +
		"\"$BIRL_PYTHON\" \"$XLA_FLAGS\" \"${PATH%%:*}\"\n"
	writeFiles(t, l.bin(), map[string]string{"gonb": gonb})
	writeFiles(t, l.scripts(), map[string]string{"python": ""})
	for _, program := range []string{filepath.Join(l.bin(), "gonb"), l.python()} {
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, err := start()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := []string{"--kernel", "connection file.json", "-raw_error=true", "-go_work=" + l.root,
		"-buildvcs=false -ldflags=-w", "unset", l.plugins(), l.python(), commands.XLAFlags,
		l.bin(), ""}
	got := strings.Split(out, "|")
	if len(got) != len(want) {
		t.Fatalf("the launch gave %q", got)
	}
	for i := range want {
		if strings.TrimSpace(got[i]) != want[i] {
			t.Errorf("the launch gave %q where %q is wanted", got[i], want[i])
		}
	}
}

func TestKernelspecNamesTheScriptRelatively(t *testing.T) {
	text, err := os.ReadFile("jupyter/kernels/gonb/kernel.json")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Argv     []string `json:"argv"`
		Language string   `json:"language"`
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	want := []string{"sh", "{resource_dir}/launch.sh", "{connection_file}"}
	if strings.Join(spec.Argv, "\n") != strings.Join(want, "\n") || spec.Language != "go" {
		t.Errorf("the kernelspec starts %q for %q, want %q", spec.Argv, spec.Language, want)
	}
}
