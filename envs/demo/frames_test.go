package demo

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-birl/birl/envs/npz"
)

// film makes n trajectories with stacks of 4 frames of 2×3 pixels, of which all differ.
func film(n int) *Set {
	s := &Set{Description: Description{Environment: "Film-v0", ObservationShape: []int{4, 2, 3}, Actions: 3}}
	pixel := 0
	for i := range n {
		t := Trajectory{Seed: int64(i), Terminated: true, Frames: &Frames{Size: 6, Stack: 4}}
		for k := range 3 + 2*i {
			t.Actions = append(t.Actions, k%3)
			t.Rewards = append(t.Rewards, float64(k))
		}
		for range (t.Len() + 1) * 6 {
			t.Frames.Pixels = append(t.Frames.Pixels, uint8(pixel))
			pixel++
		}
		s.Trajectories = append(s.Trajectories, t)
	}
	return s
}

// stack stacks frames as a queue does that begins full of the first one.
func stack(frames []uint8, size, depth, i int) []uint8 {
	var queue [][]uint8
	for range depth {
		queue = append(queue, frames[:size])
	}
	for k := 1; k <= i; k++ {
		queue = append(queue[1:], frames[k*size:(k+1)*size])
	}
	return slices.Concat(queue...)
}

func TestStacksOfFrames(t *testing.T) {
	s := film(3)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	got := make([]uint8, 24)
	x := &s.Trajectories[2]
	for from := range x.Len() {
		for to := from + 1; to <= x.Len(); to++ {
			part := x.Slice(from, to)
			if err := part.validate(&s.Description); err != nil || part.Observations != nil {
				t.Fatalf("transitions %d to %d: %v, observations %v", from, to, err, part.Observations)
			}
			if n := len(part.Frames.Pixels) / 6; n > part.Len()+4 {
				t.Errorf("transitions %d to %d hold %d frames", from, to, n)
			}
			for i := range part.Len() + 1 {
				part.Frames.Observation(got, i)
				if want := stack(x.Frames.Pixels, 6, 4, from+i); !slices.Equal(got, want) {
					t.Fatalf("transitions %d to %d, observation %d is %v, want %v", from, to, i, got, want)
				}
			}
		}
	}
}

// Pictures that others have stored as bytes, stacked, come out as frames; any other observations as numbers.
func TestImportedStacksAreFrames(t *testing.T) {
	const depth, size, steps = 3, 2 * 3, 4
	pixels := make([]uint8, (steps+depth)*size)
	for i := range pixels {
		pixels[i] = uint8(7 * i)
	}
	rows := func(from, to int, kind npz.Type) npz.Array {
		a := npz.Array{Shape: []int{to - from, depth, 2, 3}, Type: kind}
		for i := from; i < to; i++ {
			a.Data = append(a.Data, npz.Widen(pixels[i*size:(i+depth)*size])...)
		}
		return a
	}
	actions := npz.Ints([]int{0, 1, 2, 0}, steps)
	for name, c := range map[string]struct {
		arrays map[string]npz.Array
		frames bool
	}{
		"flat": {map[string]npz.Array{"obs": rows(0, steps, npz.Uint8), "next_obs": rows(1, steps+1, npz.Uint8),
			"action": actions, "episode": npz.Ints([]int{8, 8, 8, 8}, steps)}, true},
		"imitation": {map[string]npz.Array{"obs": rows(0, steps+1, npz.Uint8), "acts": actions,
			"indices": npz.Ints(nil, 0), "terminal": npz.Bools([]bool{true}, 1)}, true},
		"integers": {map[string]npz.Array{"obs": rows(0, steps, npz.Int64), "next_obs": rows(1, steps+1, npz.Int64),
			"action": actions, "episode": npz.Ints([]int{8, 8, 8, 8}, steps)}, false},
		"no stacks": {map[string]npz.Array{"obs": rows(0, steps, npz.Uint8),
			"next_obs": {Shape: []int{steps, depth, 2, 3}, Type: npz.Uint8, Data: slices.Concat(
				rows(1, steps, npz.Uint8).Data, make([]float64, depth*size))},
			"action": actions, "episode": npz.Ints([]int{8, 8, 8, 8}, steps)}, false},
		"another frame before the last": {map[string]npz.Array{"obs": rows(0, steps, npz.Uint8),
			"next_obs": {Shape: []int{steps, depth, 2, 3}, Type: npz.Uint8, Data: slices.Concat(
				rows(1, steps, npz.Uint8).Data, rows(steps, steps+1, npz.Uint8).Data[:size],
				make([]float64, (depth-1)*size))},
			"action": actions, "episode": npz.Ints([]int{8, 8, 8, 8}, steps)}, false},
	} {
		path := filepath.Join(t.TempDir(), "x.npz")
		if err := npz.Write(path, c.arrays); err != nil {
			t.Fatal(err)
		}
		set, err := Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x := set.Trajectories[0]
		if (x.Frames != nil) != c.frames || (x.Observations == nil) != c.frames {
			t.Errorf("%s: frames %v", name, x.Frames)
		}
		if c.frames && len(x.Frames.Pixels) != len(pixels) {
			t.Errorf("%s: %d pixels, want each once, %d", name, len(x.Frames.Pixels), len(pixels))
		}
		for i := range steps {
			want := npz.Narrow[float32](npz.Widen(pixels[i*size : (i+depth)*size]))
			if !slices.Equal(x.Observation(i), want) {
				t.Errorf("%s: observation %d is %v, want %v", name, i, x.Observation(i), want)
			}
		}
	}
}

