package zoostudy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
)

// TestThePageSaysWhatIsStored holds the experiment's page to the stored rows, and the command's default to its promise:
// no answer that is wrong and presented as right.
func TestThePageSaysWhatIsStored(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	rows, _, err := experiment.ReadResults(filepath.Join(root, "results", Name))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "notebooks", "pages", "zoo.md"))
	if err != nil {
		t.Fatal(err)
	}
	type answer struct{ right, claims, failed bool }
	answers := map[string]map[string]*answer{}
	for _, r := range rows {
		if answers[r.Method] == nil {
			answers[r.Method] = map[string]*answer{}
		}
		a := answers[r.Method][r.Environment]
		if a == nil {
			a = &answer{}
			answers[r.Method][r.Environment] = a
		}
		switch r.Metric {
		case Right:
			a.right = r.Value == 1
		case Claims:
			a.claims = r.Value == 1
		case Failed:
			a.failed = r.Value == 1
		}
	}
	for _, method := range methodNames {
		var claimed, doubtedWrong, trustedWrong, doubted, none int
		for _, a := range answers[method] {
			switch {
			case a.failed:
				none++
			case a.right && a.claims:
				claimed++
			case a.right:
				doubted++
			case a.claims:
				trustedWrong++
			default:
				doubtedWrong++
			}
		}
		line := fmt.Sprintf("| %d | %d | %d | %d | %d |", claimed, doubtedWrong, trustedWrong, doubted, none)
		found := false
		for _, l := range strings.Split(string(page), "\n") {
			found = found || strings.HasPrefix(l, "| `"+method+"`") && strings.HasSuffix(l, line)
		}
		if !found {
			t.Errorf("the page has no line of %s that ends in %q", method, line)
		}
		if n := len(answers[method]); method == Fit && (trustedWrong > 0 || 20*claimed < 19*n) {
			t.Errorf("fit: of %d problems, right and says so in %d, wrong and trusted in %d", n, claimed, trustedWrong)
		}
	}
}
