// Package matched is the recommended posterior: rewards with skewed marginals and Gaussian dependence ([Warped]), whose
// moments are those of a short Hamiltonian walk from a brief training of the paper's method.
//
//	start, err := tabular.New(tabular.StartConfig())
//	if err != nil {
//		return err
//	}
//	method, err := matched.New("qvirl-matched", start, matched.WarpedRewards, matched.Default())
//
// It is closer to the exact posterior than the paper's, at seven times its processor time in worlds of the paper's size
// and less than twice in larger ones. [valuewalk.Refine] takes it closer still, and package verdict says whether that
// is needed. With Problem.BetaLogStd, β is inferred with the rewards.
package matched
