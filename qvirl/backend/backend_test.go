package backend

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
)

func TestPureGoComputes(t *testing.T) {
	c, err := Get("go")
	if err != nil {
		t.Fatal(err)
	}
	got, err := graph.CallOnce(c.Backend,
		func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Square(x)) }, []float64{1, 2, 3})
	if err != nil {
		t.Fatal(err)
	}
	if got.Value() != 14.0 {
		t.Errorf("1² + 2² + 3² = %v on the pure Go backend, want 14", got.Value())
	}
	again, err := Get("go")
	if err != nil || again.Backend != c.Backend {
		t.Errorf("a second Get made another backend (error %v)", err)
	}
}

func TestMissingOrBrokenPluginFallsBackWithNotice(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("GOMLX_BACKEND", "")
	t.Setenv(pathsVariable, "")
	c, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Backend.Name(), "Go") || !strings.Contains(c.Notice, "kernel-setup install") {
		t.Errorf("without a plugin: backend %q, notice %q", c.Backend.Name(), c.Notice)
	}
	if _, err := open("xla"); err == nil || !strings.Contains(err.Error(), "kernel-setup install") {
		t.Errorf("asking for xla without a plugin: error %v, want the command that mends it", err)
	}

	dir := t.TempDir()
	t.Setenv(pathsVariable, dir)
	if err := os.WriteFile(filepath.Join(dir, pluginFiles[1]), []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	c, err = open("")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Backend.Name(), "Go") || !strings.Contains(c.Notice, pluginFiles[1]) {
		t.Errorf("with a broken plugin: backend %q, notice %q", c.Backend.Name(), c.Notice)
	}
}

// TestNothingIsLoadedUntold: a plugin that lies about in the working folder, or above it, is none, and no variable of
// the process is set.
func TestNothingIsLoadedUntold(t *testing.T) {
	root := t.TempDir()
	plugins, deep := filepath.Join(root, ".birl", "pjrt"), filepath.Join(root, "a", "b")
	for _, dir := range []string{plugins, deep} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(plugins, pluginFiles[1]), []byte("not a library"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMLX_BACKEND", "")
	t.Setenv(pathsVariable, "")
	for _, variable := range []string{"GOMLX_NO_AUTO_INSTALL", "XLA_FLAGS"} {
		t.Setenv(variable, "")
		os.Unsetenv(variable)
	}
	t.Chdir(deep)
	before := os.Environ()
	c, err := open("")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(c.Notice, pluginFiles[1]) || len(Plugins()) > 0 {
		t.Errorf("the plugin of a folder above was tried: notice %q, plugins %v", c.Notice, Plugins())
	}
	if _, err := newBackend("xla:/no/such/plugin.so"); err == nil {
		t.Error("a plugin that does not exist was loaded")
	}
	if after := os.Environ(); !slices.Equal(after, before) {
		t.Errorf("the environment became %v", after)
	}
}

func TestUnknownBackendIsAnError(t *testing.T) {
	for _, name := range []string{"abacus", "abacus:/beads", "XLA"} {
		t.Setenv("GOMLX_BACKEND", name)
		if _, err := Get(""); err == nil || !strings.Contains(err.Error(), "there is no \""+name+"\"; want go, xla, ") {
			t.Errorf("error %v, want one that names the backend and those that there are", err)
		}
	}
}

func TestClientsOfPureGoAreOneBackend(t *testing.T) {
	c, err := Get("go")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if on, _, err := c.Client(); err != nil || on != c.Backend {
			t.Errorf("Client() = another backend (error %v)", err)
		}
	}
}

func TestProgramsOnXLAHaveClientsOfTheirOwn(t *testing.T) {
	plugins := Plugins()
	if len(plugins) == 0 || runtime.GOMAXPROCS(0) < 2 {
		t.Log("without an XLA plugin or a second processor there is one client")
		return
	}
	c, err := Get("xla:" + plugins[len(plugins)-1])
	if err != nil {
		t.Fatal(err)
	}
	first, releaseFirst, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	second, releaseSecond, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	if first == second {
		t.Error("two programs at a time share a client, which runs one after the other")
	}
	releaseFirst()
	again, release, err := c.Client()
	if err != nil {
		t.Fatal(err)
	}
	if again != first {
		t.Error("a free client is not used again")
	}
	release()
	releaseSecond()
	got, err := graph.CallOnce(second, func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(x) },
		[]float64{1, 2, 3})
	if err != nil || got.Value() != 6.0 {
		t.Errorf("1 + 2 + 3 = %v in the second client (error %v)", got.Value(), err)
	}
}

// TestPureGoDoesNotWaitForItself runs products of small matrices, in batches, side by side: on GoMLX's own settings
// they take all workers of a pool, and then wait for workers.
func TestPureGoDoesNotWaitForItself(t *testing.T) {
	c, err := Get("go")
	if err != nil {
		t.Fatal(err)
	}
	exec, err := graph.NewExec(c.Backend, func(x *graph.Node) *graph.Node {
		sum := graph.ScalarZero(x.Graph(), x.DType())
		for i := range 16 {
			y := graph.AddScalar(x, float64(i))
			sum = graph.Add(sum, graph.ReduceAllSum(graph.Einsum("bij,bkj->bik", y, y)))
		}
		return sum
	})
	if err != nil {
		t.Fatal(err)
	}
	const n = 32
	x := make([][][]float32, 2)
	for b := range x {
		x[b] = make([][]float32, n)
		for i := range x[b] {
			x[b][i] = make([]float32, n)
		}
	}
	want := 0.0
	for i := range 16 {
		want += float64(2 * n * n * n * i * i)
	}
	for range 300 {
		out, err := exec.Call1(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(out.Value().(float32)); got != want {
			t.Fatalf("the sum is %g, want %g", got, want)
		}
	}
}
