package refinement

import (
	"context"
	"fmt"
	"math"

	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// diagnosis says what an approximate posterior is good for, as far as its refinement tells. Its number is that of rows.
type diagnosis int

// The diagnoses.
const (
	trust    diagnosis = iota // the approximation may be used as it is
	improve                   // the refined posterior should be used in its place
	doNotUse                  // nor that: sample the posterior instead, or refine for longer
)

// diagnoses are the names of the diagnoses.
var diagnoses = []string{trust: "trust", improve: "refine", doNotUse: "do not use"}

// The limits of diagnose.
const (
	maxDrift       = 0.10 // posterior standard deviations
	maxPolicyDrift = 0.05 // total variation
)

const (
	ratioDraws  = 4000    // draws for importance sampling
	streamRatio = 1 << 23 // the random stream that they are from, apart from those of the refinement
)

// diagnose judges the approximate posterior that a refinement started from, by the refinement:
//
//   - doNotUse if the refinement has not come to rest, so that it vouches for nothing;
//   - trust if refinement moves the reward marginals by no more than 0.1 posterior standard deviations (W1, mean over
//     rewards, Monte Carlo error taken off) and the posterior-predictive policy by no more than 0.05 (total variation,
//     mean over states);
//   - improve otherwise.
//
// The limits are conventions. They were set with the errors against ValueWalk of 24 fits on 8×8 worlds of the paper
// that no reported result uses (seeds 1020–1027): the drift was within 10 % of the true error, except where training
// was cut short and the refinement had not come to rest; there it was a quarter too small, and the verdict is doNotUse.
func diagnose(atRest bool, d valuewalk.RefineDiagnostics) diagnosis {
	switch {
	case !atRest:
		return doNotUse
	case beyond(d.Drift, d.Noise) > maxDrift || d.PolicyDrift > maxPolicyDrift:
		return improve
	}
	return trust
}

// tail returns k̂ of Pareto-smoothed importance sampling (Vehtari et al., 2024) with the approximation that a
// refinement started from. It does not decide, because it answers another question, whether importance weights could
// repair the joint density: in tens of dimensions they cannot even where all marginals are accurate, and in few
// dimensions they can where the marginals are not.
func tail(ctx context.Context, refined *valuewalk.Refined, seed uint64) (kHat float64, err error) {
	rng := mcmc.Stream(seed, mcmc.Fingerprint(refined.Problem()), streamRatio)
	logs, err := valuewalk.LogRatios(ctx, refined.Start(), rng, ratioDraws)
	if err != nil {
		return 0, err
	}
	smoothed, err := mcmc.Smooth(logs)
	if err != nil {
		return 0, fmt.Errorf("refinement: %w", err)
	}
	return smoothed.KHat, nil
}

// beyond takes Monte Carlo error off a distance.
func beyond(distance, noise float64) float64 { return math.Sqrt(max(distance*distance-noise*noise, 0)) }
