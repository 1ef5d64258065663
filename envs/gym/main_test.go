package gym

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// marker is an environment variable that every process started by this test program inherits.
const marker = "GYM_TEST_PROGRAM"

// TestMain fails if a test left a process behind.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		play(role)
		return
	}
	os.Setenv(marker, fmt.Sprint(os.Getpid()))
	code := m.Run()
	for _, pid := range marked() {
		if alive(pid) {
			fmt.Fprintf(os.Stderr, "process %d was left behind\n", pid)
			code = 1
		}
	}
	os.Exit(code)
}

// marked lists the processes that this program, or one that it started, has started.
func marked() []int {
	want := []byte(marker + "=" + fmt.Sprint(os.Getpid()) + "\x00")
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(text, want) {
			continue // gone, or another user's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// alive reports whether a process runs; one that has ended but was not waited for does not.
func alive(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "stat"))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// open opens a pool that the test's end closes.
func open(t testing.TB, c Config) *Pool {
	t.Helper()
	p, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		for _, w := range p.workers {
			if pid := w.cmd.Process.Pid; alive(pid) {
				t.Errorf("worker process %d lives on after Close", pid)
			}
		}
	})
	return p
}

// reset begins the episodes with seeds 100, 101, ….
func reset(t testing.TB, p *Pool) Array {
	t.Helper()
	obs, err := p.Reset(t.Context(), seedsFrom(100, p.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

func seedsFrom(first int64, n int) []int64 {
	seeds := make([]int64, n)
	for i := range seeds {
		seeds[i] = first + int64(i)
	}
	return seeds
}

func step(t testing.TB, p *Pool, actions []int) *Batch {
	t.Helper()
	b, err := p.Step(t.Context(), actions)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// randomActions returns k rows of n actions below limit, and the same as raw int64.
func randomActions(seed uint64, k, n, limit int) (rows [][]int, raw []byte) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range k {
		row := make([]int, n)
		for i := range row {
			row[i] = r.IntN(limit)
			raw = binary.LittleEndian.AppendUint64(raw, uint64(row[i]))
		}
		rows = append(rows, row)
	}
	return rows, raw
}

// roleVariable turns the test program into a child process that plays a role.
const roleVariable = "GYM_TEST_ROLE"

// play is what it does then; the tests that need it set it.
var play = func(string) {}
