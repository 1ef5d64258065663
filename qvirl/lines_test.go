package qvirl_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// longest is how many characters a line of Go or Python may have; a tab counts four.
const longest = 120

// eachFile calls f with each file of the project whose name ends so.
func eachFile(t *testing.T, ext string, f func(path string, src []byte)) {
	t.Helper()
	count := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && name != ".." && (strings.HasPrefix(name, ".") ||
			strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ext) {
			return nil
		}
		count++
		src, err := os.ReadFile(path)
		f(path, src)
		return err
	})
	if err != nil || count < 10 {
		t.Fatalf("%d files %s, error %v", count, ext, err)
	}
}

// TestLinesAreShort reads all files of Go and Python. In Go, lines of texts over several lines, such as a command's
// help, may be longer, and so may preformatted comments.
func TestLinesAreShort(t *testing.T) {
	short := func(path string, src []byte, exempt func(number int, line string) bool) {
		for i, line := range strings.Split(string(src), "\n") {
			n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if n > longest && !exempt(i+1, line) {
				t.Errorf("%s:%d has %d characters, want at most %d", path, i+1, n, longest)
			}
		}
	}
	eachFile(t, ".go", func(path string, src []byte) {
		texts := rawTexts(src)
		short(path, src, func(number int, line string) bool {
			return texts[number] || strings.HasPrefix(strings.TrimSpace(line), "//\t")
		})
	})
	eachFile(t, ".py", func(path string, src []byte) {
		short(path, src, func(int, string) bool { return false })
	})
}

// TestErrorsNameTheirPackage finds the errors of libraries that start with a word and a colon: the word is the name of
// the package.
func TestErrorsNameTheirPackage(t *testing.T) {
	name := regexp.MustCompile(`(?m)^package (\w+)`)
	word := regexp.MustCompile(`\b(?:fmt\.Errorf|errors\.New)\("([a-z][a-z0-9]*): `)
	found := 0
	eachFile(t, ".go", func(path string, src []byte) {
		of := string(name.FindSubmatch(src)[1])
		if of == "main" || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, m := range word.FindAllSubmatch(src, -1) {
			if found++; string(m[1]) != of {
				t.Errorf("%s: an error of package %s starts with %q", path, of, m[1])
			}
		}
	})
	if found < 500 {
		t.Errorf("%d errors, want those of all packages", found)
	}
}

// rawTexts returns the lines on which texts in backquotes stand.
func rawTexts(src []byte) map[int]bool {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	out := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return out
		}
		if tok == token.STRING && text[0] == '`' {
			first := files.Position(pos).Line
			for i := range strings.Count(text, "\n") + 1 {
				out[first+i] = true
			}
		}
	}
}
