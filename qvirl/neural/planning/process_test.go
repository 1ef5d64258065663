package planning

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/neural/variational"
)

// priorOfTest has two numbers of an observation and three actions, whose lengthscales differ.
var priorOfTest = variational.Prior{Mean: -0.7, Std: 1.5, Lengthscales: []float64{0.5, 2, 1, 1.3, 0.8}}

// plainCovariance is the prior's, written out over state ⊕ one-hot action.
func plainCovariance(a, b []float32, actionA, actionB int) float64 {
	sum := 0.0
	for f := range a {
		d := (float64(a[f]) - float64(b[f])) / priorOfTest.Lengthscales[f]
		sum += d * d
	}
	for c, l := range priorOfTest.Lengthscales[len(a):] {
		hot := func(action int) float64 {
			if action == c {
				return 1
			}
			return 0
		}
		d := (hot(actionA) - hot(actionB)) / l
		sum += d * d
	}
	return priorOfTest.Std * priorOfTest.Std * math.Exp(-sum/2)
}

func drawPairs(random *rand.Rand, n int) Pairs {
	var p Pairs
	for range n {
		p.add([]float32{float32(random.NormFloat64()), float32(3 * random.NormFloat64())}, random.IntN(3))
	}
	return p
}

// plainMatrix returns the covariances between pairs.
func plainMatrix(a, b Pairs) *mat.Dense {
	out := mat.NewDense(len(a.Actions), len(b.Actions), nil)
	for i, x := range a.Actions {
		for j, y := range b.Actions {
			out.Set(i, j, plainCovariance(a.Observations[2*i:2*i+2], b.Observations[2*j:2*j+2], x, y))
		}
	}
	return out
}

