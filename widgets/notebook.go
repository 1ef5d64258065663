package widgets

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"os"
	"strings"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// ErrNoNotebook is what the Show functions return in a program that no notebook started.
var ErrNoNotebook = errors.New("widgets: no notebook to show in: the program was not started by a GoNB kernel; use " +
	"Save to write a file")

// MIME types that JupyterLab renders by itself, without a network.
const (
	vegaLite protocol.MIMEType = "application/vnd.vegalite.v5+json"
	vega     protocol.MIMEType = "application/vnd.vega.v5+json"
)

func init() {
	// The Vega-Lite specification travels to the kernel as a tree of these.
	gob.Register(map[string]any{})
	gob.Register([]any{})
}

// Headless reports whether the notebook runs without a reader: the environment variable BIRL_HEADLESS is set, and not
// "0". Interactive parts then show something static, since nobody would answer them.
func Headless() bool {
	v := os.Getenv("BIRL_HEADLESS")
	return v != "" && v != "0"
}

// Scale is how much of an experiment a notebook computes.
type Scale string

// The scales.
const (
	Quick Scale = "quick" // minutes, on a sample
	Paper Scale = "paper" // everything the paper reports
)

// NotebookScale returns the scale that the environment variable BIRL_SCALE names; Quick if it is not set.
func NotebookScale() (Scale, error) {
	switch v := Scale(os.Getenv("BIRL_SCALE")); v {
	case "":
		return Quick, nil
	case Quick, Paper:
		return v, nil
	default:
		return "", fmt.Errorf("widgets: BIRL_SCALE = %q, want %q or %q", string(v), Quick, Paper)
	}
}

// Show displays a drawing as output of the notebook's cell. Where it cannot be drawn, it displays a sentence that says
// why in place of the picture, and returns the error.
func Show(d Drawing) error {
	out, err := render(d)
	if err != nil {
		return apologise(err)
	}
	return send(out)
}

// sentence says why something is not drawn.
func sentence(err error) string {
	return "This cannot be drawn: " + strings.TrimPrefix(err.Error(), "widgets: ") + "."
}

// apologise displays an error as a sentence in place of a picture, and returns it.
func apologise(err error) error {
	if !gonbui.IsNotebook {
		return err
	}
	text := sentence(err)
	return errors.Join(err, ShowHTML(`<p class="birl-sentence" style="color:#1a1a1a;background:#fff;padding:8px">`+
		html.EscapeString(text)+"</p>", text))
}

// render returns a drawing in all formats of an output: as SVG, which scales, as PNG, which JupyterLab shows in a
// notebook that it does not trust too, such as one of a fresh clone, and in words where only text goes.
func render(d Drawing) (*protocol.DisplayData, error) {
	f, err := figureOf(d)
	if err != nil {
		return nil, err
	}
	out, err := renderFast(f)
	if err != nil {
		return nil, err
	}
	w, h := f.Size() // half that of the picture in pixels
	out.Metadata = object{string(protocol.MIMEImagePNG): object{"width": w, "height": h}}
	out.Data[protocol.MIMEImagePNG], err = f.PNG()
	return out, err
}

// maxPicture is the largest SVG in bytes that a notebook may hold.
const maxPicture = 8_000_000

// renderFast leaves out the PNG, which takes a tenth of a second, for a picture that is soon replaced by another.
func renderFast(d Drawing) (*protocol.DisplayData, error) {
	f, err := figureOf(d)
	if err != nil {
		return nil, err
	}
	svg, err := f.SVG()
	if err == nil && len(svg) > maxPicture {
		err = fmt.Errorf("widgets: %q takes %d MB, want at most %d: show less of it", f.title, len(svg)/1_000_000,
			maxPicture/1_000_000)
	}
	return &protocol.DisplayData{Data: map[protocol.MIMEType]any{
		protocol.MIMEImageSVG: string(svg), protocol.MIMETextPlain: f.words()}}, err
}

// update shows something in the output that goes by the id, in place of what it showed before.
func update(id string, out *protocol.DisplayData) {
	out.DisplayID = id
	gonbui.SendData(out)
}

// ShowMarkdown displays Markdown as output of the notebook's cell.
func ShowMarkdown(text string) error {
	return send(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextMarkdown: text,
		protocol.MIMETextPlain: text}})
}

// ShowHTML displays an HTML fragment as output of the notebook's cell. The alternative stands for it where only text
// goes.
func ShowHTML(fragment, alternative string) error {
	return send(&protocol.DisplayData{Data: map[protocol.MIMEType]any{protocol.MIMETextHTML: fragment,
		protocol.MIMETextPlain: alternative}})
}

// ShowTable displays a table as output of the notebook's cell, as HTML and as aligned plain text.
func ShowTable(t Table) error {
	text, err := t.Text()
	if err != nil {
		return apologise(err)
	}
	fragment, err := t.HTML()
	if err != nil {
		return apologise(err)
	}
	return ShowHTML(fragment, text)
}

// ShowVegaLite displays an interactive Vega-Lite 5 specification as output of the notebook's cell. JupyterLab draws it,
// also in a saved notebook and without a network; the static drawing stands for it elsewhere, such as in exported HTML.
func ShowVegaLite(spec map[string]any, static Drawing) error {
	return showSpec(vegaLite, static, func() (map[string]any, error) { return spec, nil })
}

// showSpec displays a view, a specification of the MIME type, and the drawing where it is not drawn.
func showSpec(mime protocol.MIMEType, static Drawing, view func() (map[string]any, error)) error {
	spec, err := view()
	if err != nil {
		return apologise(err)
	}
	out, err := render(static)
	if err != nil {
		return apologise(err)
	}
	text, err := json.Marshal(spec)
	var plain object // of the registered types only
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		return apologise(fmt.Errorf("widgets: Vega specification: %w", err))
	}
	out.Data[mime] = plain
	return send(out)
}

// ShowBrowser displays all panels of m one at a time, chosen as in VegaLite, in JupyterLab also without a kernel.
// Elsewhere it shows the panels that stand at the given positions, side by side.
func ShowBrowser(m Marginals, static ...int) error {
	return showPanels("ShowBrowser", m.VegaLite, m.Panels, static, 3, func(some []MarginalPanel) Drawing {
		m.Panels, m.Choices = some, nil
		return m
	})
}

// showPanels displays a view of one panel at a time. Elsewhere stands what static makes of the panels at the given
// positions, or of the first few if none are given. caller is named in errors.
func showPanels[P any](caller string, view func() (map[string]any, error), panels []P, at []int, few int,
	static func(some []P) Drawing) error {
	some := panels[:min(few, len(panels))]
	if len(at) > 0 {
		some = nil
	}
	for _, i := range at {
		if i < 0 || i >= len(panels) {
			return apologise(fmt.Errorf("widgets: %s: panel %d is outside 0..%d", caller, i, len(panels)-1))
		}
		some = append(some, panels[i])
	}
	return showSpec(vegaLite, static(some), view)
}

// send hands one output in several formats to the notebook, and waits until it is there.
func send(out *protocol.DisplayData) error {
	if !gonbui.IsNotebook {
		return ErrNoNotebook
	}
	gonbui.SendData(out)
	gonbui.Sync()
	if err := gonbui.Error(); err != nil {
		return fmt.Errorf("widgets: the notebook cannot be reached: %w", err)
	}
	return nil
}
