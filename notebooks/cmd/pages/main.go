// Command pages makes what readers see of the experiments from the ledger of claims and the stored rows:
// notebooks/REPRODUCTION.md, notebooks/README.md, a page with a figure for each experiment, the lists of methods and of
// metrics, and the box at the top of each notebook. Nothing is computed anew but the density of one exact posterior.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/atomicfile"
)

func main() {
	if err := newCommand().Execute(); err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	var root string
	var check bool
	cmd := &cobra.Command{
		Use:   "pages",
		Short: "Make the readers' pages from the ledger of claims and the stored rows",
		Long: `pages makes notebooks/REPRODUCTION.md, notebooks/README.md, a page with its figure for each experiment in
notebooks/pages, and the box at the top of each notebook, from

  notebooks/claims.yaml         what the paper claims, and the rule by which each claim is judged
  notebooks/pages/pages.yaml    what pages, tables and figures there are
  notebooks/pages/prose         what is said around them; numbers are placeholders
  results                       stored rows and their records

It computes no experiment, and writes the same bytes from the same files. In notebooks it changes the cell that begins
with ` + mark + ` alone. --check writes nothing, and ends with an error that names the files that would change.`,
		Example: `  go run ./notebooks/cmd/pages
  go run ./notebooks/cmd/pages --check`,
		Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Stat(filepath.Join(root, "notebooks", "claims.yaml")); err != nil {
				return fmt.Errorf("pages: %w; run it in the clone, or name that by --root", err)
			}
			s, err := build(root, !check)
			if err != nil {
				return fmt.Errorf("pages: %w", err)
			}
			stale, err := s.stale()
			if err != nil {
				return err
			}
			if check {
				if len(stale) > 0 {
					return fmt.Errorf("pages: %s: not as the ledger and the rows say; run go run ./notebooks/cmd/pages",
						strings.Join(stale, ", "))
				}
				return nil
			}
			n, err := s.save()
			fmt.Fprintf(cmd.OutOrStdout(), "%d of %d files written\n", n, len(s.files))
			return err
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", "folder of the clone")
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; fail if a file would change")
	return cmd
}

// stale returns the files whose text is not what would be written. Pictures need only be there: their numbers lie
// beside them as CSV, and their look may change with the theme.
func (s *site) stale() ([]string, error) {
	var out []string
	for _, path := range sortedKeys(s.files) {
		have, err := os.ReadFile(filepath.Join(s.root, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		picture := slices.Contains([]string{".svg", ".png"}, filepath.Ext(path))
		if err != nil || !picture && !bytes.Equal(have, s.files[path]) {
			out = append(out, path)
		}
	}
	return out, nil
}

// save writes the files that differ, and returns how many.
func (s *site) save() (int, error) {
	n := 0
	for _, path := range sortedKeys(s.files) {
		text := s.files[path]
		full := filepath.Join(s.root, path)
		if have, err := os.ReadFile(full); err == nil && bytes.Equal(have, text) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return n, err
		}
		if err := atomicfile.WriteBytes(full, text); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
