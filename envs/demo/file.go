package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/npz"
)

// The arrays of a file; n trajectories have M transitions together, and M + n observations.
const (
	arrayObservations = "observations" // [M+n, …], float32, or uint8 where that is exact
	// In the place of observations, where these are stacks of frames:
	arrayFrames = "frames"        // [M+n+Σ before, …], uint8
	arrayBefore = "frames_before" // [n], integers: frames of a trajectory before the one it begins with; optional
	// or where a replay gives them:
	arrayDigests = "digests" // [n, 32], uint8

	arrayActions    = "actions"    // [M], integers
	arrayRewards    = "rewards"    // [M], float64; optional
	arrayLogProbs   = "log_probs"  // [M, |A|], float32; optional
	arrayLengths    = "lengths"    // [n], integers: transitions of each trajectory
	arrayTerminated = "terminated" // [n], bool
	arrayTruncated  = "truncated"  // [n], bool
	arraySeeds      = "seeds"      // [n], integers; −1 where there is none
)

const (
	format  = "birl-demonstrations-1"
	formats = "birl-" // begins every format of this project's
	// maxNumbers bounds an array, and with it the memory that reading takes, to 2 GiB.
	maxNumbers = 1 << 28
	// maxDescription bounds a description in bytes.
	maxDescription = 1 << 20
)

// fileDescription is a description as it is stored.
type fileDescription struct {
	Format string `json:"format"`
	Description
	Trajectories int      `json:"trajectories"`
	Transitions  int      `json:"transitions"`
	Returns      *Returns `json:"returns,omitempty"`
	SHA256       string   `json:"sha256"` // of the .npz file
}

// Returns sums up the returns of trajectories.
type Returns struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"` // of the sample, 0 for a single one
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
}

// Returns sums up the set's returns, and is nil if they are not known or there are no trajectories.
func (s *Set) Returns() *Returns {
	n := float64(len(s.Trajectories))
	if n == 0 || s.Trajectories[0].Rewards == nil {
		return nil
	}
	r := Returns{Min: math.Inf(1), Max: math.Inf(-1)}
	for i := range s.Trajectories {
		g := s.Trajectories[i].Return()
		r.Mean += g
		r.Min, r.Max = min(r.Min, g), max(r.Max, g)
	}
	r.Mean /= n
	for i := range s.Trajectories {
		d := s.Trajectories[i].Return() - r.Mean
		r.Std += d * d / max(1, n-1)
	}
	r.Std = math.Sqrt(r.Std)
	return &r
}

// DescriptionPath returns where the description of the .npz file at path is: x.json for x.npz.
func DescriptionPath(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".json"
}

// Files returns the paths of the files of a set stored at path: that of the arrays and that of the description.
func Files(path string) []string { return []string{path, DescriptionPath(path)} }

// PartialPath returns where a part of a set goes that was to be stored at path: path itself or, where that would
// replace a file, for x.npz the first of x.partial.npz, x.partial-2.npz, x.partial-3.npz, … that replaces none.
func PartialPath(path string) string {
	taken := func(path string) bool {
		return slices.ContainsFunc(Files(path), func(file string) bool {
			_, err := os.Lstat(file)
			return err == nil
		})
	}
	ending := filepath.Ext(path)
	partial := strings.TrimSuffix(path, ending) + ".partial"
	candidate := path
	for i := 1; taken(candidate); i++ {
		if candidate = partial + ending; i > 1 {
			candidate = fmt.Sprintf("%s-%d%s", partial, i, ending)
		}
	}
	return candidate
}

// Write stores the set at path, which has to end in .npz, and its description beside it, see WriteDescribed.
func (s *Set) Write(path string) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if len(s.Trajectories) == 0 {
		return errors.New("demo: the set has no trajectories to write")
	}
	if err := WriteDescribed(path, s.arrays(), func(sum string) any {
		return fileDescription{Format: format, Description: s.Description, Trajectories: len(s.Trajectories),
			Transitions: s.Transitions(), Returns: s.Returns(), SHA256: sum}
	}); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	return nil
}

