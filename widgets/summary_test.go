package widgets

import (
	"math"
	"testing"

	"github.com/go-birl/birl/qvirl/summary"
)

func TestSummary(t *testing.T) {
	nan := math.NaN()
	text, err := Summary("Two rewards", []summary.Line{
		{Name: "reward[hall]", Mean: -1.23456, Std: 0.5, Low: -2, High: -0.25, MeanError: 0.0123, StdError: 0.01,
			BulkESS: 1234.5, TailESS: 999, RHat: 1.0004},
		{Name: "reward[attic]", Mean: 1, Low: 1, High: 1, BulkESS: nan, TailESS: nan, RHat: nan},
	}).Text()
	want := `Two rewards

quantity       mean          standard deviation  94 % from  to     bulk ESS  tail ESS  R̂
────────────────────────────────────────────────────────────────────────────────────────────
reward[hall]   −1.23 ± 0.01  0.50 ± 0.01         −2.00      −0.25  1234      999       1.000
reward[attic]   1.00 ± 0     0.00 ± 0             1.00       1.00     –        –           –

Mean ± standard error.
`
	if err != nil || text != want {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, text, want)
	}
	if _, err := Summary("", nil).Text(); err == nil {
		t.Error("a table of no lines was made")
	}
}
