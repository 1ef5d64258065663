// Package peerbench lets measurements take turns with a peer: another program that does the same work.
package peerbench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"time"
)

// Peer is a program under way that takes turns. For each line of its input it prints how many nanoseconds one of what
// it counts took in the turn, such as a step. What else it prints is left alone, as packages greet.
type Peer struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// Start starts a peer.
func Start(cmd *exec.Cmd) (*Peer, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("peerbench: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("peerbench: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("peerbench: %w", err)
	}
	return &Peer{cmd: cmd, in: in, lines: bufio.NewScanner(out)}, nil
}

// Turn has the peer take a turn, and returns how long one of what it counts took.
func (p *Peer) Turn() (time.Duration, error) {
	if _, err := p.in.Write([]byte("go\n")); err != nil {
		return 0, fmt.Errorf("peerbench: %s: %w", p.cmd, err)
	}
	for p.lines.Scan() {
		if ns, err := strconv.Atoi(p.lines.Text()); err == nil {
			return time.Duration(ns), nil
		}
	}
	return 0, fmt.Errorf("peerbench: %s ended: %w", p.cmd, errors.Join(io.ErrUnexpectedEOF, p.lines.Err()))
}

// Close ends the peer, by the end of its input.
func (p *Peer) Close() error {
	err := p.in.Close()
	return errors.Join(err, p.cmd.Wait())
}