// arrays packs the trajectories one behind the other.
func (s *Set) arrays() map[string]npz.Array {
	n, m := len(s.Trajectories), s.Transitions()
	var actions, lengths, seeds []int
	var rewards, logProbs []float64
	var terminated, truncated []bool
	for i := range s.Trajectories {
		t := &s.Trajectories[i]
		logProbs = append(logProbs, npz.Widen(t.LogProbs)...)
		actions = append(actions, t.Actions...)
		rewards = append(rewards, t.Rewards...)
		lengths, seeds = append(lengths, t.Len()), append(seeds, int(t.Seed))
		terminated, truncated = append(terminated, t.Terminated), append(truncated, t.Truncated)
	}
	out := map[string]npz.Array{
		arrayActions: npz.Ints(actions, m), arrayLengths: npz.Ints(lengths, n),
		arrayTerminated: npz.Bools(terminated, n), arrayTruncated: npz.Bools(truncated, n), arraySeeds: npz.Ints(seeds,
			n),
	}
	switch {
	case s.Replay != nil:
		out[arrayDigests] = s.digests()
	case s.Trajectories[0].Frames != nil:
		s.frames(out)
	default:
		out[arrayObservations] = s.observations()
	}
	if rewards != nil {
		out[arrayRewards] = npz.Floats(rewards, m)
	}
	if logProbs != nil {
		out[arrayLogProbs] = npz.Array{Shape: []int{m, s.Actions}, Data: logProbs, Type: npz.Float32}
	}
	return out
}

// observations packs the observations, as bytes where these are exact.
func (s *Set) observations() npz.Array {
	rows := s.Transitions() + len(s.Trajectories)
	out := npz.Array{Shape: append([]int{rows}, s.ObservationShape...),
		Data: make([]float64, 0, rows*s.ObservationSize()), Type: npz.Uint8}
	for i := range s.Trajectories {
		for _, x := range s.Trajectories[i].Observations {
			if !isByte(x) {
				out.Type = npz.Float32
			}
			out.Data = append(out.Data, float64(x))
		}
	}
	return out
}

// frames adds the arrays of frames.
func (s *Set) frames(out map[string]npz.Array) {
	pixels := npz.Array{Shape: append([]int{0}, s.FrameShape()...), Type: npz.Uint8}
	var before []int
	for i := range s.Trajectories {
		f := s.Trajectories[i].Frames
		pixels.Bytes = append(pixels.Bytes, f.Pixels)
		pixels.Shape[0] += len(f.Pixels) / f.Size
		before = append(before, f.First)
	}
	out[arrayFrames] = pixels
	if slices.Max(before) > 0 {
		out[arrayBefore] = npz.Ints(before, len(before))
	}
}

// digests packs the digests of the observations, or those that take the observations' place.
func (s *Set) digests() npz.Array {
	out := npz.Array{Shape: []int{len(s.Trajectories), sha256.Size}, Type: npz.Uint8}
	for i := range s.Trajectories {
		t := &s.Trajectories[i]
		digest := t.Digest
		if t.Frames != nil || t.Observations != nil {
			digest = t.Sum()
		}
		sum, err := hex.DecodeString(digest)
		if err != nil { // Validate has seen to it
			panic(err)
		}
		out.Bytes = append(out.Bytes, sum)
	}
	return out
}

// Read reads what Write has stored, and checks all of it. Where the description has a Replay, the trajectories have
// digests in place of observations.
func Read(path string) (*Set, error) {
	d, err := readDescription(DescriptionPath(path))
	if err != nil {
		return nil, err
	}
	a, err := npz.OpenSummed(path, d.SHA256, DescriptionPath(path))
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	defer a.Close()
	return unpack(a, d)
}

