package netcdf

import (
	"encoding/binary"
	"io"
	"maps"
	"math/bits"
	"slices"
)

// le is the byte order of all numbers.
var le = binary.LittleEndian

const (
	undefined      = ^uint64(0) // an address of nothing
	superblockSize = 48
	referenceSize  = 16 // of a place on a global heap, with a length before it: what a variable-length datum holds
)

// Types of the messages of an object header.
const (
	dataspaceMessage = 0x01
	linkInfoMessage  = 0x02
	datatypeMessage  = 0x03
	fillMessage      = 0x05
	linkMessage      = 0x06
	layoutMessage    = 0x08
	groupInfoMessage = 0x0a
	attributeMessage = 0x0c
)

// Datatypes: version and class, class bits, size, properties.
var (
	float64Type = []byte{0x11, 0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 0x03, 0, 0}
	int64Type   = []byte{0x10, 0x08, 0, 0, 8, 0, 0, 0, 0, 0, 64, 0}
	int32Type   = []byte{0x10, 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0}
	objectType  = []byte{0x17, 0, 0, 0, 8, 0, 0, 0} // the address of an object
	// a text of any length, in UTF-8
	textType = append([]byte{0x19, 0x01, 0x01, 0, referenceSize, 0, 0, 0}, fixedText(1)...)
	// a list of objects
	objectsType = append([]byte{0x19, 0, 0, 0, referenceSize, 0, 0, 0}, objectType...)
)

// fixedText is the type of UTF-8 texts of n bytes with the zero that ends them.
func fixedText(n int) []byte { return le.AppendUint32([]byte{0x13, 0x10, 0, 0}, uint32(n)) }

// file is a file in the making: superblock, then blocks of data, heaps, and headers.
type file struct {
	next       uint64 // address of the next thing
	blocks     []func(io.Writer) error
	heaps      []*heap
	headers    []byte
	dimensions int32 // that have a number
	at         map[*Variable]uint64
	scale      map[*Variable]heapPlace // of a dimension's variable: the object on the heap that is its address
}

// take returns the address of so many bytes.
func (f *file) take(n int) uint64 {
	at := f.next
	f.next += uint64(n)
	return at
}

// place gives all data of a group their places: numbers in blocks, texts on heaps.
func (f *file) place(g *Group) {
	for i := range g.Variables {
		v := &g.Variables[i]
		if v.coordinate() {
			f.scale[v] = f.push(make([]byte, 8)) // its address, once that is known
		}
		if texts, ok := v.Data.([]string); ok {
			places := make([]heapPlace, len(texts))
			for k, text := range texts {
				places[k] = f.push([]byte(text))
			}
			f.at[v] = f.take(referenceSize * len(texts))
			f.blocks = append(f.blocks, func(w io.Writer) error {
				b := make([]byte, 0, referenceSize*len(texts))
				for k, p := range places {
					b = p.append(b, len(texts[k]))
				}
				_, err := w.Write(b)
				return err
			})
			continue
		}
		n, _ := length(v.Data)
		f.at[v] = f.take(8 * n)
		f.blocks = append(f.blocks, func(w io.Writer) error { return binary.Write(w, le, v.Data) })
	}
	for i := range g.Groups {
		f.place(&g.Groups[i])
	}
}

// group writes the headers of a group and of all within it, and returns its address.
func (f *file) group(g *Group) uint64 {
	scales := map[string]*Variable{}
	links := map[string]uint64{}
	for i := range g.Variables {
		if v := &g.Variables[i]; v.coordinate() {
			scales[v.Name] = v
			links[v.Name] = f.header(f.variable(v, nil))
			place := f.scale[v]
			le.PutUint64(place.heap.objects[place.index-1], links[v.Name])
		}
	}
	for i := range g.Variables {
		if v := &g.Variables[i]; !v.coordinate() {
			links[v.Name] = f.header(f.variable(v, scales))
		}
	}
	for i := range g.Groups {
		links[g.Groups[i].Name] = f.group(&g.Groups[i])
	}
	var m messages
	m.add(linkInfoMessage, le.AppendUint64(le.AppendUint64([]byte{0, 0}, undefined), undefined))
	m.add(groupInfoMessage, []byte{0, 0})
	for _, name := range slices.Sorted(maps.Keys(links)) {
		text := append([]byte{1, 0x10, 1, byte(len(name))}, name...) // the name is UTF-8
		m.add(linkMessage, le.AppendUint64(text, links[name]))
	}
	m.texts(g.Attributes)
	return f.header(m)
}

// variable returns the messages of a variable; scales are the variables of its dimensions, nil for one of these.
func (f *file) variable(v *Variable, scales map[string]*Variable) messages {
	var m messages
	n, _ := length(v.Data)
	shape := make([]int, len(v.Dims))
	for i, d := range v.Dims {
		shape[i] = n
		if scales != nil {
			shape[i], _ = length(scales[d].Data)
		}
	}
	size, kind := 8, float64Type
	switch v.Data.(type) {
	case []int64:
		kind = int64Type
	case []string:
		size, kind = referenceSize, textType
	}
	m.add(dataspaceMessage, dataspace(shape...))
	m.add(datatypeMessage, kind)
	m.add(fillMessage, []byte{3, 0x0a}) // allocated late, filled if a value was set, of which there is none
	at := f.at[v]
	if n == 0 {
		at = undefined
	}
	m.add(layoutMessage, le.AppendUint64(le.AppendUint64([]byte{3, 1}, at), uint64(size*n)))
	if scales == nil {
		m.attribute("CLASS", fixedText(len(dimensionScale)+1), nil, append([]byte(dimensionScale), 0))
		m.attribute("NAME", fixedText(len(v.Name)+1), nil, append([]byte(v.Name), 0))
		m.attribute("_Netcdf4Dimid", int32Type, nil, le.AppendUint32(nil, uint32(f.dimensions)))
		f.dimensions++
	} else if len(v.Dims) > 0 {
		var list []byte
		for _, d := range v.Dims {
			list = f.scale[scales[d]].append(list, 1)
		}
		m.attribute("DIMENSION_LIST", objectsType, []int{len(v.Dims)}, list)
	}
	m.texts(v.Attributes)
	return m
}

