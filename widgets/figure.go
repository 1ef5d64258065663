package widgets

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/check"
)

// Drawing is anything that can be drawn as a figure: the structs of this package, and Figure itself.
type Drawing interface {
	// Figure checks the data and lays the figure out.
	Figure() (*Figure, error)
}

// Figure is a picture that is ready to be written, also by several goroutines at once.
type Figure struct {
	title, description string // the description says in words what the figure shows
	width, height      vg.Length
	paint              func(draw.Canvas)
	records            func() [][]string
}

// words are the figure for those who do not see it: its title, if it has one, and what it shows.
func (f *Figure) words() string {
	switch {
	case f.title == "":
		return f.description
	case strings.HasSuffix(f.title, "?"):
		return f.title + " " + f.description
	}
	return f.title + ". " + f.description
}

// Figure returns the figure itself.
func (f *Figure) Figure() (*Figure, error) { return f, nil }

// Size returns the width and height in pixels.
func (f *Figure) Size() (width, height int) {
	return int(math.Ceil(f.width.Points() * 4 / 3)), int(math.Ceil(f.height.Points() * 4 / 3))
}

// fontFallback follows the theme's font in style attributes, for viewers that do not have it. Arial has the same
// metrics.
const fontFallback = "'Liberation Sans',Arial,Helvetica,sans-serif"

// noCoordinates is what of an SVG document are no coordinates: the bytes of pictures, and texts.
var noCoordinates = regexp.MustCompile(`base64,[^"]*|>[^<]*`)

// SVG returns the figure as a self-contained SVG document: text stays text, and title and description are there for
// assistive technology. The same figure gives the same bytes.
func (f *Figure) SVG() ([]byte, error) {
	canvas := vgsvg.New(f.width, f.height)
	if err := f.draw(canvas); err != nil {
		return nil, err
	}
	var raw bytes.Buffer
	if _, err := canvas.WriteTo(&raw); err != nil {
		return nil, fmt.Errorf("widgets: writing %q: %w", f.title, err)
	}
	_, body, ok := strings.Cut(raw.String(), "<svg")
	if !ok {
		return nil, fmt.Errorf("widgets: drawing %q gave no SVG", f.title)
	}
	if _, body, ok = strings.Cut(body, ">"); !ok {
		return nil, fmt.Errorf("widgets: drawing %q gave a broken SVG", f.title)
	}
	body = strings.ReplaceAll(body, "font-family:Liberation Sans", "font-family:"+fontFallback)
	body = strings.ReplaceAll(body, "data:image/jpg;", "data:image/png;") // gonum writes PNG under another name
	if drawn := noCoordinates.ReplaceAllString(body, ""); strings.Contains(drawn, "NaN") ||
		strings.Contains(drawn, "Inf") {
		return nil, fmt.Errorf("widgets: drawing %q gave coordinates that are not finite", f.title)
	}
	w, h := f.Size()
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" `+
		`width="%d" height="%d" viewBox="0 0 %.5g %.5g" role="img" aria-label="%s">`+"\n<title>%s</title>\n<desc>%s</desc>",
		w, h, f.width.Points(), f.height.Points(), html.EscapeString(f.words()),
		html.EscapeString(f.title), html.EscapeString(f.description))
	out.WriteString(body)
	return bytes.Map(xmlOrMark, out.Bytes()), nil
}

// xmlOrMark returns a character that an XML document can hold: itself, or the replacement character. What is no UTF-8
// comes as that already.
func xmlOrMark(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
		return utf8.RuneError
	}
	return r
}

// draw paints the card and the figure on it. Gonum's canvases panic where they fail.
func (f *Figure) draw(canvas vg.CanvasSizer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("widgets: drawing %q failed: %v", f.title, r)
		}
	}()
	c := draw.New(canvas)
	fillPath(c, white, roundedRect(c.Rectangle, 5))
	f.paint(c)
	return nil
}

// Save writes the figure to a file in the format that the extension of path names: .svg, .png or .pdf, or .csv for the
// numbers that the figure shows. It does so atomically: path holds either the whole figure or what it held before.
func (f *Figure) Save(path string) error {
	format, ok := map[string]func() ([]byte, error){".svg": f.SVG, ".png": f.PNG, ".pdf": f.PDF,
		".csv": f.CSV}[filepath.Ext(path)]
	if !ok {
		return fmt.Errorf("widgets: saving %q to %s: the extension is %q, want .svg, .png, .pdf or .csv", f.title, path,
			filepath.Ext(path))
	}
	content, err := format()
	if err != nil {
		return err
	}
	if err := atomicfile.WriteBytes(path, content); err != nil {
		return fmt.Errorf("widgets: %w", err)
	}
	return nil
}

// Save draws d and writes it to a file as Figure.Save does.
func Save(d Drawing, path string) error {
	f, err := figureOf(d)
	if err != nil {
		return err
	}
	return f.Save(path)
}

// figureOf returns the figure of a drawing, which has to be one.
func figureOf(d Drawing) (*Figure, error) {
	if err := check.NotNil("widgets: the drawing", d, "one, such as a Map"); err != nil {
		return nil, err
	}
	return d.Figure()
}

// card is a figure in the making: a title, one legend for all panels, and a body below them.
type card struct {
	title, description string
	width, bodyHeight  vg.Length // of the whole card, and of what body paints
	legend             []legendEntry
	body               func(draw.Canvas)
	records            func() [][]string // what CSV writes, the header first
}

func (k card) figure() *Figure {
	k.width = cmp.Or(k.width, maxWidth)
	inner := k.width - 2*cardPad
	rows := legendRows(k.legend, inner)
	heading := bold(textStyle(titleSize, ink, draw.XLeft, draw.YTop))
	title, top := wrap(heading, minus(k.title), inner), vg.Length(0)
	if len(title) > 0 {
		top += vg.Length(len(title))*titleLine + 5
	}
	legendTop := top
	if len(rows) > 0 {
		top += vg.Length(len(rows))*legendLine + 4
	}
	var painting sync.Mutex // gonum's plots are laid out anew each time that they are drawn
	return &Figure{
		title: k.title, description: k.description,
		width: k.width, height: top + k.bodyHeight + 2*cardPad, records: k.records,
		paint: func(c draw.Canvas) {
			painting.Lock()
			defer painting.Unlock()
			c = draw.Crop(c, cardPad, -cardPad, cardPad, -cardPad)
			for i, line := range title {
				c.FillText(heading, vg.Point{X: c.Min.X, Y: c.Max.Y - vg.Length(i)*titleLine}, line)
			}
			for i, row := range rows {
				x := c.Min.X
				y := c.Max.Y - legendTop - (vg.Length(i)+0.5)*legendLine
				for _, e := range row {
					e.paint(c, x, y)
					x += e.width()
				}
			}
			k.body(draw.Crop(c, 0, 0, 0, -top))
		},
	}
}
