package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The files in testdata were written by NumPy 2 with savez and savez_compressed.
func TestReadsWhatNumPyWrites(t *testing.T) {
	cube := make([]float64, 24)
	for i := range cube {
		cube[i] = float64(i)/8 - 1
	}
	want := map[string]Array{
		"f8": {Shape: []int{2, 3, 4}, Data: cube}, "f4": {Shape: []int{2, 3, 4}, Data: cube, Type: Float32},
		"big": {Shape: []int{2, 3, 4}, Data: cube}, "fortran": {Shape: []int{2, 3, 4}, Data: cube},
		"fortran_big_f4": {Shape: []int{2, 3, 4}, Data: cube, Type: Float32},
		"i1":             Ints([]int{-5, 7}, 2), "i2": Ints([]int{-300, 7}, 2),
		"i4": Ints([]int{-70000, 7}, 2), "i8": Ints([]int{-5000000000, 7}, 2),
		"u1": Ints([]int{200, 7}, 2), "u2": Ints([]int{60000, 7}, 2),
		"u4": Ints([]int{4000000000, 7}, 2), "u8": Ints([]int{5000000000, 7}, 2),
		"scalar": Scalar(0.9), "integer": Ints([]int{2}), "one": Floats([]float64{0.25}, 1),
		"empty": {Shape: []int{0, 2}, Type: Int64}, "flag": Bools([]bool{true, false}, 2),
		"half": {Shape: []int{2}, Data: []float64{0, 0}, Type: Float32},
	}
	for _, file := range []string{"testdata/stored.npz", "testdata/compressed.npz"} {
		a, err := Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		for name, w := range want {
			got, err := a.Array(name)
			if err != nil {
				t.Error(err)
				continue
			}
			if diff := cmp.Diff(&w, got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", file, name, diff)
			}
		}
		for _, name := range []string{"text", "complex"} {
			if _, err := a.Array(name); err == nil || !strings.Contains(err.Error(), "dtype") ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("%s: error %v, want one that names the array and its dtype", name, err)
			}
		}
		if _, err := a.Array("absent"); err == nil || !strings.Contains(err.Error(), "fortran_big_f4") {
			t.Errorf("error %v, want one that lists what the file holds", err)
		}
	}
}

func TestHalfPrecision(t *testing.T) {
	for bits, want := range map[uint16]float64{0x3c00: 1, 0x3c01: 1 + 1.0/1024, 0xc000: -2, 0x7bff: 65504,
		0x0400: 1.0 / (1 << 14), 0x03ff: 1023.0 / (1 << 24), 0x8001: -1.0 / (1 << 24), 0x3555: 1365.0 / 4096,
		0x7c00: math.Inf(1), 0xfc00: math.Inf(-1), 0x7e00: math.NaN(), 0x8000: math.Copysign(0, -1)} {
		for order, put := range map[string]func([]byte, uint16) []byte{
			"<": binary.LittleEndian.AppendUint16, ">": binary.BigEndian.AppendUint16} {
			text := "{'descr': '" + order + "f2', 'fortran_order': False, 'shape': (1,), }\n"
			a, err := readArray(bytes.NewReader(header(text, put(nil, bits))), 1<<10, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Data[0]; a.Type != Float32 || got != want && (got == got || want == want) ||
				math.Signbit(got) != math.Signbit(want) {
				t.Errorf("%s%04x is read as %g of the type %d, want %g", order, bits, got, a.Type, want)
			}
		}
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 40), 0, 3).Draw(t, "shape")
		n, _ := elements(shape)
		floats := rapid.SliceOfN(rapid.Float64(), n, n).Draw(t, "floats")
		want := Floats(floats, shape...)
		if err := Write(path, map[string]Array{"a": want, "limits": Floats([]float64{math.Inf(1), math.Inf(-1), -0.1},
			3)}); err != nil {
			t.Fatal(err)
		}
		a, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		got, err := a.Array("a")
		if err != nil {
			t.Fatal(err)
		}
		for i := range want.Data {
			if math.Float64bits(got.Data[i]) != math.Float64bits(want.Data[i]) {
				t.Fatalf("element %d: %g became %g", i, want.Data[i], got.Data[i])
			}
		}
		if fmt.Sprint(got.Shape) != fmt.Sprint(shape) {
			t.Fatalf("shape %v became %v", shape, got.Shape)
		}
	})
}

func TestWriteRefusesWhatIsNoArray(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	for name, a := range map[string]Array{
		"short":  Floats([]float64{1, 2}, 3),
		"../out": Floats([]float64{1}, 1),
		"half":   {Shape: []int{1}, Data: []float64{0.5}, Type: Int64},
		"colour": {Shape: []int{1}, Data: []float64{256}, Type: Uint8},
		"truth":  {Shape: []int{1}, Data: []float64{2}, Type: Bool},
		"huge":   {Shape: []int{math.MaxInt, 3}, Data: []float64{0.5}},
	} {
		if err := Write(path, map[string]Array{name: a}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want one that names the array", name, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s: a file was left behind", name)
		}
	}
}

