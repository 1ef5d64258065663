//go:build installed

package gym

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/demo"
)

// recorded collects episodes at random in an environment, to be stored for a replay.
func recorded(t *testing.T, c Config, episodes, steps int) *demo.Set {
	t.Helper()
	c.Autoreset = Disabled
	p := open(t, c)
	set := &demo.Set{Description: p.Describe()}
	var err error
	set.Trajectories, err = Collect(t.Context(), p, RandomPolicy(set.Actions), CollectOptions{Episodes: episodes,
		FirstSeed: 5, PolicySeed: 3, MaxSteps: steps})
	if err != nil {
		t.Fatal(err)
	}
	set.Replay = c.Recipe()
	return set
}

// frames compares pixels as a whole: millions of them one by one take seconds.
var frames = cmp.Comparer(bytes.Equal)

// TestReplay: a file of seeds and actions gives the episodes back, to the bit, of frames and of vectors, and an export
// to plain arrays holds the same.
func TestReplay(t *testing.T) {
	for name, c := range map[string]struct {
		config          Config
		episodes, steps int
		most            int64 // bytes of the file
	}{
		"CartPole": {Config{ID: "CartPole-v1"}, 5, 0, 5000},
		"Pong":     {Atari("ALE/Pong-v5"), 2, 300, 5000},
	} {
		t.Run(name, func(t *testing.T) {
			want := recorded(t, c.config, c.episodes, c.steps)
			for i := range want.Trajectories {
				x := &want.Trajectories[i]
				x.LogProbs = slices.Repeat([]float32{-float32(math.Log(float64(want.Actions)))}, x.Len()*want.Actions)
			}
			path, plain := filepath.Join(t.TempDir(), "x.npz"), filepath.Join(t.TempDir(), "plain.npz")
			if err := want.Write(path); err != nil {
				t.Fatal(err)
			}
			if n := size(t, path); n > c.most {
				t.Errorf("the file has %d bytes, want at most %d", n, c.most)
			}
			told := 0
			got, err := OpenDemos(t.Context(), path, ReplayOptions{EnvsPerWorker: 2,
				Progress: func(n int) { told = n }})
			if err != nil {
				t.Fatal(err)
			}
			if told != c.episodes || len(got.Trajectories) != c.episodes {
				t.Errorf("%d trajectories, told %d, want %d", len(got.Trajectories), told, c.episodes)
			}
			if diff := cmp.Diff(want.Trajectories, got.Trajectories, frames); diff != "" {
				t.Fatalf("the replay differs (-want +got):\n%.2000s", diff)
			}
			for _, x := range got.Trajectories {
				if f := x.Frames; f != nil && cap(f.Pixels) != (x.Len()+1)*84*84 {
					t.Errorf("%d frames take %d bytes", x.Len()+1, cap(f.Pixels))
				}
			}
			unseen, err := demo.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			part, err := Observe(t.Context(), unseen, unseen.Trajectories[1:2], ReplayOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Trajectories[1:2], part.Trajectories, frames); diff != "" {
				t.Errorf("the replay of one trajectory differs (-want +got):\n%.2000s", diff)
			}
			got.Replay = nil
			if err := got.Write(plain); err != nil {
				t.Fatal(err)
			}
			again, err := OpenDemos(t.Context(), plain, ReplayOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Trajectories, again.Trajectories, frames); diff != "" {
				t.Errorf("the export differs (-want +got):\n%.2000s", diff)
			}
		})
	}
}

