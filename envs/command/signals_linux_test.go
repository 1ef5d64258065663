package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// roleVariable makes the test program play a part of a test, and storeVariable names the file that it writes.
const roleVariable, storeVariable = "COMMAND_TEST_ROLE", "COMMAND_TEST_STORE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "go": // starts the program and waits, as go run does
		program := exec.Command(os.Args[1])
		program.Env = append(os.Environ(), roleVariable+"=program")
		program.Stdout = os.Stdout
		if err := program.Run(); err != nil {
			os.Exit(1)
		}
	case "program":
		ctx, stop := Signals()
		defer stop()
		fmt.Println("ready")
		select {
		case <-ctx.Done():
			fmt.Println("asked to end")
		case <-time.After(time.Minute):
		}
	case "ends":
		Main(&cobra.Command{Use: "ends", RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Println("ready")
			<-cmd.Context().Done()
			return cmd.Context().Err()
		}})
	case "results", "progress": // to where nobody reads
		Main(&cobra.Command{Use: "writes", RunE: func(cmd *cobra.Command, _ []string) error {
			to := Unwatched(cmd)
			if os.Getenv(roleVariable) == "results" {
				to = cmd.OutOrStdout()
			}
			fmt.Fprintln(to, "a line")
			return os.WriteFile(os.Getenv(storeVariable), nil, 0o644)
		}})
	case "main": // stores something when it is asked to end
		Main(&cobra.Command{Use: "main", RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Println("ready")
			<-cmd.Context().Done()
			fmt.Println("ending")
			time.Sleep(300 * time.Millisecond)
			fmt.Println("stored")
			time.Sleep(time.Minute)
			return nil
		}})
	default:
		os.Exit(m.Run())
	}
}

// TestStatusesTellTheSignal, as shells have them.
func TestStatusesTellTheSignal(t *testing.T) {
	for want, s := range map[int]syscall.Signal{130: syscall.SIGINT, 143: syscall.SIGTERM} {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		program := exec.Command(self)
		program.Env = append(os.Environ(), roleVariable+"=ends")
		out, err := program.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := program.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("the program says %q, error %v", line, err)
		}
		if err := program.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		_ = program.Wait() // fails, with the status
		if got := program.ProcessState.ExitCode(); got != want {
			t.Errorf("%v: status %d, want %d", s, got, want)
		}
	}
}

// TestWorkOutlivesItsReader: what it stores is stored, and only results that nobody reads tell by the status.
func TestWorkOutlivesItsReader(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for role, want := range map[string]int{"results": 141, "progress": 0} {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		reader.Close()
		stored := filepath.Join(t.TempDir(), "stored")
		program := exec.Command(self)
		program.Env = append(os.Environ(), roleVariable+"="+role, storeVariable+"="+stored)
		var said strings.Builder
		program.Stdout, program.Stderr = writer, &said
		_ = program.Run() // fails, with the status
		writer.Close()
		if got := program.ProcessState.ExitCode(); got != want || said.Len() > 0 {
			t.Errorf("%s: status %d, want %d; it says %q", role, got, want, &said)
		}
		if _, err := os.Stat(stored); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// TestSignalsOfAMomentAreOne: what is sent by a batch system, and passed on by a parent, leaves time to store; a second
// Ctrl-C does not.
func TestSignalsOfAMomentAreOne(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command(self)
	program.Env = append(os.Environ(), roleVariable+"=main")
	program.Dir = t.TempDir()
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	expect := func(want string) {
		t.Helper()
		if line, err := lines.ReadString('\n'); line != want+"\n" {
			t.Fatalf("the program says %q (error %v), want %q", line, err, want)
		}
	}
	expect("ready")
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect("ending")
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	expect("stored")
	began := time.Now()
	time.Sleep(2 * sameMoment)
	if err := program.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(lines); err != nil || time.Since(began) > 10*time.Second {
		t.Errorf("a later signal did not end the program (error %v)", err)
	}
	if err := program.Wait(); err == nil {
		t.Error("the program ended as if it had not been interrupted")
	}
}

func TestGoRunTakesItsProgramAlong(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "go")
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(path, self)
	parent.Env = append(os.Environ(), roleVariable+"=go")
	out, in, err := os.Pipe() // not the command's own, which would not be read after its end
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	parent.Stdout = in
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the program says %q (error %v)", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait() // killed
	began := time.Now()
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "asked to end") || time.Since(began) > 10*time.Second {
		t.Errorf("after its parent's death the program says %q in %v (error %v)", rest, time.Since(began), err)
	}
}
