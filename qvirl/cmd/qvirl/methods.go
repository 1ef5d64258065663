package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

func newMethods() *cobra.Command {
	var trained bool
	c := &cobra.Command{
		Use:   "methods [NAME]",
		Short: "List the methods that fit problems, or show the default config of one",
		Long: `methods lists the methods that fit rewards to problems on finite MDPs, the recommended one first. With a
NAME it prints the default config of that method as JSON: a file for fit --config holds only the fields
to change. With --train it does so for the methods of "qvirl train", which learn in continuous spaces, and for
train --config.`,
		Example: `  qvirl methods
  qvirl methods qvirl-matched
  qvirl methods --train qvirl`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if trained && len(args) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), listMethods())
				return err
			}
			if len(args) == 1 {
				config, err := defaultConfig(args[0], trained)
				if err != nil {
					return err
				}
				return atomicfile.EncodeJSON(cmd.OutOrStdout(), config)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, m := range method.Fitters() {
				fmt.Fprintf(w, "%s\t%s\n", m.Name, m.Sentence)
			}
			return w.Flush()
		},
	}
	c.Flags().BoolVar(&trained, "train", false, "the methods of train")
	return c
}

// defaultConfig returns that of a method of train, or of fit where it has one of that name and train is not asked for.
func defaultConfig(name string, trained bool) (any, error) {
	config, err := qvirl.MethodConfig(name)
	if err == nil && !trained {
		return config, nil
	}
	learns, none := catalogue.Find(name)
	switch {
	case none == nil:
		return learns.Default, nil
	case trained:
		return nil, none
	}
	return nil, err
}
