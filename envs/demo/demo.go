// Package demo holds demonstrations: trajectories that somebody, an expert or a policy at random, went through in an
// environment. It stores them, and reads what others have stored.
//
// [Set.Write] and [Read] use this project's own layout, an .npz file beside a description in JSON; [Import] reads the
// flat and imitation's layout and CSV; [Open] finds out which of them a file is. The command demos also converts what
// Minari and datasets store. Reading trusts nothing that a file says: an error names the file, the array and the index.
//
// The arrays of the project's own layout, for M transitions in n trajectories, one behind the other:
//
//	observations [M+n, …]   float32, or uint8 where that is exact; instead of them
//	frames [M+n+Σ, …]       uint8, where observations are stacks of frames: each frame once, of all trajectories, with Σ
//	                        the sum of frames_before [n], integers: frames before the one that a trajectory begins
//	                        with (absent where all are 0); or
//	digests [n, 32]         uint8, where a replay gives the observations: the SHA-256 of those of each trajectory
//	actions [M]             integers
//	rewards [M]             float64, where they are known
//	log_probs [M, |A|]      float32, where they are known: the demonstrator's
//	lengths [n]             integers: transitions of each trajectory
//	terminated, truncated [n]   bool
//	seeds [n]               integers, −1 where there is none
package demo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
)

// Trajectory is one episode, or the beginning of one, of T ≥ 1 transitions.
type Trajectory struct {
	// Observations [T+1, …] in C order, finite. The last one is that of the state which the last action led to.
	Observations []float32
	// Frames take the place of Observations, which are nil then, where observations are stacks of pictures.
	Frames *Frames
	// Digest is, where both are nil because a replay gives them, what Sum returns of them.
	Digest string
	// Actions [T] are 0, …, |A| − 1.
	Actions []int
	// Rewards [T] of magnitudes up to MaxReward, or nil where they are not known.
	Rewards []float64
	// LogProbs [T, |A|] are the demonstrator's log-probabilities of every action, or nil where they are not known.
	// Their mean at the actions taken is the ceiling of a held-out log-likelihood.
	LogProbs []float32
	// Terminated says that the environment reached an end with the last action, Truncated that the episode was cut off
	// there by the environment. With neither, whoever collected it stopped.
	Terminated, Truncated bool
	// Seed is what the environment was reset with, or NoSeed.
	Seed int64
}

// NoSeed is the seed of a trajectory that began with none, or with one that is not known.
const NoSeed = -1

// MaxReward is the largest magnitude of a reward: beyond it the spread of returns is no number any more.
const MaxReward = 1e100

// CheckReward refuses a reward that is not a number, or beyond MaxReward.
func CheckReward(r float64) error {
	if !(math.Abs(r) <= MaxReward) {
		return fmt.Errorf("is %g, want a number of magnitude at most %g", r, MaxReward)
	}
	return nil
}

// CheckObservation refuses observations with a number that is not finite, which a number beyond those of float32
// becomes.
func CheckObservation(o []float32) error {
	for i, x := range o {
		if x-x != 0 {
			return fmt.Errorf("[%d] is %g, want a finite number that float32 holds", i, x)
		}
	}
	return nil
}

// maxSeed is the largest integer that every program that reads a file can represent.
const maxSeed = 1 << 53

// Len returns the number T of transitions.
func (t *Trajectory) Len() int { return len(t.Actions) }

// Observation returns observation i, of T+1. It shares memory with the trajectory, unless that holds frames, whose
// bytes become numbers.
func (t *Trajectory) Observation(i int) []float32 {
	if f := t.Frames; f != nil {
		pixels, out := make([]uint8, f.Stack*f.Size), make([]float32, f.Stack*f.Size)
		f.Observation(pixels, i)
		for k, x := range pixels {
			out[k] = float32(x)
		}
		return out
	}
	size := len(t.Observations) / (t.Len() + 1)
	return t.Observations[i*size : (i+1)*size : (i+1)*size]
}

