// Package overlay lays JSON over the fields of a configuration.
package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// File lays the JSON object in the file of the flag --config over a config; the path "" stands for none.
func File(config any, path string) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("--config: %w", err)
	}
	if err := JSON(config, text); err != nil {
		return fmt.Errorf("--config %s: %w", path, err)
	}
	return nil
}

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
