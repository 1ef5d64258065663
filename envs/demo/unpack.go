package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/npz"
)

// source reads arrays of an archive until the first error, after which it reads nothing more. Errors name the archive
// and the array.
type source struct {
	archive  *npz.Archive
	err      error
	rounding rounding // of the observations
	count    string   // says in words why arrays have as many rows as they are asked for
}

// array reads an array and checks its rank and type. A length other than −1 is that of its first axis. After an error
// it returns an empty one.
func (s *source) array(name string, rank, length int, types ...npz.Type) *npz.Array {
	none := &npz.Array{Shape: []int{0}, Type: types[0]}
	if s.err != nil {
		return none
	}
	a, err := s.archive.Array(name)
	switch {
	case err != nil:
		s.err = fmt.Errorf("demo: %w", err)
	case !slices.Contains(types, a.Type):
		s.fail(name, "it holds %s, want %s", a.Type, types[0])
	case rank >= 0 && len(a.Shape) != rank || len(a.Shape) == 0:
		s.fail(name, "it has the shape %v, want %d dimensions%s", a.Shape, max(rank, 1), flatten(name, rank, a.Shape))
	case length >= 0 && a.Shape[0] != length:
		s.fail(name, "it has %d rows, want %d%s", a.Shape[0], length, s.count)
	default:
		return a
	}
	return none
}

// flatten says how an array of two axes becomes one of rank 1, where there is a way.
func flatten(name string, rank int, shape []int) string {
	switch {
	case rank != 1 || len(shape) != 2:
		return ""
	case shape[1] == 1:
		return ", as reshape(-1) gives"
	case name == "action" || name == "acts":
		return "; of one-hot rows argmax(1) gives the actions, and other actions of several numbers are not read"
	}
	return ""
}

// fail is what is wrong with an array, unless there was an error before.
func (s *source) fail(name, text string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("demo: %s: array %q: %s", s.archive.Path(), name, fmt.Sprintf(text, args...))
	}
}

// flags reads truth values; numbers 0 and 1 will do.
func (s *source) flags(name string, n int) []bool {
	a := s.array(name, 1, n, npz.Bool, npz.Int64, npz.Float64, npz.Float32)
	out := make([]bool, len(a.Data))
	for i, v := range a.Data {
		if v != 0 && v != 1 {
			s.fail(name, "[%d] is %g, want 0 or 1", i, v)
		}
		out[i] = v == 1
	}
	return out
}

// fromZero is what to do about an action that is negative.
const fromZero = "actions count from 0, wherever the environment's begin: subtract the first of those from all"

// noAction says, after a whole number, why it is no action's; "" of one that may be.
func noAction(a float64) string {
	switch {
	case a < 0:
		return "; " + fromZero
	case a > maxNumbers:
		return "; no environment has so many actions: want numbers that count from 0"
	}
	return ""
}

// actions reads whole numbers that count from 0.
func (s *source) actions(name string, n int) []int { return s.wholes(name, n, noAction) }

// integers reads whole numbers from low to high.
func (s *source) integers(name string, n int, low, high float64) []int {
	return s.wholes(name, n, func(v float64) string {
		if v < low || v > high {
			return fmt.Sprintf(", want %.0f to %.0f", low, high)
		}
		return ""
	})
}

// wholes reads whole numbers, be they integers or floats, with which nothing is wrong.
func (s *source) wholes(name string, n int, wrong func(v float64) string) []int {
	a := s.array(name, 1, n, npz.Int64, npz.Float64, npz.Float32)
	if err := a.CheckWhole(""); err != nil {
		s.fail(name, "%v", err)
	}
	for i, v := range a.Data {
		if why := wrong(v); why != "" {
			s.fail(name, "[%d] is %.0f%s", i, v, why)
		}
	}
	return npz.Narrow[int](a.Data)
}

// rewards reads floats up to MaxReward; integers will do.
func (s *source) rewards(name string, n int) []float64 {
	a := s.array(name, 1, n, npz.Float64, npz.Float32, npz.Int64)
	for i, v := range a.Data {
		if err := CheckReward(v); err != nil {
			s.fail(name, "[%d] %v; where rewards are not known, leave the array out", i, err)
		}
	}
	return a.Data
}

// rows reads an array [n, …] of numbers, of which none may be NaN, as float32, and returns the shape of a row. r, if it
// is not nil, watches the rounding.
func (s *source) rows(name string, n int, r *rounding) (shape []int, data []float32) {
	a := s.array(name, -1, n, npz.Float32, npz.Float64, npz.Int64, npz.Bool)
	size := max(1, len(a.Data)/max(1, a.Shape[0]))
	for i, v := range a.Data {
		if v != v {
			s.fail(name, "[%d] has NaN at %d", i/size, i%size)
		}
		if r != nil {
			r.add(i%size, v)
		}
	}
	for _, k := range a.Shape[1:] {
		if k < 1 {
			s.fail(name, "its shape is %v, want at least one number in each row", a.Shape)
		}
	}
	return a.Shape[1:], npz.Narrow[float32](a.Data)
}

// observations reads rows of finite numbers.
func (s *source) observations(name string, n int) (shape []int, data []float32) {
	shape, data = s.rows(name, n, &s.rounding)
	size := max(1, len(data)/max(1, n))
	for i := 0; s.err == nil && i < len(data); i += size {
		if at := CheckObservation(data[i : i+size]); at != nil {
			s.fail(name, "[%d]%v", i/size, at)
		}
	}
	return shape, data
}

