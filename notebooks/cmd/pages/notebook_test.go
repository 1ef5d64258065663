package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const minimal = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a",
   "metadata": {},
   "source": [
    "# Title <&>"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "b",
   "metadata": {},
   "outputs": [],
   "source": "x := \"],{\\\"cells\\\": [\""
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

// TestBox writes boxes into copies of all notebooks: no other byte changes, and a second run changes nothing.
func TestBox(t *testing.T) {
	texts := map[string][]byte{"minimal": []byte(minimal)}
	paths, err := filepath.Glob(filepath.Join(root, "notebooks", "*.ipynb"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d notebooks: %v", len(paths), err)
	}
	for _, path := range paths {
		if texts[path], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	box := func(text []byte, words string) []byte {
		nb, err := parseNotebook(text)
		if err != nil {
			t.Fatal(err)
		}
		out, err := nb.withBox(words)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for path, text := range texts {
		first := box(text, "> **Partly.** Some “words” & <more>.")
		if !bytes.Equal(box(first, "> **Partly.** Some “words” & <more>."), first) {
			t.Errorf("%s: a second run changes it", path)
		}
		second := box(first, "> Other words.\n>\n> And lines.")
		nb, err := parseNotebook(second)
		if err != nil {
			t.Fatal(err)
		}
		if c := nb.cells[1]; string(c.Source) != mark+"\n> Other words.\n>\n> And lines." || c.Type != "markdown" {
			t.Errorf("%s: the second cell is %q", path, c.Source)
		}
		// Without the box's own bytes the text is what it was without a box.
		bare := func(text []byte) []byte {
			nb, err := parseNotebook(text)
			if err != nil {
				t.Fatal(err)
			}
			for i := len(nb.cells) - 1; i > 0; i-- {
				if strings.HasPrefix(string(nb.cells[i].Source), mark) {
					text = slices.Concat(text[:nb.spans[i-1][1]], text[nb.spans[i][1]:])
				}
			}
			return text
		}
		if !bytes.Equal(bare(second), bare(text)) {
			t.Errorf("%s: other bytes changed", path)
		}
		// As Jupyter writes it: one space a level, and characters as they are.
		var indented bytes.Buffer
		var again bytes.Buffer
		if err := json.Indent(&again, second, "", " "); err != nil {
			t.Errorf("%s: not JSON: %v", path, err)
		}
		if err := json.Indent(&indented, text, "", " "); err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(bytes.TrimSpace(indented.Bytes()), bytes.TrimSpace(text)) &&
			!bytes.Equal(bytes.TrimSpace(again.Bytes()), bytes.TrimSpace(second)) {
			t.Errorf("%s: the box is not indented as the rest", path)
		}
	}
	// A box that someone has moved goes back to the second place.
	moved := strings.Replace(minimal, "  {\n   \"cell_type\": \"code\"", `  {"cell_type": "raw", "source": []},
  {"cell_type": "markdown", "id": "verdict", "source": "`+mark+`\nold"},
  {
   "cell_type": "code"`, 1)
	nb, err := parseNotebook(box([]byte(moved), "new"))
	if err != nil || len(nb.cells) != 4 || string(nb.cells[1].Source) != mark+"\nnew" {
		t.Errorf("a moved box: %d cells, %v", len(nb.cells), err)
	}
	nb, err = parseNotebook([]byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nb.withBox(strings.Repeat("word ", maxWords+1)); err == nil {
		t.Error("a box of 81 words is taken")
	}
	if _, err := parseNotebook([]byte(`[1]`)); err == nil {
		t.Error("a list is taken for a notebook")
	}
}

func TestThumbnail(t *testing.T) {
	large := image.NewRGBA(image.Rect(0, 0, 1000, 500))
	rng := rand.New(rand.NewPCG(3, 4))
	for y := range 500 {
		for x := range 1000 {
			large.SetRGBA(x, y, color.RGBA{uint8(rng.IntN(256)), uint8(y), uint8(x), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, large); err != nil {
		t.Fatal(err)
	}
	small, err := thumbnail(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(small))
	if err != nil || len(small) >= thumbBytes || m.Bounds().Dx() != 2*m.Bounds().Dy() || m.Bounds().Dx() > thumbWidth {
		t.Errorf("%d bytes, %v, %v", len(small), m.Bounds(), err)
	}
	if r, _, _, _ := m.At(5, 5).RGBA(); r == 0 {
		t.Error("a black picture")
	}
}
