package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment/zoostudy"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/widgets"
)

// prose fills the placeholders of a prose file.
func (s *site) prose(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(s.root, "notebooks", "pages", "prose", name))
	if err != nil {
		return "", err
	}
	out, err := s.fill(string(text))
	if err != nil {
		return "", fmt.Errorf("prose %s: %w", name, err)
	}
	return out, nil
}

// fill replaces the placeholders of a text:
//
//	{{row "EXPERIMENT METHOD METRIC …" [decimals]}}        mean ± standard error
//	{{mean "EXPERIMENT METHOD METRIC …" [decimals]}}       the mean alone
//	{{percent "EXPERIMENT METHOD METRIC …" [decimals]}}    a hundred times the mean, with “ %”
//	{{diff "EXPERIMENT …" "EXPERIMENT …" [decimals]}}      first less second ± its standard error, paired where it can be
//	{{paper "EXPERIMENT METHOD METRIC …"}}                 what the paper has for these rows, by the ledger
//	{{away "EXPERIMENT METHOD METRIC …" ["EXPERIMENT …"]}} how far from the paper's number for these rows, or for others,
//	                                                      in standard errors: “3.1 s.e. below”
//	{{count "EXPERIMENT METHOD METRIC" VALUE}}             how many rows have the value; countFrom: or more
//	{{costs COLUMN DECIMALS}}, {{benchMachine}}            what methods cost, by results/bench, and the machine
//	{{machine "EXPERIMENT"}}                               what its rows were computed on
//	{{cost METHOD STATES COLUMN DECIMALS}}                 one of these costs
//	{{step WHAT COLUMN}}, {{stepRatio WHAT OF}}            what the table of steps says, and one in another's time
//	{{steps}}, {{stepsMachine}}                            what steps of networks cost, by the same, and the machine
//	{{table "NAME"}}                                       a table of pages.yaml
//	{{gallery}}, {{claims}}, {{counted}}                   the notebooks, all claims, their verdicts counted
//	{{reproduced}}, {{withoutNumbers}}                     how many claims are, and how many of them by pictures and
//	                                                      tests of code alone
//	{{methods "KIND"}}, {{metrics}}                        all methods of a kind, all metrics
//	{{tileDensities}}                                      a figure of the unknown tile's posteriors
//	{{zooProblems}}                                        a figure of the zoo's answers, problem by problem
//	{{zooSize}}, {{zooRight "METHOD"}}, {{zooSaid "METHOD"}}   how many problems the zoo has, right answers,
//	                                                      and right ones that say so
func (s *site) fill(text string) (string, error) {
	t, err := template.New("prose").Option("missingkey=error").Funcs(template.FuncMap{
		"row":     func(c string, d ...int) (string, error) { return s.write(c, true, d) },
		"mean":    func(c string, d ...int) (string, error) { return s.write(c, false, d) },
		"percent": s.percent, "machine": s.machine, "diff": s.diff, "table": s.table,
		"gallery": s.gallery, "paper": s.paperText, "away": s.away, "costs": s.costs, "benchMachine": s.benchMachine,
		"steps": s.steps, "stepsMachine": s.stepsMachine, "cost": s.cost, "step": s.step, "stepRatio": s.stepRatio,
		"count": func(c string, value float64) (int, error) {
			return s.count(c, func(v float64) bool { return v == value })
		},
		"countFrom": func(c string, value float64) (int, error) {
			return s.count(c, func(v float64) bool { return v >= value })
		},
		"zooSize": func() (int, error) {
			n, err := s.zooCounts("fit")
			return n[0] + n[1] + n[2] + n[3] + n[4], err
		},
		"tileDensities": s.tileDensities, "zooProblems": s.zooProblems,
		"zooRight":   func(name string) (int, error) { n, err := s.zooCounts(name); return n[0] + n[3], err },
		"zooSaid":    func(name string) (int, error) { n, err := s.zooCounts(name); return n[0], err },
		"counted":    func() string { return counted(s.ledger.Claims) },
		"reproduced": func() int { return tally(s.ledger.Claims)[reproduced] },
		"withoutNumbers": func() int {
			return tally(slices.DeleteFunc(slices.Clone(s.ledger.Claims), claim.hasNumbers))[reproduced]
		},
		"claims":  func() string { return claimTable(s.ledger.Claims, true) },
		"methods": s.methods,
		"metrics": s.metrics,
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, nil); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// methods lists the methods of rows and legends that are of a kind.
func (s *site) methods(kind method.Kind) (string, error) {
	grid := [][]string{{"in legends", "in rows", ""}}
	for _, m := range method.All() {
		if m.Kind == kind {
			grid = append(grid, []string{m.Label, "`" + m.Name + "`", m.Sentence})
		}
	}
	if len(grid) == 1 {
		return "", fmt.Errorf("there are no methods of the kind %q; kinds are %q", kind, method.Kinds())
	}
	s.kinds[kind] = true
	return strings.TrimSpace(markdown(grid, "|:--")), nil
}

func (s *site) write(text string, withError bool, decimals []int) (string, error) {
	e, err := s.results.estimate(text)
	if err != nil {
		return "", err
	}
	d := append(decimals, e.decimals())[0]
	if !withError {
		return number(e.mean, d), nil
	}
	return e.text(d), nil
}

func (s *site) percent(text string, decimals ...int) (string, error) {
	e, err := s.results.estimate(text)
	if err != nil {
		return "", err
	}
	return number(100*e.mean, append(decimals, 0)[0]) + " %", nil
}

func (s *site) diff(a, b string, decimals ...int) (string, error) {
	x, err := s.results.estimate(a)
	if err != nil {
		return "", err
	}
	y, err := s.results.estimate(b)
	if err != nil {
		return "", err
	}
	e := difference(x, y)
	return e.text(append(decimals, e.decimals())[0]), nil
}

// paperText returns what the paper has for a choice of rows.
func (s *site) paperText(choice string) (string, error) {
	p := s.paperOf(choice)
	if p == nil {
		return "", fmt.Errorf("the ledger has no number of the paper for %q", choice)
	}
	return p.text(p.decimals()), nil
}

// away says how many standard errors of the difference a choice of rows is from what the paper has, for the same rows
// or for those of another choice.
func (s *site) away(text string, of ...string) (string, error) {
	e, err := s.results.estimate(text)
	if err != nil {
		return "", err
	}
	named := append(of, text)[0]
	p := s.paperOf(named)
	if p == nil {
		return "", fmt.Errorf("the ledger has no number of the paper for %q", named)
	}
	d := difference(e, p)
	if d.stdErr == 0 {
		return "", fmt.Errorf("%q: no standard error is known", text)
	}
	side := map[bool]string{true: "above", false: "below"}[d.mean > 0]
	return fmt.Sprintf("%s s.e. %s", number(math.Abs(d.mean)/d.stdErr, 1), side), nil
}

// count returns how many rows of a choice have a value that holds.
func (s *site) count(text string, holds func(float64) bool) (int, error) {
	c, err := parseChoice(text)
	if err != nil {
		return 0, err
	}
	rows, _, err := s.results.read(c.experiment)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, r := range rows {
		if c.fits(r) && holds(r.Value) {
			n++
		}
	}
	return n, nil
}

// verdicts is the chart of the zoo's answers.
func (s *site) verdicts() (exhibit.VerdictChart, error) {
	if s.zoo != nil {
		return *s.zoo, nil
	}
	rows, _, err := s.results.read(zoostudy.Name)
	if err != nil {
		return exhibit.VerdictChart{}, err
	}
	r, err := zoostudy.Report(rows, nil)
	if err != nil {
		return exhibit.VerdictChart{}, err
	}
	s.zoo = &r.Verdicts[0]
	return *s.zoo, nil
}

// zooCounts counts a method's answers by exhibit.Kind: right and says so; wrong and says so; wrong, trusted; right,
// doubted; none.
func (s *site) zooCounts(name string) (n [5]int, err error) {
	c, err := s.verdicts()
	if err != nil {
		return n, err
	}
	i := slices.Index(c.Methods, name)
	if i < 0 {
		return n, fmt.Errorf("the zoo has no answers of %q", name)
	}
	return c.Counts()[i], nil
}

// zooProblems draws the zoo's answers problem by problem, and returns the figure's link.
func (s *site) zooProblems() (string, error) {
	c, err := s.verdicts()
	if err != nil {
		return "", err
	}
	const name = "zoo-problems"
	return fmt.Sprintf("![%s](figures/%s.svg)", c.Title, name), s.makeFigure(name, widgets.Verdicts(c))
}