// optional reads an array of n rows, and returns nil for one that is not there.
func optional[T any](s *source, name string, n int, read func(name string, n int) []T) []T {
	if !s.archive.Has(name) {
		return nil
	}
	return read(name, n)
}

// unpack reads this project's own layout.
func unpack(a *npz.Archive, d *fileDescription) (*Set, error) {
	a.Limit = maxNumbers
	s := &source{archive: a}
	lengths := s.integers(arrayLengths, d.Trajectories, 1, maxNumbers)
	n, m := len(lengths), 0
	for _, k := range lengths {
		m += k
	}
	if m != d.Transitions {
		s.fail(arrayLengths, "they sum to %d, the description says %d transitions", m, d.Transitions)
	}
	actions := s.integers(arrayActions, m, 0, float64(d.Actions-1))
	terminated, truncated := s.flags(arrayTerminated, n), s.flags(arrayTruncated, n)
	seeds := s.integers(arraySeeds, n, NoSeed, maxSeed)
	rewards := optional(s, arrayRewards, m, s.rewards)
	logProbs := optional(s, arrayLogProbs, m, func(name string, n int) []float32 {
		shape, data := s.rows(name, n, nil)
		if !slices.Equal(shape, []int{d.Actions}) {
			s.fail(name, "its rows have the shape %v, want [%d], one for each action", shape, d.Actions)
		}
		return data
	})
	if s.err != nil {
		return nil, s.err
	}
	set := &Set{Description: d.Description, Trajectories: make([]Trajectory, n)}
	at := 0
	for i, k := range lengths {
		set.Trajectories[i] = Trajectory{
			Actions: cut(actions, at, at+k), Rewards: cut(rewards, at, at+k),
			LogProbs:   cut(logProbs, at*d.Actions, (at+k)*d.Actions),
			Terminated: terminated[i], Truncated: truncated[i], Seed: int64(seeds[i]),
		}
		at += k
	}
	switch {
	case d.Replay != nil:
		s.digests(set)
	case a.Has(arrayFrames):
		s.frames(set)
	default:
		s.pack(set)
	}
	if s.err != nil {
		return nil, s.err
	}
	if err := set.validate(); err != nil {
		return nil, fmt.Errorf("demo: %s: %w", a.Path(), err)
	}
	return set, nil
}

// pack gives the trajectories of a set their observations, as frames where they are stacks of pictures in bytes.
func (s *source) pack(set *Set) {
	shape, data := s.observations(arrayObservations, set.Transitions()+len(set.Trajectories))
	if !slices.Equal(shape, set.ObservationShape) {
		s.fail(arrayObservations, "its observations have the shape %v, the description says %v", shape,
			set.ObservationShape)
	}
	if s.err != nil {
		return
	}
	size, at := set.ObservationSize(), 0
	for i := range set.Trajectories {
		t := &set.Trajectories[i]
		end := at + (t.Len()+1)*size
		t.Observations = cut(data, at, end)
		at = end
	}
	if s.archive.HoldsBytes(arrayObservations) {
		Film(set.Trajectories, set.ObservationShape)
	}
}

// frames gives the trajectories of a set their frames.
func (s *source) frames(set *Set) {
	shape, pixels, err := s.archive.Bytes(arrayFrames)
	if err != nil {
		s.err = fmt.Errorf("demo: %w: %w", ErrFrames, err)
		return
	}
	wrong := func(text string, args ...any) {
		s.err = fmt.Errorf("demo: %s: array %q: %w: %s", s.archive.Path(), arrayFrames, ErrFrames,
			fmt.Sprintf(text, args...))
	}
	if len(set.ObservationShape) < 2 || len(shape) == 0 || !slices.Equal(shape[1:], set.FrameShape()) {
		wrong("its shape is %v, the description gives observations, which are stacks of frames, %v", shape,
			set.ObservationShape)
		return
	}
	before := optional(s, arrayBefore, len(set.Trajectories), func(name string, n int) []int {
		return s.integers(name, n, 0, maxNumbers)
	})
	if s.err != nil {
		return
	}
	stack := set.ObservationShape[0]
	size := set.ObservationSize() / stack
	for i := range set.Trajectories {
		t := &set.Trajectories[i]
		t.Frames = &Frames{Size: size, Stack: stack}
		if before != nil {
			t.Frames.First = before[i]
		}
		end := (t.Frames.First + t.Len() + 1) * size
		if end > len(pixels) {
			wrong("its %d frames end within trajectory %d", shape[0], i)
			return
		}
		t.Frames.Pixels, pixels = cut(pixels, 0, end), pixels[end:]
	}
	if len(pixels) > 0 {
		wrong("%d frames are left after the last trajectory", len(pixels)/size)
	}
}

// digests gives the trajectories of a set the digests of their observations.
func (s *source) digests(set *Set) {
	shape, sums, err := s.archive.Bytes(arrayDigests)
	if err != nil {
		s.err = fmt.Errorf("demo: %w", err)
		return
	}
	if !slices.Equal(shape, []int{len(set.Trajectories), sha256.Size}) {
		s.fail(arrayDigests, "its shape is %v, want [%d, %d]", shape, len(set.Trajectories), sha256.Size)
		return
	}
	for i := range set.Trajectories {
		set.Trajectories[i].Digest = hex.EncodeToString(sums[i*sha256.Size : (i+1)*sha256.Size])
	}
}

// cut returns x[from:to], which cannot grow into what follows, and nil for nil.
func cut[T any](x []T, from, to int) []T {
	if x == nil {
		return nil
	}
	return x[from:to:to]
}
