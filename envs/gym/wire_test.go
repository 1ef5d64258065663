package gym

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

func TestMessagesArriveInPieces(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 2000)
	first := append(appendHeader(nil, tellBatch, 5), "hello"...)
	second := append(appendHeader(nil, tellError, len(large)), large...)
	for name, wrap := range map[string]func(io.Reader) io.Reader{"bytes": iotest.OneByteReader,
		"halves": iotest.HalfReader} {
		r := reader{}
		for _, want := range []struct {
			message []byte
			kind    byte
		}{{first, tellBatch}, {second, tellError}} {
			r.r = wrap(bytes.NewReader(want.message))
			kind, body, err := r.next()
			if err != nil || kind != want.kind || !bytes.Equal(body, want.message[headerSize:]) {
				t.Errorf("%s: kind %q, %d bytes, error %v", name, kind, len(body), err)
			}
		}
	}
}

func TestGarbageIsNoMessage(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"nothing":        {"", io.EOF},
		"text":           {"Welcome to this Python!\n", errGarbage},
		"little":         {"Hi", errGarbage},
		"enormous":       {"\xff\xff\xff\xffBgym", errGarbage},
		"cut off":        {"\x05\x00\x00\x00Bgymhel", io.ErrUnexpectedEOF},
		"two at a time":  {"\x01\x00\x00\x00Bgym1\x01\x00\x00\x00Bgym2", errGarbage},
		"almost the tag": {"\x01\x00\x00\x00Bgyn1", errGarbage},
	} {
		if _, _, err := (&reader{r: strings.NewReader(c.text)}).next(); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	for _, body := range []string{"", "\x09\x00\x00\x00{}", "\x02\x00\x00\x00{]", "\xff\xff\xff\xff{}"} {
		var v map[string]any
		if _, err := splitText([]byte(body), &v); !errors.Is(err, errGarbage) {
			t.Errorf("text %q: error %v", body, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte("\x05\x00\x00\x00Bgymhello"))
	f.Add([]byte("\x0a\x00\x00\x00Egym\x02\x00\x00\x00{}rest"))
	f.Fuzz(func(t *testing.T, text []byte) {
		kind, body, err := (&reader{r: bytes.NewReader(text)}).next()
		if err == nil && (len(body) != len(text)-headerSize || kind != text[4]) {
			t.Errorf("%d bytes of kind %q from %q", len(body), kind, text)
		}
		var v told
		_, _ = splitText(body, &v)
	})
}

func TestArrayReadsEveryType(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		dtype DType
		bytes []byte
		want  []float64
	}{
		{"uint8", []byte{200, 3}, []float64{200, 3}},
		{"int8", []byte{200, 3}, []float64{-56, 3}},
		{"uint16", le.AppendUint16(nil, 60000), []float64{60000}},
		{"int16", le.AppendUint16(nil, 60000), []float64{-5536}},
		{"uint32", le.AppendUint32(nil, 4e9), []float64{4e9}},
		{"int32", le.AppendUint32(nil, 4e9), []float64{-294967296}},
		{"uint64", le.AppendUint64(nil, 1<<40), []float64{1 << 40}},
		{"int64", le.AppendUint64(nil, math.MaxUint64), []float64{-1}},
		{"float32", le.AppendUint32(nil, math.Float32bits(0.1)), []float64{float64(float32(0.1))}},
		{"float64", le.AppendUint64(nil, math.Float64bits(0.1)), []float64{0.1}},
	} {
		a := Array{DType: c.dtype, Shape: []int{len(c.want)}, Bytes: c.bytes}
		for i, got := range a.Float64() {
			if got != c.want[i] || a.Len() != len(c.want) || a.Float32()[i] != float32(c.want[i]) {
				t.Errorf("%s: %v, want %v", c.dtype, a.Float64(), c.want)
			}
		}
	}
	a := Array{DType: "uint8", Shape: []int{2, 3}, Bytes: []byte{1, 2, 3, 4, 5, 6}}
	if row := a.Row(1); row.Len() != 3 || row.Float32()[0] != 4 || len(row.Shape) != 1 {
		t.Errorf("row 1 is %v", row)
	}
}

func TestNaNIsFound(t *testing.T) {
	le := binary.LittleEndian
	f32 := le.AppendUint32(le.AppendUint32(nil, math.Float32bits(float32(math.Inf(1)))),
		math.Float32bits(float32(math.NaN())))
	f64 := le.AppendUint64(le.AppendUint64(nil, math.Float64bits(math.Inf(-1))), math.Float64bits(math.NaN()))
	for _, c := range []struct {
		a    Array
		want int
	}{
		{Array{DType: "float32", Bytes: f32}, 1}, {Array{DType: "float32", Bytes: f32[:4]}, -1},
		{Array{DType: "float64", Bytes: f64}, 1}, {Array{DType: "float64", Bytes: f64[:8]}, -1},
		{Array{DType: "uint8", Bytes: f32}, -1}, {Array{}, -1},
	} {
		if got := c.a.nan(); got != c.want {
			t.Errorf("%v: NaN at %d, want %d", c.a, got, c.want)
		}
	}
}

// TestRoundedIntegersAreRefused: float32 makes 2²⁴ of 2²⁴ + 1 too.
func TestRoundedIntegersAreRefused(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		a    Array
		want string
	}{
		{Array{DType: "int32", Bytes: le.AppendUint32(le.AppendUint32(nil, 3), 1<<24+1)}, "[1] is about 16777216"},
		{Array{DType: "int64", Bytes: le.AppendUint64(nil, math.MaxUint64-1<<40)}, "[0] is about -1099511627776"},
		{Array{DType: "uint32", Bytes: le.AppendUint32(nil, 1<<24-1)}, ""},
		{Array{DType: "float32", Bytes: le.AppendUint32(nil, math.Float32bits(1<<24))}, ""},
		{Array{DType: "uint8", Bytes: []byte{255}}, ""},
	} {
		err := new(episode).see(c.a, 0)
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: error %v, want one with %q", c.a, err, c.want)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{}, "Config.ID"}, {Config{ID: "x", Workers: -1}, "Workers"}, {Config{ID: "x", EnvsPerWorker: 1 << 20},
			"EnvsPerWorker"},
		{Config{ID: "x", Autoreset: "sometimes"}, "sometimes"}, {Config{ID: "x", StepLimit: -1}, "limit"},
	} {
		if _, err := Open(t.Context(), c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.config, err, c.want)
		}
	}
	got, err := Config{ID: "x"}.withDefaults()
	if err != nil || got.Workers != 1 || got.EnvsPerWorker != 1 || got.Autoreset != SameStep || got.StepLimit <= 0 ||
		got.StartLimit <= 0 {
		t.Errorf("defaults %+v, error %v", got, err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var log tail
	for range 3 {
		log.Write(bytes.Repeat([]byte("x"), tailSize-1))
	}
	log.Write([]byte("end"))
	if s := log.String(); len(s) != tailSize || !strings.HasSuffix(s, "xend") {
		t.Errorf("%d bytes are kept, the last %q", len(s), s[len(s)-4:])
	}
}

func TestErrorNamesEnvironmentAndSeed(t *testing.T) {
	e := &Error{ID: "X-v1", First: 3, Last: 3, Seeds: []int64{17}, Doing: "step with action 2", Err: io.EOF,
		Traceback: "File a\n  line b\n"}
	want := "gym: X-v1, environment 3 (seed 17), step with action 2: EOF\n    File a\n      line b"
	if e.Error() != want {
		t.Errorf("%q, want %q", e.Error(), want)
	}
	e = &Error{ID: "X-v1", First: 0, Last: 9, Seeds: []int64{17, -1, 3, 4, 5, 6, 7, 8, 9, 10}, Doing: "step",
		Err: io.EOF}
	if want := "gym: X-v1, environments 0 to 9 (seeds 17, none, 3, 4, 5, 6, 7, 8, …), step: EOF"; e.Error() != want {
		t.Errorf("%q, want %q", e.Error(), want)
	}
}
