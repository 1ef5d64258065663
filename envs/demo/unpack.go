package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/go-birl/birl/envs/npz"
)

// source reads arrays of an archive; the errors name the archive and the array.
type source struct {
	archive *npz.Archive
}

// array reads an array and checks its rank and type. A length other than −1 is that of its first axis.
func (s source) array(name string, rank, length int, types ...npz.Type) (*npz.Array, error) {
	a, err := s.archive.Array(name)
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	if !slices.Contains(types, a.Type) {
		return nil, s.errorf(name, "it holds %s, want %s", typeName(a.Type), typeName(types[0]))
	}
	if rank >= 0 && len(a.Shape) != rank || len(a.Shape) == 0 {
		return nil, s.errorf(name, "it has the shape %v, want %d dimensions", a.Shape, max(rank, 1))
	}
	if length >= 0 && a.Shape[0] != length {
		return nil, s.errorf(name, "it has %d rows, want %d", a.Shape[0], length)
	}
	return a, nil
}

func (s source) errorf(name, text string, args ...any) error {
	return fmt.Errorf("demo: %s: array %q: %s", s.archive.Path(), name, fmt.Sprintf(text, args...))
}

func typeName(t npz.Type) string {
	switch t {
	case npz.Int64:
		return "integers"
	case npz.Bool:
		return "truth values"
	}
	return "floats"
}

// flags reads truth values; integers 0 and 1 will do.
func (s source) flags(name string, n int) ([]bool, error) {
	a, err := s.array(name, 1, n, npz.Bool, npz.Int64)
	if err != nil {
		return nil, err
	}
	out := make([]bool, n)
	for i, v := range a.Data {
		if v != 0 && v != 1 {
			return nil, s.errorf(name, "[%d] is %g, want 0 or 1", i, v)
		}
		out[i] = v == 1
	}
	return out, nil
}

// integers reads numbers from low to high.
func (s source) integers(name string, n int, low, high float64) ([]int, error) {
	a, err := s.array(name, 1, n, npz.Int64, npz.Float64)
	if err != nil {
		return nil, err
	}
	if a.Type != npz.Int64 && len(a.Data) > 0 { // NumPy makes an empty list one of floats
		return nil, s.errorf(name, "it holds %s, want integers", typeName(a.Type))
	}
	out := make([]int, len(a.Data))
	for i, v := range a.Data {
		if v < low || v > high {
			return nil, s.errorf(name, "[%d] is %.0f, want %.0f to %.0f", i, v, low, high)
		}
		out[i] = int(v)
	}
	return out, nil
}

// rewards reads floats up to MaxReward; integers will do.
func (s source) rewards(name string, n int) ([]float64, error) {
	a, err := s.array(name, 1, n, npz.Float64, npz.Float32, npz.Int64)
	if err != nil {
		return nil, err
	}
	for i, v := range a.Data {
		if err := CheckReward(v); err != nil {
			return nil, s.errorf(name, "[%d] %v", i, err)
		}
	}
	return a.Data, nil
}

// rows reads an array [n, …] of numbers, of which none may be NaN, as float32, and returns the shape of a row.
func (s source) rows(name string, n int) (shape []int, data []float32, err error) {
	a, err := s.array(name, -1, n, npz.Float32, npz.Float64, npz.Int64, npz.Bool)
	if err != nil {
		return nil, nil, err
	}
	data = make([]float32, len(a.Data))
	size := max(1, len(a.Data)/max(1, a.Shape[0]))
	for i, v := range a.Data {
		if v != v {
			return nil, nil, s.errorf(name, "[%d] has NaN at %d", i/size, i%size)
		}
		data[i] = float32(v)
	}
	for _, k := range a.Shape[1:] {
		if k < 1 {
			return nil, nil, s.errorf(name, "its shape is %v", a.Shape)
		}
	}
	return a.Shape[1:], data, nil
}

// observations reads rows of finite numbers.
func (s source) observations(name string, n int) (shape []int, data []float32, err error) {
	shape, data, err = s.rows(name, n)
	size := max(1, len(data)/max(1, n))
	for i := 0; err == nil && i < len(data); i += size {
		if at := CheckObservation(data[i : i+size]); at != nil {
			err = s.errorf(name, "[%d]%v", i/size, at)
		}
	}
	return shape, data, err
}

// optional returns nil for an array that is not there.
func optional[T any](s source, name string, read func() (T, error)) (T, error) {
	if !s.archive.Has(name) {
		var none T
		return none, nil
	}
	return read()
}

