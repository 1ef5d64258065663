package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/command/commandtest"
)

// childVariable turns the test program into a child process for the tests of command.
const childVariable = "KERNEL_SETUP_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "":
		os.Exit(m.Run())
	case "fail":
		for i := 1; i <= 40; i++ {
			fmt.Printf("line %d\n", i)
		}
		fmt.Fprint(os.Stderr, "progress 1 %\rprogress 99 %\rno newline")
		os.Exit(3)
	case "parent": // starts a child of its own and waits for ever
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVariable+"=sleep")
		if err := child.Start(); err != nil {
			os.Exit(1)
		}
		fmt.Println(child.Process.Pid)
		time.Sleep(time.Minute)
	case "passes": // runs a child and passes signals on to it
		child := exec.Command(os.Args[0])
		child.Env, child.Stdout = append(os.Environ(), childVariable+"=listens"), os.Stdout
		if err := runPassing(child); err != nil {
			os.Exit(1)
		}
	case "listens": // says which signal it got
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println("ready")
		fmt.Println(<-signals)
	case "sleep":
		time.Sleep(time.Minute)
	}
}

func TestHelpIsNarrow(t *testing.T) { commandtest.HelpIsNarrow(t, newRoot) }

// child is the test program in one of the roles above.
func child(t *testing.T, role string) command {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command{name: path, env: append(os.Environ(), childVariable+"="+role)}
}

// clone makes a folder that looks like a clone to findLayout, at a path with a space.
func clone(t *testing.T) layout {
	t.Helper()
	root := t.TempDir() + "/a clone"
	writeFiles(t, root, map[string]string{"go.mod": "module " + modulePath + "\n",
		"kernel-setup/tools/go.mod": "module " + modulePath + "/kernel-setup/tools\n"})
	l, err := findLayout(root)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
