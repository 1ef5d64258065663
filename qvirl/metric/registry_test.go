package metric

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/exhibit"
)

func TestTheRegistryIsComplete(t *testing.T) {
	seen, last, kinds := map[string]bool{}, "", map[string]bool{}
	for _, m := range All() {
		key := fmt.Sprint(m.Name, m.Of)
		if seen[key] {
			t.Errorf("%s stands twice", key)
		}
		seen[key] = true
		if !like.MatchString(placeholder.ReplaceAllString(m.Name, "0")) || m.Label == "" || m.Unit == "" ||
			len(m.Sentence) < 10 {
			t.Errorf("%+v: want a name of lower-case letters, a label, a unit and a sentence", m)
		}
		if m.Kind != last && kinds[m.Kind] || m.Kind == "" {
			t.Errorf("%s: of the kind %q others stand further up", m.Name, m.Kind)
		}
		last, kinds[m.Kind] = m.Kind, true
	}
	for _, name := range Names {
		if _, err := Lookup("", name); err != nil {
			t.Error(err)
		}
	}
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ experiment, name, want string }{
		{"posterior-quality", W1, W1}, {"maxmean", "w1_3", "w1_{state}"},
		{"calibration", "rank_terminal", "rank_terminal"}, {"calibration", "rank_terminal_24", "rank_terminal_{state}"},
		{"x", "coverage_50", "coverage_50"},
		{"atari", "held_out_log_likelihood_at_12000", "held_out_log_likelihood_at_{steps}"},
	} {
		if m, err := Lookup(c.experiment, c.name); err != nil || m.Name != c.want {
			t.Errorf("%s: %q, error %v", c.name, m.Name, err)
		}
	}
	everywhere, _ := Lookup("refinement", PolicyTV)
	worst, _ := Lookup("zoo", PolicyTV)
	if strings.Contains(everywhere.Sentence, "worst") || !strings.Contains(worst.Sentence, "worst state") {
		t.Errorf("%q, and of the zoo %q", everywhere.Sentence, worst.Sentence)
	}
	for _, name := range []string{"", "w2", "w1_", "w1_x", "coverage_60", "rank_state", "reward_mean_{state}"} {
		m, err := Lookup("maxmean", name)
		if err == nil || !strings.Contains(err.Error(), "there are w1, w1_{state}, ") {
			t.Errorf("%q is %+v, error %v", name, m, err)
		}
	}
	if _, err := Lookup("zoo", "error"); err == nil {
		t.Error("the zoo has a metric of other experiments")
	}
}

func TestCheck(t *testing.T) {
	for _, name := range []string{"w1", "Regret", "w1 to mine"} {
		if err := Check("mine", name); err != nil {
			t.Error(err)
		}
	}
	if err := Check("mine", "regret"); err == nil || !strings.Contains(err.Error(), `"regret"`) ||
		!strings.Contains(err.Error(), "registry.csv") {
		t.Errorf("error %v", err)
	}
}

func TestBetter(t *testing.T) {
	for want, names := range map[exhibit.Direction][]string{
		exhibit.Lower:  {W1, W1NoDet, PolicyTV, PolicyTVNonterminal, PolicyL1, "w1_7", "train_seconds", "ece"},
		exhibit.Higher: {LogDensity, "return", "return_posterior_cvar_heldout", "held_out_log_likelihood_airborne"},
		exhibit.Neither: {"return_own_cvar", "return_posterior_std", RewardCoverage, "terminated", "error",
			"no_such_metric"},
	} {
		for _, name := range names {
			if got := Better(name); got != want {
				t.Errorf("%s: %d, want %d", name, got, want)
			}
		}
	}
	if m, _ := Lookup("", RewardCoverage); m.Best == nil || *m.Best != Level {
		t.Errorf("the best coverage is %v, want the level %g", m.Best, Level)
	}
}

func TestColumns(t *testing.T) {
	want := []exhibit.Column{{Metric: "rhat_max", Name: "largest R̂", Decimals: 4},
		{Metric: "x", Name: "x", Decimals: 4}}
	if got := Columns(4, "rhat_max", "x"); !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
	if got := Title("elbo") + Title("khat"); got != "ELBO"+"K̂" {
		t.Errorf("titles %q", got)
	}
}