// unpack reads this project's own layout.
func unpack(a *npz.Archive, d *fileDescription) (*Set, error) {
	a.Limit = maxNumbers
	s := source{a}
	lengths, err := s.integers(arrayLengths, d.Trajectories, 1, maxNumbers)
	if err != nil {
		return nil, err
	}
	n, m := len(lengths), 0
	for _, k := range lengths {
		m += k
	}
	if m != d.Transitions {
		return nil, s.errorf(arrayLengths, "they sum to %d, the description says %d transitions", m, d.Transitions)
	}
	actions, err := s.integers(arrayActions, m, 0, float64(d.Actions-1))
	if err != nil {
		return nil, err
	}
	terminated, err := s.flags(arrayTerminated, n)
	if err != nil {
		return nil, err
	}
	truncated, err := s.flags(arrayTruncated, n)
	if err != nil {
		return nil, err
	}
	seeds, err := s.integers(arraySeeds, n, NoSeed, maxSeed)
	if err != nil {
		return nil, err
	}
	rewards, err := optional(s, arrayRewards, func() ([]float64, error) { return s.rewards(arrayRewards, m) })
	if err != nil {
		return nil, err
	}
	logProbs, err := optional(s, arrayLogProbs, func() ([]float32, error) {
		return s.logProbs(arrayLogProbs, m,
			d.Actions)
	})
	if err != nil {
		return nil, err
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
		err = s.digests(set)
	case a.Has(arrayFrames):
		err = s.frames(set)
	default:
		err = s.pack(set)
	}
	if err != nil {
		return nil, err
	}
	if err := set.Validate(); err != nil {
		return nil, fmt.Errorf("demo: %s: %w", a.Path(), err)
	}
	return set, nil
}

// pack gives the trajectories of a set their observations.
func (s source) pack(set *Set) error {
	shape, data, err := s.observations(arrayObservations, set.Transitions()+len(set.Trajectories))
	if err != nil {
		return err
	}
	if !slices.Equal(shape, set.ObservationShape) {
		return s.errorf(arrayObservations, "its observations have the shape %v, the description says %v", shape,
			set.ObservationShape)
	}
	size, at := set.ObservationSize(), 0
	for i := range set.Trajectories {
		t := &set.Trajectories[i]
		end := at + (t.Len()+1)*size
		t.Observations = cut(data, at, end)
		at = end
	}
	return nil
}

// frames gives the trajectories of a set their frames.
func (s source) frames(set *Set) error {
	shape, pixels, err := s.archive.Bytes(arrayFrames)
	if err != nil {
		return fmt.Errorf("demo: %w: %w", ErrFrames, err)
	}
	if len(set.ObservationShape) < 2 || len(shape) == 0 || !slices.Equal(shape[1:], set.FrameShape()) {
		return fmt.Errorf("demo: %s: array %q: %w: its shape is %v, the description gives observations, which are "+
			"stacks of frames, %v", s.archive.Path(), arrayFrames, ErrFrames, shape, set.ObservationShape)
	}
	before, err := optional(s, arrayBefore, func() ([]int, error) {
		return s.integers(arrayBefore, len(set.Trajectories), 0, maxNumbers)
	})
	if err != nil {
		return err
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
			return fmt.Errorf("demo: %s: array %q: %w: its %d frames end within trajectory %d", s.archive.Path(),
				arrayFrames, ErrFrames, shape[0], i)
		}
		t.Frames.Pixels, pixels = cut(pixels, 0, end), pixels[end:]
	}
	if len(pixels) > 0 {
		return fmt.Errorf("demo: %s: array %q: %w: %d frames are left after the last trajectory", s.archive.Path(),
			arrayFrames, ErrFrames, len(pixels)/size)
	}
	return nil
}

// digests gives the trajectories of a set the digests of their observations.
func (s source) digests(set *Set) error {
	shape, sums, err := s.archive.Bytes(arrayDigests)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if !slices.Equal(shape, []int{len(set.Trajectories), sha256.Size}) {
		return s.errorf(arrayDigests, "its shape is %v, want [%d, %d]", shape, len(set.Trajectories), sha256.Size)
	}
	for i := range set.Trajectories {
		set.Trajectories[i].Digest = hex.EncodeToString(sums[i*sha256.Size : (i+1)*sha256.Size])
	}
	return nil
}

// cut returns x[from:to], which cannot grow into what follows, and nil for nil.
func cut[T any](x []T, from, to int) []T {
	if x == nil {
		return nil
	}
	return x[from:to:to]
}

// logProbs reads log-probabilities [n, actions].
func (s source) logProbs(name string, n, actions int) ([]float32, error) {
	shape, data, err := s.rows(name, n)
	if err != nil {
		return nil, err
	}
	if len(shape) != 1 || shape[0] != actions {
		return nil, s.errorf(name, "its rows have the shape %v, want [%d], one for each action", shape, actions)
	}
	return data, nil
}
