// Package overlay lays JSON over the fields of a configuration.
package overlay

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Err is wrapped by errors about a JSON object.
var Err = errors.New("config")

// Read returns the JSON object in the file of the flag --config; the path "" stands for none.
func Read(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && strings.HasPrefix(strings.TrimSpace(path), "{") {
		return nil, fmt.Errorf("--config %s: want the name of a file that holds this object", path)
	}
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // the byte-order mark of UTF-8, which editors may write
	var fields map[string]json.RawMessage
	if err := JSON(&fields, text); err != nil {
		return nil, OfFile(path, err)
	}
	if fields == nil { // of an empty file, and of null
		return nil, fmt.Errorf("--config %s: want a JSON object", path)
	}
	return text, nil
}

// File lays the JSON object in the file of the flag --config over a config, which has to be valid then; the path ""
// stands for none.
func File(config interface{ Validate() error }, path string) error {
	text, err := Read(path)
	if err != nil {
		return err
	}
	if err = JSON(config, text); err == nil {
		err = Invalid(config.Validate())
	}
	return OfFile(path, err)
}

// OfFile names the file of the flag --config in an error about its object, and leaves others as they are.
func OfFile(path string, err error) error {
	if path != "" && errors.Is(err, Err) {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	return err
}

// Invalid returns the error of a config whose values do not do as one that wraps Err, and nil as nil.
func Invalid(err error) error {
	if err == nil || errors.Is(err, Err) {
		return err
	}
	return fmt.Errorf("%w: %w", Err, err)
}

// JSON decodes a JSON object over the fields of the config that it names. Unknown fields are errors, and so are fields
// that are there twice.
func JSON(config any, object []byte) error {
	if len(bytes.TrimSpace(object)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(config); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
			names := siblings(reflect.TypeOf(config), object, strings.Trim(name, `"`))
			others := "there are no such settings"
			if len(names) > 0 {
				others = "there is " + strings.Join(names, ", ")
			}
			return fmt.Errorf("%w: there is no field %s; %s", Err, name, others)
		}
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return fmt.Errorf("%w: %s", Err, typeError(wrong))
		}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			line := 1 + bytes.Count(object[:min(int(syntax.Offset), len(object))], []byte("\n"))
			return fmt.Errorf("%w: line %d: %w", Err, line, err)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%w: it ends before its JSON object does: a brace or a quotation mark is missing", Err)
		}
		return fmt.Errorf("%w: %w", Err, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there is more after the JSON object", Err)
	}
	d = json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	return once(d, "")
}

// once reads the next value of valid JSON, and refuses an object in it in which a field is there twice, in whatever
// case, as decoding would take the last. path is the value's own.
func once(d *json.Decoder, path string) error {
	token, err := d.Token()
	open, nested := token.(json.Delim)
	if !nested {
		return err
	}
	names := map[string]string{}
	for d.More() {
		field := path
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name := key.(string)
			field = strings.TrimPrefix(path+"."+name, ".")
			if former, again := names[strings.ToLower(name)]; again {
				return fmt.Errorf("%w: %s: the field is there twice, as %q and %q; keep one of them", Err, field,
					former, name)
			}
			names[strings.ToLower(name)] = name
		}
		if err := once(d, field); err != nil {
			return err
		}
	}
	_, err = d.Token() // the end of the object or array
	return err
}

// typeError says which field got what, and what it wants.
func typeError(e *json.UnmarshalTypeError) string {
	got, isNumber := strings.CutPrefix(e.Value, "number ") // the number follows
	if !isNumber {
		got = map[string]string{"array": "an array", "object": "an object"}[got]
		got = cmp.Or(got, "a "+strings.Replace(e.Value, "bool", "truth value", 1))
	}
	want := "an object"
	switch k := e.Type.Kind(); {
	case k == reflect.Bool:
		want = "true or false"
	case k >= reflect.Int && k <= reflect.Int64:
		want = "a whole number"
	case k >= reflect.Uint && k <= reflect.Uintptr:
		want = "a whole number that is not negative"
	case k == reflect.Float32 || k == reflect.Float64:
		want = "a number"
	case k == reflect.String:
		want = "a string"
	case k == reflect.Slice || k == reflect.Array:
		want = "an array"
	}
	return strings.TrimPrefix(e.Field+": got ", ": ") + got + ", want " + want
}

// siblings returns the fields of the struct, in a type or in its fields, for which a JSON object has one of the given
// name that it lacks.
func siblings(t reflect.Type, object []byte, name string) []string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var fields map[string]json.RawMessage
	if t.Kind() != reflect.Struct || json.Unmarshal(object, &fields) != nil {
		return nil
	}
	given := map[string]json.RawMessage{} // in lower case, as fields are found in any
	for key, value := range fields {
		given[strings.ToLower(key)] = value
	}
	var names, deeper []string
	for _, f := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key = cmp.Or(key, f.Name); !f.IsExported() || f.Anonymous || key == "-" {
			continue
		}
		names = append(names, key)
		if deeper == nil {
			deeper = siblings(f.Type, given[strings.ToLower(key)], name)
		}
	}
	if _, here := fields[name]; here && !slices.Contains(names, name) {
		return names
	}
	return deeper
}
