package main

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/go-birl/birl/envs/atomicfile"
)

// plugin is an XLA plugin and the Python wheel that contains it. Nothing of the wheel but this file is used.
type plugin struct {
	name    string // of GoMLX's backend: xla:NAME
	project string // on the Python package index
	version string
	wheel   string // SHA-256 of the wheel
	member  string // the plugin's path in the wheel
	sum     string // SHA-256 of the plugin
}

var (
	cpuPlugin = plugin{
		name: "cpu", project: "xla-cpu-pjrt", version: "0.0.1",
		wheel:  "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc",
		member: "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
		sum:    "88c3f28c5900f48ad4a82cab9e79bba9537809743395e341485f8794268820dc",
	}
	cudaPlugin = plugin{
		name: "cuda", project: "jax-cuda13-pjrt", version: "0.12.0.1",
		wheel:  "5899bb6177eda86ea532afb9a26794f2bdd04966f6a01f9028266b16c2b6cf90",
		member: "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
		sum:    "b6de513893c09af2c77e71afcef46d9706f8c259337cdef4cd5cae2353886f75",
	}
)

var allPlugins = []plugin{cpuPlugin, cudaPlugin}

// file is the name under which go-xla finds the plugin.
func (p plugin) file() string { return "pjrt_c_api_" + p.name + "_plugin.so" }

// xlaObstacle says why there can be no XLA on this machine, or returns "".
func xlaObstacle(ctx context.Context, l layout) string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Sprintf("there is no XLA wheel for %s on %s (only Linux on x86-64)", runtime.GOOS, runtime.GOARCH)
	}
	if musl, _ := filepath.Glob("/lib/ld-musl-*"); len(musl) > 0 {
		return "the XLA wheel needs glibc, and this system has musl"
	}
	if _, err := compiler(ctx, l); err != nil {
		return err.Error() + ", and XLA cannot be linked without one; install gcc or clang, then run install again"
	}
	return ""
}

// hasNVIDIA looks for the device files of an NVIDIA GPU.
func hasNVIDIA() bool {
	devices, err := filepath.Glob("/dev/nvidia*")
	return err == nil && len(devices) > 0
}

// pluginStep fetches the plugin's wheel with the user's own pip and places the plugin where go-xla looks for it.
func (l layout) pluginStep(p plugin) step {
	return step{
		name:   "plugin-" + p.name,
		title:  fmt.Sprintf("XLA plugin for %s (%s %s)", strings.ToUpper(p.name), p.project, p.version),
		digest: digest("plugin 1", p.project, p.version, p.wheel, p.member, p.sum),
		run: func(ctx context.Context, say func(string)) ([]output, error) {
			download := filepath.Join(l.temporary(), "wheel-"+p.name)
			if err := l.pip(ctx, say, "download", "--no-deps", "--only-binary", ":all:", "--dest", download,
				p.project+"=="+p.version); err != nil {
				return nil, explainPlugin(err)
			}
			wheels, err := os.ReadDir(download)
			if err != nil {
				return nil, err
			}
			if len(wheels) != 1 {
				return nil, fmt.Errorf("pip left %d files in %s instead of one wheel", len(wheels), download)
			}
			say("checking and unpacking")
			if err := os.MkdirAll(l.plugins(), 0o755); err != nil {
				return nil, err
			}
			if err := p.unpack(ctx, filepath.Join(download, wheels[0].Name()), l.plugin(p)); err != nil {
				return nil, explainPlugin(err)
			}
			return outputsOf(l.private(), true, "pjrt/"+p.file())
		},
	}
}

// explainPlugin adds the way out that always works.
func explainPlugin(err error) error {
	const without = "or do without XLA, ten times slower: go run ./kernel-setup install --no-xla"
	if h, ok := errors.AsType[hinted](err); ok {
		return hinted{h.error, h.hint + ",\n" + without}
	}
	return hinted{err, "run the same command again; if it fails again, your package index serves a damaged file: use " +
		"another,\n" + without}
}

// unpack checks the wheel and moves the plugin in it to a path, whole or not at all. What an interruption leaves lies
// beside the wheel, which must be on the same file system.
func (p plugin) unpack(ctx context.Context, wheel, to string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", filepath.Base(wheel), err)
		}
	}()
	sum, err := fileSum(ctx, wheel)
	if err != nil {
		return err
	}
	if sum != p.wheel {
		return fmt.Errorf("its SHA-256 is %s instead of %s", sum, p.wheel)
	}
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer archive.Close()
	member, err := archive.Open(p.member)
	if err != nil {
		return err
	}
	defer member.Close()
	unpacked := filepath.Join(filepath.Dir(wheel), p.file())
	if err := atomicfile.Write(unpacked, func(w io.Writer) error {
		got, err := sumOf(ctx, io.TeeReader(member, w))
		if err == nil && got != p.sum {
			err = fmt.Errorf("%s has SHA-256 %s instead of %s", p.member, got, p.sum)
		}
		return err
	}); err != nil {
		return err
	}
	if err := os.Chmod(unpacked, 0o755); err != nil {
		return err
	}
	return os.Rename(unpacked, to)
}

// fileSum is the SHA-256 of a file in hexadecimal.
func fileSum(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sumOf(ctx, f)
}

// sumOf is the SHA-256 of what is read, in hexadecimal.
func sumOf(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	_, err := io.Copy(h, reader{ctx, r})
	return hex.EncodeToString(h.Sum(nil)), err
}

// reader stops reading when its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
