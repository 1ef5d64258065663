// Package npz reads and writes NumPy's .npz archives of real numbers and of texts.
//
// Reading trusts nothing that a file says about itself: memory is taken as data arrive, never by a declared size, and
// each error names the file and the array. Floats (of 16, 32 and 64 bits), integers of every width, and truth values,
// in either byte order, in C and in Fortran order, stored or deflated, are accepted; the numbers come out as float64 in
// C order.
package npz

import (
	"archive/zip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-birl/birl/envs/atomicfile"
)

// Type is how the numbers of an array are stored.
type Type int

// The types that are written. Reading maps integers of any width to Int64, and floats to Float64 or Float32; truth
// values come out as 0 and 1.
const (
	Float64 Type = iota
	Float32
	Int64
	Uint8
	Bool
	Text // texts of one width, as their characters' code points, filled up with zeros; only written, see Archive.Texts
)

// String returns what a reader calls such numbers.
func (t Type) String() string {
	return [...]string{"floats", "floats", "integers", "bytes", "truth values", "texts"}[t]
}

// Array is an array of real numbers in C order (the last index runs fastest). A shape of no dimensions is a scalar.
type Array struct {
	Shape []int     // length of each axis
	Data  []float64 // as many as the product of the shape; integers beyond 2⁵³ are rounded
	Type  Type      // how the file stores the numbers
	// Bytes, if it is not nil, are the numbers of the Type Uint8 in place of Data, in parts one behind the other, for
	// arrays so large that float64s would fill the memory. It is only written; see Archive.Bytes.
	Bytes [][]uint8
}

// count returns how many numbers there are.
func (a Array) count() int {
	n := len(a.Data)
	for _, part := range a.Bytes {
		n += len(part)
	}
	return n
}

// Widen returns numbers of another type as an Array has them.
func Widen[T ~float32 | ~int | ~int32 | ~int64 | ~uint8](data []T) []float64 {
	out := make([]float64, len(data))
	for i, v := range data {
		out[i] = float64(v)
	}
	return out
}

// Narrow returns numbers of an Array as those of another type, which has to hold them.
func Narrow[T ~float32 | ~int | ~int32 | ~int64 | ~uint8](data []float64) []T {
	out := make([]T, len(data))
	for i, v := range data {
		out[i] = T(v)
	}
	return out
}

// Floats returns an array of float64 with the given shape.
func Floats(data []float64, shape ...int) Array { return Array{Shape: shape, Data: data} }

// Ints returns an array of int64 with the given shape.
func Ints(data []int, shape ...int) Array {
	return Array{Shape: shape, Data: Widen(data), Type: Int64}
}

// Bools returns an array of truth values with the given shape.
func Bools(data []bool, shape ...int) Array {
	a := Array{Shape: shape, Data: make([]float64, len(data)), Type: Bool}
	for i, v := range data {
		a.Data[i] = Indicator(v)
	}
	return a
}

// Indicator returns 1 where something holds, and 0 where it does not.
func Indicator(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// Scalar returns an array of no dimensions.
func Scalar(v float64) Array { return Array{Data: []float64{v}} }

// String returns an array of no dimensions that holds a text.
func String(text string) Array {
	a := Strings([]string{text})
	a.Shape = nil
	return a
}

// Strings returns an array of texts, of the shape [len(texts)].
func Strings(texts []string) Array {
	a := Array{Shape: []int{len(texts)}, Type: Text}
	width := 1 // NumPy knows no text of no characters
	for _, text := range texts {
		width = max(width, utf8.RuneCountInString(text))
	}
	for i, text := range texts {
		for _, r := range text {
			a.Data = append(a.Data, float64(r))
		}
		a.Data = append(a.Data, make([]float64, (i+1)*width-len(a.Data))...)
	}
	return a
}

// Archive is an open .npz file.
type Archive struct {
	// Limit is the most numbers that an array may have, or 0 where any number will do. It keeps a small file of
	// zeros, which deflates a thousandfold, from filling the memory.
	Limit int

	path  string
	size  int64
	file  io.Closer // nil where the caller keeps it
	files map[string]*zip.File
}

// Open opens the archive at path. The caller closes it.
func Open(path string) (*Archive, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("npz: %s is a folder, want an .npz file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	return owned(f, info.Size(), path)
}

// owned returns the archive in a file, which it closes.
func owned(f *os.File, size int64, path string) (*Archive, error) {
	a, err := NewArchive(f, size, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	a.file = f
	return a, nil
}

// ErrSum is the error of OpenSummed for a file that has another SHA-256.
var ErrSum = errors.New("one of them is damaged, or belongs to another file")

// OpenSummed is Open of a file whose SHA-256, in hexadecimal digits, has to be sum, which its description says. The
// digest and the arrays are read from one open file, which nobody can exchange in between.
func OpenSummed(path, sum, description string) (*Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	}
	h := sha256.New()
	size, err := io.Copy(h, f)
	if is := fmt.Sprintf("%x", h.Sum(nil)); err == nil && is != sum {
		err = fmt.Errorf("it has the SHA-256 %s, its description %s says %s: %w", is, filepath.Base(description), sum,
			ErrSum)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("npz: %s: %w", path, err), f.Close())
	}
	return owned(f, size, path)
}

// NewArchive returns the archive in the first size bytes of r, which errors call by its name.
func NewArchive(r io.ReaderAt, size int64, name string) (*Archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npz: %s (%d bytes) is not an .npz archive, or is cut off: %w", name, size, err)
	}
	a := &Archive{path: name, size: size, files: map[string]*zip.File{}}
	for _, f := range z.File {
		array := strings.TrimSuffix(f.Name, ".npy")
		if a.files[array] != nil {
			return nil, fmt.Errorf("npz: %s holds the array %q twice", name, array)
		}
		a.files[array] = f
	}
	return a, nil
}

