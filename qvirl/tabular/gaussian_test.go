package tabular

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/go-birl/birl/qvirl/irl"
)

// TestSampleRewardsHasTheMoments checks both a regular covariance and a singular one, for which the Cholesky
// factorisation does not exist.
func TestSampleRewardsHasTheMoments(t *testing.T) {
	const n = 40_000
	for name, cov := range map[string][]float64{"regular": {4, -1, -1, 2}, "singular": {4, 2, 2, 1}} {
		p := &Gaussian{meanR: []float64{1, -3}, around: &full{covR: mat.NewDense(2, 2, cov)}}
		rewards, err := p.SampleRewards(rand.New(rand.NewPCG(1, 2)), n)
		if err != nil {
			t.Fatal(err)
		}
		var got mat.SymDense
		stat.CovarianceMatrix(&got, rewards, nil)
		for i := range 2 {
			// four standard errors, which for a covariance are at most √(2/n) times the larger variance
			if mean := stat.Mean(mat.Col(nil, i, rewards), nil); !scalar.EqualWithinAbs(mean, p.meanR[i],
				4*math.Sqrt(cov[3*i]/n)) {
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

// TestDensityOfValues compares the density with that of another implementation, and where two values are equal but for
// one part in 10⁹, too close for the covariance to be factorised, with the formula. Where they are equal there is none.
func TestDensityOfValues(t *testing.T) {
	mean := []float64{3, -1}
	at := func(root []float64, x ...float64) (float64, error) {
		p := &Gaussian{meanX: mean, around: &full{rootX: mat.NewDense(2, 2, root)}}
		logs, err := p.ValueLogProbs(mat.NewDense(1, 2, x))
		if err != nil {
			return 0, err
		}
		return logs[0], nil
	}
	got, err := at([]float64{2, 0, 1, 0.5}, 3.5, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	normal, ok := distmv.NewNormal(mean, mat.NewSymDense(2, []float64{4, 2, 2, 1.25}), nil)
	if want := normal.LogProb([]float64{3.5, 0.1}); !ok || !scalar.EqualWithinAbs(got, want, 1e-12) {
		t.Errorf("log density %g, want %g", got, want)
	}
	if got, err = at([]float64{1, 0, 1, 1e-9}, 4, 2e-9); err != nil { // z = (1, 2)
		t.Fatal(err)
	}
	// 1 + 2e-9 has seven digits of the 2
	if want := -2.5 - math.Log(2*math.Pi*1e-9); !scalar.EqualWithinAbs(got, want, 1e-6) {
		t.Errorf("log density %g, want %g", got, want)
	}
	if _, err := at([]float64{1, 0, 1, 0}, 3, -1); err == nil {
		t.Error("a singular covariance has a density")
	}
}

// TestMomentsOfValues compares the moments with those that the posterior was made of, and with those of its draws.
func TestMomentsOfValues(t *testing.T) {
	const n = 40_000
	problem := &irl.Problem{MDP: chain(t), Prior: irl.IndependentPrior(2, 0, 1), Discount: 0.5, Beta: 1}
	mean, cov := []float64{3, -1}, mat.NewSymDense(2, []float64{4, -1, -1, 2})
	p, err := NewGaussian(problem, mean, cov, true)
	if err != nil {
		t.Fatal(err)
	}
	x, err := p.SampleValues(rand.New(rand.NewPCG(1, 2)), n)
	if err != nil {
		t.Fatal(err)
	}
	var drawn mat.SymDense
	stat.CovarianceMatrix(&drawn, x, nil)
	for i := range 2 {
		got := p.ValueMean()[i]
		average := stat.Mean(mat.Col(nil, i, x), nil)
		if got != mean[i] || !scalar.EqualWithinAbs(got, average, 4*math.Sqrt(cov.At(i, i)/n)) {
			t.Errorf("mean %d is %g, want %g", i, got, mean[i])
		}
		for j := range 2 {
			got := p.ValueCov().At(i, j)
			// four standard errors of draws, at most √(2/n) times the larger variance each
			if !scalar.EqualWithinAbs(got, cov.At(i, j), 1e-12) ||
				!scalar.EqualWithinAbs(got, drawn.At(i, j), 4*4*math.Sqrt(2./n)) {
				t.Errorf("covariance %d,%d is %g, want %g", i, j, got, cov.At(i, j))
			}
		}
	}
}
