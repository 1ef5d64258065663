package method

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTheRegistryIsComplete(t *testing.T) {
	seen, labels := map[string]bool{}, map[string]string{}
	for _, m := range All() {
		// Rows of gridworlds and of the lander have different names for queries by ActiveVaR.
		if other, ok := labels[m.Label]; ok && (other != "qvirl-activevar" || m.Name != "qvirl-var") {
			t.Errorf("%s and %s have the same label", other, m.Name)
		}
		labels[m.Label] = m.Name
		if seen[m.Name] || !like.MatchString(m.Name) && m.Name != "bc" {
			t.Errorf("the name %q stands twice, or is not written like one", m.Name)
		}
		seen[m.Name] = true
		if m.Label == "" || m.Sentence == "" || !regexp.MustCompile(`^#[0-9a-f]{6}$`).MatchString(m.Color()) {
			t.Errorf("%s: label %q, sentence %q, colour %q", m.Name, m.Label, m.Sentence, m.Color())
		}
		if strings.Contains(m.Name, "-") && m.Label == m.Name && m.Name != "max-mean" {
			t.Errorf("%s has its name in rows as its label", m.Name)
		}
		if !slices.Contains(Lines(), m.Line) {
			t.Errorf("%s: there is no line %q", m.Name, m.Line)
		}
	}
	families := map[string]Family{}
	for family, color := range colors {
		if other, ok := families[color]; ok {
			t.Errorf("%s and %s have the same colour", family, other)
		}
		families[color] = family
	}
	if got := Names(Fitters()); len(got) < 6 || got[0] != Matched || slices.Contains(got, "bc") {
		t.Errorf("methods that fit problems: %v", got)
	}
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]string{
		"qvirl": "QVIRL", "qvirl-matched": "QVIRL, matched", "qvirl-k08": "QVIRL, 8 transitions",
		"qvirl-matched-cvar": "QVIRL, matched, CVaR policy", "avril-0.17": "AVRIL, λ = 0.17",
		"avril-0.2-rate-0.01": "AVRIL, λ = 0.2, learning rate 0.01",
		"qvirl-beta-0.5":      "QVIRL, β = 0.5", "avril-0.17-cvar": "AVRIL, λ = 0.17, CVaR policy",
		"qvirl-log-e-p-mean": "QVIRL, Clark, log E p from draws, mean policy",
	} {
		m, err := Lookup(name)
		if err != nil || m.Label != want || m.Name != name {
			t.Errorf("%s: %q of name %q (error %v), want %q", name, m.Label, m.Name, err, want)
		}
	}
	for _, name := range []string{"", "QVIRL", "avril-x", "qvirl-bst", "mine-cvar", "qvirl-k", "-mean"} {
		if m, err := Lookup(name); err == nil || !strings.Contains(err.Error(), "qvirl-matched, qvirl, ") {
			t.Errorf("%q is %+v, error %v", name, m, err)
		}
	}
}

// A variant has the colour of the method that it is one of.
func TestFamilies(t *testing.T) {
	for variant, base := range map[string]string{"avril-0.1": "avril", "avril-0.17-cvar": "avril", "qvirl-k08": "qvirl",
		"qvirl-matched-cvar": "qvirl-matched", "bc-tuned": "bc", "qvirl-tuned": "qvirl", "reference": "valuewalk"} {
		v, err1 := Lookup(variant)
		b, err2 := Lookup(base)
		if err1 != nil || err2 != nil || v.Color() != b.Color() || v.Line == b.Line && variant != "qvirl-k08" {
			t.Errorf("%s is %s %q, and %s %s %q: %v %v", variant, v.Color(), v.Line, base, b.Color(), b.Line, err1,
				err2)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := Check("qvirl", "n", "expert's β = 2", "W1 to the exact posterior", "avril-0.3"); err != nil {
		t.Error(err)
	}
	if err := Check("qvirl", "qvirll"); err == nil || !strings.Contains(err.Error(), `"qvirll"`) ||
		!strings.Contains(err.Error(), "your own has a capital letter or a space") {
		t.Errorf("error %v", err)
	}
	if err := CheckCurves("training", "log-likelihood", "came", "qvirl-svi", "avril-0.3"); err != nil {
		t.Error(err)
	}
	if err := CheckCurves("training", "qvirl-sv"); err == nil || !strings.Contains(err.Error(), `"qvirl-sv"`) {
		t.Errorf("error %v", err)
	}
}

// TestSettingsOfOneMethod are no other method's: λ is AVRIL's alone.
func TestSettingsOfOneMethod(t *testing.T) {
	for name, want := range map[string][2]string{"avril-0.17": {"avril", "lambda=0.17"}, "own-0.17": {"own-0.17", ""},
		"qvirl-kl-0.5": {"qvirl", "kl=0.5"}, "own-kl-0.5": {"own-kl-0.5", ""}} {
		if base, variant := Split(name); base != want[0] || variant != want[1] {
			t.Errorf("%s is the variant %q of %q, want %q", name, variant, base, want)
		}
	}
}
