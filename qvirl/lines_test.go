package qvirl_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// longest is how many characters a line of Go may have; a tab counts four.
const longest = 120

// TestLinesAreShort reads all Go files. Lines of texts over several lines, such as a command's help, may be longer, and
// so may preformatted comments.
func TestLinesAreShort(t *testing.T) {
	count := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && name != ".." && (strings.HasPrefix(name, ".") ||
			strings.HasPrefix(name, "_")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		count++
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts := rawTexts(src)
		for i, line := range strings.Split(string(src), "\n") {
			preformatted := strings.HasPrefix(strings.TrimSpace(line), "//\t")
			if n := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")); n > longest && !texts[i+1] &&
				!preformatted {
				t.Errorf("%s:%d has %d characters, want at most %d", path, i+1, n, longest)
			}
		}
		return nil
	})
	if err != nil || count < 200 {
		t.Fatalf("%d files, error %v", count, err)
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
