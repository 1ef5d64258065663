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
	Name     string   // in result rows and flags
	Label    string   // in tables and figures
	Family   Family   // gives its lines their colour
	Line     Line     // tells it from others of its family
	Sentence string   // what it is
	Answers  []Answer // of methods that Fit a problem; nil for variants, policies and learners from observations
	// whether its posteriors consist of the samples of Markov chains, which say themselves whether they agree
	Sampler bool
	Former  []string // names that it has in older rows, the first name first
	Variant bool     // whether it is not listed but put together, such as avril-0.17 (see Lookup)
}

// Family is a group of methods that are drawn in one colour.
type Family string

// The families.
const (
	QVIRLs       Family = "QVIRL"                      // the paper's closed form, and what is varied around it
	Draws        Family = "QVIRL, trained on draws"    // likelihood or maximum from draws
	Sampled      Family = "QVIRL, matched and refined" // moved or matched to a short walk
	Exact        Family = "exact samplers"
	AVRILs       Family = "AVRIL"
	Cloning      Family = "behaviour cloning"
	IQLearn      Family = "IQ-Learn"
	Demonstrator Family = "demonstrator"
	Baseline     Family = "baselines" // what knows nothing
)

// colors are the palette of Okabe and Ito (2008), which stays distinct under the common colour-vision deficiencies,
// without its yellow, which vanishes on white; and greys.
var colors = map[Family]string{
	QVIRLs: "#0072b2", Draws: "#56b4e9", Sampled: "#cc79a7", Exact: "#4d4d4d", AVRILs: "#d55e00", Cloning: "#009e73",
	IQLearn: "#e69f00", Demonstrator: "#000000", Baseline: "#999999",
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

// registry lists all methods, those that fit problems first.
var registry = []Method{
	{Name: Matched, Label: "QVIRL, matched", Family: Sampled,
		Sentence: "rewards with skewed marginals and Gaussian dependence, matched to a short walk from a brief " +
			"training",
		Answers: []Answer{Rewards, Values, Beta}, Former: []string{"qvirl-best"}},
	{Name: QVIRL, Label: "QVIRL", Family: QVIRLs,
		Sentence: "the paper's method: its closed-form objective, trained to convergence",
		Answers:  []Answer{Rewards, Values}, Former: []string{"paper"}},
	{Name: Refined, Label: "QVIRL, refined", Family: Sampled, Line: Dashed,
		Sentence: "samples of a brief training, moved towards the exact posterior by Hamiltonian transitions",
		Answers:  []Answer{Rewards, Values, Beta}},
	{Name: Reference, Label: "reference sampler", Family: Exact, Line: DashDot,
		Sentence: "Markov chains from the exact posterior of any tabular problem, by three kernels in turn",
		Answers:  []Answer{Rewards, Values, Beta}, Sampler: true},
	{Name: ValueWalk, Label: "ValueWalk", Family: Exact,
		Sentence: "Hamiltonian Monte Carlo over optimal values, from the exact posterior",
		Answers:  []Answer{Rewards, Values, Beta}, Sampler: true},
	{Name: PolicyWalk, Label: "PolicyWalk", Family: Exact, Line: LongDash,
		Sentence: "Metropolis-Hastings over rewards, from the exact posterior",
		Answers:  []Answer{Rewards, Values}, Sampler: true},
	{Name: AVRIL, Label: "AVRIL", Family: AVRILs,
		Sentence: "approximate variational reward imitation learning (Chan and van der Schaar, 2021)",
		Answers:  []Answer{Rewards}},

	{Name: Fit, Label: "QVIRL, matched, judged", Family: Sampled, Line: Dotted,
		Sentence: "QVIRL, matched, judged on the problem itself and left for the samples of its judge where it is " +
			"not trusted"},
	{Name: "valuewalk-nodet", Label: "ValueWalk without determinant", Family: Exact, Line: Dashed,
		Sentence: "ValueWalk without the log-determinant of the change of variables"},
	{Name: "valuewalk-again", Label: "ValueWalk, a second run", Family: Exact, Line: Dotted,
		Sentence: "an independent second run, whose distances are Monte Carlo error"},
	{Name: "qvirl-20k", Label: "QVIRL, 20,000 steps", Family: QVIRLs, Line: Dotted,
		Sentence: "the paper's training to the letter"},
	{Name: "qvirl-maxmean", Label: "QVIRL, max-mean", Family: QVIRLs, Line: DashDot,
		Sentence: "the paper's training with the max-mean approximation"},
	{Name: "qvirl-svi", Label: "QVIRL, trained on draws", Family: Draws,
		Sentence: "trained on draws through the exact maximum and likelihood"},
	{Name: "qvirl-start", Label: "QVIRL, trained briefly", Family: QVIRLs, Line: LongDash,
		Sentence: "the paper's objective, trained briefly", Former: []string{"start"}},
	{Name: "qvirl-log-e-p", Label: "QVIRL, Clark, log E p from draws", Family: Draws, Line: Dashed,
		Sentence: "the paper's divergence with the log of the expected likelihood, from draws"},
	{Name: "qvirl-e-log-p", Label: "QVIRL, Clark, E log p from draws", Family: Draws, Line: DashDot,
		Sentence: "the paper's divergence with the expected log likelihood, from draws"},
	{Name: "qvirl-svi-log-e-p", Label: "QVIRL, trained on draws, log E p", Family: Draws, Line: Dotted,
		Sentence: "trained on draws, with the log of the expected likelihood"},
	{Name: "qvirl-exactmax", Label: "QVIRL, exact max", Family: QVIRLs, Line: DashDotDot,
		Sentence: "the rewards that belong exactly to draws of QVIRL's values"},
	{Name: "matched-values", Label: "QVIRL, matched, Gaussian over values", Family: Sampled, Line: DashDot,
		Sentence: "a Gaussian over optimal values, matched to a short walk"},
	{Name: "matched-rewards", Label: "QVIRL, matched, Gaussian over rewards", Family: Sampled, Line: LongDash,
		Sentence: "a Gaussian over rewards, matched to a short walk"},
	{Name: "limit-values", Label: "best Gaussian over values", Family: Sampled, Line: DashDot,
		Sentence: "a Gaussian over optimal values, matched to ValueWalk's samples"},
	{Name: "limit-rewards", Label: "best Gaussian over rewards", Family: Sampled, Line: LongDash,
		Sentence: "a Gaussian over rewards, matched to ValueWalk's samples"},
	{Name: "limit-warped", Label: "best skewed marginals", Family: Sampled, Line: Dotted,
		Sentence: "rewards with skewed marginals, matched to ValueWalk's samples"},
	{Name: "qvirl-highest", Label: "QVIRL, best of several starts", Family: QVIRLs, Line: Dashed,
		Sentence: "QVIRL from the best of several starts"},
	{Name: "qvirl-between", Label: "QVIRL, start between the modes", Family: QVIRLs, Line: Dotted,
		Sentence: "QVIRL from a start between the modes"},
	{Name: "qvirl-activevar", Label: "QVIRL, ActiveVaR", Family: QVIRLs, Line: Dashed,
		Sentence: "queries by value at risk instead of information"},
	{Name: "qvirl-eig", Label: "QVIRL, Reward EIG", Family: QVIRLs,
		Sentence: "queries by expected information about the reward"},
	{Name: "qvirl-var", Label: "QVIRL, ActiveVaR", Family: QVIRLs, Line: Dashed,
		Sentence: "queries by the value at risk of the apprentice's loss"},
	{Name: "qvirl-random", Label: "QVIRL, random queries", Family: QVIRLs, Line: Dotted,
		Sentence: "queries at random"},
	{Name: "known", Label: "β known", Family: QVIRLs,
		Sentence: "the rationality coefficient is given, and is the expert's"},
	{Name: "inferred", Label: "β inferred", Family: QVIRLs, Line: Dashed,
		Sentence: "the rationality coefficient is inferred"},
	{Name: "inferred-wrong", Label: "β inferred, wrong prior", Family: QVIRLs, Line: DashDot,
		Sentence: "the rationality coefficient is inferred, under a prior around a wrong one"},
	{Name: "wrong", Label: "β wrong", Family: QVIRLs, Line: Dotted,
		Sentence: "the rationality coefficient is given, and is not the expert's"},

	{Name: "qvirl-mean", Label: "QVIRL, mean policy", Family: QVIRLs,
		Sentence: "the policy for QVIRL's posterior mean"},
	{Name: "qvirl-cvar", Label: "QVIRL, CVaR policy", Family: QVIRLs, Line: Dashed,
		Sentence: "the risk-averse policy for QVIRL's posterior"},
	{Name: "qvirl-exactmax-cvar", Label: "QVIRL, CVaR policy, exact max", Family: QVIRLs, Line: Dotted,
		Sentence: "the same for the rewards that belong exactly to its values"},
	{Name: "qvirl-svi-mean", Label: "QVIRL, trained on draws, mean policy", Family: Draws,
		Sentence: "the policy for the mean of the posterior trained on draws"},
	{Name: "qvirl-svi-cvar", Label: "QVIRL, trained on draws, CVaR policy", Family: Draws, Line: Dashed,
		Sentence: "the risk-averse policy for the posterior trained on draws"},
	{Name: "valuewalk-mean", Label: "ValueWalk, mean policy", Family: Exact,
		Sentence: "the policy for the exact posterior mean"},
	{Name: "valuewalk-cvar", Label: "ValueWalk, CVaR policy", Family: Exact, Line: Dashed,
		Sentence: "the risk-averse policy for the exact posterior"},
	{Name: "avril-mean", Label: "AVRIL, mean policy", Family: AVRILs,
		Sentence: "the policy for AVRIL's posterior mean"},
	{Name: "avril-cvar", Label: "AVRIL, CVaR policy", Family: AVRILs, Line: Dashed,
		Sentence: "the risk-averse policy for AVRIL's posterior"},
	{Name: "avril-0.17-mean", Label: "AVRIL, λ = 0.17, mean policy", Family: AVRILs, Line: DashDot,
		Sentence: "the policy for AVRIL's posterior mean at the paper's λ"},
	{Name: "avril-0.17-cvar", Label: "AVRIL, λ = 0.17, CVaR policy", Family: AVRILs, Line: DashDotDot,
		Sentence: "the risk-averse policy for AVRIL's posterior at the paper's λ"},

	{Name: "bc", Label: "behaviour cloning", Family: Cloning,
		Sentence: "maximum likelihood of the demonstrated actions"},
	{Name: "iqlearn", Label: "IQ-Learn", Family: IQLearn,
		Sentence: "inverse soft Q-learning (Garg et al., 2021), offline"},
	{Name: "qvirl-ensemble", Label: "QVIRL, ensemble", Family: QVIRLs, Line: Dashed,
		Sentence: "an ensemble of QVIRL's models"},
	{Name: "iqlearn-ensemble", Label: "IQ-Learn, ensemble", Family: IQLearn, Line: Dashed,
		Sentence: "an ensemble of IQ-Learn's models"},
	{Name: "qvirl-aux", Label: "QVIRL, with rollouts", Family: QVIRLs, Line: LongDash,
		Sentence: "QVIRL with transitions of its own rollouts"},
	{Name: "qvirl-planned", Label: "QVIRL, planned", Family: QVIRLs, Line: DashDotDot,
		Sentence: "reinforcement learning in the environment on QVIRL's posterior mean of the rewards of " +
			"demonstrations and rollouts, carried on to all states by a Gaussian process"},
	{Name: "qvirl-planned-averse", Label: "QVIRL, planned, risk-averse", Family: QVIRLs, Line: DashDot,
		Sentence: "the same, less a multiple of the rewards' standard deviation"},
	{Name: "qvirl-pairs", Label: "QVIRL, action as an input", Family: QVIRLs, Line: DashDot,
		Sentence: "QVIRL whose network takes the action as an input"},
	{Name: "qvirl-tuned", Label: "QVIRL, tuned", Family: QVIRLs, Line: Dotted,
		Sentence: "QVIRL with hyperparameters chosen on held-out demonstrations"},
	{Name: "bc-tuned", Label: "behaviour cloning, tuned", Family: Cloning, Line: Dotted,
		Sentence: "behaviour cloning with hyperparameters chosen on held-out demonstrations"},
	{Name: "iqlearn-tuned", Label: "IQ-Learn, tuned", Family: IQLearn, Line: Dotted,
		Sentence: "IQ-Learn with hyperparameters chosen on held-out demonstrations"},
	{Name: "avril-tuned", Label: "AVRIL, tuned", Family: AVRILs, Line: Dotted,
		Sentence: "AVRIL with hyperparameters chosen on held-out demonstrations"},

	{Name: "clark", Label: "Clark", Family: QVIRLs,
		Sentence: "Clark's approximation of the maximum"},
	{Name: "max-mean", Label: "max-mean", Family: QVIRLs, Line: DashDot,
		Sentence: "the value of highest mean for the maximum"},
	{Name: "lu2021", Label: "Lu et al. (2021)", Family: QVIRLs,
		Sentence: "the closed-form likelihood of Lu et al. (2021)"},
	{Name: "monte-carlo", Label: "Monte Carlo", Family: Exact,
		Sentence: "an average over draws"},
	{Name: "exact", Label: "exact", Family: Exact, Line: DashDot,
		Sentence: "by quadrature"},
	{Name: "prior", Label: "prior", Family: Baseline, Line: Dotted,
		Sentence: "the prior"},
	{Name: "expert", Label: "expert", Family: Demonstrator,
		Sentence: "the demonstrator"},
	{Name: "demonstrator", Label: "demonstrator", Family: Demonstrator,
		Sentence: "the policy that demonstrations were collected with"},
	{Name: "idle", Label: "idle", Family: Baseline, Line: Dashed,
		Sentence: "always the action that does nothing"},
	{Name: "optimal", Label: "optimal", Family: Demonstrator, Line: Dashed,
		Sentence: "the policy that is optimal for the true reward"},
	{Name: "random", Label: "random", Family: Baseline, Line: Dotted,
		Sentence: "uniformly random actions"},
	{Name: "nominal", Label: "nominal", Family: Baseline, Line: Dotted,
		Sentence: "the probability that an interval claims"},
	{Name: "uniform", Label: "uniform", Family: Baseline, Line: Dotted,
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
	// AVRIL at one λ: the line says whether λ is below, in or above the range in which the posterior of a state-only
	// reward with five actions is neither the prior nor a point.
	digits, ok := strings.CutPrefix(name, AVRIL+"-")
	lambda, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil {
		return Method{}, false
	}
	m, _ := of(AVRIL, ", λ = "+digits)
	switch {
	case lambda <= 0.12:
		m.Line = Dotted
	case lambda < 0.2:
		m.Line = Dashed
	default:
		m.Line = DashDot
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
