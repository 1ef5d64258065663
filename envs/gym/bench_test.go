//go:build installed

package gym

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/peerbench"
)

// BenchmarkThroughput measures steps per second of 8 environments through the bridge, by [Pool.Step], beside a loop in
// plain Python that steps the same environments in one process, resets those whose episodes end, and gathers
// observations, rewards and ends in arrays. The two take turns of a tenth of a second in one run, and the lower
// quartiles of their turns are compared, which other work on the machine disturbs less than means. The overhead is the
// bridge's time over plain Python's, less one; two workers make it negative where there are processors for them.
func BenchmarkThroughput(b *testing.B) {
	for _, c := range []struct {
		name    string
		config  Config
		workers int
		batches int // in a turn
	}{{"LunarLander", lunar, 1, 250}, {"Pong", pong, 1, 25}, {"PongByTwo", pong, 2, 25},
		{"SpaceInvadersByTwo", invader, 2, 25}, {"Highway", highway, 1, 1}, {"HighwayByTwo", highway, 2,
			1}} {
		b.Run(c.name, func(b *testing.B) {
			const envs, turns = 8, 40
			c.config.Workers, c.config.EnvsPerWorker = c.workers, envs/c.workers
			p := open(b, c.config)
			reset(b, p)
			actions, _ := randomActions(7, c.batches, envs, p.Spec().Actions)
			plainTurn := startPlain(b, c.config, envs, c.batches)
			var bridge, plain []float64 // seconds of a batch
			for b.Loop() {
				for range turns {
					start := time.Now()
					for _, row := range actions {
						step(b, p, row)
					}
					bridge = append(bridge, time.Since(start).Seconds()/float64(c.batches))
					plain = append(plain, plainTurn().Seconds())
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

// startPlain starts the loop in plain Python, which counts batches.
func startPlain(b *testing.B, c Config, envs, batches int) (turn func() time.Duration) {
	b.Helper()
	python, _, err := findPython("")
	if err != nil {
		b.Fatal(err)
	}
	c.EnvsPerWorker = envs
	text, err := json.Marshal(c.request())
	if err != nil {
		b.Fatal(err)
	}
	peer, err := peerbench.Start(exec.Command(python, "-I", "testdata/throughput.py", string(text),
		strconv.Itoa(batches)))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := peer.Close(); err != nil {
			b.Error(err)
		}
	})
	return func() time.Duration {
		b.Helper()
		took, err := peer.Turn()
		if err != nil {
			b.Fatal(err)
		}
		return took
	}
}

// BenchmarkRestore measures how long Lunar Lander takes to come back to a snapshot, by how many steps of its episode
// have to be replayed. A simple pilot keeps it in the air.
func BenchmarkRestore(b *testing.B) {
	p := open(b, lunar)
	state := reset(b, p).Float64()
	taken := 0
	for _, steps := range []int{100, 200, 300, 400} {
		for ; taken < steps; taken++ {
			batch := step(b, p, []int{hover(state)})
			if batch.Done(0) {
				b.Fatalf("the flight ended at step %d", taken)
			}
			state = batch.Obs.Float64()
		}
		s, err := p.Snapshot(b.Context(), 0)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(strconv.Itoa(steps), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Restore(b.Context(), 0, s); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N), "ms/restore")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// hover returns the action that keeps Lunar Lander upright and at its height.
func hover(state []float64) int {
	height, fall, lean := state[1], state[3], state[4]+state[5]/2
	switch {
	case lean > 0.1:
		return 3
	case lean < -0.1:
		return 1
	case height < 1 && fall < 0:
		return 2
	}
	return 0
}
