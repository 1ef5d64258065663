package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// goEnv asks the go command for settings; a setting that is empty makes an error, because none that is asked for may
// be.
func goEnv(ctx context.Context, l layout, names ...string) ([]string, error) {
	var values []string
	ask := command{name: "go", args: append([]string{"env"}, names...), dir: l.root,
		stdout: func(line string) { values = append(values, line) }}
	if err := ask.run(ctx); err != nil {
		return nil, err
	}
	if len(values) != len(names) {
		return nil, fmt.Errorf("go env %s gave %d values", strings.Join(names, " "), len(values))
	}
	return values, nil
}

// compiler finds the C compiler that cgo would use. GoMLX's XLA backend is linked with it.
func compiler(ctx context.Context, l layout) (string, error) {
	values, err := goEnv(ctx, l, "CGO_ENABLED", "CC")
	if err != nil {
		return "", err
	}
	if values[0] != "1" {
		return "", fmt.Errorf("there is no C compiler, or CGO_ENABLED=0")
	}
	path, err := exec.LookPath(strings.Fields(values[1])[0])
	if err != nil {
		return "", fmt.Errorf("the C compiler %s was not found", values[1])
	}
	return path, nil
}
