package npz

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Reader reads arrays of known shapes until the first error, after which it reads nothing more. Errors name the file,
// the array, and the entry where one is to blame.
type Reader struct {
	archive *Archive
	prefix  string
	err     error
}

// Under returns a reader of the arrays whose names begin with prefix, by the rest of their names. It does not own the
// archive: whoever opened that closes it.
func (a *Archive) Under(prefix string) *Reader { return &Reader{archive: a, prefix: prefix} }

// Err returns the first error, if there was one.
func (r *Reader) Err() error { return r.err }

// Fail is an error that the reader's user found in what was read, unless there was one before.
func (r *Reader) Fail(text string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("npz: %s: %s", r.archive.path, fmt.Sprintf(text, args...))
	}
}

// Has reports whether there is an array of that name.
func (r *Reader) Has(name string) bool { return r.archive.Has(r.prefix + name) }

// Numbers returns the numbers of an array of the given shape, in which −1 stands for any length. It returns nil after
// an error.
func (r *Reader) Numbers(name string, shape ...int) []float64 {
	a := r.array(name, shape)
	if a == nil {
		return nil
	}
	return a.Data
}

// Finite is Numbers for an array of finite ones.
func (r *Reader) Finite(name string, shape ...int) []float64 {
	a := r.array(name, shape)
	if a == nil {
		return nil
	}
	if err := a.CheckFinite(r.prefix + name); err != nil {
		r.Fail("%v", err)
		return nil
	}
	return a.Data
}

// Scalar returns a finite number; 0 after an error.
func (r *Reader) Scalar(name string) float64 {
	x := r.Finite(name)
	if x == nil {
		return 0
	}
	return x[0]
}

// Int returns an integer of at most 32 bits; 0 after an error.
func (r *Reader) Int(name string) int {
	x := r.Scalar(name)
	if x != math.Trunc(x) || math.Abs(x) > math.MaxInt32 {
		r.Fail("%s = %g is not a count", r.prefix+name, x)
		return 0
	}
	return int(x)
}

// Text returns a text; an empty one after an error.
func (r *Reader) Text(name string) (text string) {
	if r.err == nil {
		text, r.err = r.archive.Text(r.prefix + name)
	}
	return text
}

// array returns an array of the given shape.
func (r *Reader) array(name string, shape []int) *Array {
	if r.err != nil {
		return nil
	}
	name = r.prefix + name
	a, err := r.archive.Array(name)
	if err != nil {
		r.err = err
		return nil
	}
	same := len(a.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = shape[i] < 0 || a.Shape[i] == shape[i]
	}
	if !same {
		r.Fail("array %q has the shape %v, want %v", name, a.Shape, shape)
		return nil
	}
	return a
}

// CheckFinite reports the first number that is not finite in the array, which goes by the given name.
func (a *Array) CheckFinite(name string) error {
	for i, v := range a.Data {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s%s = %g is not finite", name, a.index(i), v)
		}
	}
	return nil
}

// CheckWhole reports the first number that is not whole in the array, which goes by the given name, or numbers that are
// truth values. Floats may be whole: NumPy makes them of what text files hold.
func (a *Array) CheckWhole(name string) error {
	if a.Type == Bool {
		return fmt.Errorf("%s holds %s, want integers", name, a.Type)
	}
	for i, v := range a.Data {
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return fmt.Errorf("%s%s = %g, want a whole number within ±2⁵³", name, a.index(i), v)
		}
	}
	return nil
}

// index returns the index of number i of Data as text, [0,3] for example; nothing for that of a scalar.
func (a *Array) index(i int) string {
	if len(a.Shape) == 0 {
		return ""
	}
	index := make([]string, len(a.Shape))
	for d := len(a.Shape) - 1; d >= 0; d-- {
		index[d] = strconv.Itoa(i % a.Shape[d])
		i /= a.Shape[d]
	}
	return "[" + strings.Join(index, ",") + "]"
}