// header returns a .npy stream of version 1 with the given dictionary and data.
func header(text string, data []byte) []byte {
	return append([]byte(magic+"\x01\x00"+string(rune(len(text)))+"\x00"+text), data...)
}

func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	good := header("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n", make([]byte, 16))
	for name, c := range map[string]struct {
		entry []byte
		want  string
	}{
		"nothing":     {nil, "cut off"},
		"no magic":    {[]byte("hello, this is text"), "not a NumPy array"},
		"no header":   {[]byte(magic + "\x01\x00\x50"), "cut off"},
		"long header": {[]byte(magic + "\x02\x00\xff\xff\xff\xff"), "claims 4294967295 bytes"},
		"odd header":  {header("{'shape': 3}", nil), "not understood"},
		"structured": {header("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}", nil),
			"not understood"},
		"huge shape": {header("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999,)}", nil),
			"cannot fit"},
		"overflow": {header("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296,4294967296)}", nil),
			"cannot fit"},
		"negative shape": {header("{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}", nil), "shape"},
		"short":          {good[:len(good)-3], "cut off after 0 of 2"},
		"long":           {append(bytes.Clone(good), 0), "more than the 2 numbers"},
		"object":         {header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", nil), "dtype"},
	} {
		path := filepath.Join(dir, "x.npz")
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, _ := z.Create("bad.npy")
		w.Write(c.entry)
		z.Close()
		os.WriteFile(path, b.Bytes(), 0o644)
		a, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = a.Array("bad"); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), `x.npz: array "bad"`) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		a.Close()
	}
}

