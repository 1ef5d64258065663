package widgets

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"slices"
	"strconv"

	stdfont "golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
)

// pngResolution is twice that of a screen, in dots per inch, so that a picture is sharp on a dense one and in print.
const pngResolution = 2 * 96

// PNG returns the figure as a picture of twice its size in pixels, in at most 256 colours. The same figure gives the
// same bytes.
func (f *Figure) PNG() ([]byte, error) {
	canvas := vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(pngResolution),
		vgimg.UseBackgroundColor(color.Transparent))
	if err := f.draw(canvas); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, paletted(canvas.Image())); err != nil {
		return nil, fmt.Errorf("widgets: writing %q: %w", f.title, err)
	}
	return out.Bytes(), nil
}

// paletted returns the picture in at most 256 of its colours, so chosen that each of the others has one within a
// distance d, for the smallest d of a growing sequence that allows it; frequent colours come first.
func paletted(picture image.Image) *image.Paletted {
	bounds := picture.Bounds()
	rgba := image.NewRGBA(bounds)
	draw.Draw(rgba, bounds, picture, bounds.Min, draw.Src)
	counts := map[color.RGBA]int{}
	for i := 0; i < len(rgba.Pix); i += 4 {
		counts[color.RGBA{rgba.Pix[i], rgba.Pix[i+1], rgba.Pix[i+2], rgba.Pix[i+3]}]++
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G),
			cmp.Compare(a.B, b.B), cmp.Compare(a.A, b.A))
	})
	var palette []color.RGBA
	for d, fits := 1, false; !fits; d += 1 + d/4 {
		palette, fits = palette[:0], true
		for _, c := range colors {
			if !slices.ContainsFunc(palette, func(p color.RGBA) bool { return distance(p, c) <= d }) {
				if fits = len(palette) < 256; !fits {
					break
				}
				palette = append(palette, c)
			}
		}
	}
	index := make(map[color.RGBA]uint8, len(colors))
	for _, c := range colors {
		nearest := 0
		for i, p := range palette {
			if distance(p, c) < distance(palette[nearest], c) {
				nearest = i
			}
		}
		index[c] = uint8(nearest)
	}
	entries := make(color.Palette, len(palette))
	for i, c := range palette {
		entries[i] = c
	}
	out := image.NewPaletted(bounds, entries)
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			i := y*rgba.Stride + 4*x
			out.Pix[y*out.Stride+x] = index[color.RGBA{rgba.Pix[i], rgba.Pix[i+1], rgba.Pix[i+2], rgba.Pix[i+3]}]
		}
	}
	return out
}

// distance is the largest difference of a channel.
func distance(a, b color.RGBA) int {
	apart := func(a, b uint8) int { return max(int(a)-int(b), int(b)-int(a)) }
	return max(apart(a.R, b.R), apart(a.G, b.G), apart(a.B, b.B), apart(a.A, b.A))
}

// PDF returns the figure as a document of one page of its size. Letters are outlines: the fonts that a PDF can name
// lack Greek letters and arrows.
func (f *Figure) PDF() ([]byte, error) {
	canvas := vgpdf.New(f.width, f.height)
	if err := f.draw(outlined{canvas}); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("widgets: writing %q: %w", f.title, err)
	}
	return out.Bytes(), nil
}

// outlined is a PDF canvas that fills the outlines of letters in place of writing text.
type outlined struct{ *vgpdf.Canvas }

// SetColor implements vg.Canvas. Gonum's PDF canvas multiplies a colour by its alpha, of which the document knows
// already.
func (c outlined) SetColor(col color.Color) {
	c.Canvas.SetColor(straight(color.NRGBAModel.Convert(col).(color.NRGBA)))
}

// straight is a colour whose RGBA is not multiplied by alpha.
type straight color.NRGBA

func (s straight) RGBA() (r, g, b, a uint32) {
	return uint32(s.R) * 0x101, uint32(s.G) * 0x101, uint32(s.B) * 0x101, uint32(s.A) * 0x101
}

