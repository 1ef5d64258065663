package metric

import (
	"testing"

	"github.com/go-birl/birl/qvirl/exhibit"
)

func TestBetter(t *testing.T) {
	for want, names := range map[exhibit.Direction][]string{
		exhibit.Lower: {W1, W1NoDet, PolicyTV, PolicyTVNonterminal, PolicyL1, "policy_tv-10", "train_seconds", "ece",
			"return_spread"},
		exhibit.Higher: {LogDensity, "return", "return_true-5", "return_posterior_cvar_heldout",
			"held_out_log_likelihood_airborne"},
		exhibit.Neither: {"return_own_cvar", "return_posterior_std", RewardCoverage, "elbo"},
	} {
		for _, name := range names {
			if got := Better(name); got != want {
				t.Errorf("%s: %d, want %d", name, got, want)
			}
		}
	}
}