const dimensionScale = "DIMENSION_SCALE"

// dataspace is the message of a shape; no dimensions are a single datum.
func dataspace(shape ...int) []byte {
	b := []byte{2, byte(len(shape)), 0, 1}
	if len(shape) == 0 {
		b[3] = 0
	}
	for _, n := range shape {
		b = le.AppendUint64(b, uint64(n))
	}
	return b
}

// messages are those of an object header.
type messages []byte

func (m *messages) add(kind byte, body []byte) {
	*m = append(le.AppendUint16(append(*m, kind), uint16(len(body))), 0)
	*m = append(*m, body...)
}

// attribute adds an attribute of some type and shape.
func (m *messages) attribute(name string, kind []byte, shape []int, data []byte) {
	space := dataspace(shape...)
	b := []byte{3, 0}
	for _, n := range []int{len(name) + 1, len(kind), len(space)} {
		b = le.AppendUint16(b, uint16(n))
	}
	b = append(append(append(b, 1), name...), 0) // the name is UTF-8
	m.add(attributeMessage, slices.Concat(b, kind, space, data))
}

// texts adds attributes that are texts.
func (m *messages) texts(attributes map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		text := attributes[name]
		m.attribute(name, fixedText(len(text)+1), nil, append([]byte(text), 0))
	}
}

// header writes an object header and returns its address.
func (f *file) header(m messages) uint64 {
	b := le.AppendUint32([]byte{'O', 'H', 'D', 'R', 2, 0x02}, uint32(len(m)))
	b = append(b, m...)
	b = le.AppendUint32(b, lookup3(b))
	f.headers = append(f.headers, b...)
	return f.take(len(b))
}

// superblock returns the first bytes of the file; top is the address of its root group.
func (f *file) superblock(top uint64) []byte {
	b := append([]byte("\x89HDF\r\n\x1a\n"), 2, 8, 8, 0)
	for _, address := range []uint64{0, undefined, f.next, top} {
		b = le.AppendUint64(b, address)
	}
	return le.AppendUint32(b, lookup3(b))
}

// heap is a global heap collection: byte strings that others refer to by its address and their number, from 1 on.
type heap struct {
	addr    uint64
	objects [][]byte
	used    int
}

// heapPlace is one of a heap's objects.
type heapPlace struct {
	heap  *heap
	index int
}

const (
	minHeap    = 4096    // the least size that readers accept
	fullHeap   = 1 << 20 // bytes after which the next heap is begun
	heapHead   = 16      // before the objects, and before each
	maxObjects = 1 << 15 // in a heap; their numbers have 16 bits
)

// push puts a byte string on the last heap, or on a new one where that is full.
func (f *file) push(object []byte) heapPlace {
	if n := len(f.heaps); n == 0 || f.heaps[n-1].used > fullHeap || len(f.heaps[n-1].objects) >= maxObjects {
		f.heaps = append(f.heaps, &heap{used: heapHead})
	}
	h := f.heaps[len(f.heaps)-1]
	h.objects = append(h.objects, object)
	h.used += heapHead + padded(len(object))
	return heapPlace{h, len(h.objects)}
}

func padded(n int) int { return (n + 7) &^ 7 }

// size is that of the collection, with room for the object that stands for the free space.
func (h *heap) size() int { return max(minHeap, h.used+heapHead) }

func (h *heap) bytes() []byte {
	b := append(make([]byte, 0, h.size()), 'G', 'C', 'O', 'L', 1, 0, 0, 0)
	b = le.AppendUint64(b, uint64(h.size()))
	object := func(index, references, size int) {
		b = le.AppendUint16(b, uint16(index))
		b = append(le.AppendUint16(b, uint16(references)), 0, 0, 0, 0)
		b = le.AppendUint64(b, uint64(size))
	}
	for i, o := range h.objects {
		object(i+1, 1, len(o))
		b = append(b, o...)
		b = append(b, make([]byte, padded(len(o))-len(o))...)
	}
	object(0, 0, h.size()-len(b))
	return append(b, make([]byte, h.size()-len(b))...)
}

// append appends a variable-length datum of n elements that lies there.
func (p heapPlace) append(b []byte, n int) []byte {
	return le.AppendUint32(le.AppendUint64(le.AppendUint32(b, uint32(n)), p.heap.addr), uint32(p.index))
}

// lookup3 is the checksum of metadata: Bob Jenkins' hash of 2006, hashlittle, from 0.
func lookup3(data []byte) uint32 {
	a := 0xdeadbeef + uint32(len(data))
	b, c := a, a
	for ; len(data) > 12; data = data[12:] {
		a, b, c = a+le.Uint32(data), b+le.Uint32(data[4:]), c+le.Uint32(data[8:])
		for _, r := range [2][3]int{{4, 6, 8}, {16, 19, 4}} {
			a, c = (a-c)^bits.RotateLeft32(c, r[0]), c+b
			b, a = (b-a)^bits.RotateLeft32(a, r[1]), a+c
			c, b = (c-b)^bits.RotateLeft32(b, r[2]), b+a
		}
	}
	if len(data) == 0 {
		return c
	}
	var rest [12]byte
	copy(rest[:], data)
	a, b, c = a+le.Uint32(rest[:]), b+le.Uint32(rest[4:]), c+le.Uint32(rest[8:])
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
