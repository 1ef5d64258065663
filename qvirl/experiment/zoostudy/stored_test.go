package zoostudy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
)

// TestThePageSaysWhatIsStored holds the figure of the experiment's page to the stored rows, and the command's default
// to its promise: no answer that is wrong and presented as right.
func TestThePageSaysWhatIsStored(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	rows, _, err := experiment.ReadResults(filepath.Join(root, "results", Name))
	if err != nil {
		t.Fatal(err)
	}
	figure, err := os.ReadFile(filepath.Join(root, "notebooks", "pages", "figures", "zoo.csv"))
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
		lines := fmt.Sprintf("\n%[1]s,\"right, and says so\",%[2]d\n%[1]s,\"right, but doubts it\",%[3]d\n"+
			"%[1]s,no answer,%[4]d\n%[1]s,\"wrong, and says so\",%[5]d\n%[1]s,\"wrong, and says right\",%[6]d\n",
			method, claimed, doubted, none, doubtedWrong, trustedWrong)
		if !strings.Contains(string(figure), lines) {
			t.Errorf("the figure's numbers lack%s", lines)
		}
		if n := len(answers[method]); method == Fit && (trustedWrong > 0 || 20*claimed < 19*n) {
			t.Errorf("fit: of %d problems, right and says so in %d, wrong and trusted in %d", n, claimed, trustedWrong)
		}
	}
}
