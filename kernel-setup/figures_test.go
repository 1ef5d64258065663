//go:build installed

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// showsFigure is a JavaScript function that says of one output's element whether a reader sees a picture in it.
const showsFigure = `e => [...e.querySelectorAll("img")].some(i => i.complete && i.naturalWidth > 0) ||
	[...e.querySelectorAll("canvas, svg")].some(c => c.getBoundingClientRect().width > 50)`

// TestSavedFigures opens every saved notebook as a reader of a fresh clone does, in a JupyterLab that does not trust it
// and without a kernel, then its HTML export, and looks for a picture in each output that is a figure.
func TestSavedFigures(t *testing.T) {
	l := installed(t)
	browser := findBrowser()
	if browser == "" {
		t.Skip(noBrowser)
	}
	notebooks, err := filepath.Glob(filepath.Join(l.notebooks(), "*.ipynb"))
	if err != nil || len(notebooks) == 0 {
		t.Fatalf("%s holds no notebooks (error %v)", l.notebooks(), err)
	}
	empty, home := layout{root: t.TempDir()}, t.TempDir()
	env := untrusting(t, empty, home)
	pages := t.TempDir()
	export := command{name: l.python(), args: append([]string{"-I", "-m", "nbconvert", "--to", "html", "--output-dir",
		pages}, notebooks...),
		dir: pages, env: env}
	if err := export.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	address := startLab(t, l, l.notebooks(), env)
	ctx := startBrowser(t, browser)
	for _, path := range notebooks {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			figures := figureOutputs(t, path)
			for _, page := range []struct{ kind, url string }{
				{"JupyterLab", address + "/doc/tree/" + name},
				{"HTML", "file://" + filepath.Join(pages, strings.TrimSuffix(name, ".ipynb")+".html")},
			} {
				if missing := missingFigures(t, ctx, page.url, figures); len(missing) > 0 {
					t.Errorf("%s: of %d figures, these do not show: %s\n  What to do: go run ./kernel-setup run "+
						"--inplace %s",
						page.kind, len(figures), strings.Join(missing, ", "), strings.TrimSuffix(name, ".ipynb"))
				}
			}
		})
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) > 0 {
		t.Errorf("Jupyter left %v in the home folder (error %v)", left, err)
	}
	if made, err := filepath.Glob(empty.private("jupyter", "*")); err != nil || len(made) < 3 {
		t.Errorf("Jupyter made %q in .birl, want its data, runtime and lab folders (error %v)", made, err)
	}
}

// untrusting returns the environment of a lab of an empty clone: it has no kernels, and no key by which it could trust
// anything.
func untrusting(t *testing.T, empty layout, home string) []string {
	t.Helper()
	t.Setenv("JUPYTER_PATH", "") // where the suite's own kernels are
	return settled(t, empty, "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_CACHE_HOME=",
		"XDG_RUNTIME_DIR=")
}

// settled returns the environment of a lab of its own, with settings under which it can be looked at.
func settled(t *testing.T, of layout, extra ...string) []string {
	t.Helper()
	writeFiles(t, of.private("jupyter", "lab", "user-settings", "@jupyterlab"), map[string]string{
		// Without this, cells are drawn only once they are scrolled to, and questions lie over them.
		"notebook-extension/tracker.jupyterlab-settings":      `{"windowingMode": "none"}`,
		"apputils-extension/notification.jupyterlab-settings": `{"fetchNews": "false", "checkForUpdates": false}`,
	})
	return of.environment(extra...)
}

// Size of the browser's window; what it has around the page is no part of a tab.
const wide, high = 1200, 900

// startBrowser starts a browser that resolves no other host's name, and opens a tab in it.
func startBrowser(t *testing.T, path string) context.Context {
	t.Helper()
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(wide, high),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	return ctx
}

// startLab starts JupyterLab for a folder of notebooks and returns its address.
func startLab(t *testing.T, l layout, folder string, env []string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // for a port that is free
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	ctx, stop := context.WithCancel(t.Context())
	var log strings.Builder
	ended := make(chan error, 1)
	lab := command{name: l.python(), args: []string{"-I", "-m", "jupyterlab", "--no-browser", "--allow-root",
		"--ServerApp.ip=127.0.0.1", "--ServerApp.port=" + port,
		"--IdentityProvider.token=", "--ServerApp.root_dir=" + folder, "--expose-app-in-browser"}, dir: folder,
		env: env, output: func(line string) { fmt.Fprintln(&log, line) }, grace: 10 * time.Second}
	go func() { ended <- lab.run(ctx) }()
	t.Cleanup(func() {
		stop()
		<-ended
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		response, err := http.Get(address + "/api")
		if err == nil {
			response.Body.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("JupyterLab does not answer: %v", err)
		}
	}
}

// place is that of an output in a notebook: of all cells and of the cell's outputs, both from 0.
type place struct{ Cell, Output int }

// figureOutputs finds the outputs of a notebook that hold a picture in any format.
func figureOutputs(t *testing.T, path string) []place {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var notebook struct {
		Cells []struct {
			Outputs []struct {
				Data map[string]json.RawMessage `json:"data"`
			} `json:"outputs"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(err)
	}
	var found []place
	for i, cell := range notebook.Cells {
		for j, out := range cell.Outputs {
			for mime, content := range out.Data {
				html := mime == "text/html" && (strings.Contains(string(content), "<img") ||
					strings.Contains(string(content), "<svg"))
				if strings.HasPrefix(mime, "image/") || strings.Contains(mime, "vega") || html {
					found = append(found, place{i, j})
					break
				}
			}
		}
	}
	return found
}

// missingFigures opens a page of a notebook and names the figures that do not show although their outputs have been
// there for five seconds. It gives the page a minute to build them.
func missingFigures(t *testing.T, ctx context.Context, url string, figures []place) []string {
	t.Helper()
	wanted, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`(() => {
		const shows = %s;
		const cells = [...document.querySelectorAll(".jp-Cell")];
		const places = %s.map(f => ({
			name: "cell " + (f.Cell + 1) + ", output " + (f.Output + 1),
			element: cells[f.Cell]?.querySelectorAll(".jp-OutputArea-child")[f.Output]}));
		return {Built: places.every(p => p.element), Missing: places.filter(p => !p.element || !shows(p.element)).map(p => p.name)};
	})()`, showsFigure, wanted)
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Built   bool
		Missing []string
	}
	built := false
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		got, err := chromedp.Run(ctx, chromedp.Evaluate[answer](script))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Missing) == 0 || time.Now().After(deadline) {
			return got.Missing
		}
		if got.Built && !built {
			built, deadline = true, time.Now().Add(time.Minute) // a busy machine draws slowly
		}
	}
}
