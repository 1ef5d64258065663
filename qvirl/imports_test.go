package qvirl_test

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

const module = "github.com/go-birl/birl/"

// forbidden says what packages must not import, directly: paths without the module's, the first rule that fits a
// package and an import. Data flow one way, envs → qvirl → widgets → notebooks; the command qvirl/cmd/qvirl, which
// draws its reports, stands above widgets, as a notebook does.
var forbidden = []struct {
	from, imports, but string // patterns
	why                string
}{
	{from: `envs/`, imports: `(qvirl|widgets|notebooks|kernel-setup)\b`, why: "environments know nothing of inference"},
	{from: `qvirl\b`, but: `qvirl/cmd/qvirl$`, imports: `widgets\b`, why: "computation knows nothing of drawing"},
	{from: `(qvirl|widgets)\b`, imports: `(notebooks|kernel-setup)\b`, why: "nothing stands on notebooks"},
	{from: `widgets\b`, imports: `qvirl/(experiment|tabular|matched|valuewalk|neural|irl|graphs)\b`,
		why: "drawing knows plain data, package exhibit, alone"},
	{from: `qvirl/irl$`, imports: `(qvirl/|github.com/gomlx/)`, why: "the problem needs no method and no backend"},
	{from: `qvirl$`, imports: `github.com/gomlx/`, why: "what a user names has no graphs in it"},
	{from: `qvirl/exhibit$`, imports: `.*/`, why: "tables and charts are plain data"},
	{from: `qvirl/(irl|graphs|tabular|matched|mcmc|valuewalk|policywalk|avril|apprentice|active|metric|backend|neural|reference|verdict|summary|sbc|problemfile|portrait|loo|predictive)\b`,
		imports: `qvirl/(experiment|cmd)\b`, why: "methods know nothing of experiments"},
	{from: `qvirl/(irl|graphs|tabular|matched|mcmc|valuewalk|policywalk|avril|apprentice|active|metric|backend|neural|reference|verdict|summary|sbc|problemfile|portrait|loo|predictive)\b`,
		imports: `qvirl$`, why: "the front door stands above the methods"},
	{from: `qvirl/(tabular|matched|mcmc|valuewalk|policywalk|avril)\b`, imports: `qvirl/neural\b`,
		why: "methods on finite MDPs need no networks"},
	{from: `qvirl/submit$`, imports: `qvirl/`, why: "shares of work are spread whatever the work is"},
	{from: `qvirl/experiment/[a-z0-9]+$`, but: `qvirl/experiment/(worlds|registry)`,
		imports: `qvirl/experiment/(?:[^w]|w[^o])`,
		why:     "no experiment imports another; what several share is in experiment/worlds"},
}

// TestImportsGoOneWay lists the direct imports of every package of the module, those of tests apart.
func TestImportsGoOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(packages) < 30 {
		t.Fatalf("go list names %d packages, want the whole module", len(packages))
	}
	for _, line := range packages {
		paths := strings.Fields(line)
		from := strings.TrimPrefix(paths[0], module)
		for _, path := range paths[1:] {
			if why := broken(from, strings.TrimPrefix(path, module)); why != "" {
				t.Errorf("%s imports %s: %s", from, path, why)
			}
		}
	}
}

// broken returns what an import breaks, or nothing.
func broken(from, imports string) string {
	matches := func(pattern, s string) bool {
		return pattern != "" && regexp.MustCompile("^(?:"+pattern+")").MatchString(s)
	}
	for _, rule := range forbidden {
		if matches(rule.from, from) && !matches(rule.but, from) && matches(rule.imports, imports) {
			return rule.why
		}
	}
	return ""
}

func TestTheRuleFindsWhatBreaksIt(t *testing.T) {
	for _, c := range [][2]string{
		{"envs/cmd/demos", "qvirl/backend"}, {"qvirl/active", "widgets"}, {"widgets/report", "qvirl/experiment"},
		{"qvirl/avril", "qvirl/neural"}, {"qvirl/cmd/qvirl/experts", "widgets"}, {"qvirl/cmd/qvirl", "kernel-setup"},
		{"qvirl/experiment/maxmean", "qvirl/experiment/avril3x3"}, {"qvirl/neural/catalogue", "qvirl/experiment"},
		{"qvirl/irl", "github.com/gomlx/gomlx/core/graph"}, {"qvirl/submit", "qvirl/experiment"},
	} {
		if broken(c[0], c[1]) == "" {
			t.Errorf("%s may import %s", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{"qvirl/cmd/qvirl", "widgets/report"}, {"widgets/report", "qvirl/exhibit"},
		{"qvirl/experiment/maxmean", "qvirl/experiment/worlds/obstacle"}, {"qvirl/irl", "envs/mdp"}} {
		if why := broken(c[0], c[1]); why != "" {
			t.Errorf("%s must not import %s: %s", c[0], c[1], why)
		}
	}
}