func TestTruncatedAndFlippedBytes(t *testing.T) {
	whole, err := os.ReadFile("testdata/compressed.npz")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	for n := 0; n < len(whole); n += 97 {
		os.WriteFile(path, whole[:n], 0o644)
		if a, err := Open(path); err == nil {
			a.Close()
			t.Errorf("the first %d of %d bytes opened", n, len(whole))
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("error %v does not name the file", err)
		}
	}
	reference := readAll(t, "testdata/compressed.npz")
	for i := 0; i < len(whole); i += 5 { // no flipped bit may go unnoticed in the numbers, or crash
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x10
		os.WriteFile(path, flipped, 0o644)
		for name, got := range readAll(t, path) {
			if want, ok := reference[name]; ok && !cmp.Equal(want, got) {
				t.Fatalf("flipping a bit of byte %d changed %s unnoticed", i, name)
			}
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("opening a folder: error %v", err)
	}
}

// readAll returns the arrays that can be read.
func readAll(t *testing.T, path string) map[string]*Array {
	out := map[string]*Array{}
	a, err := Open(path)
	if err != nil {
		return out
	}
	defer a.Close()
	for _, name := range a.Names() {
		if array, err := a.Array(name); err == nil {
			out[name] = array
		}
	}
	return out
}

func TestSmallTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	bytes := Array{Shape: []int{2, 2}, Data: []float64{0, 1, 254, 255}, Type: Uint8}
	if err := Write(path, map[string]Array{"bytes": bytes, "flags": Bools([]bool{true, false}, 2)}); err != nil {
		t.Fatal(err)
	}
	got := readAll(t, path)
	bytes.Type = Int64 // as all integers come out
	for name, want := range map[string]Array{"bytes": bytes, "flags": {Shape: []int{2}, Data: []float64{1, 0},
		Type: Bool}} {
		if diff := cmp.Diff(&want, got[name]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestLimit(t *testing.T) {
	text, err := os.ReadFile("testdata/stored.npz")
	if err != nil {
		t.Fatal(err)
	}
	a, err := NewArchive(strings.NewReader(string(text)), int64(len(text)), "a name")
	if err != nil {
		t.Fatal(err)
	}
	a.Limit = 23
	if _, err := a.Array("f8"); err == nil ||
		!strings.Contains(err.Error(), `a name: array "f8": its shape [2 3 4] is of more than 23 numbers`) {
		t.Errorf("24 numbers where 23 are allowed: error %v", err)
	}
	if _, err := a.Array("i8"); err != nil {
		t.Error(err)
	}
}

// testdata/text.npz was written by NumPy 2: np.savez(…, unicode="rbf", bytes=np.array([b"matern32"]), …).
func TestReadsTexts(t *testing.T) {
	a, err := Open("testdata/text.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for name, want := range map[string]string{"unicode": "rbf", "bytes": "matern32", "big": "größe Ω", "empty": ""} {
		if got, err := a.Text(name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"two": "want a single text", "number": `dtype is "<f8"`, "long": "2000 characters", "absent": "no array",
	} {
		if _, err := a.Text(name); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

// TestObjectsAreNoTexts: names as pandas gives them are Python's objects, and the error says how to store them.
func TestObjectsAreNoTexts(t *testing.T) {
	object := header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", nil)
	if _, err := readTexts(bytes.NewReader(object), 1<<10, 0); err == nil ||
		!strings.Contains(err.Error(), ".astype(str)") {
		t.Errorf("error %v", err)
	}
}

// TestTextsThatCannotBeThere are refused before memory is taken for them, those of no characters too.
func TestTextsThatCannotBeThere(t *testing.T) {
	for _, dtype := range []string{"<U0", "|S0", "<U8"} {
		declared := header("{'descr': '"+dtype+"', 'fortran_order': False, 'shape': (99999999999,)}", nil)
		if _, err := readTexts(bytes.NewReader(declared), 1<<10, 0); err == nil ||
			!strings.Contains(err.Error(), "[99999999999] cannot fit into a file of 1024 bytes") {
			t.Errorf("%s: error %v", dtype, err)
		}
	}
}

// TestTextsOfAnotherEncoding are refused, those in UTF-8 are read.
func TestTextsOfAnotherEncoding(t *testing.T) {
	bytesOf := func(text string) []byte {
		return header("{'descr': '|S2', 'fortran_order': False, 'shape': (2,)}", []byte(text))
	}
	got, err := readTexts(bytes.NewReader(bytesOf("a\x00ä")), 1<<10, 0)
	if err != nil || !slices.Equal(got, []string{"a", "ä"}) {
		t.Errorf("UTF-8: %q, error %v", got, err)
	}
	points := header("{'descr': '<U1', 'fortran_order': False, 'shape': (1,)}", []byte{0, 0xd8, 0, 0})
	for want, stored := range map[string][]byte{"text 1 is not UTF-8": bytesOf("a\x00\xe4\x00"),
		"text 0 holds 0xd800": points} {
		if got, err := readTexts(bytes.NewReader(stored), 1<<10, 0); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q, error %v, want %q", got, err, want)
		}
	}
}

func TestWritesTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npz")
	want := map[string]string{"verdict": "größe Ω", "empty": "", "blanks": " a "}
	arrays := map[string]Array{}
	for name, text := range want {
		arrays[name] = String(text)
	}
	if err := Write(path, arrays); err != nil {
		t.Fatal(err)
	}
	a, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for name, text := range want {
		if got, err := a.Text(name); err != nil || got != text {
			t.Errorf("%s: %q, %v; want %q", name, got, err, text)
		}
	}
}

func TestBytesComeAsTheyAre(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	want := make([]uint8, 600)
	for i := range want {
		want[i] = uint8(7 * i)
	}
	arrays := map[string]Array{
		"bytes":  {Shape: []int{20, 30}, Type: Uint8, Bytes: [][]uint8{want[:70], {}, want[70:]}},
		"floats": Floats([]float64{1, 2}, 2),
	}
	if err := Write(path, arrays); err != nil {
		t.Fatal(err)
	}
	a, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	shape, got, err := a.Bytes("bytes")
	if err != nil || !slices.Equal(shape, []int{20, 30}) || !slices.Equal(got, want) {
		t.Errorf("shape %v, %d bytes, error %v", shape, len(got), err)
	}
	numbers, err := a.Array("bytes")
	if err != nil || numbers.Data[3] != 21 || len(numbers.Data) != 600 {
		t.Errorf("as numbers: error %v", err)
	}
	if !a.HoldsBytes("bytes") || a.HoldsBytes("floats") || a.HoldsBytes("nothing") {
		t.Error("it is not told from the header what holds bytes")
	}
	if _, _, err := a.Bytes("floats"); err == nil || !strings.Contains(err.Error(), "uint8") {
		t.Errorf("floats as bytes: error %v", err)
	}
	a.Limit = 74
	if _, _, err := a.Bytes("bytes"); err == nil || !strings.Contains(err.Error(), "more than 592") {
		t.Errorf("beyond the limit: error %v", err)
	}
	for _, bad := range []Array{
		{Shape: []int{3}, Type: Uint8, Bytes: [][]uint8{{1, 2}}},
		{Shape: []int{2}, Type: Float32, Bytes: [][]uint8{{1, 2}}},
		{Shape: []int{2}, Type: Uint8, Data: []float64{1}, Bytes: [][]uint8{{1}}},
	} {
		if err := Write(path, map[string]Array{"x": bad}); err == nil {
			t.Errorf("%+v is written", bad)
		}
	}
}
