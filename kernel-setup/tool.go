package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// toolNames are the programs that are built: GoNB, goimports, which it needs for every cell, and gopls, which completes
// and explains code in the lab. toolPackages are their packages.
var (
	toolNames    = []string{"gonb", "goimports", "gopls"}
	toolPackages = []string{"github.com/janpfeifer/gonb", "golang.org/x/tools/cmd/goimports",
		"golang.org/x/tools/gopls"}
)

// tools is the folder of the module that says which versions of the tools are built.
func (l layout) tools() string { return filepath.Join(l.root, "kernel-setup", "tools") }

// toolStep builds the tools at the versions of their go.mod. It uses up no version lists, so a module proxy that
// refuses them will do.
func (l layout) toolStep(goMod string) step {
	return step{
		name:   "tools",
		title:  "Go kernel (GoNB, goimports, gopls)",
		digest: digest("tools 2", goMod, fmt.Sprint(gonbMends), runtime.Version()),
		run: func(ctx context.Context, say func(string)) ([]output, error) {
			work := filepath.Join(l.temporary(), "tools")
			built := filepath.Join(work, "bin")
			env := append(l.environment(), "GOBIN="+built)
			modfile, err := mendedTools(ctx, l.tools(), work, env)
			if err != nil {
				return nil, err
			}
			args := append([]string{"install", "-v", "-modfile", modfile}, toolPackages...)
			install := command{name: "go", args: args, dir: l.tools(), env: env, output: say}
			if err := install.run(ctx); err != nil {
				return nil, hinted{err, "if modules could not be fetched, check the network and `go env GOPROXY`; " +
					"then run the same command again"}
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
