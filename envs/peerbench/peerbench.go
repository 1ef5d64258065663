// Package peerbench lets benchmarks take turns with a peer: another program that does the same work.
package peerbench

import (
	"bufio"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// Start starts a peer. The function that it returns has it take a turn, and returns how long one of what the peer
// counts took in it, such as a step: for each line of its input the peer prints that, in nanoseconds. What else it
// prints is left alone, as packages greet. The peer ends with the benchmark, at the end of its input.
func Start(b *testing.B, cmd *exec.Cmd) (turn func() time.Duration) {
	b.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	lines := bufio.NewScanner(out)
	return func() time.Duration {
		b.Helper()
		if _, err := in.Write([]byte("go\n")); err != nil {
			b.Fatal(err)
		}
		for lines.Scan() {
			if ns, err := strconv.Atoi(lines.Text()); err == nil {
				return time.Duration(ns)
			}
		}
		b.Fatalf("%s ended: %v", cmd, lines.Err())
		return 0
	}
}
