package main

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed README.md
var readme string

// newScaling is the help topic that shows the README's section on shards.
func newScaling() *cobra.Command {
	_, section, _ := strings.Cut(readme, "## Spreading an experiment over machines\n\n")
	return &cobra.Command{
		Use:   "scaling",
		Short: "How to spread an experiment over machines (Slurm, Kubernetes)",
		Long:  strings.TrimSpace(section),
	}
}