// TestStacksOfOnesOwnEnvironmentAreFrames: what a program stored as plain observations is read as in other layouts.
func TestStacksOfOnesOwnEnvironmentAreFrames(t *testing.T) {
	s := film(2)
	want := film(2)
	for i := range s.Trajectories {
		x := &s.Trajectories[i]
		for k := range x.Len() + 1 {
			x.Observations = append(x.Observations, want.Trajectories[i].Observation(k)...)
		}
		x.Frames = nil
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got.Trajectories {
		x := &got.Trajectories[i]
		if x.Frames == nil {
			t.Fatalf("trajectory %d holds no frames", i)
		}
		for k := range x.Len() + 1 {
			if !slices.Equal(x.Observation(k), want.Trajectories[i].Observation(k)) {
				t.Errorf("trajectory %d, observation %d: %v", i, k, x.Observation(k))
			}
		}
	}
}

func TestFramesOfAnotherShapeAreRefused(t *testing.T) {
	for name, spoil := range map[string]func(*Set){
		"stack":  func(s *Set) { s.Trajectories[1].Frames.Stack = 2 },
		"size":   func(s *Set) { s.Trajectories[1].Frames.Size = 3 },
		"shape":  func(s *Set) { s.ObservationShape = []int{2, 3, 4} },
		"vector": func(s *Set) { s.ObservationShape = []int{24} },
		"pixels": func(s *Set) { s.Trajectories[1].Frames.Pixels = s.Trajectories[1].Frames.Pixels[6:] },
		"first":  func(s *Set) { s.Trajectories[1].Frames.First = 1 },
		"before": func(s *Set) { s.Trajectories[1].Frames.First = -1 },
	} {
		s := film(2)
		spoil(s)
		if err := s.Validate(); !errors.Is(err, ErrFrames) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	s := film(2)
	s.Trajectories[0].Observations = make([]float32, 24*4)
	if err := s.Validate(); err == nil {
		t.Error("frames beside observations are accepted")
	}
	s = film(2)
	s.Trajectories[1].Frames, s.Trajectories[1].Observations = nil, make([]float32, 24*6)
	if err := s.Validate(); err == nil {
		t.Error("frames of one trajectory and observations of another are accepted")
	}
}

func TestFramesAreStoredOnce(t *testing.T) {
	dir := t.TempDir()
	whole := film(4)
	part := film(4)
	for i := range part.Trajectories {
		part.Trajectories[i] = part.Trajectories[i].Slice(1, 3) // with frames before the first
	}
	replay := film(4)
	replay.Replay = &Recipe{Imports: []string{"films"}, Options: map[string]any{"length": 3.0},
		Wrappers: []Wrapper{{Class: "films:Colour", Options: map[string]any{"hue": "red"}}}}
	for name, want := range map[string]*Set{"whole": whole, "part": part, "replay": replay} {
		path := filepath.Join(dir, name+".npz")
		if err := want.Write(path); err != nil {
			t.Fatal(err)
		}
		if name == "replay" {
			for i := range want.Trajectories {
				x := &want.Trajectories[i]
				x.Digest, x.Frames = fmt.Sprintf("%x", sha256.Sum256(x.Frames.Pixels)), nil
			}
		}
		for range 2 { // what was read is written as it was
			got, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if err := got.Write(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, err := npz.Open(filepath.Join(dir, "whole.npz"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	frames := whole.Transitions() + len(whole.Trajectories)
	shape, err := a.Shape(arrayFrames)
	if err != nil || !slices.Equal(shape, []int{frames, 2, 3}) || a.Has(arrayBefore) {
		t.Errorf("frames of the shape %v (error %v), want [%d 2 3]", shape, err, frames)
	}
}

// TestFilesOfOtherFrames: what is wrong with the frames of a file is said under a name that can be asked for.
func TestFilesOfOtherFrames(t *testing.T) {
	pixels := func(n int, shape ...int) npz.Array {
		return npz.Array{Shape: append([]int{n}, shape...), Type: npz.Uint8,
			Bytes: [][]uint8{make([]uint8, n*max(1, shape[0])*max(1, shape[len(shape)-1]))}}
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	for want, frames := range map[string]npz.Array{
		"want uint8":     npz.Floats(make([]float64, 60), 10, 2, 3),
		"[10 3 2]":       pixels(10, 3, 2),
		"end within":     pixels(9, 2, 3),
		"1 frames are":   pixels(11, 2, 3),
		"[40 3 84 84]":   {Shape: []int{40, 3, 84, 84}, Type: npz.Uint8, Bytes: [][]uint8{make([]uint8, 40*3*84*84)}},
		"are left after": pixels(20, 2, 3),
	} {
		s := film(2) // of 4 and 6 frames
		if err := s.Write(path); err != nil {
			t.Fatal(err)
		}
		arrays := s.arrays()
		arrays[arrayFrames] = frames
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		d, err := readDescription(DescriptionPath(path))
		if err != nil {
			t.Fatal(err)
		}
		a, err := npz.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(a, d); !errors.Is(err, ErrFrames) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
		a.Close()
	}
}

func TestDigestsAreWanted(t *testing.T) {
	s := film(2)
	s.Replay = &Recipe{}
	for i := range s.Trajectories {
		s.Trajectories[i].Frames = nil
	}
	if err := s.Validate(); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("neither frames nor a digest: error %v", err)
	}
	s.Trajectories[0].Digest, s.Trajectories[1].Digest = strings.Repeat("0f", 32), strings.Repeat("f0", 32)
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
	s.Replay = nil
	if err := s.Validate(); err == nil {
		t.Error("digests are accepted where no replay can give the observations")
	}
}

// TestObservationsOfFramesAreNumbers: the stack's bytes, as they are.
func TestObservationsOfFramesAreNumbers(t *testing.T) {
	d := Trajectory{Frames: &Frames{Pixels: []uint8{1, 2, 30, 40, 255, 0}, Size: 2, Stack: 2}, Actions: []int{0, 1}}
	for i, want := range [][]float32{{1, 2, 1, 2}, {1, 2, 30, 40}, {30, 40, 255, 0}} {
		if got := d.Observation(i); !slices.Equal(got, want) {
			t.Errorf("observation %d is %v, want %v", i, got, want)
		}
	}
}
