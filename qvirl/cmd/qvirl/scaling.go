package main

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed README.md
var readme string

// link is one of Markdown, whose text help shows alone.
var link = regexp.MustCompile(`\[([^]]*)]\([^)]*\)`)

// newScaling is the help topic that shows the README's section on shards.
func newScaling() *cobra.Command {
	_, section, _ := strings.Cut(readme, "## Spreading an experiment over machines\n\n")
	return &cobra.Command{
		Use:   "scaling",
		Short: "How to spread an experiment over machines (Slurm, Kubernetes)",
		Long:  strings.TrimSpace(link.ReplaceAllString(section, "$1")),
	}
}
