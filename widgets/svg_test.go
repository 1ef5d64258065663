package widgets

import (
	"bytes"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/go-birl/birl/envs/mdp"
)

// element is an SVG element with its style split up.
type element struct {
	name  string
	attr  map[string]string
	style map[string]string
	text  string
}

// picture is a parsed SVG.
type picture struct {
	root     map[string]string
	elements []element
}

// parse draws d, checks what holds for every figure, and returns its elements.
func parse(t *testing.T, d Drawing) picture {
	t.Helper()
	f, err := d.Figure()
	if err != nil {
		t.Fatal(err)
	}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	again, err := f.SVG()
	if err != nil || !bytes.Equal(svg, again) {
		t.Errorf("drawing twice gives different pictures (%v)", err)
	}
	p := picture{root: map[string]string{}}
	decoder := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return p
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attr: map[string]string{}, style: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			for _, part := range strings.Split(e.attr["style"], ";") {
				key, value, _ := strings.Cut(part, ":")
				e.style[key] = value
			}
			if e.name == "svg" {
				p.root = e.attr
			}
			p.elements = append(p.elements, e)
		case xml.CharData:
			if n := len(p.elements); n > 0 {
				p.elements[n-1].text += string(token)
			}
		}
	}
}

// count returns how many elements satisfy the condition.
func (p picture) count(is func(element) bool) int {
	n := 0
	for _, e := range p.elements {
		if is(e) {
			n++
		}
	}
	return n
}

func (p picture) filled(color string) int {
	return p.count(func(e element) bool { return e.name == "path" && sameColor(e.style["fill"], color) })
}

func (p picture) stroked(color string) int {
	return p.count(func(e element) bool { return e.name == "path" && sameColor(e.style["stroke"], color) })
}

// sameColor compares colours as #rrggbb. The writer truncates those that are transparent, which moves them by 1.
func sameColor(a, b string) bool {
	if len(a) != 7 || len(b) != 7 {
		return false
	}
	for i := 1; i < 7; i += 2 {
		x, errX := strconv.ParseInt(a[i:i+2], 16, 32)
		y, errY := strconv.ParseInt(b[i:i+2], 16, 32)
		if errX != nil || errY != nil || x-y > 1 || y-x > 1 {
			return false
		}
	}
	return true
}

func (p picture) hasText(s string) bool {
	return p.count(func(e element) bool { return e.name == "text" && strings.Contains(e.text, s) }) > 0
}

// says fails where one of the texts is not in the picture.
func (p picture) says(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !p.hasText(text) {
			t.Errorf("the text %q is missing", text)
		}
	}
}

// TestEveryFigure checks what must hold for every figure: text alternatives, size, legible text, nothing outside.
func TestEveryFigure(t *testing.T) {
	for name, d := range examples(t) {
		t.Run(name, func(t *testing.T) {
			p := parse(t, d)
			f, err := d.Figure()
			if err != nil {
				t.Fatal(err)
			}
			if p.root["role"] != "img" || !strings.Contains(p.root["aria-label"], f.title) || f.title == "" ||
				f.description == "" {
				t.Errorf("role %q, label %q", p.root["role"], p.root["aria-label"])
			}
			if !p.hasText(f.title) {
				t.Errorf("the title %q is not in the picture", f.title)
			}
			w, h := f.Size()
			if w > 960 || w < 200 || h > 1000 || h < 100 || p.root["width"] != strconv.Itoa(w) ||
				p.root["height"] != strconv.Itoa(h) {
				t.Errorf("size %d×%d pixels, root %s×%s", w, h, p.root["width"], p.root["height"])
			}
			texts := 0
			for _, e := range p.elements {
				if e.name != "text" {
					continue
				}
				texts++
				size, err := strconv.ParseFloat(strings.TrimSuffix(e.style["font-size"], "px"), 64)
				if err != nil || size < 9 {
					t.Errorf("text %q has size %q points", e.text, e.style["font-size"])
				}
				if e.style["font-family"] != fontFallback {
					t.Errorf("text %q is set in %q", e.text, e.style["font-family"])
				}
				x, err := strconv.ParseFloat(e.attr["x"], 64)
				if err != nil {
					t.Errorf("text %q at x = %q", e.text, e.attr["x"])
				}
				y, err := strconv.ParseFloat(e.attr["y"], 64)
				if err != nil {
					t.Errorf("text %q at y = %q", e.text, e.attr["y"])
				}
				// Unrotated text is in the card's own coordinates (rotated text has them swapped, with x along the
				// page's height): it may not begin left of the card or end right of it.
				style := textStyle(9, ink, 0, 0)
				style.Font.Size = 1
				end := x + float64(style.Width(e.text))*size
				if limit := f.width.Points(); y > -f.height.Points() && y < 0 && (x < 0 || end > limit+0.5) {
					t.Errorf("text %q reaches from %.0f to %.0f of %.0f points", e.text, x, end, limit)
				}
			}
			if texts < 5 {
				t.Errorf("%d texts in the picture", texts)
			}
			// A white card below everything.
			for _, e := range p.elements {
				if e.name == "path" {
					if !strings.EqualFold(e.style["fill"], "#FFFFFF") {
						t.Errorf("the first shape is filled with %q, not white", e.style["fill"])
					}
					break
				}
			}
		})
	}
}

