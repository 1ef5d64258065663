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

// csvLines are the lines of a CSV file, the header first.
type csvLines [][]string

// add appends a line of texts, whole numbers, and other numbers, which are written so that reading gives the same ones;
// what is NaN is left empty.
func (l *csvLines) add(values ...any) {
	line := make([]string, len(values))
	for i, v := range values {
		if number, ok := v.(float64); !ok {
			line[i] = fmt.Sprint(v)
		} else if !math.IsNaN(number) {
			line[i] = strconv.FormatFloat(number, 'g', -1, 64)
		}
	}
	*l = append(*l, line)
}
