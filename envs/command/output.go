package command

import (
	"fmt"
	"os"

	"github.com/go-birl/birl/envs/atomicfile"
)

// ForceHelp describes the flag that CheckOutput's errors name.
const ForceHelp = "replace what is there"

// CheckOutput refuses to write over files that exist, unless force says to replace them, and over the inputs always.
func CheckOutput(force bool, outputs []string, inputs ...string) error {
	for _, path := range outputs {
		if err := atomicfile.Check(path, inputs...); err != nil {
			return err
		}
		if _, err := os.Stat(path); err == nil && !force {
			return fmt.Errorf("%s exists already; name another file, or replace it with --force", path)
		}
	}
	return nil
}
