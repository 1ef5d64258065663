// Package commandtest tests what all commands have in common.
package commandtest

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/command"
)

// Run runs a command line and returns its exit status and output.
func Run(ctx context.Context, root *cobra.Command, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = command.Execute(ctx, root, args, &out, &errs)
	return status, out.String(), errs.String()
}

// HelpIsNarrow wants no line of the help of a command, or of its own commands, to be wider than command.Columns.
func HelpIsNarrow(t *testing.T, newRoot func() *cobra.Command) {
	t.Helper()
	var visit func(c *cobra.Command, args []string)
	visit = func(c *cobra.Command, args []string) {
		status, text, _ := Run(t.Context(), newRoot(), args...)
		if status != 0 || !strings.Contains(text, "Flags:") {
			t.Errorf("%q: status %d, and no help: %s", args, status, text)
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > command.Columns {
				t.Errorf("%q writes a line of %d characters, want at most %d: %s", args, n, command.Columns, line)
			}
		}
		for _, sub := range c.Commands() {
			if sub.Runnable() || sub.HasSubCommands() { // it is no topic
				visit(sub, append(slices.Clip(args), sub.Name()))
			}
		}
	}
	visit(newRoot(), []string{"help"})
}
