package qvirl

import (
	"math"
	"math/rand/v2"
	"testing"

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
			if mean := stat.Mean(mat.Col(nil, i, rewards), nil); math.Abs(mean-p.meanR[i]) > 4*math.Sqrt(cov[3*i]/n) {
				t.Errorf("%s: mean %d is %g, want %g", name, i, mean, p.meanR[i])
			}
			for j := range 2 {
				if math.Abs(got.At(i, j)-cov[2*i+j]) > 4*4*math.Sqrt(2./n) {
					t.Errorf("%s: covariance %d,%d is %g, want %g", name, i, j, got.At(i, j), cov[2*i+j])
				}
			}
		}
	}
	if _, err := (&Gaussian{}).SampleRewards(nil, 0); err == nil {
		t.Error("no draws were accepted")
	}
}
