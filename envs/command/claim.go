package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockFile is the file that is locked in a folder.
const lockFile = ".lock"

// Claim keeps other commands from writing to out, a file or a folder, until the release, or this process's end. It
// locks a file in the folder, or beside the file, that stays.
func Claim(out string, folder bool) (release func(), err error) {
	path := filepath.Join(out, lockFile)
	if !folder {
		path = filepath.Join(filepath.Dir(out), "."+filepath.Base(out)+".lock")
	}
	lock := flock.New(path)
	mine, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--out %s: there is no folder %s: %w", out, filepath.Dir(path), fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("--out: cannot lock %s: %w", path, err)
	}
	if !mine {
		return nil, fmt.Errorf("--out: another command writes to %s at the moment; name another, or wait for it", out)
	}
	return func() { _ = lock.Unlock() }, nil // the process's end does it otherwise
}

// ClaimFolder claims out, a folder, and makes it if it is missing; then the release removes it, if nothing was written
// to it.
func ClaimFolder(out string) (release func(), err error) {
	_, missing := os.Stat(out)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, fmt.Errorf("--out: %w", err)
	}
	unlock, err := Claim(out, true)
	if err != nil || missing == nil {
		return unlock, err
	}
	return func() {
		if entries, err := os.ReadDir(out); err == nil && len(entries) == 1 { // the lock
			_ = errors.Join(os.Remove(filepath.Join(out, lockFile)), os.Remove(out)) // tidiness alone
		}
		unlock()
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
