package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// roleVariable makes the test program play a part of TestGoRunTakesItsProgramAlong.
const roleVariable = "COMMAND_TEST_ROLE"

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
	default:
		os.Exit(m.Run())
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
