//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestPermissions(t *testing.T) {
	former := syscall.Umask(0o027)
	defer syscall.Umask(former)
	path := filepath.Join(t.TempDir(), "x")
	for _, want := range []os.FileMode{0o640, 0o604} { // a new file by the umask, a replaced one by its own
		if err := Write(path, content("x")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("permissions %v (error %v), want %v", info.Mode(), err, want)
		}
		if err := os.Chmod(path, 0o604); err != nil {
			t.Fatal(err)
		}
	}
}

// Neither a folder nor a pipe, which stands for every device, is replaced; nor is a link to one.
func TestOnlyRegularFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(pipe, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, link} {
		for _, err := range []error{Write(path, content("x")), Check(path)} {
			if err == nil || !strings.Contains(err.Error(), "not a regular file") ||
				!strings.Contains(err.Error(), path) {
				t.Errorf("%s: error %v", path, err)
			}
		}
	}
	if info, err := os.Stat(link); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe was replaced: %v, %v", info, err)
	}
}

// TestFoldersWithoutNewFiles: of one that is there, nobody says that it is missing.
func TestFoldersWithoutNewFiles(t *testing.T) {
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip(err)
	}
	for _, err := range []error{Write("/proc/x", content("x")), Check("/proc/x")} {
		if err == nil || strings.Contains(err.Error(), "no folder") || !strings.Contains(err.Error(), "/proc/x") {
			t.Errorf("error %v", err)
		}
	}
}