// FillString implements vg.Canvas. Like the canvases of gonum it panics where it fails.
func (c outlined) FillString(face font.Face, at vg.Point, text string) {
	var buffer sfnt.Buffer
	unitsPerEm := fixed.I(int(face.Face.UnitsPerEm())) // one font unit is one pixel
	scale := face.Font.Size / vg.Length(face.Face.UnitsPerEm())
	var path vg.Path
	for _, r := range text {
		glyph, err := face.Face.GlyphIndex(&buffer, r)
		if err != nil {
			panic(err)
		}
		segments, err := face.Face.LoadGlyph(&buffer, glyph, unitsPerEm, nil)
		if err != nil {
			panic(err)
		}
		point := func(p fixed.Point26_6) vg.Point { // y points down in a glyph
			return vg.Point{X: at.X + scale*vg.Length(p.X)/64, Y: at.Y - scale*vg.Length(p.Y)/64}
		}
		for _, s := range segments {
			switch s.Op {
			case sfnt.SegmentOpMoveTo:
				path.Move(point(s.Args[0]))
			case sfnt.SegmentOpLineTo:
				path.Line(point(s.Args[0]))
			case sfnt.SegmentOpQuadTo:
				path.QuadTo(point(s.Args[0]), point(s.Args[1]))
			case sfnt.SegmentOpCubeTo:
				path.CubeTo(point(s.Args[0]), point(s.Args[1]), point(s.Args[2]))
			}
		}
		advance, err := face.Face.GlyphAdvance(&buffer, glyph, unitsPerEm, stdfont.HintingNone)
		if err != nil {
			panic(err)
		}
		at.X += scale * vg.Length(advance) / 64
	}
	path.Close()
	c.Fill(path)
}

// CSV returns the numbers that the figure shows: a header, and a line for each point, bar or cell. Methods go by their
// names in result rows; an absent number is an empty field.
func (f *Figure) CSV() ([]byte, error) {
	if f.records == nil {
		return nil, fmt.Errorf("widgets: %q has no numbers to write", f.title)
	}
	return csvText(f.records()), nil
}

// csvText writes records as CSV.
func csvText(records [][]string) []byte {
	var out bytes.Buffer
	_ = csv.NewWriter(&out).WriteAll(records) // a bytes.Buffer does not fail
	return out.Bytes()
}

