package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/experiment"
)

var root = filepath.Join("..", "..", "..")

// TestPagesAreUpToDate fails where a page, a box of a notebook or REPRODUCTION.md is not what the ledger, the prose and
// the stored rows make, and where a label of the paper has no claim.
func TestPagesAreUpToDate(t *testing.T) {
	s, err := build(root, false)
	if err != nil {
		t.Fatal(err)
	}
	stale, err := s.stale()
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("not as the ledger and the rows say: %s; run go run ./notebooks/cmd/pages", strings.Join(stale, ", "))
	}
	made, err := filepath.Glob(filepath.Join(root, "notebooks", "pages", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range made {
		if !has(s.files, "notebooks/pages/"+filepath.Base(path)) {
			t.Errorf("%s is of no page in pages.yaml", path)
		}
	}
	if n := len(s.ledger.Claims); n < 50 {
		t.Errorf("%d claims, want at least 50", n)
	}
}

// TestColumnsAreExplained looks for the columns of all stored rows on the page of metrics.
func TestColumnsAreExplained(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "notebooks", "pages", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(root, "results", "*", experiment.RowsFile))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header, _, _ := strings.Cut(string(text), "\n")
		for _, column := range strings.Split(header, ",") {
			if !bytes.Contains(page, []byte("`"+column+"`")) {
				t.Errorf("%s: the column %q is not explained", file, column)
			}
		}
	}
	if len(files) < 20 {
		t.Errorf("%d files of rows", len(files))
	}
}