// readDescription reads a description, and checks that it may be one.
func readDescription(path string) (*fileDescription, error) {
	var d fileDescription
	err := ReadDescription(path, format, &d)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("demo: %w; it describes the .npz file beside it, and a file of another layout has to "+
			"be imported", err)
	case err != nil:
		return nil, fmt.Errorf("demo: %w", err)
	}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("demo: %s: %w", path, err)
	}
	return &d, nil
}

// check refuses a description that would take no end of memory.
func (d *fileDescription) check() error {
	_, err := CheckShape(d.ObservationShape, maxNumbers)
	if err == nil && (d.Actions < 1 || d.Actions > maxNumbers || d.Trajectories < 1 || d.Transitions < d.Trajectories ||
		d.Transitions > maxNumbers) {
		err = fmt.Errorf("it gives %d trajectories %d transitions with %d actions", d.Trajectories, d.Transitions,
			d.Actions)
	}
	return err
}

// WriteDescribed stores arrays at path, which has to end in .npz, and in JSON beside it what describe returns for their
// SHA-256. What cannot be stored leaves both files as they were. Each appears whole or not at all; between the two, the
// digest tells that they do not belong together.
func WriteDescribed(path string, arrays map[string]npz.Array, describe func(sum string) any) error {
	if filepath.Ext(path) != ".npz" {
		return fmt.Errorf("%s: want a name that ends in .npz", path)
	}
	if _, err := json.Marshal(describe("")); err != nil { // before anything is replaced
		return fmt.Errorf("the description cannot be stored: %w", err)
	}
	// The description takes its name last, but room for it is made first.
	return atomicfile.Write(DescriptionPath(path), func(w io.Writer) error {
		if err := npz.Write(path, arrays); err != nil {
			return err
		}
		sum, err := FileSum(path)
		if err != nil {
			return err
		}
		return atomicfile.EncodeJSON(w, describe(sum))
	})
}

// ReadDescription reads the description at path, which has to be of a format, into what into points to.
func ReadDescription(path, format string, into any) error {
	text, err := readText(path)
	if err != nil {
		return err
	}
	return parseDescription(text, path, format, into)
}

func parseDescription(text []byte, path, format string, into any) error {
	if len(text) > maxDescription {
		return fmt.Errorf("%s has more than %d bytes, which no description needs", path, maxDescription)
	}
	var d struct {
		Format string `json:"format"`
	}
	for _, part := range []any{&d, into} {
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(part); err != nil {
			return fmt.Errorf("%s is no description: %w", path, err)
		}
		if d.Format != format {
			return fmt.Errorf("%s has the format %.60q, want %q", path, d.Format, format)
		}
	}
	return nil
}

// CheckShape returns the number of numbers of an observation by the shape that a description gives, up to a limit.
func CheckShape(shape []int, limit int) (size int, err error) {
	if len(shape) > 32 {
		return 0, fmt.Errorf("it gives observations %d dimensions", len(shape))
	}
	size = 1
	for _, k := range shape {
		if k < 1 || k > limit/size {
			return 0, fmt.Errorf("it gives observations the shape %v", shape)
		}
		size *= k
	}
	return size, nil
}

// readText reads a file up to the length that no description exceeds, and one byte more, which tells that it does.
func readText(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxDescription+1))
}

// Inputs returns the paths of the files that Open reads for path: with the description beside it where that is one.
func Inputs(path string) []string {
	if own, err := described(path); own || err != nil {
		return Files(path)
	}
	return []string{path}
}

// described tells whether a description lies beside the file at path: a JSON object with a format of this project's,
// which others lack.
func described(path string) (bool, error) {
	if filepath.Ext(path) != ".npz" {
		return false, nil
	}
	text, err := readText(DescriptionPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("demo: %w", err)
	}
	var d struct {
		Format string `json:"format"`
	}
	err = json.NewDecoder(bytes.NewReader(text)).Decode(&d)
	return err == nil && strings.HasPrefix(d.Format, formats), nil
}

// FileSum returns the SHA-256 of a file in hexadecimal digits.
func FileSum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
