package main

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/image/draw"
)

// mark is the first line of the cell that the command writes into a notebook.
const mark = "<!-- verdict -->"

// maxWords is how many words that cell may have.
const maxWords = 80

// notebook is a file of Jupyter's format 4.
type notebook struct {
	text  []byte
	cells []cell
	spans [][2]int // of each cell in text
}

type cell struct {
	Type    string   `json:"cell_type"`
	Source  lines    `json:"source"`
	Outputs []output `json:"outputs"`
}

type output struct {
	Data map[string]json.RawMessage `json:"data"`
}

// lines is a text that is stored as one string or as a list of lines.
type lines string

func (l *lines) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*l = lines(one)
		return nil
	}
	var many []string
	if err := json.Unmarshal(text, &many); err != nil {
		return err
	}
	*l = lines(strings.Join(many, ""))
	return nil
}

// figure is a picture among a notebook's outputs.
type figure struct {
	description string
	png         []byte // nil where the picture is in HTML
}

func readNotebook(root, name string) (*notebook, error) {
	path := filepath.Join(root, "notebooks", name+".ipynb")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	nb, err := parseNotebook(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return nb, nil
}

// parseNotebook finds the cells of a notebook and where they stand in its text.
func parseNotebook(text []byte) (*notebook, error) {
	var file struct {
		Cells []json.RawMessage `json:"cells"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("not a notebook: %w", err)
	}
	nb, end := &notebook{text: text}, 0
	for i, raw := range file.Cells {
		var c cell
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("cell %d: %w", i, err)
		}
		start := end + bytes.Index(text[end:], raw) // a raw message has the bytes of the text
		end = start + len(raw)
		nb.cells, nb.spans = append(nb.cells, c), append(nb.spans, [2]int{start, end})
	}
	if len(nb.cells) == 0 {
		return nil, errors.New("not a notebook: it has no cells")
	}
	return nb, nil
}

// figures returns the pictures of a notebook in their order.
func (nb *notebook) figures() []figure {
	var out []figure
	for _, c := range nb.cells {
		for _, o := range c.Outputs {
			var words, encoded, html lines
			for kind, into := range map[string]*lines{"text/plain": &words, "image/png": &encoded, "text/html": &html} {
				if raw := o.Data[kind]; raw != nil {
					_ = into.UnmarshalJSON(raw) // what is no text stays empty
				}
			}
			picture, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(encoded), "\n", ""))
			switch {
			case encoded != "" && err == nil:
				out = append(out, figure{string(words), picture})
			case strings.Contains(string(html), "<img"):
				out = append(out, figure{string(words), nil})
			}
		}
	}
	return out
}

// withBox returns the notebook's text with a markdown cell after the title, in place of the one that a former run of
// the command wrote there. All other bytes stay as they are.
func (nb *notebook) withBox(box string) ([]byte, error) {
	text := mark + "\n" + box
	if n := len(strings.Fields(regexp.MustCompile(`\]\([^)]*\)`).ReplaceAllString(box, "]"))); n > maxWords {
		return nil, fmt.Errorf("the box has %d words, more than %d", n, maxWords)
	}
	kept := nb.text
	for i := len(nb.cells) - 1; i >= 0; i-- {
		if !strings.HasPrefix(string(nb.cells[i].Source), mark) {
			continue
		}
		if i == 0 {
			return nil, errors.New("the first cell is the box; the title must come before it")
		}
		// With the comma before the cell and the space up to it.
		kept = slices.Concat(kept[:nb.spans[i-1][1]], kept[nb.spans[i][1]:])
	}
	if nb.cells[0].Type != "markdown" || !strings.HasPrefix(string(nb.cells[0].Source), "# ") {
		return nil, errors.New("the first cell is not a title in markdown")
	}
	var b bytes.Buffer
	b.WriteString(",\n  ")
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // as Jupyter writes <, > and &
	e.SetIndent("  ", " ")
	if err := e.Encode(map[string]any{"cell_type": "markdown", "id": "verdict", "metadata": struct{}{},
		"source": strings.SplitAfter(text, "\n")}); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 1) // the line break
	at := nb.spans[0][1]
	return slices.Concat(kept[:at], b.Bytes(), kept[at:]), nil
}

// The sizes of a thumbnail.
const (
	thumbWidth  = 360
	thumbHeight = 220
	thumbBytes  = 40_000
)

// thumbnail returns a small PNG of a picture, on white, its colours reduced to 64, and narrower where it would be too
// large.
func thumbnail(picture []byte) ([]byte, error) {
	source, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	for width := thumbWidth; width >= 120; width = width * 4 / 5 {
		size := source.Bounds().Size()
		scale := min(float64(width)/float64(size.X), float64(thumbHeight)/float64(size.Y))
		box := image.Rect(0, 0, max(1, int(scale*float64(size.X))), max(1, int(scale*float64(size.Y))))
		small := image.NewRGBA(box)
		draw.Draw(small, box, image.White, image.Point{}, draw.Src)
		draw.CatmullRom.Scale(small, box, source, source.Bounds(), draw.Over, nil)
		reduced := image.NewPaletted(box, commonColors(small, 64))
		draw.Draw(reduced, box, small, image.Point{}, draw.Src)
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, reduced); err != nil {
			return nil, err
		}
		if b.Len() < thumbBytes {
			return b.Bytes(), nil
		}
	}
	return nil, errors.New("a picture that is too large at 120 pixels")
}

// commonColors returns the n most frequent colours of a picture, after rounding to 4 bits a channel.
func commonColors(m *image.RGBA, n int) color.Palette {
	counts := map[color.RGBA]int{}
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		for x := m.Rect.Min.X; x < m.Rect.Max.X; x++ {
			c := m.RGBAAt(x, y)
			counts[color.RGBA{c.R >> 4 * 17, c.G >> 4 * 17, c.B >> 4 * 17, 255}]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G),
			cmp.Compare(a.B, b.B))
	})
	var out color.Palette
	for _, c := range colors[:min(n, len(colors))] {
		out = append(out, c)
	}
	return out
}
