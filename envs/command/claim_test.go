package command

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestClaim(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []bool{false, true} {
		out := filepath.Join(dir, "x.npz")
		if folder {
			out = dir
		}
		release, err := Claim(out, folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Claim(out, folder); err == nil ||
			!strings.Contains(err.Error(), "another command writes to "+out) {
			t.Errorf("%s: error %v", out, err)
		}
		if other, err := Claim(filepath.Join(dir, "y.npz"), false); err != nil {
			t.Errorf("another file: %v", err)
		} else {
			other()
		}
		release()
		again, err := Claim(out, folder)
		if err != nil {
			t.Fatalf("after the release: %v", err)
		}
		again()
	}
	if _, err := Claim(filepath.Join(dir, "absent", "x"), false); err == nil ||
		!strings.Contains(err.Error(), "there is no folder "+filepath.Join(dir, "absent")) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat("/proc/self"); err == nil {
		if _, err := Claim("/proc/x.npz", false); err == nil || strings.Contains(err.Error(), "there is no folder") {
			t.Errorf("a folder in which no file can be made: error %v", err)
		}
	}
}

// TestLocksLeaveNothing: neither after work nor after a refusal, of this command or an earlier one.
func TestLocksLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "x.npz")
	release, err := ClaimFile(out, false, []string{out})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dir, ".x.npz.lock")
	held, err := os.Stat(lock)
	if err != nil {
		t.Fatal(err)
	}
	if written, err := os.Stat(out); err != nil || held.Mode() != written.Mode() {
		t.Errorf("the lock has the mode %v, the file %v (error %v)", held.Mode(), written, err)
	}
	release()
	if err := os.WriteFile(lock, nil, 0o600); err != nil { // of a process that was killed
		t.Fatal(err)
	}
	if _, err := ClaimFile(out, false, []string{out}); err == nil {
		t.Error("a file that exists is claimed")
	}
	other, err := Claim(out, false)
	if err != nil {
		t.Fatal(err)
	}
	release() // again: it is not this one's any more
	if _, err := Claim(out, false); err == nil {
		t.Error("a second release freed the lock of another")
	}
	other()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v (error %v), want x.npz alone", entries, err)
	}
}

// TestOneAtATime: of many that claim a file, release it and so remove its lock, no two hold it at once.
func TestOneAtATime(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.npz")
	var holders, claimed, both atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				release, err := Claim(out, false)
				if err != nil {
					if !strings.Contains(err.Error(), "another command") {
						t.Error(err)
					}
					continue
				}
				claimed.Add(1)
				if holders.Add(1) > 1 {
					both.Add(1)
				}
				runtime.Gosched()
				holders.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	if both.Load() > 0 || claimed.Load() < 10 {
		t.Errorf("%d claims, of which %d met another", claimed.Load(), both.Load())
	}
}

// TestALockOfOneThatDiesIsWaitedFor: a process that was killed holds it for tens of milliseconds more.
func TestALockOfOneThatDiesIsWaitedFor(t *testing.T) {
	out := filepath.Join(t.TempDir(), "model")
	release, err := ClaimFolder(out)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(dying/5, release)
	again, err := ClaimFolder(out)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

// TestAFileIsNoFolder: neither is it a folder above.
func TestAFileIsNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "model.npz")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ClaimFolder(file); err == nil || !strings.Contains(err.Error(), "model.npz is a file; want a folder") {
		t.Errorf("a file: error %v", err)
	}
	if _, err := ClaimFolder(filepath.Join(file, "sub")); err == nil || !strings.Contains(err.Error(), "model.npz") {
		t.Errorf("a folder in a file: error %v", err)
	}
}

// TestFoldersMadeForNothingGo: only those that the command made, and that hold nothing.
func TestFoldersMadeForNothingGo(t *testing.T) {
	for _, c := range []struct{ had, written, stays bool }{
		{false, false, false}, {false, true, true}, {true, false, true},
	} {
		above := filepath.Join(t.TempDir(), "models")
		out := filepath.Join(above, "model")
		if c.had {
			if err := os.MkdirAll(out, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		release, err := ClaimFolder(out)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ClaimFolder(out); err == nil {
			t.Error("a second command claims the folder")
		}
		if c.written {
			if err := os.WriteFile(filepath.Join(out, "x"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		release()
		for _, dir := range []string{out, above} {
			if _, err := os.Stat(dir); (err == nil) != c.stays {
				t.Errorf("%+v: after the release the folder %s is there: %v", c, filepath.Base(dir), err == nil)
			}
		}
	}
}