// field writes a number so that reading gives the same one.
func field(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func (m Curves) records() [][]string {
	out := [][]string{{"panel", "curve", "x", "y", "low", "high"}}
	for _, p := range m.Panels {
		for _, k := range p.Curves {
			for i := range k.X {
				low, high := "", ""
				switch {
				case k.Low != nil:
					low, high = field(k.Low[i]), field(k.High[i])
				case k.StdErr != nil:
					low, high = field(k.Y[i]-k.StdErr[i]), field(k.Y[i]+k.StdErr[i])
				}
				out = append(out, []string{p.Title, k.Name, field(k.X[i]), field(k.Y[i]), low, high})
			}
		}
		for _, l := range p.Levels {
			out = append(out, []string{p.Title, l.Name, "", field(l.Y), "", ""})
		}
		for _, k := range p.Marks {
			out = append(out, []string{p.Title, k.Note, field(k.X), "", "", ""})
		}
	}
	return out
}

func (m Dots) records() [][]string {
	out := [][]string{{"panel", "method", "source", "mean", "stderr"}}
	for _, p := range m.Panels {
		for _, list := range []struct {
			source    string
			estimates []*Estimate
		}{{"estimate", p.Estimates}, {"published", p.Published}} {
			for i, e := range list.estimates {
				if e != nil {
					out = append(out, []string{p.Title, m.Methods[i], list.source, field(e.Mean), field(e.StdErr)})
				}
			}
		}
		if target := orNaN(p.Target); !math.IsNaN(target) {
			out = append(out, []string{p.Title, "", "target", field(target), ""})
		}
	}
	return out
}

func (m HeatMaps) records() [][]string {
	out := [][]string{{"quantity", "column", "state", "value"}}
	for _, row := range m.Rows {
		for j, values := range row.Values {
			for s, v := range values {
				out = append(out, []string{row.Label, m.Columns[j], strconv.Itoa(s), field(v)})
			}
		}
	}
	return out
}

func (m Map) records() [][]string {
	out := [][]string{{"state", "action", "quantity", "value"}}
	for s, v := range m.Values {
		out = append(out, []string{strconv.Itoa(s), "", m.ValueLabel, field(v)})
	}
	for i, p := range m.Policy {
		out = append(out, []string{strconv.Itoa(i / gridworld.Actions), strconv.Itoa(i % gridworld.Actions),
			"probability", field(p)})
	}
	for _, step := range mdp.Flatten(m.Demonstrations) {
		out = append(out, []string{strconv.Itoa(step.State), strconv.Itoa(step.Action), "demonstrated", "1"})
	}
	return out
}

func (m Marginals) records() [][]string {
	out := [][]string{{"panel", "method", "x", "density"}}
	xs := m.extent()
	for _, p := range m.Panels {
		for j, s := range p.shapes(xs, make([]appearance, len(m.Methods))) {
			for i, v := range s.bins { // at their middles
				out = append(out, []string{p.Title, m.Methods[j], field((s.edges[i] + s.edges[i+1]) / 2), field(v)})
			}
			for i, v := range s.y {
				out = append(out, []string{p.Title, m.Methods[j], field(s.x[i]), field(v)})
			}
		}
		if truth := orNaN(p.Truth); !math.IsNaN(truth) {
			out = append(out, []string{p.Title, "true value", field(truth), ""})
		}
	}
	return out
}

func (m Traces) records() [][]string {
	out := [][]string{{"panel", "chain", "draw", "value"}}
	for _, p := range m.Panels {
		for k, chain := range p.Chains {
			for i, v := range chain {
				out = append(out, []string{p.Title, strconv.Itoa(k + 1), strconv.Itoa(i + 1), field(v)})
			}
		}
	}
	return out
}

func (m Ranks) records() [][]string {
	out := [][]string{{"panel", "rank", "largest"}}
	for _, p := range m.Panels {
		for _, r := range p.Ranks {
			out = append(out, []string{p.Title, strconv.Itoa(r), strconv.Itoa(p.Max)})
		}
	}
	return out
}

func (m Tails) records() [][]string {
	out := [][]string{{"panel", "method", "quantity", "value"}}
	for _, p := range m.Panels {
		for j, samples := range p.Samples {
			for _, v := range samples {
				out = append(out, []string{p.Title, m.Methods[j], "sample", field(v)})
			}
			if p.Truth != nil {
				out = append(out, []string{p.Title, m.Methods[j], "true", field(p.Truth[j])})
			}
		}
	}
	return out
}

func (m Convergence) records() [][]string {
	out := [][]string{{m.XLabel, "rhat", "bulk_ess", "tail_ess"}}
	for i := range m.RHat {
		tail := ""
		if m.TailESS != nil {
			tail = field(m.TailESS[i])
		}
		out = append(out, []string{strconv.Itoa(i), field(m.RHat[i]), field(m.BulkESS[i]), tail})
	}
	return out
}

func (m Surface) records() [][]string {
	out := [][]string{{"panel", m.XLabel, m.YLabel, m.ZLabel}}
	for _, p := range m.Panels {
		for i, z := range p.Z {
			out = append(out, []string{p.Title, field(m.X[i%len(m.X)]), field(m.Y[i/len(m.X)]), field(z)})
		}
	}
	return out
}

func (m Scatter) records() [][]string {
	out := [][]string{{"panel", m.XLabel, m.YLabel, m.ZLabel, "mark"}}
	for _, p := range m.Panels {
		for i, x := range p.X {
			row := []string{p.Title, field(x), field(p.Y[i]), "", p.Marked[i]}
			if p.Z != nil {
				row[3] = field(p.Z[i])
			}
			out = append(out, row)
		}
	}
	return out
}

func (m Verdicts) records() [][]string {
	out := [][]string{{"family", "problem", "method", "error", "verdict"}}
	for _, f := range m.Families {
		for i, row := range f.Verdicts {
			for j, v := range row {
				if v != nil {
					out = append(out, []string{f.Title, f.Problems[i], m.Methods[j], field(v.Error),
						verdictLegend[v.Kind()].text})
				}
			}
		}
	}
	return out
}
