package widgets_test

import (
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/widgets"
)

// A figure is data. It is written to a file, or shown in a notebook by widgets.Show, with the labels and colours of the
// methods that it names.
func ExampleMarginals() {
	truth := 1.5
	m := widgets.Marginals{Title: "What is known of a reward", XLabel: "reward",
		Methods: []string{"qvirl", "My method"}, Panels: []widgets.MarginalPanel{{Title: "state 3", Truth: &truth,
			Distributions: []widgets.Distribution{
				distuv.Normal{Mu: 1, Sigma: 0.5}, distuv.Normal{Mu: 2, Sigma: 1}}}}}
	figure, err := m.Figure()
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "marginals.svg") // or .png, .pdf, .csv
	fmt.Println(figure.Save(path))
	file, err := os.Stat(path)
	fmt.Println(err == nil && file.Size() > 0)
	// Output:
	// <nil>
	// true
}

// A table of estimates with their standard errors, as text, Markdown or HTML; in the latter two the best is bold.
func ExampleTable() {
	t := widgets.Table{Title: "Two methods",
		Columns: []widgets.Column{{Name: "return", Decimals: 1, Better: widgets.Higher}},
		Rows: []widgets.Row{
			{Method: "qvirl", Cells: []widgets.Cell{{Estimate: widgets.Value(81.2, 0.4)}}},
			{Method: "My method", Cells: []widgets.Cell{{Estimate: widgets.Value(84, 0.5)}}}}}
	text, err := t.Text()
	fmt.Println(text, err)
	// Output:
	// Two methods ↑
	//
	// method     return
	// ─────────────────────
	// QVIRL      81.2 ± 0.4
	// My method  84.0 ± 0.5
	//
	// Mean ± standard error.
	// ↑ the more, ↓ the less the better.
	//  <nil>
}