// Close closes the file that Open opened.
func (a *Archive) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

// Path returns the path that the archive was opened with.
func (a *Archive) Path() string { return a.path }

// Names returns the names of the arrays, sorted.
func (a *Archive) Names() []string { return slices.Sorted(maps.Keys(a.files)) }

// Has reports whether there is an array of that name.
func (a *Archive) Has(name string) bool { return a.files[name] != nil }

// Array reads the array of that name.
func (a *Archive) Array(name string) (*Array, error) {
	var out *Array
	err := a.read(name, func(r io.Reader) (err error) { out, err = readArray(r, a.size, a.Limit); return err })
	return out, err
}

// Bytes reads the array of that name, which holds uint8, without making other numbers of them. Limit bounds it to eight
// times as many numbers as other arrays, which is as much memory.
func (a *Archive) Bytes(name string) (shape []int, data []uint8, err error) {
	err = a.read(name, func(r io.Reader) (err error) { shape, data, err = readBytes(r, a.Limit); return err })
	return shape, data, err
}

// HoldsBytes reports whether there is an array of that name which Bytes reads, by its header alone.
func (a *Archive) HoldsBytes(name string) (ok bool) {
	_ = a.read(name, func(r io.Reader) error { // an array that cannot be read holds none
		dtype, fortran, shape, err := readHeader(r)
		ok = err == nil && bytesInOrder(dtype, fortran, shape)
		return err
	})
	return ok
}

// Shape returns the shape that the header of an array declares, without reading its numbers.
func (a *Archive) Shape(name string) ([]int, error) {
	var shape []int
	err := a.read(name, func(r io.Reader) (err error) { _, _, shape, err = readHeader(r); return err })
	return shape, err
}

// Text reads an array of that name which holds one text, as of np.array("rbf"), in UTF-8 or UTF-32.
func (a *Archive) Text(name string) (string, error) {
	texts, err := a.Texts(name)
	if err == nil && len(texts) != 1 {
		err = fmt.Errorf("npz: %s: array %q: it holds %d texts, want a single text", a.path, name, len(texts))
	}
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// Texts reads an array of that name which holds texts, as of np.array(["left", "right"]), in UTF-8 or UTF-32.
func (a *Archive) Texts(name string) ([]string, error) {
	var out []string
	err := a.read(name, func(r io.Reader) (err error) { out, err = readTexts(r, a.size, a.Limit); return err })
	return out, err
}

func (a *Archive) read(name string, read func(io.Reader) error) error {
	f := a.files[name]
	if f == nil {
		return fmt.Errorf("npz: %s has no array %q; it holds %s", a.path, name, strings.Join(a.Names(), ", "))
	}
	r, err := f.Open()
	if err != nil {
		return fmt.Errorf("npz: %s: array %q: %w", a.path, name, err)
	}
	defer r.Close()
	if err := read(r); err != nil {
		return fmt.Errorf("npz: %s: array %q: %w", a.path, name, err)
	}
	return nil
}

// Write writes the arrays to an archive at path, deflated, in the order of their names. The file appears whole or not
// at all. Its folder must exist.
func Write(path string, arrays map[string]Array) error {
	for name, a := range arrays {
		if n, ok := elements(a.Shape); a.Type != Text && (!ok || n != a.count()) {
			return fmt.Errorf("npz: array %q: %d numbers do not fill the shape %v", name, a.count(), a.Shape)
		}
		if a.Bytes != nil && (a.Type != Uint8 || a.Data != nil) {
			return fmt.Errorf("npz: array %q has Bytes, which want the type Uint8 and no Data", name)
		}
		if name == "" || name != filepath.Base(name) {
			return fmt.Errorf("npz: %q cannot be the name of an array", name)
		}
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			entry, err := z.Create(name + ".npy")
			if err != nil {
				return err
			}
			if err := writeArray(entry, arrays[name]); err != nil {
				return fmt.Errorf("array %q: %w", name, err)
			}
		}
		return z.Close()
	})
}
