package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOutputReplacesNothingUnasked(t *testing.T) {
	dir := t.TempDir()
	there, link, absent := filepath.Join(dir, "there"), filepath.Join(dir, "link"), filepath.Join(dir, "absent")
	if err := os.WriteFile(there, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(there, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		force   bool
		outputs []string
		input   string
		want    string
	}{
		{false, []string{absent}, there, ""},
		{false, []string{absent, there}, "", "there exists already"},
		{true, []string{absent, there}, "", ""},
		{true, []string{there}, link, "that is read, which the result would replace"},
		{true, []string{link}, there, "that is read, which the result would replace"},
		{true, []string{absent}, absent, ""},
		{true, []string{filepath.Join(there, "x")}, "", "cannot write"},
	} {
		err := CheckOutput(c.force, c.outputs, c.input)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: error %v", c, err)
		}
	}
}
