package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Anew does work that goes on from a checkpoint. Where the error says that this is of other work, with --force the
// checkpoint is removed, and the work begins from the start.
func Anew[T any](stderr io.Writer, force bool, checkpoint string, other error, work func() (T, error)) (T, error) {
	out, err := work()
	if !force || !errors.Is(err, other) {
		return out, err
	}
	fmt.Fprintln(stderr, "note: --force: starting over:", strings.TrimSuffix(err.Error(), "; "+other.Error()))
	if err := os.RemoveAll(checkpoint); err != nil {
		return out, fmt.Errorf("removing the checkpoint: %w", err)
	}
	return work()
}
