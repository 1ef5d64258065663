package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// wheel makes a zip archive with one member of incompressible length.
func wheel(t *testing.T, member string, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateHeader(&zip.FileHeader{Name: member, Method: zip.Store})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	content := bytes.Repeat([]byte("library "), 1000)
	good := wheel(t, "a/plugin.so", content)
	// One bit of the content flipped, the archive's structure left whole.
	flipped := bytes.Clone(good)
	flipped[200] ^= 1

	tests := []struct {
		name    string
		data    []byte
		plugin  plugin
		problem string // "" for success
	}{
		{"whole", good, plugin{wheel: sum(good), member: "a/plugin.so", sum: sum(content)}, ""},
		{"truncated", good[:len(good)/2], plugin{wheel: sum(good), member: "a/plugin.so", sum: sum(content)},
			"instead of " + sum(good)},
		{"another file", flipped, plugin{wheel: sum(good), member: "a/plugin.so", sum: sum(content)}, "SHA-256"},
		{"no archive", good[:len(good)/2], plugin{wheel: sum(good[:len(good)/2]), member: "a/plugin.so",
			sum: sum(content)}, "zip"},
		{"no such member", good, plugin{wheel: sum(good), member: "b/plugin.so", sum: sum(content)}, "b/plugin.so"},
		{"damaged member", flipped, plugin{wheel: sum(flipped), member: "a/plugin.so", sum: sum(content)}, "checksum"},
		{"another member", good, plugin{wheel: sum(good), member: "a/plugin.so", sum: sum(nil)}, "instead of " +
			sum(nil)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			to := filepath.Join(dir, "to", "plugin.so")
			// What was there before must survive a failure.
			writeFiles(t, dir, map[string]string{"w.whl": string(test.data), "to/plugin.so": "old"})
			err := test.plugin.unpack(t.Context(), filepath.Join(dir, "w.whl"), to)
			want := "old"
			if test.problem == "" {
				want = string(content)
				if err != nil {
					t.Fatal(err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("error %v, want one about %q", err, test.problem)
			}
			if got, err := os.ReadFile(to); err != nil || string(got) != want {
				t.Errorf("the plugin holds %d bytes (error %v), want %d", len(got), err, len(want))
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
				t.Errorf("beside the wheel and the folder there is more: %v (error %v)", entries, err)
			}
		})
	}
}

func TestPluginPins(t *testing.T) {
	for _, p := range []plugin{cpuPlugin, cudaPlugin} {
		if len(p.wheel) != 64 || len(p.sum) != 64 || p.wheel == p.sum {
			t.Errorf("%s: the digests are not two SHA-256", p.name)
		}
		if want := "pjrt_c_api_" + p.name + "_plugin.so"; p.file() != want {
			t.Errorf("the plugin %s is placed as %s, and go-xla looks for %s", p.name, p.file(), want)
		}
	}
}
