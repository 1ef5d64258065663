package metric

import "testing"

func TestBetter(t *testing.T) {
	for name, want := range map[string]int{W1: -1, W1NoDet: -1, PolicyTV: -1, PolicyTVNonterminal: -1, PolicyL1: -1,
		"policy_tv-10": -1, "train_seconds": -1, "ece": -1, LogDensity: 1, "return": 1, "return_true-5": 1,
		"return_posterior_cvar_heldout": 1, "held_out_log_likelihood_airborne": 1, "return_spread": -1,
		"return_own_cvar": 0, "return_posterior_std": 0, RewardCoverage: 0, "elbo": 0} {
		if got := Better(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}