// TestMemoryIsOfTheSameEpisodes: what is done in view of the memory is what is shown on the screen.
func TestMemoryIsOfTheSameEpisodes(t *testing.T) {
	for id, m := range map[string]Memory{
		"ALE/Pong-v5":          {Addresses: []int{49, 54, 51, 50}, Changes: 2},
		"ALE/SpaceInvaders-v5": {Addresses: []int{28, 73}, Changes: 1, Pairs: [][2]int{{73, 28}}, Bits: []int{18}},
	} {
		seen := recorded(t, AtariMemory(id, m), 2, 0)
		first := seen.Trajectories[0].Observation(0)
		n := len(m.Addresses)
		if len(first) != n*(1+m.Changes)+len(m.Pairs)+8*len(m.Bits) {
			t.Fatalf("%s: observations of %d numbers", id, len(first))
		}
		if slices.ContainsFunc(first[n:n*(1+m.Changes)], func(x float32) bool { return x != 0 }) {
			t.Errorf("%s: before the first step, bytes changed by %v", id, first[n:])
		}
		moved := map[float32]bool{}
		for i := range seen.Trajectories[0].Len() {
			now, next := seen.Trajectories[0].Observation(i), seen.Trajectories[0].Observation(i+1)
			moved[now[0]] = true
			change := (next[0] - now[0]) * 255 / 16
			if d := next[n] - change; abs(change) < 1 && abs(d) > 1e-4 {
				t.Fatalf("%s: step %d changes a byte from %g to %g, by %g", id, i, now[0], next[0], next[n])
			}
		}
		if len(moved) < 10 {
			t.Errorf("%s: the first byte takes %d values", id, len(moved))
		}
		shown, err := Show(t.Context(), seen, Atari(id), ReplayOptions{EnvsPerWorker: 2})
		if err != nil {
			t.Fatal(err)
		}
		direct := recorded(t, Atari(id), 2, 0) // the same seeds, and actions at random by the same generators
		if shown.Trajectories[1].Digest == shown.Trajectories[0].Digest || shown.ObservationShape[1] != 84 {
			t.Errorf("%s: observations %v", id, shown.ObservationShape)
		}
		for i := range direct.Trajectories {
			if got, want := shown.Trajectories[i].Digest, direct.Trajectories[i].Sum(); got != want {
				t.Errorf("%s, episode %d: the screen's digest is %s, want %s", id, i, got, want)
			}
		}
	}
}

func abs(x float32) float32 { return max(x, -x) }

// TestReplaysThatDiffer: another emulator's episode, which the digest, a reward or the end gives away, is refused with
// both versions named; the same episode of another version is not.
func TestReplaysThatDiffer(t *testing.T) {
	good := recorded(t, Config{ID: "CartPole-v1"}, 3, 0)
	good.Versions = map[string]string{"gymnasium": "0.1.0"}
	for i := range good.Trajectories {
		good.Trajectories[i].Digest = good.Trajectories[i].Sum()
		good.Trajectories[i].Observations = nil
	}
	if _, err := Replay(t.Context(), good, ReplayOptions{}); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*demo.Trajectory){
		"SHA-256":             func(x *demo.Trajectory) { x.Digest = strings.Repeat("ab", 32) },
		"gave the reward 1":   func(x *demo.Trajectory) { x.Rewards = slices.Repeat([]float64{2}, x.Len()) },
		"ended after":         func(x *demo.Trajectory) { x.Actions = append(slices.Clone(x.Actions), 1) },
		"was terminated true": func(x *demo.Trajectory) { x.Terminated = false },
	} {
		bad := *good
		bad.Trajectories = slices.Clone(good.Trajectories)
		spoil(&bad.Trajectories[1])
		_, err := Replay(t.Context(), &bad, ReplayOptions{})
		failed, ok := errors.AsType[*ReplayError](err)
		if !ok || failed.Trajectory != 1 || failed.Seed != 6 {
			t.Fatalf("%s: error %v", want, err)
		}
		for _, word := range []string{want, "gymnasium 0.1.0", "gymnasium " + failed.Here["gymnasium"], "install"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("the error lacks %q: %v", word, err)
			}
		}
		bad.Versions = maps.Clone(failed.Here)
		_, err = Replay(t.Context(), &bad, ReplayOptions{})
		if err == nil || !strings.Contains(err.Error(), "the same") {
			t.Errorf("%s: of the same version: error %v", want, err)
		}
	}
	other := *good
	other.ObservationShape = []int{4, 84, 84}
	if _, err := Replay(t.Context(), &other, ReplayOptions{}); !errors.Is(err, demo.ErrFrames) {
		t.Errorf("observations of another shape: error %v", err)
	}
	unknown := *good
	unknown.Replay = nil
	if _, err := Replay(t.Context(), &unknown, ReplayOptions{}); err == nil {
		t.Error("a set that does not say how to make its environment is replayed")
	}
	seedless := *good
	seedless.Trajectories = []demo.Trajectory{{Actions: []int{0}, Seed: demo.NoSeed, Digest: strings.Repeat("0", 64)}}
	if _, err := Replay(t.Context(), &seedless, ReplayOptions{}); err == nil || !strings.Contains(err.Error(), "seed") {
		t.Errorf("no seed: error %v", err)
	}
}

func TestMissingROM(t *testing.T) {
	t.Setenv("ALE_ROMS_DIR", t.TempDir())
	_, err := Open(t.Context(), pong)
	if !errors.Is(err, ErrROM) || !strings.Contains(err.Error(), "pong.bin") {
		t.Errorf("error %v", err)
	}
}

func size(t *testing.T, path string) (bytes int64) {
	t.Helper()
	for _, file := range demo.Files(path) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}
