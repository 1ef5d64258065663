//go:build installed

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// pictureOf is a JavaScript function that returns what an element shows: its images, canvases and drawings.
const pictureOf = `e => [...e.querySelectorAll("img, canvas, svg")].map(p =>
	p.src || (p.toDataURL ? p.toDataURL() : p.outerHTML)).join()`

// panel is the notebook of the page.
const panel = `[...jupyterapp.shell.widgets("main")][0]`

// TestInTheBrowser does what a reader does, in JupyterLab and a real browser: it runs the quickstart, moves a slider that
// the kernel answers, saves, reopens it where it is not trusted and has no kernel, moves a slider there, and clicks a
// cell of an explorer. Each changes a picture, and nothing is asked of another host. The screenshots stay in
// .birl/runs/browser.
func TestInTheBrowser(t *testing.T) {
	l := installed(t)
	browser := findBrowser()
	if browser == "" {
		t.Skip(noBrowser)
	}
	// What notebooks see of the clone, so that its own are not written to: their folder, and the results beside it.
	clone := layout{root: t.TempDir()}
	writeFiles(t, clone.notebooks(), map[string]string{"quickstart.ipynb": withSlider(t, l)})
	for _, name := range []string{"posterior-quality.ipynb", "approximations.ipynb"} {
		text, err := os.ReadFile(filepath.Join(l.notebooks(), name))
		if err != nil {
			t.Fatal(err)
		}
		writeFiles(t, clone.notebooks(), map[string]string{name: string(text)})
	}
	if err := os.Symlink(filepath.Join(l.root, "results"), filepath.Join(clone.root, "results")); err != nil {
		t.Fatal(err)
	}
	r := &visitor{t: t, ctx: startBrowser(t, browser), shots: filepath.Join(l.runs(), "browser")}
	if err := os.MkdirAll(r.shots, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(r.ctx, r.listen); err != nil {
		t.Fatal(err)
	}
	quickstart := filepath.Join(clone.notebooks(), "quickstart.ipynb")
	saved := figureOutputs(t, quickstart)

	// With the kernel.
	kernels := layout{root: t.TempDir()}
	env := settled(t, kernels, t.TempDir(), "JUPYTER_PATH="+l.jupyter(), headlessVariable+"=", "PATH="+
		strings.Join([]string{l.scripts(), l.bin(), os.Getenv("PATH")}, string(os.PathListSeparator)))
	r.open(startLab(t, l, clone.notebooks(), env) + "/doc/tree/quickstart.ipynb")
	r.wait("a kernel", time.Minute, panel+`?.context.sessionContext.session?.kernel?.connectionStatus === "connected"`)
	r.do(`jupyterapp.shell.activateById(` + panel + `.id), null`)
	r.do(`jupyterapp.commands.execute("notebook:run-all-cells"), null`)
	const last = `[...document.querySelectorAll(".jp-CodeCell")].at(-1)`
	const slider = last + `?.querySelector("input[type=range]")`
	r.wait("the slider of the last cell, after all others ran", 10*time.Minute, slider+` && (`+showsFigure+`)(`+last+`)`)
	if got := ask[[]string](r, `[...document.querySelectorAll('[data-mime-type="application/vnd.jupyter.error"], `+
		`[data-mime-type="application/vnd.jupyter.stderr"]')].map(e => e.textContent)`); len(got) > 0 {
		t.Fatalf("cells failed: %q", got)
	}
	r.changes("a slider that the kernel answers", last, func() {
		r.do(slider + `.focus(), null`)
		r.press(kb.ArrowRight)
	})
	r.do(`[...` + last + `.querySelectorAll("button")].find(b => b.textContent == "done").click(), null`)
	r.wait("the last cell has ended", time.Minute, `[...document.querySelectorAll(".jp-CodeCell")].every(c => /\[\d+\]/.`+
		`test(c.querySelector(".jp-InputPrompt").textContent))`)
	r.await(`jupyterapp.commands.execute("docmanager:save").then(() => true)`)
	again := figureOutputs(t, quickstart)
	if len(again) != len(saved)+1 {
		t.Errorf("the quickstart had %d figures, and has %d after it was run and saved, want one more, the slider's",
			len(saved), len(again))
	}

	// Without a kernel, and untrusted.
	untrusted := layout{root: t.TempDir()}
	address := startLab(t, l, clone.notebooks(), untrusting(t, untrusted, t.TempDir()))
	if missing := missingFigures(t, r.ctx, address+"/doc/tree/quickstart.ipynb", again); len(missing) > 0 {
		t.Errorf("reopened, the quickstart does not show %s", strings.Join(missing, ", "))
	}
	if n := ask[int](r, panel+`.content.widgets.filter(c => c.model.type == "code" && `+
		`c.model.trusted && c.model.outputs.length).length`); n > 0 {
		t.Errorf("reopened, %d cells are trusted, want none", n)
	}
	r.shoot("quickstart reopened")

	const view = `document.querySelector('[data-mime-type^="application/vnd.vegalite"]')`
	r.open(address + "/doc/tree/approximations.ipynb")
	r.wait("the view with a slider", time.Minute, view+`?.querySelector("input[type=range]") && (`+showsFigure+`)(`+view+`)`)
	r.changes("a slider without a kernel", view, func() {
		r.do(view + `.querySelector("input[type=range]").focus(), null`)
		r.press(kb.ArrowRight)
	})
	r.open(address + "/doc/tree/posterior-quality.ipynb")
	r.wait("the explorer", time.Minute, view+` && (`+showsFigure+`)(`+view+`)`)
	r.changes("a cell of the explorer", view, func() { r.clickAround(view) })

	if len(r.asked) == 0 {
		t.Error("no request was seen")
	}
	for _, asked := range r.asked {
		if u, err := url.Parse(asked); err != nil || u.Host != "" && u.Hostname() != "127.0.0.1" {
			t.Errorf("%s was asked for", asked)
		}
	}
}

// withSlider returns the quickstart with one cell more, of a slider that its kernel answers.
func withSlider(t *testing.T, l layout) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.notebooks(), "quickstart.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	var notebook map[string]any
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(err)
	}
	notebook["cells"] = append(notebook["cells"].([]any), map[string]any{"cell_type": "code", "id": "a-slider",
		"metadata": map[string]any{}, "outputs": []any{}, "execution_count": nil,
		"source": `%%
nb.Check(widgets.Slider("the tile pays", []string{"−10", "0", "10"}, 0, func(i int) (widgets.Drawing, error) {
	m := widgets.WorldMap("The world", world, nil)
	m.Values = slices.Clone(world.Reward)
	m.Values[tile] = float64(10*i - 10)
	return m, nil
}))`})
	if text, err = json.Marshal(notebook); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// visitor is somebody at a browser.
