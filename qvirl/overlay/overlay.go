// Package overlay lays JSON over the fields of a configuration.
package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// JSON decodes a JSON object over the fields of the config that it names. Unknown fields are errors.
func JSON(config any, object []byte) error {
	if len(object) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.DisallowUnknownFields()
	if err := d.Decode(config); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("config: there is more after the JSON object")
	}
	return nil
}
