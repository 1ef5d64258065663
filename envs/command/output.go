package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// ForceHelp describes the flag that CheckOutput's errors name.
const ForceHelp = "replace what is there"

// CheckOutput refuses to write over files that exist, unless force says to replace them, and over the inputs always.
func CheckOutput(force bool, outputs []string, inputs ...string) error {
	for _, path := range outputs {
		is, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		same := func(input string) bool {
			info, err := os.Stat(input)
			return err == nil && os.SameFile(is, info)
		}
		if i := slices.IndexFunc(inputs, same); i >= 0 {
			return fmt.Errorf("cannot write %s: it is the file that is read, %s", path, inputs[i])
		}
		if !force {
			return fmt.Errorf("%s exists already; name another file, or replace it with --force", path)
		}
	}
	return nil
}
