// Package method is the registry of methods: for each its name, how tables and figures show it, one sentence, and what
// it can answer. It is plain data, so that commands, result rows, legends and notebooks read the same list.
package method

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Method is an entry of the registry: a method, or a variant of one that has rows of its own.
type Method struct {
	Name     string // in result rows and flags
	Label    string // in tables and figures
	Color    string // of its lines, #rrggbb
	Line     Line
	Sentence string   // what it is
	Answers  []Answer // of methods that Fit a problem; nil for variants, policies and learners from observations
	// whether its posteriors consist of the samples of Markov chains, which say themselves whether they agree
	Sampler bool
	Former  []string // names that it has in older rows, the first name first
	Variant bool     // whether it is not listed but put together, such as avril-0.17 (see Lookup)
}

// Line is how a line is drawn.
type Line string

// The lines.
const (
	Solid   Line = ""
	Dashed  Line = "dashed"
	Dotted  Line = "dotted"
	DashDot Line = "dash-dot"
)

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

// The palette of Okabe and Ito (2008), which stays distinct under the common colour-vision deficiencies, without its
// yellow, which vanishes on white; and greys for references.
const (
	orange     = "#e69f00"
	skyBlue    = "#56b4e9"
	green      = "#009e73"
	blue       = "#0072b2"
	vermillion = "#d55e00"
	purple     = "#cc79a7"
	black      = "#000000"
	darkGrey   = "#4d4d4d"
	grey       = "#8c8c8c"
	paleGrey   = "#999999"
)