// TestFormats compares the formats with each other: a PNG has twice the figure's size and its colours, a PDF its size
// in points.
func TestFormats(t *testing.T) {
	for name, d := range examples(t) {
		f, err := d.Figure()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		for _, extension := range []string{".svg", ".png", ".pdf", ".csv"} {
			if err := f.Save(filepath.Join(dir, "figure"+extension)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		read := func(extension string) []byte {
			content, err := os.ReadFile(filepath.Join(dir, "figure"+extension))
			if err != nil {
				t.Fatal(err)
			}
			return content
		}
		picture, err := png.Decode(bytes.NewReader(read(".png")))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w, h := f.Size()
		// rounded up before doubling
		if size := picture.Bounds().Size(); max(size.X-2*w, 2*w-size.X, size.Y-2*h, 2*h-size.Y) > 2 {
			t.Errorf("%s: PNG of %v pixels for a figure of %d×%d", name, size, w, h)
		}
		canvas := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(pngResolution),
			vgimg.UseBackgroundColor(color.Transparent))
		if err := f.draw(canvas); err != nil {
			t.Fatal(err)
		}
		worst := 0
		for y := range picture.Bounds().Dy() {
			for x := range picture.Bounds().Dx() {
				to := func(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }
				worst = max(worst, distance(to(picture.At(x, y)), to(canvas.Image().At(x, y))))
			}
		}
		if worst > 20 { // of 255; hardly seen, and on the edges of lines
			t.Errorf("%s: the palette changes a channel by %d", name, worst)
		}
		box := fmt.Sprintf("/MediaBox [0 0 %.2f %.2f]", f.width.Points(), f.height.Points())
		if pdf := read(".pdf"); !bytes.HasPrefix(pdf, []byte("%PDF-")) || !bytes.Contains(pdf, []byte(box)) {
			t.Errorf("%s: the PDF lacks %q", name, box)
		}
		rows, err := csv.NewReader(bytes.NewReader(read(".csv"))).ReadAll()
		if err != nil || len(rows) < 2 {
			t.Errorf("%s: CSV of %d lines, %v", name, len(rows), err)
		}
	}
	if err := Save(exampleELBO(), filepath.Join(t.TempDir(), "figure.jpg")); err == nil ||
		!strings.Contains(err.Error(), ".pdf") {
		t.Errorf("saving as JPEG: %v, want an error that names the formats", err)
	}
}

func TestCSV(t *testing.T) {
	for name, test := range map[string]struct {
		d    Drawing
		want string
	}{
		"curves": {Curves{Panels: []CurvePanel{{Title: "p", Levels: []Level{{Name: "optimal", Y: 3}}, Curves: []Curve{
			{Name: "qvirl", X: []float64{1, 2}, Y: []float64{0.5, math.NaN()}, StdErr: []float64{0.25, 1}}}}}},
			"panel,curve,x,y,low,high\np,qvirl,1,0.5,0.25,0.75\np,qvirl,2,,,\np,optimal,,3,,\n"},
		"dots": {Dots{Methods: []string{"qvirl", "avril"}, Panels: []DotPanel{{Title: "a, b",
			Estimates: []*Estimate{Value(1, 0.1), nil}, Published: []*Estimate{nil, Value(2, math.NaN())}}}},
			"panel,method,source,mean,stderr\n\"a, b\",qvirl,estimate,1,0.1\n\"a, b\",avril,published,2,\n"},
		"surface": {Surface{XLabel: "x", YLabel: "y", ZLabel: "z", X: []float64{1, 2}, Y: []float64{3, 4},
			Panels: []SurfacePanel{{Title: "s", Z: []float64{5, 6, 7, math.NaN()}}}},
			"panel,x,y,z\ns,1,3,5\ns,2,3,6\ns,1,4,7\ns,2,4,\n"},
		"scatter": {Scatter{XLabel: "x", YLabel: "y", ZLabel: "z", Panels: []ScatterPanel{{Title: "s",
			X: []float64{1, 2}, Y: []float64{3, 4}, Z: []float64{5, 6}, Marked: map[int]string{1: "a"}}}},
			"panel,x,y,z,mark\ns,1,3,5,\ns,2,4,6,a\n"},
		"map": {Map{Width: 2, Height: 1, Values: []float64{1, -2}, ValueLabel: "reward",
			Demonstrations: []mdp.Trajectory{{{State: 1, Action: 3}}}},
			"state,action,quantity,value\n0,,reward,1\n1,,reward,-2\n1,3,demonstrated,1\n"},
	} {
		f, err := test.d.Figure()
		if err != nil {
			t.Fatal(err)
		}
		got, err := f.CSV()
		if err != nil || string(got) != test.want {
			t.Errorf("%s:\n%s%v\nwant\n%s", name, got, err, test.want)
		}
	}
}

func TestSave(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figure.svg")
	if err := Save(exampleELBO(), path); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(before, []byte("<svg ")) ||
		!bytes.HasSuffix(bytes.TrimSpace(before), []byte("</svg>")) {
		t.Fatalf("saved %d bytes, %v", len(before), err)
	}
	if err := Save(Curves{}, path); err == nil {
		t.Error("saving an empty figure gave no error")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("a failed save changed the file")
	}
	if err := Save(exampleELBO(), filepath.Join(t.TempDir(), "missing", "figure.svg")); err == nil ||
		!strings.Contains(err.Error(), "missing") {
		t.Errorf("saving to a missing folder: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files left in the folder, %v", len(entries), err)
	}
}

// A figure whose coordinates are not finite is an error, not a broken picture; neither is a panic of the drawing passed
// on.
func TestBrokenDrawing(t *testing.T) {
	for want, body := range map[string]func(draw.Canvas){
		"out of ink": func(draw.Canvas) { panic("out of ink") },
		"not finite": func(c draw.Canvas) {
			c.StrokeLine2(truthLine, 0, 0, vg.Length(math.NaN()), 1)
		},
	} {
		if _, err := (card{title: "broken", bodyHeight: 10, body: body}).figure().SVG(); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got the error %v, want one with %q", err, want)
		}
	}
}

