// Package netcdf writes netCDF-4 files, which any netCDF or HDF5 library reads: groups of arrays whose axes have names.
//
// A netCDF-4 file is an HDF5 file with conventions for named dimensions. What is written is the smallest part of HDF5
// that says it all: version 2 of the superblock and of object headers, contiguous arrays, and texts on global heaps
// (HDF5 File Format Specification, version 3.0; NetCDF-4 "Interoperability with HDF5").
package netcdf

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

// Group is a group of a file: variables over its own dimensions, attributes, and groups within it. The root group's
// name is not written.
type Group struct {
	Name       string
	Attributes map[string]string
	Variables  []Variable
	Groups     []Group
}

// Variable is an array. A variable that has the name of its only dimension gives that dimension its length, and names
// or numbers for its places; each dimension of a group needs such a variable in it.
type Variable struct {
	Name string
	Dims []string // of each axis, the outermost first; none: a single number
	// Data are []float64, []int64 or []string, in C order.
	Data       any
	Attributes map[string]string
}

// Write writes a file whose root is the group. It holds the texts, the headers and one array at a time in memory beside
// the data.
func Write(w io.Writer, root *Group) error {
	if err := root.check(""); err != nil {
		return err
	}
	f := &file{next: superblockSize, at: map[*Variable]uint64{}, scale: map[*Variable]heapPlace{}}
	f.place(root)
	for _, h := range f.heaps {
		h.addr = f.take(h.size())
	}
	top := f.group(root)
	if _, err := w.Write(f.superblock(top)); err != nil {
		return err
	}
	for _, b := range f.blocks {
		if err := b(w); err != nil {
			return err
		}
	}
	for _, h := range f.heaps {
		if _, err := w.Write(h.bytes()); err != nil {
			return err
		}
	}
	_, err := w.Write(f.headers)
	return err
}

// maxHeader bounds an object header: messages say their length in 16 bits, and readers take 4 GiB, of which nobody
// needs more than this.
const maxHeader = 1 << 15

// check refuses what cannot be written, by the path of the group and the name of the variable.
func (g *Group) check(path string) error {
	if path += "/" + g.Name; path == "/" {
		path = ""
	}
	lengths := map[string]int{}
	seen := map[string]bool{}
	for _, v := range g.Variables {
		if v.Name == "" || len(v.Name) > 255 || seen[v.Name] {
			return fmt.Errorf("netcdf: group %q: the variable name %q is empty, longer than 255 bytes, or given twice",
				path, v.Name)
		}
		seen[v.Name] = true
		n, err := length(v.Data)
		if err != nil {
			return fmt.Errorf("netcdf: %s/%s: %w", path, v.Name, err)
		}
		if v.coordinate() {
			lengths[v.Name] = n
		}
	}
	for _, v := range g.Variables {
		want := 1
		for _, d := range v.Dims {
			n, ok := lengths[d]
			if !ok {
				return fmt.Errorf("netcdf: %s/%s: there is no variable %q over the dimension %q to say how long it is",
					path, v.Name, d, d)
			}
			want *= n
		}
		if n, _ := length(v.Data); n != want {
			return fmt.Errorf("netcdf: %s/%s holds %d numbers, but its dimensions %v have %d places", path, v.Name, n,
				v.Dims, want)
		}
		if err := checkAttributes(v.Attributes); err != nil {
			return fmt.Errorf("netcdf: %s/%s: %w", path, v.Name, err)
		}
	}
	for i := range g.Groups {
		sub := &g.Groups[i]
		if sub.Name == "" || len(sub.Name) > 255 || seen[sub.Name] {
			return fmt.Errorf("netcdf: group %q: the group name %q is empty, longer than 255 bytes, or given twice",
				path, sub.Name)
		}
		seen[sub.Name] = true
		if err := sub.check(path); err != nil {
			return err
		}
	}
	return checkAttributes(g.Attributes)
}

func checkAttributes(attributes map[string]string) error {
	for name, text := range attributes {
		if name == "" || len(name)+len(text) > maxHeader {
			return fmt.Errorf("netcdf: the attribute %q has no name, or more than %d bytes", name, maxHeader)
		}
	}
	return nil
}

// coordinate reports whether the variable is that of a dimension.
func (v *Variable) coordinate() bool { return len(v.Dims) == 1 && v.Dims[0] == v.Name }

func length(data any) (int, error) {
	switch d := data.(type) {
	case []float64:
		return len(d), nil
	case []int64:
		return len(d), nil
	case []string:
		for _, s := range d {
			if slices.Contains([]byte(s), 0) || len(s) > maxHeader {
				return 0, fmt.Errorf("the text %.20q holds a zero byte or more than %d bytes", s, maxHeader)
			}
		}
		return len(d), nil
	}
	return 0, errors.New("its data are neither []float64, []int64 nor []string")
}
