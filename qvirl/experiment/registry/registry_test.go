package registry

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/cost"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/metric"
)

// root is that of the clone.
var root = filepath.Join("..", "..", "..")

// TestMetricsOfStoredRows looks up the metrics of all stored rows, and looks for rows of each metric; those of
// experiments that nothing is stored of are looked for in the code.
func TestMetricsOfStoredRows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "results", "*", experiment.RowsFile))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files of rows, error %v", len(files), err)
	}
	type of struct{ experiment, metric string }
	looked, recorded := map[of]bool{}, map[string]bool{} // metrics by name and the experiments that they are of
	experiments := map[string]bool{}
	for _, file := range files {
		if costs, err := cost.Read(filepath.Dir(file)); err == nil && len(costs) > 0 {
			continue // of `qvirl bench`, which have columns of their own
		}
		rows, err := experiment.ReadRowsFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			experiments[r.Experiment] = true
			if at := (of{r.Experiment, r.Metric}); !looked[at] {
				looked[at] = true
				m, err := metric.Lookup(r.Experiment, r.Metric)
				if err != nil {
					t.Errorf("%s: %v", file, err)
				}
				recorded[fmt.Sprint(m.Name, m.Of)] = true
			}
		}
	}
	for _, d := range Definitions() {
		experiments[d.Name] = true
	}
	source := code(t)
	for _, m := range metric.All() {
		base, _, _ := strings.Cut(m.Name, "_{")
		if !recorded[fmt.Sprint(m.Name, m.Of)] && !strings.Contains(source, `"`+base+`"`) {
			t.Errorf("%s of %q: neither rows nor code have it", m.Name, m.Of)
		}
		for _, name := range m.Of {
			if !experiments[name] {
				t.Errorf("%s: there is no experiment %q", m.Name, name)
			}
		}
	}
}

// code returns the text of all Go files of qvirl but tests.
func code(t *testing.T) string {
	var text strings.Builder
	err := filepath.WalkDir(filepath.Join(root, "qvirl"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		src, err := os.ReadFile(path)
		text.Write(src)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text.String()
}
