package npz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the text header of an array. NumPy's own are about 100 bytes.
	maxHeader = 1 << 16
	// maxRatio is the most that deflate can expand its input (1032:1), so a larger declared size is a lie.
	maxRatio = 1032
	// chunk is how many bytes of an array are decoded at a time.
	chunk = 1 << 16
	// maxText is the most characters of a text.
	maxText = 1 << 10
)

// The fields of NumPy's header, a Python dictionary literal.
var (
	descrField   = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	fortranField = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	textType     = regexp.MustCompile(`^([<>|=]?)([US])(\d{1,6})$`)
	shapeField   = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([^()]*)\)`)
)

// readArray reads one .npy stream out of an archive of archiveSize bytes. A limit other than 0 is the most numbers that
// it may have.
func readArray(r io.Reader, archiveSize int64, limit int) (*Array, error) {
	dtype, fortran, shape, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	d, ok := dtypes[strings.TrimLeft(dtype, "<>|=")]
	if !ok {
		return nil, fmt.Errorf("its dtype is %q, want float64, float32, float16, an integer or bool", dtype)
	}
	n, ok := elements(shape)
	if !ok || int64(n) > archiveSize*maxRatio/int64(d.size) {
		return nil, fmt.Errorf("the declared shape %v cannot fit into a file of %d bytes", shape, archiveSize)
	}
	if limit > 0 && n > limit {
		return nil, fmt.Errorf("its shape %v is of more than %d numbers", shape, limit)
	}
	a := &Array{Shape: shape, Type: d.kind}
	buf := make([]byte, chunk)
	order := byteOrder(dtype)
	for len(a.Data) < n {
		part := buf[:min(chunk/d.size, n-len(a.Data))*d.size]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, fmt.Errorf("cut off after %d of %d numbers: %w", len(a.Data), n, noEOF(err))
		}
		for ; len(part) > 0; part = part[d.size:] {
			a.Data = append(a.Data, d.decode(order, part))
		}
	}
	switch _, err := io.ReadFull(r, buf[:1]); { // reaching the end also verifies the checksum
	case err == nil:
		return nil, fmt.Errorf("it holds more than the %d numbers of its shape %v", n, shape)
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	if fortran == "True" {
		a.Data = transpose(a.Data, shape)
	}
	return a, nil
}

// readBytes reads one .npy stream of uint8. A limit other than 0 is an eighth of the most that it may have.
func readBytes(r io.Reader, limit int) (shape []int, data []uint8, err error) {
	dtype, order, shape, err := readHeader(r)
	if err != nil {
		return nil, nil, err
	}
	if !bytesInOrder(dtype, order, shape) {
		return nil, nil, fmt.Errorf("its dtype is %q and its Fortran order %s, want uint8 in C order", dtype, order)
	}
	n, ok := elements(shape)
	if !ok || limit > 0 && n > 8*limit {
		return nil, nil, fmt.Errorf("its shape %v is of more than %d bytes", shape, 8*limit)
	}
	data, err = io.ReadAll(io.LimitReader(r, int64(n)+1)) // to the end, which also verifies the checksum
	switch {
	case err != nil:
		return nil, nil, err
	case len(data) < n:
		return nil, nil, fmt.Errorf("cut off after %d of %d numbers: %w", len(data), n, io.ErrUnexpectedEOF)
	case len(data) > n:
		return nil, nil, fmt.Errorf("it holds more than the %d numbers of its shape %v", n, shape)
	}
	return shape, data, nil
}

// bytesInOrder reports whether a header is that of uint8 in C order.
func bytesInOrder(dtype, fortran string, shape []int) bool {
	return strings.TrimLeft(dtype, "<>|=") == "u1" && (fortran != "True" || len(shape) <= 1)
}

// readTexts reads one .npy stream of texts: of at most one dimension, of a dtype U (four bytes a character) or S (in
// UTF-8), and no more of them than the limit, unless that is 0.
func readTexts(r io.Reader, archiveSize int64, limit int) ([]string, error) {
	dtype, _, shape, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	field := textType.FindStringSubmatch(dtype)
	count, ok := elements(shape)
	if strings.TrimLeft(dtype, "<>|=") == "O" {
		return nil, fmt.Errorf("its dtype is %q, of Python's objects; texts are stored by array.astype(str)", dtype)
	}
	if field == nil || !ok || len(shape) > 1 {
		return nil, fmt.Errorf("its dtype is %q and its shape %v, want texts in at most one dimension", dtype, shape)
	}
	n, _ := strconv.Atoi(field[3]) // up to six digits
	if n > maxText {
		return nil, fmt.Errorf("it has room for %d characters, more than %d", n, maxText)
	}
	if limit > 0 && count > limit {
		return nil, fmt.Errorf("it holds %d texts, more than %d", count, limit)
	}
	width, order := 4, byteOrder(dtype)
	if field[2] == "S" {
		width = 1
	}
	if int64(count) > archiveSize*maxRatio/int64(max(n*width, 1)) { // texts of no characters take memory as well
		return nil, fmt.Errorf("the declared shape %v cannot fit into a file of %d bytes", shape, archiveSize)
	}
	var texts []string
	raw := make([]byte, n*width)
	for i := range count { // memory is taken as texts arrive
		if _, err := io.ReadFull(r, raw); err != nil {
			return nil, fmt.Errorf("cut off in text %d of %d: %w", i, count, noEOF(err))
		}
		text := string(raw)
		if width == 4 {
			points := make([]rune, n)
			for k := range points {
				points[k] = rune(order.Uint32(raw[width*k:]))
				if !utf8.ValidRune(points[k]) {
					return nil, fmt.Errorf("text %d holds %#x, which is no character", i, uint32(points[k]))
				}
			}
			text = string(points)
		} else if !utf8.ValidString(text) {
			return nil, fmt.Errorf("text %d is not UTF-8; np.char.decode(array, ENCODING) makes texts of bytes", i)
		}
		texts = append(texts, strings.TrimRight(text, "\x00"))
	}
	// the end also verifies the checksum
	if n, err := io.ReadFull(r, make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("it does not end after its texts"), err)
	}
	return texts, nil
}

// readHeader reads the header of a .npy stream: its dtype, whether it is in Fortran order ("True" or "False"), and the
// shape.
func readHeader(r io.Reader) (dtype, fortran string, shape []int, err error) {
	read := func(n uint32) []byte {
		part := make([]byte, n)
		if _, failed := io.ReadFull(r, part); err == nil && failed != nil {
			err = fmt.Errorf("cut off in its header: %w", noEOF(failed))
		}
		return part
	}
	start := read(uint32(len(magic) + 2))
	if err == nil && string(start[:len(magic)]) != magic {
		return "", "", nil, errors.New("not a NumPy array")
	}
	width := uint32(4)
	if start[len(magic)] == 1 {
		width = 2
	}
	n := binary.LittleEndian.Uint32(append(read(width), 0, 0)[:4])
	switch {
	case err != nil:
		return "", "", nil, err
	case n > maxHeader:
		return "", "", nil, fmt.Errorf("its header claims %d bytes, more than any array needs", n)
	}
	text := string(read(n))
	if err != nil {
		return "", "", nil, err
	}
	return parseHeader(text)
}

func parseHeader(header string) (dtype, fortran string, shape []int, err error) {
	d, f, s := descrField.FindStringSubmatch(header), fortranField.FindStringSubmatch(header),
		shapeField.FindStringSubmatch(header)
	if d == nil || f == nil || s == nil {
		return "", "", nil, fmt.Errorf("its header is not understood: %.200q", strings.TrimSpace(header))
	}
	for _, field := range strings.Split(s[1], ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		n, err := strconv.Atoi(field)
		if err != nil || n < 0 {
			return "", "", nil, fmt.Errorf("its shape (%s) is not one", s[1])
		}
		shape = append(shape, n)
	}
	return d[1], f[1], shape, nil
}

// dtypes are NumPy's numbers without their byte order: how many bytes one takes, and how it is decoded.
var dtypes = map[string]struct {
	size   int
	kind   Type
	decode func(o binary.ByteOrder, b []byte) float64
}{
	"f8": {8, Float64, func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
	"f4": {4, Float32, func(o binary.ByteOrder, b []byte) float64 {
		return float64(math.Float32frombits(o.Uint32(b)))
	}},
	"f2": {2, Float32, func(o binary.ByteOrder, b []byte) float64 { return half(o.Uint16(b)) }},
	"i8": {8, Int64, func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) }},
	"i4": {4, Int64, func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	"i2": {2, Int64, func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	"i1": {1, Int64, func(_ binary.ByteOrder, b []byte) float64 { return float64(int8(b[0])) }},
	"u8": {8, Int64, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) }},
	"u4": {4, Int64, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) }},
	"u2": {2, Int64, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) }},
	"u1": {1, Int64, func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) }},
	"b1": {1, Bool, func(_ binary.ByteOrder, b []byte) float64 { return float64(min(b[0], 1)) }},
}

// byteOrder is that of a dtype.
func byteOrder(dtype string) binary.ByteOrder {
	if strings.HasPrefix(dtype, ">") {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// half returns the number of half precision that has the given bits: a sign, 5 of the exponent and 10 of the fraction.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&31), float64(bits&1023)
	var x float64
	switch {
	case exponent == 0: // subnormal
		x = math.Ldexp(fraction, -24)
	case exponent < 31:
		x = math.Ldexp(1024+fraction, exponent-25)
	case fraction == 0:
		x = math.Inf(1)
	default:
		return math.NaN()
	}
	if bits>>15 == 1 {
		return -x
	}
	return x
}

// elements returns the product of a shape, and false if it overflows.
func elements(shape []int) (int, bool) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > 0 && n > math.MaxInt/8/d {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// transpose returns data of Fortran order (the first index runs fastest) in C order.
func transpose(data []float64, shape []int) []float64 {
	out := make([]float64, len(data))
	index := make([]int, len(shape))
	for i := range out {
		at, stride := 0, 1
		for d, k := range index {
			at += k * stride
			stride *= shape[d]
		}
		out[i] = data[at]
		for d := len(index) - 1; d >= 0; d-- { // the next index in C order
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return out
}

func writeArray(w io.Writer, a Array) error {
	dims := ""
	for _, d := range a.Shape {
		dims += strconv.Itoa(d) + ","
	}
	width := 1 // of a text, in characters
	if n, _ := elements(a.Shape); a.Type == Text && n > 0 {
		width = max(len(a.Data)/n, 1)
	}
	dtype := [...]string{"<f8", "<f4", "<i8", "|u1", "|b1", fmt.Sprintf("<U%d", width)}[a.Type]
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype, dims)
	prefix := len(magic) + 4 // the version and the header's length
	text += strings.Repeat(" ", 63-(prefix+len(text))%64) + "\n"
	var b bytes.Buffer
	b.WriteString(magic + "\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(text))))
	b.WriteString(text)
	for _, part := range a.Bytes {
		if _, err := b.WriteTo(w); err != nil {
			return err
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	for i, v := range a.Data {
		switch a.Type {
		case Float64:
			b.Write(binary.LittleEndian.AppendUint64(b.AvailableBuffer(), math.Float64bits(v)))
		case Float32:
			b.Write(binary.LittleEndian.AppendUint32(b.AvailableBuffer(), math.Float32bits(float32(v))))
		case Int64:
			if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
				return fmt.Errorf("element %d = %g is not an integer", i, v)
			}
			b.Write(binary.LittleEndian.AppendUint64(b.AvailableBuffer(), uint64(int64(v))))
		case Uint8, Bool:
			if v != math.Trunc(v) || v < 0 || v > 255 || a.Type == Bool && v > 1 {
				return fmt.Errorf("element %d = %g does not fit into %s", i, v, [...]string{Uint8: "uint8",
					Bool: "bool"}[a.Type])
			}
			b.WriteByte(byte(v))
		case Text:
			b.Write(binary.LittleEndian.AppendUint32(b.AvailableBuffer(), uint32(v)))
		}
		if b.Len() >= chunk {
			if _, err := b.WriteTo(w); err != nil {
				return err
			}
		}
	}
	_, err := b.WriteTo(w)
	return err
}

// noEOF turns the end of a file in the middle of data into the error that says so.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
