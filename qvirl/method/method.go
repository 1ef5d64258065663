// Package method is the registry of methods: for each its name, how tables and figures show it, one sentence, and what
// it can answer. It is plain data, so that commands, result rows, legends and notebooks read the same list.
package method

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Method is an entry of the registry: a method, or a variant of one that has rows of its own.
type Method struct {
	Name     string   // in result rows and flags
	Label    string   // in tables and figures
	Family   Family   // gives its lines their colour
	Line     Line     // tells it from others of its family
	Sentence string   // what it is
	Answers  []Answer // of methods that Fit a problem; nil for variants, policies and learners from observations
	// whether its posteriors consist of the samples of Markov chains, which say themselves whether they agree
	Sampler bool
	Version int // of its code: raised when a change of it changes the rows, which are then computed anew
	Kind    Kind
}

// Kind is what methods are listed together as, on the page that lists them all.
type Kind string

// The kinds.
const (
	Finite      Kind = "finite"      // fit problems on finite MDPs
	Variants    Kind = "variants"    // of these, and ablations
	Policies    Kind = "policies"    // of apprentices on finite MDPs
	Queries     Kind = "queries"     // of active learning
	Neural      Kind = "neural"      // learn by networks, from demonstrations alone
	Environment Kind = "environment" // learn by networks, with the environment
	Formulas    Kind = "formulas"    // approximate the maximum or the likelihood
	References  Kind = "references"  // what others are compared with
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Finite, Variants, Policies, Queries, Neural, Environment, Formulas, References}
}

// Family is a group of methods that are drawn in one colour.
type Family string

// The families.
const (
	QVIRLs       Family = "QVIRL"                      // the paper's closed form, and what is varied around it
	Draws        Family = "QVIRL, trained on draws"    // likelihood or maximum from draws
	Sampled      Family = "QVIRL, matched and refined" // moved or matched to a short walk
	ActiveVaR    Family = "ActiveVaR"                  // queries by the value at risk
	Exact        Family = "exact samplers"
	AVRILs       Family = "AVRIL"
	Cloning      Family = "behaviour cloning"
	IQLearn      Family = "IQ-Learn"
	Demonstrator Family = "demonstrator"
	Baseline     Family = "baselines" // what knows nothing
)

// colors are the palette of Okabe and Ito (2008), which stays distinct under the common colour-vision deficiencies,
// without its yellow, which vanishes on white; a wine red of Tol's; and greys.
var colors = map[Family]string{
	QVIRLs: "#0072b2", Draws: "#56b4e9", Sampled: "#cc79a7", Exact: "#4d4d4d", AVRILs: "#d55e00", Cloning: "#009e73",
	IQLearn: "#e69f00", ActiveVaR: "#882255", Demonstrator: "#000000", Baseline: "#999999",
}

// Color returns the colour of the method's lines, #rrggbb.
func (m Method) Color() string { return colors[m.Family] }

// Line is how a line is drawn.
type Line string

// The lines.
const (
	Solid      Line = ""
	Dashed     Line = "dashed"
	Dotted     Line = "dotted"
	DashDot    Line = "dash-dot"
	LongDash   Line = "long dash"
	DashDotDot Line = "dash-dot-dot"
)

// Lines returns all lines.
func Lines() []Line { return []Line{Solid, Dashed, Dotted, DashDot, LongDash, DashDotDot} }

// Answer is a question that a method's posteriors can answer.
type Answer string

// The questions.
const (
	Rewards Answer = "rewards" // marginals and joint samples
	Values  Answer = "values"  // marginals of the optimal state values
	Beta    Answer = "beta"    // the rationality coefficient, where the problem gives it a prior
)

// The names of the methods that fit problems on finite MDPs.
const (
	Matched    = "qvirl-matched" // the recommended one
	QVIRL      = "qvirl"         // the paper's
	Refined    = "qvirl-refined"
	Reference  = "reference"
	ValueWalk  = "valuewalk"
	PolicyWalk = "policywalk"
	AVRIL      = "avril"
	Fit        = "fit" // what the command does with the recommended method
)

//go:embed registry.csv
var table string

// registry lists all methods, those that fit problems first: a line of the table each.
var registry = parse(table)

// parse reads a registry, of the columns name, label, family, line, sentence, answers, sampler, version and kind. It
// panics where it is not right.
func parse(table string) []Method {
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		panic(err)
	}
	var out []Method
	for _, r := range rows[1:] {
		m := Method{Name: r[0], Label: r[1], Family: Family(r[2]), Line: Line(r[3]), Sentence: r[4],
			Sampler: r[6] == "sampler", Kind: Kind(r[8])}
		if m.Version = 1; r[7] != "" {
			if m.Version, err = strconv.Atoi(r[7]); err != nil {
				panic(fmt.Sprintf("method: the version of %s is %q", m.Name, r[7]))
			}
		}
		for _, a := range strings.Fields(r[5]) {
			m.Answers = append(m.Answers, Answer(a))
		}
		if colors[m.Family] == "" || !slices.Contains(Lines(), m.Line) {
			panic(fmt.Sprintf("method: %s is of the family %q, with the line %q", m.Name, m.Family, m.Line))
		}
		if !slices.Contains(Kinds(), m.Kind) {
			panic(fmt.Sprintf("method: %s is of the kind %q", m.Name, m.Kind))
		}
		out = append(out, m)
	}
	return out
}

// All returns the methods of the registry.
func All() []Method { return slices.Clone(registry) }

// Fitters returns the methods that fit problems on finite MDPs, the recommended one first.
func Fitters() []Method {
	return slices.DeleteFunc(All(), func(m Method) bool { return m.Answers == nil })
}

// Names returns the names of methods.
func Names(methods []Method) []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.Name
	}
	return names
}

