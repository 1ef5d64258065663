package experiment

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRowsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9._+-]{0,9}`)
		rows := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Row {
			return Row{name.Draw(t, "e"), name.Draw(t, "env"), name.Draw(t, "m"), rapid.SampledFrom([]string{"",
				"lambda=0.17", "lambda=1e-05,rate=0.1"}).Draw(t, "variant"), rapid.IntRange(0, 99).Draw(t, "d"),
				rapid.Uint64().Draw(t, "s"), name.Draw(t, "metric"), rapid.Float64().Draw(t, "v"),
				rapid.SampledFrom([]string{"", "0123456789ab", "0123456789ab+"}).Draw(t, "commit")}
		})).Draw(t, "rows")
		rows = append(rows, Row{"e", "w", "m", "", 5, math.MaxUint64, "x", math.Inf(-1), ""},
			Row{"e", "w", "m", "", 5, 0, "x", 0.1 + 0.2, ""})
		var b bytes.Buffer
		if err := WriteRows(&b, rows); err != nil {
			t.Fatal(err)
		}
		got, err := ParseRows(b.Bytes(), "rows.csv")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Fatalf("(-wrote +read):\n%s", diff)
		}
	})
}

func TestColumnsAreFixed(t *testing.T) {
	var b bytes.Buffer
	if err := WriteRows(&b, []Row{{"posterior-quality", "gridworld-8x8", "avril", "lambda=0.17", 5, 7, "w1", 0.25,
		"0123456789ab+"}}); err != nil {
		t.Fatal(err)
	}
	want := "experiment,environment,method,variant,demos,seed,metric,value,commit\n" +
		"posterior-quality,gridworld-8x8,avril,lambda=0.17,5,7,w1,0.25,0123456789ab+\n"
	if b.String() != want {
		t.Errorf("wrote %q, want %q", b.String(), want)
	}
}

func TestBadRowFiles(t *testing.T) {
	const head = "experiment,environment,method,variant,demos,seed,metric,value,commit\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "line 1"},
		"other header":    {"experiment,environment,method,demos,seed,value,metric\n", "line 1"},
		"a spreadsheet's": {"\xef\xbb\xbf" + head, `the header is "\ufeffexperiment,`},
		"cut-off number":  {head + "e,w,m,,5,1,x,0.25,\ne,w,m,,5,2,x,0.2", "line 3: the last line is cut off"},
		"missing field":   {head + "e,w,m,,5,1,x\n", "line 2"},
		"NaN":             {head + "e,w,m,,5,1,x,NaN,\n", "line 2: value of x for m, seed 1, is not a number"},
		"no number":       {head + "e,w,m,,5,1,x,0.2.5,\n", `line 2: value "0.2.5"`},
		"negative seed":   {head + "e,w,m,,5,-1,x,1,\n", `line 2: seed "-1"`},
		"negative demos":  {head + "e,w,m,,-5,1,x,1,\n", "line 2: demos = -5"},
		"odd name":        {head + "e,w,\"m,\nn\",,5,1,x,1,\n", "line 2: method"},
		"odd variant":     {head + "e,w,m,lambda,5,1,x,1,\n", `line 2: variant "lambda"`},
		"odd commit":      {head + "e,w,m,,5,1,x,1,today\n", "line 2: variant"},
		"binary":          {head + "\x00\x01\"\n", "line 2"},
	} {
		_, err := ParseRows([]byte(c.text), "dir/rows.csv")
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "dir/rows.csv") {
			t.Errorf("%s: error %v, want one with the file and %q", name, err, c.want)
		}
	}
}

func TestDuplicateRowsAreAnError(t *testing.T) {
	r := Row{"e", "w", "m", "", 5, 1, "x", 1, ""}
	if err := Sort([]Row{r, {"e", "w", "m", "", 5, 2, "x", 1, ""}, r}); err == nil ||
		!strings.Contains(err.Error(), "two rows") {
		t.Errorf("error %v, want one that says so", err)
	}
}
