package tabular

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// TestSampleRewardsHasTheMoments checks both a regular covariance and a singular one, for which the Cholesky factorisation
// does not exist.
func TestSampleRewardsHasTheMoments(t *testing.T) {
	const n = 40_000
	for name, cov := range map[string][]float64{"regular": {4, -1, -1, 2}, "singular": {4, 2, 2, 1}} {
		p := &Gaussian{meanR: []float64{1, -3}, covR: mat.NewDense(2, 2, cov)}
		rewards, err := p.SampleRewards(rand.New(rand.NewPCG(1, 2)), n)
		if err != nil {
			t.Fatal(err)
		}
		var got mat.SymDense
		stat.CovarianceMatrix(&got, rewards, nil)
		for i := range 2 {
			// four standard errors, which for a covariance are at most √(2/n) times the larger variance
			if mean := stat.Mean(mat.Col(nil, i, rewards), nil); !scalar.EqualWithinAbs(mean, p.meanR[i], 4*math.Sqrt(cov[3*i]/n)) {
				t.Errorf("%s: mean %d is %g, want %g", name, i, mean, p.meanR[i])
			}
			for j := range 2 {
				if !scalar.EqualWithinAbs(got.At(i, j), cov[2*i+j], 4*4*math.Sqrt(2./n)) {
					t.Errorf("%s: covariance %d,%d is %g, want %g", name, i, j, got.At(i, j), cov[2*i+j])
				}
			}
		}
	}
	if _, err := (&Gaussian{}).SampleRewards(nil, 0); err == nil {
		t.Error("no draws were accepted")
	}
}

// TestDensityOfARoundedCovariance checks that a covariance which rounding in single precision has left with an eigenvalue
// below zero has a density, nearly that of the covariance without rounding, and that one which is singular has none.
func TestDensityOfARoundedCovariance(t *testing.T) {
	x := mat.NewDense(1, 2, []float64{0.5, 0.1})
	at := func(cov ...float64) (float64, error) {
		logs, err := (&Gaussian{meanX: []float64{0, 0}, covX: mat.NewDense(2, 2, cov)}).ValueLogProbs(x)
		if err != nil {
			return 0, err
		}
		return logs[0], nil
	}
	got, err := at(2, 0, 0, -1e-7)
	if err != nil {
		t.Fatal(err)
	}
	// variances 2 and about 10⁻⁶, to which the diagonal is raised: the second coordinate is a hundred deviations out
	if want := -0.5*(0.25/2+0.01/0.9e-6) - math.Log(2*math.Pi*math.Sqrt(2*0.9e-6)); !scalar.EqualWithinAbs(got/want, 1, 1e-3) {
		t.Errorf("log density %g, want %g", got, want)
	}
	if _, err := at(2, 0, 0, -1e-3); err == nil {
		t.Error("a covariance with a negative variance has a density")
	}
}