// What stands for a figure where it is not seen has no gaps where it has no title, no label and no demonstrations.
func TestWords(t *testing.T) {
	plain := Map{Width: 2, Height: 1, Values: []float64{1, 2}}
	policy := Map{Title: "Where to?", Width: 2, Height: 1, ValueLabel: "reward", Policy: make([]float64, 10),
		Demonstrations: []mdp.Trajectory{{{State: 0, Action: 1}}}}
	twice := Stack{Rows: [][]Drawing{{plain, plain}}}
	for want, d := range map[string]Drawing{
		"Map of 2 × 1 states.": plain,
		"Where to? Map of 2 × 1 states, reward, 1 demonstrated step, a policy.": policy,
		"Map of 2 × 1 states. Map of 2 × 1 states.":                             twice,
		"Mixing. Draws of 1 chain, 1 quantity.": Traces{"Mixing",
			[]TracePanel{{"a", [][]float64{{1, 2, 1}}}}},
	} {
		f, err := d.Figure()
		if err != nil {
			t.Fatal(err)
		}
		if got := f.words(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Figures that are drawn at once, one of them in two stacks, are drawn as they are one after the other.
func TestFiguresAreDrawnAtOnce(t *testing.T) {
	shared, err := exampleELBO().Figure()
	if err != nil {
		t.Fatal(err)
	}
	figures, want := make([]*Figure, 4), make([][]byte, 4)
	for i := range figures {
		if figures[i], err = (Stack{Rows: [][]Drawing{{shared}}}).Figure(); err != nil {
			t.Fatal(err)
		}
		if want[i], err = figures[i].SVG(); err != nil {
			t.Fatal(err)
		}
	}
	var group errgroup.Group
	for i, f := range figures {
		group.Go(func() error {
			got, err := f.SVG()
			if err == nil && !bytes.Equal(got, want[i]) {
				err = fmt.Errorf("figure %d is another than before", i)
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
}
