package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/qvirl/zoo/exact"
)

// newZoo is the command of the benchmark of small problems with exact answers.
func newZoo() *cobra.Command {
	root := &cobra.Command{Use: "zoo", Short: "Problems with exact answers, for judging methods",
		Long: `The zoo is a collection of small problems with exact answers, in families that are each hard in one way.
"qvirl run zoo" judges the project's methods by it; qvirl/zoo/README.md describes its files.`}
	var dir string
	answers := &cobra.Command{
		Use:   "answers",
		Short: "Make the problems of the zoo and compute the exact answers that are missing",
		Long: `answers makes the problems of the zoo from their seeds and computes their exact answers. What the folder
holds already is kept; remove an answer's entry from zoo.json, or the folder, to compute it anew. It
takes up to an hour of processor time and can be stopped.`,
		Example: `  qvirl zoo answers --dir qvirl/zoo/data`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return exact.Update(cmd.Context(), dir, func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) })
		},
	}
	answers.Flags().StringVar(&dir, "dir", "qvirl/zoo/data", "folder of the zoo's files")
	root.AddCommand(answers)
	return root
}
