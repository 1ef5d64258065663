package metric

import "strings"

// Better says which values of a metric, named as in result rows, are the better ones: +1 higher ones, −1 lower ones; 0
// where neither are, such as the coverage of an interval, which ought to be what it claims.
func Better(name string) int {
	switch name {
	case LogDensity, "return", "ess_per_second":
		return 1
	case "ece", "ece_uncalibrated", "return_spread", "cvar_gap":
		return -1
	}
	switch {
	case strings.HasPrefix(name, "held_out_log_likelihood"), strings.HasPrefix(name, "return_true"),
		strings.HasPrefix(name, "return_posterior_mean"), strings.HasPrefix(name, "return_posterior_cvar"):
		return 1
	case strings.HasPrefix(name, W1), strings.HasPrefix(name, PolicyTV), strings.HasPrefix(name, PolicyL1),
		strings.HasSuffix(name, "seconds"):
		return -1
	}
	return 0
}
