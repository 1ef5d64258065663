package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestExecute(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		ctx    context.Context
		run    func(ctx context.Context) error
		status int
		says   string
	}{
		"success":      {context.Background(), func(context.Context) error { return nil }, 0, ""},
		"failure":      {context.Background(), func(context.Context) error { return errors.New("the disk is full") }, 1, "error: the disk is full\n"},
		"interruption": {cancelled, func(ctx context.Context) error { return fmt.Errorf("world 3: %w", ctx.Err()) }, 130, "interrupted: world 3: context canceled\n"},
	} {
		root := &cobra.Command{Use: "try", RunE: func(cmd *cobra.Command, args []string) error {
			fmt.Fprint(cmd.OutOrStdout(), args)
			return c.run(cmd.Context())
		}}
		var stdout, stderr strings.Builder
		if status := Execute(c.ctx, root, []string{"a", "b"}, &stdout, &stderr); status != c.status {
			t.Errorf("%s: exit status %d, want %d", name, status, c.status)
		}
		if stdout.String() != "[a b]" || stderr.String() != c.says {
			t.Errorf("%s: wrote %q and %q, want %q and %q", name, stdout.String(), stderr.String(), "[a b]", c.says)
		}
	}
}