type visitor struct {
	t     *testing.T
	ctx   context.Context
	shots string // folder of the screenshots
	taken int

	lock  sync.Mutex
	asked []string // addresses of all requests
}

// listen notes the address of each request.
func (r *visitor) listen(event any) {
	r.lock.Lock()
	defer r.lock.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		r.asked = append(r.asked, e.Request.URL)
	case *network.EventWebSocketCreated:
		r.asked = append(r.asked, e.URL)
	}
}

// ask returns the value of an expression in the page.
func ask[T any](r *visitor, script string) T {
	r.t.Helper()
	got, err := chromedp.Run(r.ctx, chromedp.Evaluate[T](script))
	if err != nil {
		r.shoot("error")
		r.t.Fatalf("%v in %s", err, script)
	}
	return got
}

// do evaluates a script whose value does not matter.
func (r *visitor) do(script string) { r.t.Helper(); ask[any](r, script) }

// await waits for a promise.
func (r *visitor) await(script string) {
	r.t.Helper()
	if _, err := chromedp.Run(r.ctx, chromedp.Evaluate[any](script, chromedp.EvalAwaitPromise)); err != nil {
		r.t.Fatalf("%v in %s", err, script)
	}
}

func (r *visitor) open(address string) {
	r.t.Helper()
	if err := chromedp.Do(r.ctx, chromedp.Navigate(address)); err != nil {
		r.t.Fatal(err)
	}
}

// wait waits until an expression holds.
func (r *visitor) wait(what string, limit time.Duration, script string) {
	r.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		if ask[bool](r, `!!(window.jupyterapp && (`+script+`))`) {
			return
		}
		if time.Now().After(deadline) {
			r.shoot("waiting")
			r.t.Fatalf("after %v there is not: %s (the screenshots are in %s)", limit, what, r.shots)
		}
	}
}

// changes fails unless what the reader does changes the picture in an element for good.
func (r *visitor) changes(what, element string, act func()) {
	r.t.Helper()
	r.do(element + `.scrollIntoView({block: "center"}), null`)
	r.rest()
	before := ask[string](r, `(`+pictureOf+`)(`+element+`)`)
	r.shoot(what + ", before")
	act()
	r.rest()
	r.wait(what+" that changes the picture", 10*time.Second, `(`+pictureOf+`)(`+element+`) !== `+quoted(before))
	r.shoot(what + ", after")
}

// rest moves the mouse where it changes nothing, and waits until what it left has been drawn.
func (r *visitor) rest() {
	r.t.Helper()
	if err := chromedp.Do(r.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, 2, 2),
		chromedp.Sleep(300*time.Millisecond)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *visitor) press(key string) {
	r.t.Helper()
	if err := chromedp.Do(r.ctx, chromedp.KeyEvent(key)); err != nil {
		r.t.Fatal(err)
	}
}

// clickAround clicks at one place of an element's picture after the other, until it changes.
func (r *visitor) clickAround(element string) {
	r.t.Helper()
	before := ask[string](r, `(`+pictureOf+`)(`+element+`)`)
	box := ask[struct{ X, Y, Width, Height float64 }](r, `(e => { const b = e.getBoundingClientRect(); return {X: b.x, `+
		`Y: b.y, Width: b.width, Height: b.height}; })(`+element+`.querySelector("canvas, svg"))`)
	for row := range 8 {
		for column := range 8 {
			x, y := box.X+(float64(column)+0.5)/8*box.Width, box.Y+(float64(row)+0.5)/8*box.Height
			if x < 0 || y < 0 || x > wide || y > high {
				continue
			}
			if err := chromedp.Do(r.ctx, chromedp.MouseClickXY(x, y)); err != nil {
				r.t.Fatal(err)
			}
			r.rest()
			if ask[string](r, `(`+pictureOf+`)(`+element+`)`) != before {
				return
			}
		}
	}
}

// shoot keeps a picture of the page.
func (r *visitor) shoot(what string) {
	r.t.Helper()
	r.taken++
	name := fmt.Sprintf("%02d-%s.png", r.taken, strings.ReplaceAll(strings.ReplaceAll(what, ",", ""), " ", "-"))
	shot, err := chromedp.Run(r.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(filepath.Join(r.shots, name), shot, 0o644)
	}
	if err != nil {
		r.t.Errorf("no screenshot: %v", err)
	}
}

// quoted returns a text as JavaScript has it.
func quoted(text string) string {
	out, _ := json.Marshal(text) // a string has no error
	return string(out)
}