// registry lists all methods, those that fit problems first.
var registry = []Method{
	{Name: Matched, Label: "QVIRL, matched", Color: purple, Line: Dashed,
		Sentence: "rewards with skewed marginals and Gaussian dependence, matched to a short walk from a brief " +
			"training",
		Answers: []Answer{Rewards, Values, Beta}, Former: []string{"qvirl-best"}},
	{Name: QVIRL, Label: "QVIRL", Color: blue,
		Sentence: "the paper's method: its closed-form objective, trained to convergence",
		Answers:  []Answer{Rewards, Values}, Former: []string{"paper"}},
	{Name: Refined, Label: "QVIRL, refined", Color: purple,
		Sentence: "samples of a brief training, moved towards the exact posterior by Hamiltonian transitions",
		Answers:  []Answer{Rewards, Values, Beta}},
	{Name: Reference, Label: "reference sampler", Color: darkGrey, Line: DashDot,
		Sentence: "Markov chains from the exact posterior of any tabular problem, by three kernels in turn",
		Answers:  []Answer{Rewards, Values, Beta}, Sampler: true},
	{Name: ValueWalk, Label: "ValueWalk", Color: darkGrey,
		Sentence: "Hamiltonian Monte Carlo over optimal values, from the exact posterior",
		Answers:  []Answer{Rewards, Values, Beta}, Sampler: true},
	{Name: PolicyWalk, Label: "PolicyWalk", Color: skyBlue, Line: DashDot,
		Sentence: "Metropolis-Hastings over rewards, from the exact posterior",
		Answers:  []Answer{Rewards, Values}, Sampler: true},
	{Name: AVRIL, Label: "AVRIL", Color: vermillion,
		Sentence: "approximate variational reward imitation learning (Chan and van der Schaar, 2021)",
		Answers:  []Answer{Rewards}},

	{Name: Fit, Label: "fit", Color: green,
		Sentence: "QVIRL, matched, judged on the problem itself and left for the samples of its judge where it is " +
			"not trusted"},
	{Name: "valuewalk-nodet", Label: "ValueWalk without determinant", Color: grey, Line: Dashed,
		Sentence: "ValueWalk without the log-determinant of the change of variables"},
	{Name: "valuewalk-again", Label: "ValueWalk, a second run", Color: grey, Line: Dotted,
		Sentence: "an independent second run, whose distances are Monte Carlo error"},
	{Name: "qvirl-20k", Label: "QVIRL, 20,000 steps", Color: skyBlue, Line: Dashed,
		Sentence: "the paper's training to the letter"},
	{Name: "qvirl-maxmean", Label: "QVIRL, max-mean", Color: green, Line: DashDot,
		Sentence: "the paper's training with the max-mean approximation"},
	{Name: "qvirl-svi", Label: "QVIRL, trained on draws", Color: blue, Line: DashDot,
		Sentence: "trained on draws through the exact maximum and likelihood"},
	{Name: "qvirl-start", Label: "QVIRL, trained briefly", Color: skyBlue, Line: Dashed,
		Sentence: "the paper's objective, trained briefly", Former: []string{"start"}},
	{Name: "qvirl-log-e-p", Label: "QVIRL, Clark, log E p from draws", Color: green, Line: Dashed,
		Sentence: "the paper's divergence with the log of the expected likelihood, from draws"},
	{Name: "qvirl-e-log-p", Label: "QVIRL, Clark, E log p from draws", Color: purple, Line: Dotted,
		Sentence: "the paper's divergence with the expected log likelihood, from draws"},
	{Name: "qvirl-svi-log-e-p", Label: "QVIRL, trained on draws, log E p", Color: green, Line: Dotted,
		Sentence: "trained on draws, with the log of the expected likelihood"},
	{Name: "qvirl-exactmax", Label: "QVIRL, exact max", Color: skyBlue, Line: Dashed,
		Sentence: "the rewards that belong exactly to draws of QVIRL's values"},
	{Name: "matched-values", Label: "QVIRL, matched, Gaussian over values", Color: green, Line: DashDot,
		Sentence: "a Gaussian over optimal values, matched to a short walk"},
	{Name: "matched-rewards", Label: "QVIRL, matched, Gaussian over rewards", Color: green, Line: Dashed,
		Sentence: "a Gaussian over rewards, matched to a short walk"},
	{Name: "limit-values", Label: "limit-values", Color: vermillion,
		Sentence: "a Gaussian over optimal values, matched to ValueWalk's samples"},
	{Name: "limit-rewards", Label: "limit-rewards", Color: purple,
		Sentence: "a Gaussian over rewards, matched to ValueWalk's samples"},
	{Name: "limit-warped", Label: "limit-warped", Color: orange,
		Sentence: "rewards with skewed marginals, matched to ValueWalk's samples"},
	{Name: "qvirl-highest", Label: "qvirl-highest", Color: green,
		Sentence: "QVIRL from the best of several starts"},
	{Name: "qvirl-between", Label: "qvirl-between", Color: purple,
		Sentence: "QVIRL from a start between the modes"},
	{Name: "qvirl-activevar", Label: "QVIRL, ActiveVaR", Color: green, Line: Dashed,
		Sentence: "queries by value at risk instead of information"},
	{Name: "qvirl-random", Label: "QVIRL, random queries", Color: skyBlue, Line: Dotted,
		Sentence: "queries at random"},
	{Name: "known", Label: "β known", Color: blue,
		Sentence: "the rationality coefficient is given, and is the expert's"},
	{Name: "inferred", Label: "inferred", Color: green,
		Sentence: "the rationality coefficient is inferred"},
	{Name: "inferred-wrong", Label: "inferred-wrong", Color: purple,
		Sentence: "the rationality coefficient is inferred, under a prior around a wrong one"},
	{Name: "wrong", Label: "wrong", Color: vermillion,
		Sentence: "the rationality coefficient is given, and is not the expert's"},

	{Name: "qvirl-mean", Label: "QVIRL, mean policy", Color: blue,
		Sentence: "the policy for QVIRL's posterior mean"},
	{Name: "qvirl-cvar", Label: "QVIRL, CVaR policy", Color: blue, Line: Dashed,
		Sentence: "the risk-averse policy for QVIRL's posterior"},
	{Name: "qvirl-exactmax-cvar", Label: "QVIRL, CVaR policy, exact max", Color: skyBlue, Line: Dashed,
		Sentence: "the same for the rewards that belong exactly to its values"},
	{Name: "qvirl-svi-mean", Label: "QVIRL, trained on draws, mean policy", Color: green,
		Sentence: "the policy for the mean of the posterior trained on draws"},
	{Name: "qvirl-svi-cvar", Label: "QVIRL, trained on draws, CVaR policy", Color: green, Line: Dashed,
		Sentence: "the risk-averse policy for the posterior trained on draws"},
	{Name: "valuewalk-mean", Label: "ValueWalk, mean policy", Color: darkGrey,
		Sentence: "the policy for the exact posterior mean"},
	{Name: "valuewalk-cvar", Label: "ValueWalk, CVaR policy", Color: darkGrey, Line: Dashed,
		Sentence: "the risk-averse policy for the exact posterior"},
	{Name: "avril-mean", Label: "AVRIL, mean policy", Color: vermillion,
		Sentence: "the policy for AVRIL's posterior mean"},
	{Name: "avril-cvar", Label: "AVRIL, CVaR policy", Color: vermillion, Line: Dashed,
		Sentence: "the risk-averse policy for AVRIL's posterior"},
	{Name: "avril-0.17-mean", Label: "AVRIL, λ = 0.17, mean policy", Color: orange,
		Sentence: "the policy for AVRIL's posterior mean at the paper's λ"},
	{Name: "avril-0.17-cvar", Label: "AVRIL, λ = 0.17, CVaR policy", Color: orange, Line: Dashed,
		Sentence: "the risk-averse policy for AVRIL's posterior at the paper's λ"},

	{Name: "bc", Label: "behaviour cloning", Color: green,
		Sentence: "maximum likelihood of the demonstrated actions"},
	{Name: "iqlearn", Label: "IQ-Learn", Color: purple,
		Sentence: "inverse soft Q-learning (Garg et al., 2021), offline"},
	{Name: "qvirl-ensemble", Label: "QVIRL, ensemble", Color: blue, Line: Dashed,
		Sentence: "an ensemble of QVIRL's models"},
	{Name: "iqlearn-ensemble", Label: "IQ-Learn, ensemble", Color: purple, Line: Dashed,
		Sentence: "an ensemble of IQ-Learn's models"},
	{Name: "qvirl-aux", Label: "QVIRL, with rollouts", Color: skyBlue, Line: Dashed,
		Sentence: "QVIRL with transitions of its own rollouts"},
	{Name: "qvirl-planned", Label: "QVIRL, planned", Color: black,
		Sentence: "reinforcement learning in the environment on QVIRL's posterior mean of the rewards of " +
			"demonstrations " +
			"and rollouts, carried on to all states by a Gaussian process"},
	{Name: "qvirl-planned-averse", Label: "QVIRL, planned, risk-averse", Color: darkGrey, Line: Dashed,
		Sentence: "the same, less a multiple of the rewards' standard deviation"},
	{Name: "qvirl-pairs", Label: "QVIRL, joint over pairs", Color: skyBlue, Line: DashDot,
		Sentence: "QVIRL with a divergence over pairs of transitions"},
	{Name: "qvirl-tuned", Label: "QVIRL, tuned", Color: blue, Line: Dotted,
		Sentence: "QVIRL with hyperparameters chosen on held-out demonstrations"},
	{Name: "bc-tuned", Label: "behaviour cloning, tuned", Color: green, Line: Dotted,
		Sentence: "behaviour cloning with hyperparameters chosen on held-out demonstrations"},
	{Name: "iqlearn-tuned", Label: "IQ-Learn, tuned", Color: purple, Line: Dotted,
		Sentence: "IQ-Learn with hyperparameters chosen on held-out demonstrations"},
	{Name: "avril-tuned", Label: "AVRIL, tuned", Color: vermillion, Line: Dotted,
		Sentence: "AVRIL with hyperparameters chosen on held-out demonstrations"},

	{Name: "clark", Label: "Clark", Color: blue,
		Sentence: "Clark's approximation of the maximum"},
	{Name: "max-mean", Label: "max-mean", Color: green, Line: DashDot,
		Sentence: "the value of highest mean for the maximum"},
	{Name: "lu2021", Label: "lu2021", Color: blue,
		Sentence: "the closed-form likelihood of Lu et al. (2021)"},
	{Name: "monte-carlo", Label: "monte-carlo", Color: darkGrey,
		Sentence: "an average over draws"},
	{Name: "exact", Label: "exact", Color: skyBlue,
		Sentence: "by quadrature"},
	{Name: "prior", Label: "prior", Color: paleGrey, Line: Dotted,
		Sentence: "the prior"},
	{Name: "expert", Label: "expert", Color: black,
		Sentence: "the demonstrator"},
	{Name: "demonstrator", Label: "demonstrator", Color: black,
		Sentence: "the policy that demonstrations were collected with"},
	{Name: "idle", Label: "idle", Color: skyBlue,
		Sentence: "always the action that does nothing"},
	{Name: "optimal", Label: "optimal", Color: black,
		Sentence: "the policy that is optimal for the true reward"},
	{Name: "random", Label: "random", Color: paleGrey, Line: Dotted,
		Sentence: "uniformly random actions"},
	{Name: "nominal", Label: "nominal", Color: paleGrey, Line: Dotted,
		Sentence: "the probability that an interval claims"},
	{Name: "uniform", Label: "uniform", Color: paleGrey, Line: Dotted,
		Sentence: "ranks of calibrated posteriors"},
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

// Lookup returns the method of a name as result rows have it, a former name too. Beside the registry's there are
// variants: a policy for a posterior ("-mean", "-cvar"), AVRIL at one λ ("avril-0.17"), another learning rate
// ("-rate-0.01"), a posterior refined by so many transitions ("-k08"), a learner who assumes one β ("-beta-2"). An
// unknown name is an error that lists the known.
func Lookup(name string) (Method, error) {
	name = Canonical(name)
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

// variant returns the method of a name that is put together.
func variant(name string) (Method, bool) {
	of := func(base, label string) (Method, bool) {
		m, err := Lookup(base)
		m.Name, m.Label, m.Answers, m.Former, m.Variant = name, m.Label+label, nil, nil, true
		return m, err == nil
	}
	if base, ok := strings.CutSuffix(name, "-mean"); ok {
		m, ok := of(base, ", mean policy")
		m.Line = Solid
		return m, ok
	}
	if base, ok := strings.CutSuffix(name, "-exactmax-cvar"); ok {
		m, ok := of(base, ", CVaR policy, exact max")
		m.Line = Dotted
		return m, ok
	}
	if base, ok := strings.CutSuffix(name, "-cvar"); ok {
		m, ok := of(base, ", CVaR policy")
		m.Line = Dashed
		return m, ok
	}
	if base, rate, ok := strings.Cut(name, "-rate-"); ok && number(rate) {
		return of(base, ", learning rate "+rate)
	}
	if base, beta, ok := strings.Cut(name, "-beta-"); ok && number(beta) {
		return of(base, ", β = "+beta)
	}
	if parts := transitions.FindStringSubmatch(name); parts != nil {
		k, _ := strconv.Atoi(parts[2])
		return of(parts[1], fmt.Sprintf(", %d transitions", k))
	}
	// AVRIL at one λ: the colour says whether λ is below, in or above the range in which the posterior of a state-only
	// reward with five actions is neither the prior nor a point.
	digits, ok := strings.CutPrefix(name, AVRIL+"-")
	lambda, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil {
		return Method{}, false
	}
	m, _ := of(AVRIL, ", λ = "+digits)
	switch {
	case lambda <= 0.12:
		m.Color, m.Line = orange, Dotted
	case lambda < 0.2:
		m.Color, m.Line = vermillion, Dashed
	default:
		m.Color, m.Line = purple, DashDot
	}
	return m, true
}

// transitions are names of refined posteriors.
var transitions = regexp.MustCompile(`^(.+)-k(\d+)$`)

func number(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

// Canonical returns the present name of a method or variant that older rows have under a former one; other names stay
// as they are.
func Canonical(name string) string {
	for _, m := range registry {
		for _, former := range m.Former {
			if rest, ok := strings.CutPrefix(name, former); ok && (rest == "" || rest[0] == '-') {
				return m.Name + rest
			}
		}
	}
	return name
}

// like is how names of methods are written, unlike other texts in a legend, such as n or "expert's β = 2".
var like = regexp.MustCompile(`^[a-z][a-z0-9.]+(-[a-z0-9.]+)*$`)

// Check refuses names of methods that are none: those written in lower-case letters, digits, dots and hyphens, as
// methods' are. Other texts pass.
func Check(names ...string) error {
	for _, name := range names {
		if !like.MatchString(name) {
			continue
		}
		if _, err := Lookup(name); err != nil {
			return err
		}
	}
	return nil
}

// CheckCurves is Check for names of curves, which need not be methods' but are where they begin like one, as
// "qvirl-svi" and "qvirl-sv" do.
func CheckCurves(names ...string) error {
	for _, name := range names {
		first, _, _ := strings.Cut(Canonical(name), "-")
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
