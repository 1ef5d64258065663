package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// lockFile is the file that is locked in a folder.
const lockFile = ".lock"

const (
	// tries is how often a file is locked anew that was removed meanwhile.
	tries = 100
	// dying is how long a lock is waited for: a process that was killed holds its own until its memory is freed.
	dying = 500 * time.Millisecond
	// look is how often that is looked at.
	look = 5 * time.Millisecond
)

// Claim keeps other commands from writing to out, a file or a folder, until the release, or this process's end. It
// locks a file in the folder, or beside the file, which the release removes.
func Claim(out string, folder bool) (release func(), err error) {
	path := filepath.Join(out, lockFile)
	if !folder {
		path = filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".lock")
	}
	lock, mine := flock.New(path, flock.SetPermissions(0o666)), false // where it stays, other users can lock it too
	for range tries {
		mine, err = soon(lock)
		if err != nil || !mine || named(lock) {
			break
		}
		_ = lock.Unlock() // of a file that a release removed after it was opened here
		mine = false
	}
	if _, missing := os.Stat(filepath.Dir(path)); missing != nil && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--out %s: there is no folder %s: %w", out, filepath.Dir(path), fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("--out: cannot lock %s: %w", path, err)
	}
	if !mine {
		return nil, fmt.Errorf("--out: another command writes to %s at the moment; name another, or wait for it", out)
	}
	return sync.OnceFunc(func() {
		_ = os.Remove(path) // while it is locked; where files that are open cannot be removed, it stays
		_ = lock.Unlock()   // the process's end does it otherwise
	}), nil
}

// soon locks what is free, or freed before long.
func soon(lock *flock.Flock) (mine bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), dying)
	defer cancel()
	mine, err = lock.TryLockContext(ctx, look)
	if errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	return mine, err
}

// named reports whether the file that is locked still has its name, by which others find it.
func named(lock *flock.Flock) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(lock.Path())
	return err == nil && os.SameFile(locked, there)
}

// ClaimFolder claims out, a folder, and makes it if it is missing, with the folders above; then the release removes
// them, if nothing was written to them.
func ClaimFolder(out string) (release func(), err error) {
	for range tries {
		if release, err = claimFolder(out); !errors.Is(err, fs.ErrNotExist) {
			break // otherwise a release has removed the folder meanwhile
		}
	}
	return release, err
}

func claimFolder(out string) (release func(), err error) {
	var made []string
	for dir := out; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return nil, fmt.Errorf("--out %s: %s is a file; want a folder, or a name that is not taken", out, dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	unlock, err := Claim(out, true)
	if err != nil {
		return nil, err
	}
	return func() {
		unlock()
		for _, dir := range made {
			_ = os.Remove(dir) // unless there is something in it
		}
	}, nil
}

// ClaimFile claims out, a file whose name has to end in .npz, and checks the files that are written with it as
// CheckOutput does.
func ClaimFile(out string, force bool, files []string, inputs ...string) (release func(), err error) {
	if filepath.Ext(out) != ".npz" {
		return nil, fmt.Errorf("--out %s: want a name that ends in .npz", out)
	}
	if release, err = Claim(out, false); err != nil {
		return nil, err
	}
	if err := CheckOutput(force, files, inputs...); err != nil {
		release()
		return nil, err
	}
	return release, nil
}
