package metric

import (
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
)

// Better says which values of a metric, named as in result rows, are the better ones. Neither are, for instance, of the
// coverage of an interval, which ought to be what it claims.
func Better(name string) exhibit.Direction {
	switch name {
	case LogDensity, "return", "ess_per_second":
		return exhibit.Higher
	case "ece", "ece_uncalibrated", "return_spread", "cvar_gap":
		return exhibit.Lower
	}
	switch {
	case strings.HasPrefix(name, "held_out_log_likelihood"), strings.HasPrefix(name, "return_true"),
		strings.HasPrefix(name, "return_posterior_mean"), strings.HasPrefix(name, "return_posterior_cvar"):
		return exhibit.Higher
	case strings.HasPrefix(name, W1), strings.HasPrefix(name, PolicyTV), strings.HasPrefix(name, PolicyL1),
		strings.HasSuffix(name, "seconds"):
		return exhibit.Lower
	}
	return exhibit.Neither
}
