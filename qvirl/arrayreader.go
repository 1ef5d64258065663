package qvirl

import (
	"fmt"

	"github.com/go-birl/birl/envs/npz"
)

// arrayReader reads arrays of numbers until the first error.
type arrayReader struct {
	archive *npz.Archive
	path    string
	err     error
}

// read returns the finite numbers of an array of the given shape; a negative dimension may be of any length.
func (r *arrayReader) read(name string, shape ...int) []float64 {
	if r.err != nil {
		return nil
	}
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
		r.err = fmt.Errorf("qvirl: %s: array %q has the shape %v, want %v (is it of another problem?)", r.path, name, a.Shape, shape)
		return nil
	}
	if err := checkFinite(name, a.Data); err != nil {
		r.err = fmt.Errorf("%s: %w", r.path, err)
	}
	return a.Data
}
