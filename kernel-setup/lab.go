package main

import (
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	commands "github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/process"
)

func newLabCommand() *cobra.Command {
	var backend string
	cmd := &cobra.Command{
		Use:   "lab [-- JUPYTERLAB-OPTION...]",
		Short: "Open the notebooks in JupyterLab",
		Long: `Open the folder notebooks in JupyterLab, with the Go kernel and the installed backends. What is missing
is installed first. Options after -- go to JupyterLab. Its settings and data are in .birl/jupyter; those
of your own Jupyter are neither read nor changed.`,
		Example: `  go run ./kernel-setup lab
  go run ./kernel-setup lab -- --no-browser --port 8890`,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := prepared(cmd.Context(), installer{})
			if err != nil {
				return err
			}
			env, err := backendEnv(l, backend)
			if err != nil {
				return err
			}
			// JupyterLab shares the terminal, receives its Ctrl-C, asks for confirmation and shuts its kernels down. It
			// therefore is waited for, whatever happens to this process's own context.
			lab := exec.Command(l.python(), append([]string{"-I", "-m", "jupyterlab", "--ServerApp.root_dir=" +
				l.notebooks()}, args...)...)
			lab.Dir, lab.Env = l.notebooks(), l.environment(env...)
			lab.Stdin, lab.Stdout, lab.Stderr = os.Stdin, os.Stdout, os.Stderr
			process.EndWithParent(lab, syscall.SIGTERM)
			isCtrlC := func(s os.Signal) bool { return s == os.Interrupt }
			// These are sent to this process only, unlike Ctrl-C.
			signals := slices.DeleteFunc(commands.EndingSignals(), isCtrlC)
			return wait(lab, signals, func(os.Signal) os.Signal { return syscall.SIGTERM })
		},
	}
	cmd.Flags().StringVar(&backend, "backend", "",
		"backend for the kernels to compute on (default: the best installed)")
	return cmd
}
