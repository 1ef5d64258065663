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

	commands "github.com/go-birl/birl/envs/command"
)

// pictureOf is a JavaScript function that returns what an element shows: its images, canvases and drawings.
const pictureOf = `e => [...e.querySelectorAll("img, canvas, svg")].map(p =>
	p.src || (p.toDataURL ? p.toDataURL() : p.outerHTML)).join()`

// panel is the notebook of the page.
const panel = `[...jupyterapp.shell.widgets("main")][0]`

// view is the first view of Vega of the page, and slidingView the first with a slider.
const (
	view        = `document.querySelector('[class*="RenderedVega"]')`
	slidingView = `[...document.querySelectorAll('[class*="RenderedVega"]')].find(v =>
		v.querySelector("input[type=range]"))`
)

// TestQuickstartInTheBrowser does what a reader does, in JupyterLab and a real browser: runs the quickstart, clicks a
// cell of its explorer and moves a slider, and one that the kernel answers, saves, and reopens it where it is not
// trusted and has no kernel. Nothing is asked of another host. The screenshots of the tests in this file stay in
// .birl/runs/browser.
func TestQuickstartInTheBrowser(t *testing.T) {
	l := installed(t)
	r := newVisitor(t, l, "quickstart")
	// What the notebook sees of the clone, so that its own is not written to: its folder, and the results beside it.
	clone := layout{root: t.TempDir()}
	writeFiles(t, clone.notebooks(), map[string]string{"quickstart.ipynb": withSlider(t, l)})
	if err := os.Symlink(filepath.Join(l.root, "results"), filepath.Join(clone.root, "results")); err != nil {
		t.Fatal(err)
	}
	quickstart := filepath.Join(clone.notebooks(), "quickstart.ipynb")
	saved := figureOutputs(t, quickstart)

	// The home folder is the user's, where Go keeps what it has compiled.
	env := settled(t, layout{root: t.TempDir()}, "JUPYTER_PATH="+l.jupyter(), headlessVariable+"=",
		commands.PluginsVariable+"="+l.plugins(), commands.PythonVariable+"="+l.python(), "PATH="+
			strings.Join([]string{l.scripts(), l.bin(), os.Getenv("PATH")}, string(os.PathListSeparator)))
	r.open(startLab(t, l, clone.notebooks(), env) + "/doc/tree/quickstart.ipynb")
	r.wait("a kernel", time.Minute, panel+`?.context.sessionContext.session?.kernel?.connectionStatus === "connected"`)
	r.do(`jupyterapp.shell.activateById(` + panel + `.id), null`)
	r.do(`jupyterapp.commands.execute("notebook:run-all-cells"), null`)
	const last = `[...document.querySelectorAll(".jp-CodeCell")].at(-1)`
	const slider = last + `?.querySelector("input[type=range]")`
	r.wait("the end of all cells but the last", 20*time.Minute, `[...document.querySelectorAll(".jp-CodeCell")].`+
		`slice(0, -1).every(c => /\[\d+\]/.test(c.querySelector(".jp-InputPrompt").textContent))`)
	// GoNB puts a control into the page by a script that it takes away at once; where the page is busy, that is before
	// the script has run. Then a reader runs the cell again.
	shown := slider + ` && (` + showsFigure + `)(` + last + `)`
	for range 3 {
		if r.holds(20*time.Second, shown) {
			break
		}
		r.do(`jupyterapp.commands.execute("notebook:interrupt-kernel"), null`)
		r.wait("the end of the last cell", time.Minute, `/\[\d+\]/.test(`+last+`.querySelector(".jp-InputPrompt").textContent)`)
		r.do(panel + `.content.activeCellIndex = ` + panel + `.content.widgets.length - 1, null`)
		r.do(`jupyterapp.commands.execute("notebook:run-cell"), null`)
	}
	r.wait("the slider of the last cell", 20*time.Second, shown)
	if got := ask[[]string](r, `[...document.querySelectorAll('[data-mime-type="application/vnd.jupyter.error"], `+
		`[data-mime-type="application/vnd.jupyter.stderr"]')].map(e => e.textContent)`); len(got) > 0 {
		t.Fatalf("cells failed: %q", got)
	}
	r.changes("a cell of the explorer", view, func() { r.clickAround(view) })
	r.changes("a slider", slidingView, func() { r.slide(slidingView) })
	r.changes("a slider that the kernel answers", last, func() { r.slide(last) })
	r.do(`[...` + last + `.querySelectorAll("button")].find(b => b.textContent == "done").click(), null`)
	r.wait("the last cell has ended", time.Minute, `[...document.querySelectorAll(".jp-CodeCell")].every(c => /\[\d+\]/.`+
		`test(c.querySelector(".jp-InputPrompt").textContent))`)
	r.await(`jupyterapp.commands.execute("docmanager:save").then(() => true)`)
	again := figureOutputs(t, quickstart)
	if len(again) != len(saved)+1 {
		t.Errorf("the quickstart had %d figures, and has %d after it was run and saved, want one more, the slider's",
			len(saved), len(again))
	}

	address := startLab(t, l, clone.notebooks(), untrusting(t, layout{root: t.TempDir()}, t.TempDir()))
	if missing := missingFigures(t, r.ctx, address+"/doc/tree/quickstart.ipynb", again); len(missing) > 0 {
		t.Errorf("reopened, the quickstart does not show %s", strings.Join(missing, ", "))
	}
	if n := ask[int](r, panel+`.content.widgets.filter(c => c.model.type == "code" && `+
		`c.model.trusted && c.model.outputs.length).length`); n > 0 {
		t.Errorf("reopened, %d cells are trusted, want none", n)
	}
	r.shoot("reopened")
	r.checkHosts()
}

