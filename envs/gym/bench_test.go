//go:build installed

package gym

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkThroughput measures steps per second through the bridge beside the same loop in plain Python, in one run. The two
// take turns of a tenth of a second, and the fastest quarters of their turns are compared, which other work on the machine
// disturbs least. The overhead is the bridge's time over plain Python's, less one.
func BenchmarkThroughput(b *testing.B) {
	for _, c := range []struct {
		name    string
		config  Config
		batches int // in a turn
	}{{"LunarLander", lunar, 250}, {"Pong", pong, 25}, {"Highway", highway, 1}} {
		b.Run(c.name, func(b *testing.B) {
			const envs, turns = 8, 40
			c.config.EnvsPerWorker = envs
			p := open(b, c.config)
			reset(b, p)
			actions, _ := randomActions(7, c.batches, envs, p.Spec().Actions)
			plainTurn := startPlain(b, c.config, c.batches)
			var bridge, plain []float64 // seconds of a batch
			for b.Loop() {
				for range turns {
					start := time.Now()
					for _, row := range actions {
						step(b, p, row)
					}
					bridge = append(bridge, time.Since(start).Seconds()/float64(c.batches))
					plain = append(plain, plainTurn())
				}
			}
			ours, theirs := lowerQuartile(bridge), lowerQuartile(plain)
			b.ReportMetric(envs/ours, "steps/s")
			b.ReportMetric(envs/theirs, "plain-steps/s")
			b.ReportMetric(100*(ours/theirs-1), "%overhead")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func lowerQuartile(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/4]
}

// startPlain starts the loop in plain Python. The function that it returns has it take a turn, and returns the seconds that
// a batch took.
func startPlain(b *testing.B, c Config, batches int) func() float64 {
	b.Helper()
	python, _, err := findPython("")
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(c.request())
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(python, "-I", "testdata/throughput.py", string(text), strconv.Itoa(batches))
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
	return func() float64 {
		if _, err := in.Write([]byte("go\n")); err != nil {
			b.Fatal(err)
		}
		for lines.Scan() {
			if ns, err := strconv.Atoi(lines.Text()); err == nil { // packages may greet before
				return float64(ns) / 1e9
			}
		}
		b.Fatal("plain Python ended: ", lines.Err())
		return 0
	}
}