// Lookup returns the method of a name as result rows have it. Beside the registry's there are
// variants: a policy for a posterior ("-mean", "-cvar"), AVRIL at one λ ("avril-0.17"), another learning rate
// ("-rate-0.01"), a posterior refined by so many transitions ("-k08"), a learner who assumes one β ("-beta-2"), another
// weight of the KL divergence ("-kl-0.5"). An unknown name is an error that lists the known.
func Lookup(name string) (Method, error) {
	for _, m := range registry {
		if m.Name == name {
			return m, nil
		}
	}
	if m, ok := variant(name); ok {
		return m, nil
	}
	return Method{}, fmt.Errorf("method: there is no %q; there are %s", name, strings.Join(Names(registry), ", "))
}

// setting is something that variants of a method differ in. The variant's name has a part for it.
type setting struct {
	key, part, label string         // part and label before the value
	value            *regexp.Regexp // how it is written
	of               string         // the only method that has it, or nothing
}

// settings are those that there are, in the order in which a name has them.
var settings = []setting{
	{"lambda", "-", ", λ = ", number, AVRIL},
	{"beta", "-beta-", ", β = ", number, ""},
	{"kl", "-kl-", ", KL weight ", number, QVIRL},
	{"rate", "-rate-", ", learning rate ", number, ""},
	{"transitions", "-k", "", regexp.MustCompile(`^\d\d+$`), ""},
}

var number = regexp.MustCompile(`^\d+(\.\d+)?(e-?\d+)?$`)

// policy is a policy for a posterior, by the end of its name.
type policy struct {
	end, label string
	line       Line
}

var policies = []policy{{"-exactmax-cvar", ", CVaR policy, exact max", Dotted}, {"-mean", ", mean policy", Solid},
	{"-cvar", ", CVaR policy", Dashed}}

// cutPolicy cuts off the end of a name that is that of a policy.
func cutPolicy(name string) (posterior string, of policy) {
	for _, p := range policies {
		if rest, ok := strings.CutSuffix(name, p.end); ok {
			return rest, p
		}
	}
	return name, policy{}
}

// Split returns the method of a name, as result rows have it, and the variant: its settings as key=value, joined by
// commas. The name avril-0.2-rate-0.01 is that of the variant lambda=0.2,rate=0.01 of avril.
func Split(name string) (method, variant string) {
	method, policy := cutPolicy(name)
	for _, s := range slices.Backward(settings) {
		at := strings.LastIndex(method, s.part)
		if at < 1 || s.of != "" && method[:at] != s.of || !s.value.MatchString(method[at+len(s.part):]) {
			continue
		}
		more := s.key + "=" + method[at+len(s.part):]
		if variant != "" {
			more += "," + variant
		}
		method, variant = method[:at], more
	}
	return method + policy.end, variant
}

// Name returns the name of a variant of a method. It is the inverse of Split.
func Name(method, variant string) string {
	if variant == "" {
		return method
	}
	method, policy := cutPolicy(method)
	for _, s := range settings {
		if value, ok := Setting(variant, s.key); ok {
			method += s.part + value
		}
	}
	return method + policy.end
}

// Setting returns the value of one of a variant's settings.
func Setting(variant, key string) (value string, ok bool) {
	for _, s := range strings.Split(variant, ",") {
		if k, v, _ := strings.Cut(s, "="); k == key {
			return v, true
		}
	}
	return "", false
}

// variant returns the method of a name that is put together.
func variant(name string) (Method, bool) {
	posterior, policy := cutPolicy(name)
	base, settled := Split(posterior)
	if base == name {
		return Method{}, false
	}
	m, err := Lookup(base)
	m.Name, m.Answers = name, nil
	for _, s := range settings {
		value, ok := Setting(settled, s.key)
		if k, err := strconv.Atoi(value); err == nil && s.key == "transitions" {
			value = fmt.Sprintf(", %d transitions", k)
		}
		if ok {
			m.Label += s.label + value
		}
	}
	// AVRIL at one λ: the line says whether λ is below, in or above the range in which the posterior of a state-only
	// reward with five actions is neither the prior nor a point.
	if value, at := Setting(settled, "lambda"); at {
		switch lambda, _ := strconv.ParseFloat(value, 64); {
		case lambda <= 0.12:
			m.Line = Dotted
		case lambda < 0.2:
			m.Line = Dashed
		default:
			m.Line = DashDot
		}
	}
	if policy.end != "" {
		m.Label, m.Line = m.Label+policy.label, policy.line
	}
	return m, err == nil
}

// Version returns the version of a method's code, or 1 if there is no such method.
func Version(name string) int {
	m, err := Lookup(name)
	if err != nil {
		return 1
	}
	return m.Version
}

// like is how names of methods are written, unlike other texts in a legend, such as n or "expert's β = 2".
var like = regexp.MustCompile(`^[a-z][a-z0-9.]+(-[a-z0-9.]+)*$`)

// Check refuses names of methods that are none: those written in lower-case letters, digits, dots and hyphens, as
// methods' are. Other texts pass, such as "Wide prior".
func Check(names ...string) error {
	for _, name := range names {
		if !like.MatchString(name) {
			continue
		}
		if _, err := Lookup(name); err != nil {
			return fmt.Errorf("%q is no method's name, and one of your own has a capital letter or a space: %w",
				name, err)
		}
	}
	return nil
}

// CheckCurves is Check for names of curves, which need not be methods' but are where they begin like one, as
// "qvirl-svi" and "qvirl-sv" do.
func CheckCurves(names ...string) error {
	for _, name := range names {
		first, _, _ := strings.Cut(name, "-")
		for _, m := range registry {
			if known, _, _ := strings.Cut(m.Name, "-"); known == first {
				if err := Check(name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
