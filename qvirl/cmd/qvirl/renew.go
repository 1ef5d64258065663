package main

import (
	"github.com/spf13/cobra"

	"github.com/go-birl/birl/qvirl/experiment"
)

func newRenew() *cobra.Command {
	var out string
	var methods []string
	c := &cobra.Command{
		Use:   "renew FROM --methods NAME,... --out DIR",
		Short: "Replace the rows of some methods in stored results by those of a later run",
		Long: `renew replaces the rows of the named methods in DIR by those in FROM, of a run that need not have computed the others, and
adds the record of that run to DIR/run.json. What both folders hold of other methods, such as the reference,
	must be the same.`,
		Example: `  echo '{"Methods": ["qvirl-matched"], "HeldOut": [], "Again": 0}' >only.json
  qvirl run posterior-quality --scale paper --config only.json --out best
  qvirl renew best --methods qvirl-matched --out results/posterior-quality`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			record, err := experiment.Renew(out, args[0], methods)
			if err != nil {
				return err
			}
			summarise(cmd.OutOrStdout(), record, out)
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "folder with the results to renew (required)")
	c.Flags().StringSliceVar(&methods, "methods", nil, "methods, by their names in the rows (required)")
	c.MarkFlagRequired("out")
	c.MarkFlagRequired("methods")
	return c
}
