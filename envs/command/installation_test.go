package command

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCommandsUseTheInstallationAbove(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plugins, python := filepath.Join(root, Private, "pjrt"), filepath.Join(root, Private, "venv", "bin", "python")
	deep := filepath.Join(root, "a", "b")
	for _, dir := range []string{plugins, filepath.Dir(python), filepath.Join(deep, Private, "runs")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(python, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	for _, c := range []struct {
		name, plugins, python, flags             string
		wantPlugins, wantPython, wantFlags, cuda string
	}{
		{name: "nothing set", wantPlugins: plugins, wantPython: python, wantFlags: XLAFlags},
		{name: "all set", plugins: "/mine", python: "/my/python", flags: "--mine", wantPlugins: "/mine:" + plugins,
			wantPython: "/my/python",
			wantFlags:  "--mine"},
		{name: "with CUDA", cuda: "pjrt_c_api_cuda_plugin.so", wantPlugins: plugins, wantPython: python},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(PluginsVariable, c.plugins)
			t.Setenv(PythonVariable, c.python)
			t.Setenv(FlagsVariable, c.flags)
			if c.flags == "" {
				os.Unsetenv(FlagsVariable)
			}
			if c.cuda != "" {
				if err := os.WriteFile(filepath.Join(plugins, c.cuda), nil, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := UseInstallation(); err != nil {
				t.Fatal(err)
			}
			for variable, want := range map[string]string{PluginsVariable: c.wantPlugins, PythonVariable: c.wantPython,
				FlagsVariable: c.wantFlags} {
				if got := os.Getenv(variable); got != want {
					t.Errorf("%s=%q, want %q", variable, got, want)
				}
			}
		})
	}
}