// TestSavedViewsInTheBrowser moves a slider and clicks a cell of an explorer in saved notebooks, which are not trusted
// and have no kernel. Each changes its picture, and nothing is asked of another host.
func TestSavedViewsInTheBrowser(t *testing.T) {
	l := installed(t)
	r := newVisitor(t, l, "saved")
	address := startLab(t, l, l.notebooks(), untrusting(t, layout{root: t.TempDir()}, t.TempDir()))
	r.openSaved(address + "/doc/tree/approximations.ipynb")
	r.wait("the view with a slider", time.Minute, slidingView+` && (`+showsFigure+`)(`+slidingView+`)`)
	r.changes("a slider", slidingView, func() { r.slide(slidingView) })
	r.openSaved(address + "/doc/tree/posterior-quality.ipynb")
	r.wait("the explorer", time.Minute, view+` && (`+showsFigure+`)(`+view+`)`)
	r.changes("a cell of the explorer", view, func() { r.clickAround(view) })
	r.checkHosts()
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

// newVisitor starts a browser, or skips the test where there is none.
func newVisitor(t *testing.T, l layout, test string) *visitor {
	t.Helper()
	browser := findBrowser()
	if browser == "" {
		t.Skip(noBrowser)
	}
	r := &visitor{t: t, ctx: startBrowser(t, browser), shots: filepath.Join(l.runs(), "browser", test)}
	if err := os.RemoveAll(r.shots); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(r.shots, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Listen(r.ctx, r.listen); err != nil {
		t.Fatal(err)
	}
	return r
}

// checkHosts fails if anything was asked of another host, or if no request was seen.
func (r *visitor) checkHosts() {
	r.t.Helper()
	r.lock.Lock()
	defer r.lock.Unlock()
	if len(r.asked) == 0 {
		r.t.Error("no request was seen")
	}
	for _, asked := range r.asked {
		if u, err := url.Parse(asked); err != nil || u.Host != "" && u.Hostname() != "127.0.0.1" {
			r.t.Errorf("%s was asked for", asked)
		}
	}
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

// openSaved opens a notebook without a kernel.
func (r *visitor) openSaved(address string) {
	r.t.Helper()
	r.open(address)
	const answer = `document.querySelector(".jp-Dialog .jp-mod-reject")`
	r.wait("the question which kernel", time.Minute, answer)
	r.do(answer + `.click(), null`)
}

// wait waits until an expression holds.
func (r *visitor) wait(what string, limit time.Duration, script string) {
	r.t.Helper()
	if !r.holds(limit, script) {
		r.shoot("waiting")
		r.t.Fatalf("after %v there is not: %s (the screenshots are in %s)", limit, what, r.shots)
	}
}

// holds reports whether an expression holds within a time.
func (r *visitor) holds(limit time.Duration, script string) bool {
	r.t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		if ask[bool](r, `!!(window.jupyterapp && (`+script+`))`) {
			return true
		}
		if time.Now().After(deadline) {
			return false
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

// box is where an element is in the window.
type box struct{ X, Y, Width, Height float64 }

func (r *visitor) box(element string) box {
	r.t.Helper()
	return ask[box](r, `(e => { const b = e.getBoundingClientRect(); return {X: b.x, Y: b.y, Width: b.width, `+
		`Height: b.height}; })(`+element+`)`)
}

func (r *visitor) click(x, y float64) {
	r.t.Helper()
	if err := chromedp.Do(r.ctx, chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x, y),
		chromedp.MouseClickXY(x, y)); err != nil {
		r.t.Fatal(err)
	}
}

// slide moves the first slider in an element to its other half.
func (r *visitor) slide(element string) {
	r.t.Helper()
	slider := element + `.querySelector("input[type=range]")`
	at, to := r.box(slider), 0.95
	if ask[bool](r, `(s => s.value - s.min > (s.max - s.min) / 2)(`+slider+`)`) {
		to = 0.05
	}
	r.click(at.X+to*at.Width, at.Y+at.Height/2)
}

// clickAround clicks at one place of an element's picture after the other, until it changes.
func (r *visitor) clickAround(element string) {
	r.t.Helper()
	before := ask[string](r, `(`+pictureOf+`)(`+element+`)`)
	at := r.box(`[...` + element + `.querySelectorAll("canvas, svg")].sort((a, b) => b.clientWidth - a.clientWidth)[0]`)
	for row := range 8 {
		for column := range 8 {
			x, y := at.X+(float64(column)+0.5)/8*at.Width, at.Y+(float64(row)+0.5)/8*at.Height
			if x < 0 || y < 0 || x > wide || y > high {
				continue
			}
			r.click(x, y)
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
