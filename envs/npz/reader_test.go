package npz

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	if err := Write(path, map[string]Array{
		"x":     Floats([]float64{1, 2, 3, 4, 5, 6}, 3, 2),
		"gaps":  Floats([]float64{1, 2, 3, 4, math.NaN(), 6}, 3, 2),
		"count": Ints([]int{7}),
		"half":  Scalar(0.5),
		"none":  Scalar(math.NaN()),
		"large": Scalar(1 << 31),
	}); err != nil {
		t.Fatal(err)
	}
	open := func() *Reader {
		a, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.Close() })
		return a.Under("")
	}

	r := open()
	x, any := r.Finite("x", -1, 2), r.Numbers("x", 3, 2)
	if want := []float64{1, 2, 3, 4, 5, 6}; !slices.Equal(x, want) || !slices.Equal(any, want) {
		t.Errorf("x = %v and %v, want %v", x, any, want)
	}
	if gaps := r.Numbers("gaps", 3, -1); len(gaps) != 6 || !math.IsNaN(gaps[4]) {
		t.Errorf("gaps = %v", gaps)
	}
	if n, h := r.Int("count"), r.Scalar("half"); n != 7 || h != 0.5 {
		t.Errorf("count = %d and half = %g, want 7 and 0.5", n, h)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}

	for want, read := range map[string]func(*Reader){
		"gaps[2,0] = NaN is not finite":             func(r *Reader) { r.Finite("gaps", 3, 2) },
		"half = 0.5 is not a count":                 func(r *Reader) { r.Int("half") },
		"none = NaN is not finite":                  func(r *Reader) { r.Scalar("none") },
		"large = 2.147483648e+09 is not a count":    func(r *Reader) { r.Int("large") },
		`array "x" has the shape [3 2], want [2 2]`: func(r *Reader) { r.Finite("x", 2, 2) },
		`array "x" has the shape [3 2], want [-1]`:  func(r *Reader) { r.Finite("x", -1) },
		`array "x" has the shape [3 2], want []`:    func(r *Reader) { r.Scalar("x") },
		`no array "y"`:                              func(r *Reader) { r.Numbers("y", 1) },
		"three of a kind":                           func(r *Reader) { r.Fail("three of a %s", "kind") },
	} {
		r := open()
		read(r)
		if x := r.Finite("x", 3, 2); x != nil || r.Int("count") != 0 {
			t.Errorf("%s: reading goes on after it", want)
		}
		r.Fail("later")
		if err := r.Err(); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one with %q and the file", err, want)
		}
	}
}
