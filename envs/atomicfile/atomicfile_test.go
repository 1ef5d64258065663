package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteReplacesWholeFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.txt")
	for _, content := range []string{"a long first version\n", "short\n"} {
		if err := Write(path,
			func(w io.Writer) error { _, err := io.WriteString(w, content); return err }); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("read %q (error %v), want %q", got, err, content)
		}
	}
}

func TestFailureKeepsFormerFileAndLeavesNoOther(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.txt")
	if err := os.WriteFile(path, []byte("former"), 0o644); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	err := Write(path, func(w io.Writer) error { io.WriteString(w, "half"); return full })
	if !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want the cause with the path", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "former" {
		t.Errorf("the file holds %q, want the former content", got)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %v, want the one file", entries)
	}
}

func TestMissingFolderIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent", "x.txt")
	if err := Write(path, func(io.Writer) error { return nil }); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the path", err)
	}
}

func TestAnEmptyNameIsSaidToBeOne(t *testing.T) {
	if err := WriteBytes("", nil); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("error %v, want one that says that the name is empty", err)
	}
}

func content(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// Links stay links, whether there is something at their end or not yet.
func TestLinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	link, second, target := filepath.Join(dir, "link"), filepath.Join(dir, "second"), filepath.Join(dir, "real",
		"x.txt")
	if err := errors.Join(os.Symlink(filepath.Join("real", "x.txt"), link), os.Symlink(link, second)); err != nil {
		t.Skip(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := errors.Join(Check(second), Write(second, content(text))); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(target); err != nil || string(got) != text {
			t.Errorf("the target holds %q (error %v), want %q", got, err, text)
		}
		if info, err := os.Lstat(second); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link is no more: %v, %v", info, err)
		}
	}
	// within a folder that is a link, .. is the parent of the folder that it leads to
	deep := filepath.Join(dir, "real", "deep")
	if err := errors.Join(os.Mkdir(deep, 0o755), os.Symlink(deep, filepath.Join(dir, "folder")),
		os.Symlink(filepath.Join("..", "x.txt"), filepath.Join(deep, "up"))); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "folder", "up"), content("third")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "third" {
		t.Errorf("the target holds %q (error %v), want the third text", got, err)
	}
	circle := filepath.Join(dir, "circle")
	if err := os.Symlink(circle, circle); err != nil {
		t.Fatal(err)
	}
	if err := Write(circle, content("x")); err == nil || !strings.Contains(err.Error(), "symbolic links") {
		t.Errorf("a circle of links: error %v", err)
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	in, hard, out := filepath.Join(dir, "in"), filepath.Join(dir, "hard"), filepath.Join(dir, "out")
	if err := Write(in, content("problem")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(in, hard); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{in, hard, filepath.Join(dir, ".", "in")} {
		if err := Check(path, "", filepath.Join(dir, "absent"), in); err == nil ||
			!strings.Contains(err.Error(), "that is read") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if err := Check(out, in, out); err != nil {
		t.Error(err)
	}
	if err := Check(filepath.Join(dir, "absent", "x"), in); err == nil ||
		!strings.Contains(err.Error(), "there is no folder "+filepath.Join(dir, "absent")) {
		t.Error("a folder that does not exist was accepted")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("the folder holds %v, want the two files", entries)
	}
}
