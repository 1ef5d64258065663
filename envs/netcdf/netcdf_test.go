package netcdf

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// The values of the author of the hash, https://burtleburtle.net/bob/c/lookup3.c, driver5.
func TestLookup3(t *testing.T) {
	for text, want := range map[string]uint32{"": 0xdeadbeef, "Four score and seven years ago": 0x17770551} {
		if got := lookup3([]byte(text)); got != want {
			t.Errorf("%q: %x, want %x", text, got, want)
		}
	}
}

// The superblock says how long the file is, and every address that is given out is within it. What the file means is
// tested by reading it with others' libraries (package inferencedata).
func TestLength(t *testing.T) {
	many := make([]string, maxObjects+10) // on two heaps
	for i := range many {
		many[i] = strings.Repeat("x", i%40)
	}
	root := &Group{Groups: []Group{{Name: "g", Attributes: map[string]string{"a": "ß"}, Variables: []Variable{
		{Name: "x", Dims: []string{"x"}, Data: many},
		{Name: "none", Dims: []string{"none"}, Data: []int64{}},
		{Name: "y", Dims: []string{"x", "none"}, Data: []float64{}},
		{Name: "one", Data: []float64{3}},
	}}}}
	var b bytes.Buffer
	if err := Write(&b, root); err != nil {
		t.Fatal(err)
	}
	if got := le.Uint64(b.Bytes()[28:]); got != uint64(b.Len()) {
		t.Errorf("the superblock says %d bytes, but there are %d", got, b.Len())
	}
	for limit := 0; limit < b.Len(); limit += b.Len()/50 + 1 {
		if err := Write(&full{limit}, root); !errors.Is(err, errFull) {
			t.Fatalf("a disk that is full after %d bytes: %v", limit, err)
		}
	}
}

var errFull = errors.New("full")

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestRefuses(t *testing.T) {
	x := Variable{Name: "x", Dims: []string{"x"}, Data: []int64{1, 2}}
	for want, g := range map[string]Group{
		`no variable "y"`:    {Variables: []Variable{x, {Name: "z", Dims: []string{"y"}, Data: []float64{1}}}},
		"/z holds 3 numbers": {Variables: []Variable{x, {Name: "z", Dims: []string{"x"}, Data: make([]float64, 3)}}},
		"neither []float64":  {Variables: []Variable{{Name: "z", Data: []float32{1}}}},
		"given twice":        {Variables: []Variable{x, x}},
		"zero byte":          {Variables: []Variable{{Name: "z", Data: []string{"a\x00b"}}}},
		`group "/g"`:         {Groups: []Group{{Name: "g", Variables: []Variable{{Data: []int64{1}}}}}},
		`group name "x" is`:  {Variables: []Variable{x}, Groups: []Group{{Name: "x"}}},
		`attribute ""`:       {Attributes: map[string]string{"": "text"}},
		"the text \"aaa":     {Variables: []Variable{{Name: "z", Data: []string{strings.Repeat("a", maxHeader+1)}}}},
	} {
		if err := Write(&bytes.Buffer{}, &g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
