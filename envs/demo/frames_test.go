package demo

import (
	"errors"
	"slices"
	"testing"
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
			if err := part.validate(s.ObservationShape, s.Actions); err != nil || part.Observations != nil {
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
