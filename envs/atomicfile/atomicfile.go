// Package atomicfile writes files that other processes see either whole or not at all.
package atomicfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// maxLinks is the most symbolic links that are followed one after the other, as on Linux.
const maxLinks = 40

// Write replaces the file at path by what write produces. It goes to a temporary file in the same folder, which takes
// the name only when all of it is on disk: after a crash, a full disk or an error of write, the former file is still
// there. The folder must exist. Symbolic links stay, and what they lead to is replaced; what is not a regular file,
// such as a device, is refused. A new file has the permissions that the process's umask leaves, a replaced one keeps
// its own.
func Write(path string, write func(io.Writer) error) (err error) {
	f, target, err := create(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("cannot write %s: %w", path, err), ignoreMissing(os.Remove(f.Name())))
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<16)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), target)
	}
	return err
}

// WriteBytes is Write of a text that is there.
func WriteBytes(path string, text []byte) error {
	return Write(path, func(w io.Writer) error { _, err := w.Write(text); return err })
}

// WriteJSON is Write of a value as indented JSON.
func WriteJSON(path string, v any) error {
	return Write(path, func(w io.Writer) error { return EncodeJSON(w, v) })
}

// ReadJSON reads what WriteJSON wrote, fields that are unknown aside.
func ReadJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return nil
}

// EncodeJSON writes a value as indented JSON.
func EncodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Check finds out, before the work whose result goes to path, whether Write can write there. It refuses a path that
// leads to one of the inputs of that work; inputs that do not exist, and empty names, are passed over.
func Check(path string, inputs ...string) error {
	f, _, err := create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	out, err := os.Stat(path)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(in, out) {
			return fmt.Errorf("cannot write %s: it is the file %s that is read, which the result would replace", path,
				input)
		}
	}
	return nil
}

// create creates a temporary file beside the file that path leads to, target, with the permissions that target is to
// have.
func create(path string) (f *os.File, target string, err error) {
	if path == "" {
		return nil, "", errors.New("the name of the file to write is empty")
	}
	target, former, err := resolve(path)
	for err == nil {
		name := fmt.Sprintf(".%s.%08x.tmp", filepath.Base(target), rand.Uint32())
		f, err = os.OpenFile(filepath.Join(filepath.Dir(target), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			break
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil // another name, then
		}
	}
	if err == nil && former != nil {
		if err = f.Chmod(former.Mode().Perm()); err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		folder, why := filepath.Dir(target), "there is no folder"
		if _, missing := os.Stat(folder); missing == nil { // such as /proc
			why = "no file can be made in"
		}
		err = fmt.Errorf("%s %s: %w", why, folder, fs.ErrNotExist)
	}
	if err != nil {
		return nil, "", fmt.Errorf("cannot write %s: %w", path, err)
	}
	return f, target, nil
}

// resolve follows symbolic links to the regular file at their end, or to where there is nothing yet: then former is
// nil.
func resolve(path string) (target string, former fs.FileInfo, err error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil, nil
		case err != nil:
			return "", nil, err
		case info.Mode().IsRegular():
			return path, info, nil
		case info.Mode()&fs.ModeSymlink == 0:
			return "", nil, fmt.Errorf("%s is not a regular file (%v)", path, info.Mode())
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", nil, err
		}
		if !filepath.IsAbs(to) {
			// not cleaned: .. is the parent of what a link leads to
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return "", nil, fmt.Errorf("more than %d symbolic links", maxLinks)
}

func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
