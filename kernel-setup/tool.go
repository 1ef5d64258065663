package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
)

// toolNames are the programs of go.mod's tool block: GoNB, goimports, which it needs for every cell, and gopls, which
// completes and explains code in the lab.
var toolNames = []string{"gonb", "goimports", "gopls"}

// toolStep builds the tools at the versions of go.mod. It uses up no version lists, so a module proxy that refuses
// them will do.
func (in *installer) toolStep(goMod string) step {
	return step{
		name:   "tools",
		title:  "Go kernel (GoNB, goimports, gopls)",
		digest: digest("tools 1", goMod, runtime.Version()),
		run: func(ctx context.Context, say func(string)) ([]output, error) {
			l := in.layout
			built := filepath.Join(l.temporary(), "bin")
			install := command{
				name: "go", args: []string{"install", "-v", "tool"}, dir: l.root,
				env:    append(l.environment(), "GOBIN="+built),
				output: say,
			}
			if err := install.run(ctx); err != nil {
				return nil, hinted{err, "if modules could not be fetched, check the network and `go env GOPROXY`; then run the same command again"}
			}
			if err := os.MkdirAll(l.bin(), 0o755); err != nil {
				return nil, err
			}
			var outputs []string
			for _, name := range toolNames {
				to := l.tool(name)
				if err := os.Rename(filepath.Join(built, filepath.Base(to)), to); err != nil {
					return nil, err
				}
				outputs = append(outputs, "bin/"+filepath.Base(to))
			}
			return outputsOf(l.private(), true, outputs...)
		},
	}
}
