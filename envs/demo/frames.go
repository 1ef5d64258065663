package demo

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrFrames is in the chain of errors about frames of another shape, or in another layout, than is wanted.
var ErrFrames = errors.New("frames of another shape or layout")

// Frames are the pictures of a trajectory of T transitions, each held once, as bytes. Observation i, of T+1, is the
// stack of the last Stack of them.
type Frames struct {
	// Pixels [First+T+1, Size] are the frames in the order of time, in C order.
	Pixels []uint8
	// Size is how many numbers a frame has, 84·84 for example, and Stack how many frames an observation.
	Size, Stack int
	// First is the frame that observation 0 ends with. Those before it belong to the same episode, of which the
	// trajectory is a later part; it is 0 where the episode begins.
	First int
}

// Observation writes observation i into a buffer [Stack, Size]: the frames First+i−Stack+1, …, First+i, and in the
// place of those before frame 0 frame 0, as Gymnasium's FrameStackObservation begins an episode.
func (f *Frames) Observation(into []uint8, i int) {
	for k := range f.Stack {
		at := max(0, f.First+i-f.Stack+1+k) * f.Size
		copy(into[k*f.Size:(k+1)*f.Size], f.Pixels[at:at+f.Size])
	}
}

// slice returns the frames of the transitions from, …, to−1, with those before them that their observations show.
func (f *Frames) slice(from, to int) *Frames {
	if f == nil {
		return nil
	}
	begin := max(0, f.First+from-f.Stack+1)
	end := (f.First + to + 1) * f.Size
	return &Frames{Pixels: f.Pixels[begin*f.Size : end : end], Size: f.Size, Stack: f.Stack,
		First: f.First + from - begin}
}

// Check checks that the frames are those of n transitions with observations as described.
func (f *Frames) Check(n int, d *Description) error {
	shape := d.ObservationShape
	switch {
	case len(shape) < 2 || f.Stack != shape[0] || f.Size*f.Stack != d.ObservationSize():
		return fmt.Errorf("%w: they are %d numbers each in stacks of %d, the observations' shape is %v, which wants "+
			"the stack first", ErrFrames, f.Size, f.Stack, shape)
	case f.First < 0 || len(f.Pixels) != (f.First+n+1)*f.Size:
		return fmt.Errorf("%w: %d actions after frame %d want %d frames of %d numbers, there are %d numbers", ErrFrames,
			n, f.First, f.First+n+1, f.Size, len(f.Pixels))
	}
	return nil
}

// Film has trajectories hold frames, each once, in place of observations of the given shape if all observations are
// stacks of at least two pictures in bytes, [frames, height, width]: each the one before it without its first frame,
// and a frame more. Otherwise it leaves all as they are.
func Film(trajectories []Trajectory, shape []int) {
	if len(shape) != 3 || shape[0] < 2 {
		return
	}
	stack, size := shape[0], shape[1]*shape[2]
	films := make([]*Frames, len(trajectories))
	for i := range trajectories {
		f := &Frames{Size: size, Stack: stack, First: stack - 1}
		for k := range trajectories[i].Len() + 1 {
			o := trajectories[i].Observation(k)
			if k > 0 && !slices.Equal(o[:len(o)-size], trajectories[i].Observation(k - 1)[size:]) {
				return
			}
			if k > 0 {
				o = o[len(o)-size:]
			}
			for _, x := range o {
				if !isByte(x) {
					return
				}
				f.Pixels = append(f.Pixels, uint8(x))
			}
		}
		films[i] = f
	}
	for i, f := range films {
		trajectories[i].Frames, trajectories[i].Observations = f, nil
	}
}

// isByte reports whether a byte holds the number exactly.
func isByte(x float32) bool {
	return x >= 0 && x <= 255 && x == float32(uint8(x)) && !math.Signbit(float64(x))
}

// FrameShape returns the shape of one frame, [84, 84] for example, of observations that are stacks of frames.
func (d *Description) FrameShape() []int { return slices.Clone(d.ObservationShape[1:]) }
