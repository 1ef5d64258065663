package experiment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-birl/birl/qvirl/method"
)

// Keys returns the keys of the plan's units. A unit's key is a digest of what its rows depend on,
//
//	experiment, versions of the method, of the other code and of the unit, On, contents of the files Data,
//
// so that rows under the same key need not be computed again, and those under another are not the unit's.
func (p *Plan) Keys() ([]string, error) {
	if p.keys != nil {
		return p.keys, nil
	}
	digests, keys := map[string]string{}, make([]string, len(p.Units))
	for i := range p.Units {
		u := &p.Units[i]
		depends := struct {
			Experiment string
			Version    int
			On         any
			Data       []string
			Code       map[string]int `json:",omitempty"`
		}{Experiment: p.Experiment, Version: versionOf(u.Method) + u.Version,
			On: u.On, Code: map[string]int{}}
		for _, name := range u.Code {
			if version := versionOf(name); name != u.Method && version != 1 {
				depends.Code[name] = version
			}
		}
		for _, path := range u.Data {
			if digests[path] == "" {
				at, err := Locate(path)
				if err != nil {
					return nil, err
				}
				text, err := os.ReadFile(at)
				if err != nil {
					return nil, fmt.Errorf("experiment: %w", err)
				}
				digests[path] = digest(text)
			}
			depends.Data = append(depends.Data, digests[path])
		}
		text, err := json.Marshal(depends)
		if err != nil {
			return nil, fmt.Errorf("experiment %s: unit %s: %w", p.Experiment, u.Name, err)
		}
		if text, err = inOrder(text); err != nil {
			return nil, fmt.Errorf("experiment %s: unit %s: %w", p.Experiment, u.Name, err)
		}
		keys[i] = digest(text)[:keyDigits]
	}
	p.keys = keys
	return keys, nil
}

// versionOf is that of package method, but in tests.
var versionOf = method.Version

// inOrder returns JSON without spaces, with the fields of every object in order.
func inOrder(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // seeds have more digits than a float64
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// keyDigits is the number of a key's hexadecimal digits.
const keyDigits = 12

// finishedUnits tells which of the plan's units a folder holds, by the names of their records, which are not read.
func finishedUnits(p *Plan, dir string) ([]bool, error) {
	keys, err := p.Keys()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(dir, UnitsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	out := make([]bool, len(p.Units))
	for i, u := range p.Units {
		out[i] = there[fileName(u.Name, keys[i])+".json"]
	}
	return out, nil
}
