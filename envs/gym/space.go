package gym

import (
	"encoding/binary"
	"math"
	"slices"
)

// DType is the type of an observation's numbers, as NumPy names it.
type DType string

// numbers says of each type that the bridge knows how many bytes a number takes, and how it is read.
var numbers = map[DType]struct {
	size int
	read func(b []byte) float64
}{
	"bool":    {1, func(b []byte) float64 { return float64(b[0]) }},
	"uint8":   {1, func(b []byte) float64 { return float64(b[0]) }},
	"int8":    {1, func(b []byte) float64 { return float64(int8(b[0])) }},
	"uint16":  {2, func(b []byte) float64 { return float64(binary.LittleEndian.Uint16(b)) }},
	"int16":   {2, func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) }},
	"uint32":  {4, func(b []byte) float64 { return float64(binary.LittleEndian.Uint32(b)) }},
	"int32":   {4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }},
	"float32": {4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	"uint64":  {8, func(b []byte) float64 { return float64(binary.LittleEndian.Uint64(b)) }},
	"int64":   {8, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }},
	"float64": {8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
}

// size returns the number of bytes of one number, or 0 for a type that the bridge does not know.
func (d DType) size() int { return numbers[d].size }

// Spec describes the environments of a pool.
type Spec struct {
	ID string
	// Shape is the shape of one observation.
	Shape []int
	DType DType
	// Actions is the number of actions |A|. They are 0, …, |A| − 1 here, wherever Gymnasium's space starts.
	Actions int
	// Versions are those of Gymnasium and of the environment's package.
	Versions map[string]string
	// Snapshot is how the environment is brought back to a state: "highway", "ale" or "replay".
	Snapshot string
	// Limit is how many steps an episode may take before a time limit of Gymnasium's ends it; 0 where there is none.
	Limit int

	start int // Gymnasium's number of action 0
}

// Size returns how many numbers one observation has.
func (s Spec) Size() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// bytes returns the length of one observation.
func (s Spec) bytes() int { return s.Size() * s.DType.size() }

// array returns room for n observations, [n, …].
func (s Spec) array(n int) Array {
	return Array{DType: s.DType, Shape: append([]int{n}, s.Shape...), Bytes: make([]byte, n*s.bytes())}
}

// Array holds numbers as the environment made them.
type Array struct {
	DType DType
	Shape []int
	Bytes []byte // little-endian, in C order
}

// Len returns the number of numbers.
func (a Array) Len() int { return len(a.Bytes) / max(1, a.DType.size()) }

// Row returns the sub-array of index i along the first axis. It shares memory with a.
func (a Array) Row(i int) Array {
	size := len(a.Bytes) / a.Shape[0]
	return Array{DType: a.DType, Shape: a.Shape[1:], Bytes: a.Bytes[i*size : (i+1)*size : (i+1)*size]}
}

// Float32 returns the numbers converted to float32, which is exact for float32 and for integers of up to 16 bits.
func (a Array) Float32() []float32 {
	out := make([]float32, a.Len())
	if a.DType == "float32" { // by far the most frequent
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Bytes[4*i:]))
		}
		return out
	}
	of := numbers[a.DType]
	for i := range out {
		out[i] = float32(of.read(a.Bytes[i*of.size:]))
	}
	return out
}

// rounded returns the index of the first integer whose float32, of those that Float32 returned, may be that of others
// too, or -1.
func (a Array) rounded(numbers []float32) int {
	if a.DType.size() < 4 || a.real() {
		return -1
	}
	return slices.IndexFunc(numbers, func(x float32) bool { return math.Abs(float64(x)) >= 1<<24 })
}

// real reports whether the numbers may be other than integers.
func (a Array) real() bool { return a.DType == "float32" || a.DType == "float64" }

// Float64 returns the numbers converted to float64, which is exact but for integers beyond 2⁵³.
func (a Array) Float64() []float64 {
	out, of := make([]float64, a.Len()), numbers[a.DType]
	for i := range out {
		out[i] = of.read(a.Bytes[i*of.size:])
	}
	return out
}

// nan returns the index of the first NaN, or -1.
func (a Array) nan() int {
	if !a.real() {
		return -1
	}
	of := numbers[a.DType]
	for i := range a.Len() {
		if math.IsNaN(of.read(a.Bytes[i*of.size:])) {
			return i
		}
	}
	return -1
}
