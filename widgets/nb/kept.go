package nb

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-birl/birl/widgets"
)

// Path returns the path of a file of the project, such as Path("results", "maxmean", "rows.csv"): of the clone that the
// notebook lies in a folder of, or, where that has no such file, of the one whose packages it uses.
func Path(elements ...string) string {
	beside := filepath.Join(append([]string{os.Getenv("GONB_DIR"), ".."}, elements...)...)
	_, source, _, ok := runtime.Caller(0)
	clone := filepath.Join(append([]string{filepath.Dir(source), "..", ".."}, elements...)...)
	if _, err := os.Stat(beside); ok && errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(clone); err == nil {
			return clone
		}
	}
	return beside
}

// Dir returns a folder that lasts as long as the notebook's kernel, of the given name.
func Dir(name string) string {
	dir := filepath.Join(os.Getenv("GONB_TMP_DIR"), name)
	Check(os.MkdirAll(dir, 0o755))
	return dir
}

// Kept returns what compute returns, and shows how long that took. Each cell is a program of its own; what an earlier
// one computed with the same label and inputs is read again, until the kernel ends. The result is what load reads of
// what save wrote, the first time too. compute is given what it tells of its progress.
//
// Inputs are equal if fmt.Sprint writes them alike: it writes what a pointer points to, but of a pointer inside of an
// input its address, so that such an input never equals an earlier one.
func Kept[T any, Progress ~func(done, total int, status string)](label string, load func(path string) (T, error),
	save func(path string, result T) error, compute func(progress Progress) (T, error), inputs ...any) T {
	digest := sha256.New()
	for _, input := range append([]any{label}, inputs...) {
		fmt.Fprintf(digest, "%v\n", input)
	}
	path := filepath.Join(Dir("kept"), fmt.Sprintf("%x.npz", digest.Sum(nil)[:16]))
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		line := widgets.NewProgress(label)
		line.Interrupted = "nothing of this is kept, what ended before is"
		result := Must(compute(line.Report))
		line.Done()
		Check(save(path, result))
	}
	return Must(load(path))
}