// TestWhatReadersSee holds pages to plain words, README to 120 lines, thumbnails to 40 kB.
func TestWhatReadersSee(t *testing.T) {
	words := regexp.MustCompile(`(?i)\b(trials?|targets?|missed|dial|crew)\b`)
	link := regexp.MustCompile(`\]\(([^)#:]+)\)|src="([^":]+)"`)
	err := filepath.WalkDir(filepath.Join(root, "notebooks"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if strings.HasPrefix(d.Name(), "thumb-") && info.Size() >= thumbBytes {
			t.Errorf("%s has %d bytes, want less than %d", path, info.Size(), thumbBytes)
		}
		if filepath.Ext(path) != ".md" || strings.Contains(path, "prose") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if w := words.FindString(line); w != "" {
				t.Errorf("%s:%d: the word %q", path, i+1, w)
			}
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1]+m[2])); err != nil {
					t.Errorf("%s:%d: a link to %s, which is not there", path, i+1, m[1]+m[2])
				}
			}
		}
		if n := bytes.Count(text, []byte("\n")); d.Name() == "README.md" && n > 120 {
			t.Errorf("%s has %d lines, want at most 120", path, n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// paperText returns the LaTeX of the paper, where it lies beside the clone or where BIRL_PAPER says.
func paperText(t *testing.T) string {
	path := os.Getenv("BIRL_PAPER")
	if path == "" {
		path = filepath.Join(root, "..", "shared", "paper", "qvirl.tex")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skip("the paper is not here; set BIRL_PAPER to its LaTeX")
	}
	return string(text)
}

var (
	labels   = regexp.MustCompile(`\\label\{((?:fig|tab|prop|cor):[^}]*)\}`)
	tables   = regexp.MustCompile(`(?s)\\begin\{table\}.*?\\end\{table\}`)
	numbers  = regexp.MustCompile(`(-?\d[\d.]*)\s*(?:\$\s*)?\\pm(?:\s*\$)?\s*(\d[\d.]*)`)
	phantoms = regexp.MustCompile(`\\phantom\{[^}]*\}`)
)

// TestTheLedgerHoldsThePaper reads the paper: each of its figures, tables and theorems is in the ledger, each number of
// a table with a standard error is a comparison, and what the ledger quotes stands there.
func TestTheLedgerHoldsThePaper(t *testing.T) {
	tex := paperText(t)
	l, err := readLedger(root, newResults(root))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, m := range labels.FindAllStringSubmatch(tex, -1) {
		found[m[1]] = true
		if !slices.Contains(l.Labels, m[1]) {
			t.Errorf("the paper's %s is not in the ledger", m[1])
		}
	}
	for _, label := range l.Labels {
		if !found[label] {
			t.Errorf("the ledger's %s is not in the paper", label)
		}
	}
	cells := 0
	for _, table := range tables.FindAllString(tex, -1) {
		label := labels.FindStringSubmatch(table)[1]
		var want, have []string
		for _, m := range numbers.FindAllStringSubmatch(phantoms.ReplaceAllString(table, ""), -1) {
			want = append(want, m[1]+" ± "+m[2])
		}
		for _, c := range l.Claims {
			for _, k := range c.Checks {
				if c.At == label && k.Paper != "" {
					have = append(have, k.Paper)
				}
			}
		}
		cells += len(want)
		slices.Sort(want)
		slices.Sort(have)
		if !slices.Equal(want, have) {
			t.Errorf("%s: the paper has %q, the ledger %q", label, want, have)
		}
	}
	if cells != 13+24+16 {
		t.Errorf("%d numbers with standard errors in the paper's tables, want 53", cells)
	}
	plain := plainText(tex)
	for _, c := range l.Claims {
		if !strings.Contains(plain, c.Quote) {
			t.Errorf("%s: the paper does not say %q", c.Claim, c.Quote)
		}
	}
}

// plainText takes the commands out of LaTeX.
func plainText(tex string) string {
	for _, r := range [][2]string{
		{`(?m)^\s*%.*$`, ""}, {`\\cite[a-z]*\{[^}]*\}|\\label\{[^}]*\}|~?\\(?:eq)?ref\{[^}]*\}`, ""}, {`\\times`, "×"},
		{`\\pm`, "±"}, {`\\%`, "%"}, {`\\lambda`, "λ"}, {`~`, " "}, {`\$`, ""},
		{`\\(textbf|emph|textit|mathrm|text)\b`, ""}, {`[{}]`, ""}, {`\s+`, " "},
	} {
		tex = regexp.MustCompile(r[0]).ReplaceAllString(tex, r[1])
	}
	return tex
}

// store writes rows of a made-up experiment into a folder that looks like a clone.
func store(t *testing.T, rows ...experiment.Row) *results {
	dir := t.TempDir()
	folder := filepath.Join(dir, "results", "made-up")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := experiment.Sort(rows); err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := experiment.WriteRows(&text, rows); err != nil {
		t.Fatal(err)
	}
	record := fmt.Sprintf(`{"experiment": "made-up", "machines": [{}], "rows_sha256": "%s"}`, checksum(text.Bytes()))
	for name, content := range map[string]string{"rows.csv": text.String(), "run.json": record} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return newResults(dir)
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// worlds are rows of two methods whose values differ by 1 ± 0.1 within each of n worlds, and by 10 between worlds.
func worlds(n int) []experiment.Row {
	rng := rand.New(rand.NewPCG(1, 2))
	var rows []experiment.Row
	for seed := range uint64(n) {
		world := 10 * rng.NormFloat64()
		for i, name := range []string{"qvirl", "valuewalk"} {
			rows = append(rows, experiment.Row{Experiment: "made-up", Environment: "gridworld", Method: name, Demos: 5,
				Seed: seed, Metric: "w1", Value: world + float64(i) + 0.1*rng.NormFloat64()})
		}
	}
	return rows
}

func TestEstimates(t *testing.T) {
	rows := worlds(100)
	r := store(t, rows...)
	e, err := r.estimate("made-up qvirl w1 demos=5 environment=grid.*")
	if err != nil {
		t.Fatal(err)
	}
	sum, squares, low := 0.0, 0.0, math.Inf(1)
	for i := 0; i < len(rows); i++ {
		if rows[i].Method == "qvirl" {
			sum += rows[i].Value
			low = min(low, rows[i].Value)
		}
	}
	for _, row := range rows {
		if row.Method == "qvirl" {
			squares += (row.Value - sum/100) * (row.Value - sum/100)
		}
	}
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 1e-10 {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	near("mean", e.mean, sum/100)
	near("standard error", e.stdErr, math.Sqrt(squares/99/100))
	for option, want := range map[string]float64{"take=spread": math.Sqrt(squares / 99), "take=min": low,
		"take=average": sum / 100, "times=2": sum / 50, "take=min times=2": 2 * low,
		"from=7": math.Abs(sum/100 - 7)} {
		e, err := r.estimate("made-up qvirl w1 " + option)
		if err != nil {
			t.Fatal(err)
		}
		near(option, e.mean, want)
	}
	v, err := r.estimate("made-up valuewalk w1")
	if err != nil {
		t.Fatal(err)
	}
	// The worlds cancel in pairs: √(0.1² + 0.1²)/√100 = 0.0141, where unpaired it would be √(10² + 10²)/√100 = 1.41.
	d := difference(v, e)
	if math.Abs(d.mean-1) > 4*0.0141 || d.stdErr < 0.010 || d.stdErr > 0.018 {
		t.Errorf("paired difference %g ± %g, want 1 ± 0.0141", d.mean, d.stdErr)
	}
	// Of seeds some of which only one has, the means are not of the same worlds.
	for _, other := range []map[uint64]float64{{2: 1, 3: 3, 4: 5}, {1: 1, 2: 3, 3: 5, 4: 9}} {
		a := &estimate{mean: 1, stdErr: 3, bySeed: map[uint64]float64{1: 1, 2: 2, 3: 3}}
		near("unpaired", difference(a, &estimate{stdErr: 4, bySeed: other}).stdErr, 5)
	}
	small := estimate{mean: 0.012, stdErr: 0.0004}
	if two, four := small.text(2), small.text(4); two != "0.01 ± <0.01" || four != "0.0120 ± 0.0004" {
		t.Errorf("a small standard error is written as %q, and as %q", two, four)
	}
	for _, bad := range []string{"made-up qvirl", "made-up qvirl w2", "made-up qvirl w1 demo=5",
		"made-up qvirl w1 take=median", "none qvirl w1", "made-up qvirl w1 demos=6"} {
		if _, err := r.estimate(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	twice := append(rows, experiment.Row{Experiment: "made-up", Environment: "other", Method: "qvirl", Demos: 5,
		Metric: "w1"})
	if _, err := store(t, twice...).estimate("made-up qvirl w1"); err == nil ||
		!strings.Contains(err.Error(), "more than one row of seed 0") {
		t.Errorf("two rows of a seed: %v", err)
	}
}

// An expert's evaluation is of other episodes than its demonstrations, at the same β.
func TestExpertsAreReadFromTheirFiles(t *testing.T) {
	r := newResults(root)
	for choice, want := range map[string]float64{"evaluation return": 504.9, "evaluation episodes": 100,
		"demonstrator trajectories": 65, "demonstrator beta": 200} {
		e, err := r.estimate("expert-spaceinvaders " + choice)
		if err != nil || math.Abs(e.mean-want) > 1e-9 {
			t.Errorf("%s: %+v, %v, want %g", choice, e, err, want)
		}
	}
	if e, err := r.estimate("expert-pong evaluation return"); err == nil { // whose evaluation is at another β
		t.Errorf("evaluated at β = 100, demonstrated at 800: %+v", e)
	}
}

// The report of the experiment says by how many standard errors, too.
func TestAwayFromThePaper(t *testing.T) {
	s, err := build(root, false)
	if err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string]string{"qvirl w1": "9.6 s.e. below", "avril reward_coverage": "51.1 s.e. above"} {
		if got, err := s.away("posterior-quality " + of); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", of, got, err, want)
		}
	}
	got, err := s.away("posterior-quality qvirl w1_nodet", "posterior-quality qvirl w1")
	if got != "3.1 s.e. below" || err != nil {
		t.Errorf("to ValueWalk without the determinant: %q, %v", got, err)
	}
	if _, err := s.away("posterior-quality qvirl w1_nodet"); err == nil {
		t.Error("a number that the paper does not have is taken")
	}
}

func TestRules(t *testing.T) {
	r := store(t, worlds(100)...)
	e, err := r.estimate("made-up qvirl w1")
	if err != nil {
		t.Fatal(err)
	}
	paper := func(away float64) string { return fmt.Sprintf("%g ± %g", e.mean+away, e.stdErr) }
	for _, c := range []struct {
		check
		want bool
	}{
		{check{Paper: paper(0), Rule: "agree 3"}, true},
		{check{Paper: paper(4 * e.stdErr), Rule: "agree 3"}, true},   // 4/√2 = 2.8 of the difference
		{check{Paper: paper(-5 * e.stdErr), Rule: "agree 3"}, false}, // 5/√2 = 3.5
		{check{Paper: "0", Rule: "within 1e-9"}, false},
		{check{Paper: paper(0.5), Rule: "within 0.6"}, true},
		{check{Than: "made-up valuewalk w1", Rule: "below 2"}, true},
		{check{Than: "made-up valuewalk w1", Rule: "above 2"}, false},
		{check{Than: "made-up valuewalk w1", Rule: "below 200"}, false},
		{check{Than: "1000", Rule: "below 2"}, true},
		{check{Rule: "at least -1000"}, true},
		{check{Rule: "at most -1000"}, false},
	} {
		c.Of, c.Ours = "it", "made-up qvirl w1"
		o, err := c.make("", r)
		if err != nil {
			t.Errorf("%+v: %v", c.check, err)
		}
		if o.holds != c.want {
			t.Errorf("%+v holds: %v", c.check, o.holds)
		}
	}
	for _, bad := range []check{{Rule: "agree 3"}, {Rule: "like 3", Paper: "1"}, {Rule: "agree", Paper: "1"}, {},
		{Rule: "agree 3", Paper: "one"}} {
		bad.Ours = "made-up qvirl w1"
		if _, err := bad.make("", r); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if _, err := hasTest(root, "notebooks/cmd/pages TestNothing"); err == nil {
		t.Error("a test that is not there is taken")
	}
	if ok, err := hasTest(root, "notebooks/cmd/pages TestRules"); err != nil || !ok {
		t.Errorf("this test is not found: %v", err)
	}
	all := []check{{Rule: "at least -1000"}, {Rule: "at most -1000"}}
	for i, want := range []verdict{reproduced, not, partly} {
		c := claim{Claim: "c", Section: "s", Page: "p"}
		for j, k := range all {
			if k.Of, k.Ours = "it", "made-up qvirl w1"; i == 2 || i == j {
				c.Checks = append(c.Checks, k)
			}
		}
		if err := c.judge("", r); err != nil || c.verdict != want {
			t.Errorf("verdict %q, want %q (%v)", c.verdict, want, err)
		}
	}
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "claims.yaml")
	if err := os.WriteFile(path, []byte("claims:\n  - {claim: c, verdikt: yes}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := readYAML(path, new(ledger)); err == nil || !strings.Contains(err.Error(), "verdikt") {
		t.Errorf("an unknown field: %v", err)
	}
}

// A table of ratios has no column of sizes at which there is nothing to compare with.
func TestRatiosHaveABase(t *testing.T) {
	s := &site{root: root}
	for column, want := range map[string]bool{"ratio": false, "processor_seconds": true} {
		if got, err := s.costs(column, 1); err != nil || strings.Contains(got, "10000 states") != want {
			t.Errorf("%s: %v, 10,000 states %t, want %t:\n%s", column, err, !want, want, got)
		}
	}
}
