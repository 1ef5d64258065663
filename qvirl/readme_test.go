package qvirl_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPagesShowExamples finds each Go snippet of a page, line by line, in an Example function, which go test compiles
// and, where it has an output, runs. CONTRIBUTING.md has a test of its own.
func TestPagesShowExamples(t *testing.T) {
	example, snippet := regexp.MustCompile(`(?ms)^func Example\w*\(\) \{\n(.*?)^\}`), regexp.MustCompile("(?s)```go\n(.*?)```")
	var bodies strings.Builder
	snippets := map[string]string{} // the page of each
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && name != ".." && (strings.HasPrefix(name, ".") || name == "results") {
			return fs.SkipDir
		}
		if test := strings.HasSuffix(name, "_test.go"); test || strings.HasSuffix(name, ".md") &&
			name != "CONTRIBUTING.md" {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if test {
				for _, m := range example.FindAllStringSubmatch(string(text), -1) {
					bodies.WriteString("\n" + strings.ReplaceAll("\n"+m[1], "\n\t", "\n"))
				}
			} else {
				for _, m := range snippet.FindAllStringSubmatch(string(text), -1) {
					snippets[m[1]] = path
				}
			}
		}
		return nil
	})
	if err != nil || len(snippets) < 5 {
		t.Fatalf("%d snippets, error %v", len(snippets), err)
	}
	for text, page := range snippets {
		if !strings.Contains(bodies.String(), "\n"+text) {
			t.Errorf("%s has a snippet that is part of no Example function:\n%s", page, text)
		}
	}
}