// Sum returns the SHA-256, in hexadecimal, of the frames' bytes or, of other observations, of float32s, little-endian.
func (t *Trajectory) Sum() string {
	h := sha256.New()
	if t.Frames != nil {
		h.Write(t.Frames.Pixels)
	}
	var buffer []byte
	for part := range slices.Chunk(t.Observations, 1024) {
		buffer = buffer[:0]
		for _, x := range part {
			buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(x))
		}
		h.Write(buffer)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Slice returns the transitions from, …, to−1 as a trajectory, which shares memory with this one. It ends as this one
// does if it holds the last transition, and otherwise somebody stopped; its environment's seed is not known.
func (t *Trajectory) Slice(from, to int) Trajectory {
	size, actions := len(t.Observations)/(t.Len()+1), len(t.LogProbs)/max(t.Len(), 1)
	last := to == t.Len()
	return Trajectory{Observations: cut(t.Observations, from*size, (to+1)*size), Frames: t.Frames.slice(from, to),
		Actions: t.Actions[from:to:to], Rewards: cut(t.Rewards, from, to),
		LogProbs: cut(t.LogProbs, from*actions, to*actions), Terminated: t.Terminated && last,
		Truncated: t.Truncated && last, Seed: NoSeed}
}

// Return returns the sum of the rewards, and NaN if they are not known.
func (t *Trajectory) Return() float64 {
	if t.Rewards == nil {
		return math.NaN()
	}
	sum := 0.0
	for _, r := range t.Rewards {
		sum += r
	}
	return sum
}

// Description says what a set of demonstrations is.
type Description struct {
	// Environment is the environment's id, such as "LunarLander-v3", and Versions are those of the packages that it
	// came from.
	Environment string            `json:"environment"`
	Versions    map[string]string `json:"versions,omitempty"`
	// ObservationShape is the shape of one observation, and Actions the number |A| of actions.
	ObservationShape []int `json:"observation_shape"`
	Actions          int   `json:"actions"`
	// Expert says in words who demonstrated, Beta at which rationality coefficient, and Seed is that of the
	// demonstrator's own random choices.
	Expert string   `json:"expert,omitempty"`
	Beta   *float64 `json:"beta,omitempty"`
	Seed   uint64   `json:"seed"`
	// Incomplete says in words, of a collection that a fault or an interruption ended, how many episodes were cut off,
	// which are trajectories of neither end, and by what.
	Incomplete string `json:"incomplete,omitempty"`
	// Source says where an imported set came from.
	Source string `json:"source,omitempty"`
	// Made says how the environment was made, if not by its id alone.
	Made *Recipe `json:"made,omitempty"`
	// Replay, if it is not nil, says how to make the environment, which repeats an episode from its seed and actions:
	// a file of the set then holds no observations but their digests, and gym.Replay makes them again.
	Replay *Recipe `json:"replay,omitempty"`
	// Statistics are further figures by name, such as the demonstrator's action entropy.
	Statistics map[string]float64 `json:"statistics,omitempty"`
}

// Recipe is how an environment is made, beside its id.
type Recipe struct {
	// Imports are Python modules that register it, Options keyword arguments of its constructor, in JSON, and Wrappers
	// are put around it, the first one innermost.
	Imports  []string       `json:"imports,omitempty"`
	Options  map[string]any `json:"options,omitempty"`
	Wrappers []Wrapper      `json:"wrappers,omitempty"`
}

// Wrapper is a Gymnasium wrapper.
type Wrapper struct {
	// Class is "module:name", such as "gymnasium.wrappers:FrameStackObservation".
	Class string `json:"class"`
	// Options are its keyword arguments, beside the environment.
	Options map[string]any `json:"options"`
}

// Set is a description with its trajectories.
type Set struct {
	Description
	Trajectories []Trajectory
	// Ignored are the arrays or columns that an imported file has beside those of its layout. Nobody has read them.
	Ignored []string
	// Merged are the features of an imported file most of whose changes from row to row float32 is too coarse for.
	Merged []int
}

// Transitions returns the number of transitions of all trajectories.
func (s *Set) Transitions() int { return Transitions(s.Trajectories) }

// Transitions returns the number of transitions of all trajectories.
func Transitions(trajectories []Trajectory) int {
	n := 0
	for i := range trajectories {
		n += trajectories[i].Len()
	}
	return n
}

// Ended returns the share of trajectories that reached an end, and were not cut off.
func Ended(trajectories []Trajectory) float64 {
	n := 0.0
	for i := range trajectories {
		if trajectories[i].Terminated {
			n++
		}
	}
	return n / float64(len(trajectories))
}

// Ends returns how many trajectories terminated, how many were truncated instead, and of how many neither is known:
// whoever collected those stopped.
func (s *Set) Ends() (terminated, truncated, unknown int) {
	for i := range s.Trajectories {
		switch t := &s.Trajectories[i]; {
		case t.Terminated:
			terminated++
		case t.Truncated:
			truncated++
		default:
			unknown++
		}
	}
	return terminated, truncated, unknown
}

// ExpertLogLikelihood returns the mean log-probability that the demonstrator gave the actions taken, per transition,
// and false if it is not known.
func (s *Set) ExpertLogLikelihood() (float64, bool) {
	sum := 0.0
	for i := range s.Trajectories {
		t := &s.Trajectories[i]
		if t.LogProbs == nil {
			return 0, false
		}
		for k, a := range t.Actions {
			sum += float64(t.LogProbs[k*s.Actions+a])
		}
	}
	n := s.Transitions()
	return sum / float64(n), n > 0
}

// ObservationSize returns the number of numbers of an observation.
func (d *Description) ObservationSize() int {
	n := 1
	for _, k := range d.ObservationShape {
		n *= k
	}
	return n
}

// Validate checks that every trajectory is what the description and its own type promise. The error names trajectory,
// array and index.
func (s *Set) Validate() error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

func (s *Set) validate() error {
	if s.Actions < 1 {
		return fmt.Errorf("the set has %d actions, want at least one", s.Actions)
	}
	for i, k := range s.ObservationShape {
		if k < 1 {
			return fmt.Errorf("the observations' shape %v has %d at index %d, want at least 1", s.ObservationShape, k,
				i)
		}
	}
	for i := range s.Trajectories {
		if err := s.Trajectories[i].validate(&s.Description); err != nil {
			return fmt.Errorf("trajectory %d: %w", i, err)
		}
		if a, b := &s.Trajectories[i], &s.Trajectories[0]; (a.Rewards == nil) != (b.Rewards == nil) ||
			(a.LogProbs == nil) != (b.LogProbs == nil) || (a.Frames == nil) != (b.Frames == nil) {
			return fmt.Errorf("of trajectories 0 and %d, one has rewards, log-probabilities or frames and the other "+
				"has not", i)
		}
	}
	return nil
}

func (t *Trajectory) validate(d *Description) error {
	n, actions := t.Len(), d.Actions
	if n == 0 {
		return fmt.Errorf("it has no transitions")
	}
	size := d.ObservationSize()
	switch {
	case t.Frames != nil:
		if err := t.Frames.Check(n, d); err != nil {
			return err
		}
		size = 0 // there are no other observations
	case d.Replay != nil && t.Observations == nil:
		if _, err := hex.DecodeString(t.Digest); err != nil || len(t.Digest) != 2*sha256.Size {
			return fmt.Errorf("it has neither observations nor their digest, but %.70q", t.Digest)
		}
		size = 0
	}
	if err := check.First(
		check.That(len(t.Observations) == (n+1)*size, "%d actions want %d observations of %d numbers each, there are "+
			"%d numbers", n, n+1, size, len(t.Observations)),
		check.That(t.Rewards == nil || len(t.Rewards) == n, "%d rewards for %d actions", len(t.Rewards), n),
		check.That(t.LogProbs == nil || len(t.LogProbs) == n*actions, "%d log-probabilities for %d × %d actions",
			len(t.LogProbs), n, actions)); err != nil {
		return err
	}
	if i := slices.IndexFunc(t.Actions, func(a int) bool { return a < 0 || a >= actions }); i >= 0 {
		return fmt.Errorf("action[%d] is %d, want 0 to %d", i, t.Actions[i], actions-1)
	}
	for i := range n + 1 {
		if err := CheckObservation(t.Observation(i)); err != nil {
			return fmt.Errorf("observation[%d]%w", i, err)
		}
	}
	for k, a := range t.Actions {
		if t.LogProbs != nil && math.IsInf(float64(t.LogProbs[k*actions+a]), -1) {
			return fmt.Errorf("the log-probability[%d][%d] is -Inf, though that is the action taken", k, a)
		}
	}
	for i, r := range t.Rewards {
		if err := CheckReward(r); err != nil {
			return fmt.Errorf("reward[%d] %w", i, err)
		}
	}
	// rounding may exceed log 1
	if i := slices.IndexFunc(t.LogProbs, func(x float32) bool { return !(x <= 1e-5) }); i >= 0 {
		return fmt.Errorf("the log-probability[%d][%d] is %g, want at most 0", i/actions, i%actions, t.LogProbs[i])
	}
	return check.That(t.Seed >= NoSeed && t.Seed <= maxSeed, "the seed is %d, want 0 to 2⁵³, or %d for none", t.Seed,
		NoSeed)
}