// inverse adds the jitter and inverts by LU, not by Cholesky.
func inverse(t *testing.T, k *mat.Dense, add func(i int) float64) *mat.Dense {
	t.Helper()
	n, _ := k.Dims()
	sum := mat.DenseCopyOf(k)
	for i := range n {
		sum.Set(i, i, sum.At(i, i)+add(i))
	}
	var out mat.Dense
	if err := out.Inverse(sum); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestProcessIsThePosteriorAtPairsAndThePriorAway(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	z, x := drawPairs(random, 7), drawPairs(random, 5)
	x.add([]float32{400, -400}, 1)
	mean, cov := make([]float64, 7), mat.NewSymDense(7, nil)
	half := mat.NewDense(7, 7, nil)
	for i := range mean {
		mean[i] = random.NormFloat64()
		for j := range mean {
			half.Set(i, j, 0.2*random.NormFloat64())
		}
	}
	cov.SymOuterK(1, half)
	p, err := NewProcess(priorOfTest, 3, z, mean, cov)
	if err != nil {
		t.Fatal(err)
	}
	variance := priorOfTest.Std * priorOfTest.Std
	inv := inverse(t, plainMatrix(z, z), func(int) float64 { return jitter * variance })
	check := func(at Pairs, tolerance float64) {
		gotMean, gotStd := p.Rewards(at, true)
		k := plainMatrix(at, z)
		var gain, less, more mat.Dense
		gain.Mul(k, inv)
		less.Mul(&gain, k.T())
		more.Product(&gain, cov, gain.T())
		for i := range at.Actions {
			want := priorOfTest.Mean
			for j, m := range mean {
				want += gain.At(i, j) * (m - priorOfTest.Mean)
			}
			std := math.Sqrt(variance - less.At(i, i) + more.At(i, i))
			if !scalar.EqualWithinAbs(gotMean[i], want, tolerance) || !scalar.EqualWithinAbs(gotStd[i], std,
				tolerance) {
				t.Errorf("reward %d is %.9f ± %.9f, want %.9f ± %.9f", i, gotMean[i], gotStd[i], want, std)
			}
			averse := p.Averse(at, 0.4)[i]
			if !scalar.EqualWithinAbs(averse, want-0.4*std, 2*tolerance) {
				t.Errorf("reward %d less its risk is %.9f, want %.9f", i, averse, want-0.4*std)
			}
		}
	}
	check(x, 1e-8)
	atPairs, stds := p.Rewards(z, true)
	for i := range mean { // the jitter is 1e-6
		if !scalar.EqualWithinAbs(atPairs[i], mean[i], 1e-3) || !scalar.EqualWithinAbs(stds[i], math.Sqrt(cov.At(i,
			i)), 1e-2) {
			t.Errorf("at pair %d the reward is %g ± %g, the posterior %g ± %g", i, atPairs[i], stds[i], mean[i],
				math.Sqrt(cov.At(i, i)))
		}
	}
	far, farStd := p.Rewards(x.at([]int{5}), true)
	if !scalar.EqualWithinAbs(far[0], priorOfTest.Mean, 1e-12) || !scalar.EqualWithinAbs(farStd[0], priorOfTest.Std,
		1e-12) {
		t.Errorf("far away the reward is %g ± %g, want the prior", far[0], farStd[0])
	}
}

// A plan goes on from a checkpoint only with the same rewards, and the same doubt about them.
func TestProcessesDifferInDigest(t *testing.T) {
	z := drawPairs(rand.New(rand.NewPCG(8, 1)), 4)
	digest := func(mean, noise, priorMean float64) string {
		t.Helper()
		prior := priorOfTest
		prior.Mean = priorMean
		p, err := Regress(prior, 3, z, slices.Repeat([]float64{mean}, 4), slices.Repeat([]float64{noise}, 4), 10)
		if err != nil {
			t.Fatal(err)
		}
		return p.digest()
	}
	one := digest(1, 0.1, 0)
	if again := digest(1, 0.1, 0); again != one {
		t.Errorf("the same process has the digests %s and %s", one, again)
	}
	// rewards that are the prior's mean have no weights: the noise tells in the deviations alone
	if digest(0, 0.1, 0) == digest(0, 0.2, 0) || digest(2, 0.1, 0) == one || digest(1, 0.1, 0.5) == one {
		t.Error("other processes have the same digest")
	}
}

func TestRegressionOnAllPairsIsExact(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	z, x := drawPairs(random, 9), drawPairs(random, 6)
	y, noise := make([]float64, 9), make([]float64, 9)
	for i := range y {
		y[i], noise[i] = random.NormFloat64(), 0.05+random.Float64()
	}
	p, err := Regress(priorOfTest, 3, z, y, noise, 100)
	if err != nil {
		t.Fatal(err)
	}
	inv := inverse(t, plainMatrix(z, z), func(i int) float64 { return noise[i] })
	var gain, less mat.Dense
	k := plainMatrix(x, z)
	gain.Mul(k, inv)
	less.Mul(&gain, k.T())
	mean, std := p.Rewards(x, true)
	for i := range mean {
		want := priorOfTest.Mean
		for j := range y {
			want += gain.At(i, j) * (y[j] - priorOfTest.Mean)
		}
		wantStd := math.Sqrt(priorOfTest.Std*priorOfTest.Std - less.At(i, i))
		// the jitter moves them by about its size in relation to the noise
		if !scalar.EqualWithinAbs(mean[i], want, 1e-4) || !scalar.EqualWithinAbs(std[i], wantStd, 1e-4) {
			t.Errorf("reward %d is %.6f ± %.6f, want %.6f ± %.6f", i, mean[i], std[i], want, wantStd)
		}
	}
}

func TestInducingPairsTellAboutAll(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	all := drawPairs(random, 12)
	for i := range 12 { // each a second time
		all.add(all.Observations[2*i:2*i+2], all.Actions[i])
	}
	chosen, err := Inducing(priorOfTest, 3, all, 24)
	if err != nil {
		t.Fatal(err)
	}
	if len(chosen) > 12 || len(chosen) < 6 {
		t.Fatalf("%d pairs of 12 different ones were chosen", len(chosen))
	}
	z := all.at(chosen)
	inv := inverse(t, plainMatrix(z, z), func(int) float64 { return 0 })
	var gain, less mat.Dense
	k := plainMatrix(all, z)
	gain.Mul(k, inv)
	less.Mul(&gain, k.T())
	variance := priorOfTest.Std * priorOfTest.Std
	for i := range all.Actions {
		if left := variance - less.At(i, i); left > distinct*variance*(1+1e-6) {
			t.Errorf("pair %d has the variance %g left", i, left)
		}
	}
	if few, err := Inducing(priorOfTest, 3, all, 3); err != nil || len(few) != 3 || few[0] != chosen[0] {
		t.Errorf("three pairs are %v, of %v (error %v)", few, chosen, err)
	}
}

func TestRefusesWhatIsNoProcess(t *testing.T) {
	z := Pairs{Observations: []float32{1, 2}, Actions: []int{1}}
	one := mat.NewSymDense(1, []float64{1})
	for name, f := range map[string]func() error{
		"too few means": func() error { _, err := NewProcess(priorOfTest, 3, z, nil, one); return err },
		"action 3": func() error {
			_, err := NewProcess(priorOfTest, 3, Pairs{Observations: z.Observations, Actions: []int{3}}, []float64{1},
				one)
			return err
		},
		"no pairs": func() error { _, err := Inducing(priorOfTest, 3, Pairs{}, 3); return err },
		"half a number": func() error {
			_, err := Inducing(priorOfTest, 3, Pairs{[]float32{1}, []int{1}},
				3)
			return err
		},
		"no noise": func() error {
			_, err := Regress(priorOfTest, 3, z, []float64{1}, []float64{0},
				3)
			return err
		},
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
