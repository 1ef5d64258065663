package irl

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"
)

// drawPrior draws a prior of any form whose rewards have scales from 1e-6 to 1e3, and its covariance, computed apart,
// [n, n].
func drawPrior(t *rapid.T) (Prior, *mat.Dense) {
	n := rapid.IntRange(1, 7).Draw(t, "rewards")
	k := rapid.IntRange(1, 9).Draw(t, "rank")
	number := rapid.Float64Range(-2, 2)
	scales := make([]float64, n)
	for i := range scales {
		scales[i] = math.Pow(10, rapid.Float64Range(-6, 3).Draw(t, "log scale"))
	}
	w := mat.NewDense(n, k, nil)
	for i := 0; i < n; i++ {
		for j := 0; j < k; j++ {
			w.Set(i, j, scales[i]*number.Draw(t, "w"))
		}
		w.Set(i, 0, scales[i]) // no reward is known
	}
	std := make([]float64, n)
	for i := range std {
		if rapid.Bool().Draw(t, "has std") {
			std[i] = scales[i] * rapid.SampledFrom([]float64{1e-3, 1}).Draw(t, "relative std")
		}
	}
	cov := mat.NewDense(n, n, nil)
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			for l := 0; l < k; l++ {
				cov.Set(i, j, cov.At(i, j)+w.At(i, l)*w.At(j, l))
			}
		}
		cov.Set(i, i, cov.At(i, i)+std[i]*std[i])
	}
	mean := make([]float64, n)
	switch rapid.SampledFrom([]string{"std", "cov", "low rank"}).Draw(t, "form") {
	case "std":
		cov.Zero()
		for i, s := range scales {
			cov.Set(i, i, s*s)
		}
		return Prior{Mean: mean, Std: scales}, cov
	case "cov":
		sym := mat.NewSymDense(n, nil)
		for i := 0; i < n; i++ {
			for j := i; j < n; j++ {
				sym.SetSym(i, j, cov.At(i, j))
			}
		}
		return Prior{Mean: mean, Cov: sym}, cov
	}
	return Prior{Mean: mean, LowRank: w, Std: std}, cov
}

// TestDiagonalPrior: standard deviations of zero are kept, and known.
func TestDiagonalPrior(t *testing.T) {
	for _, std := range [][]float64{{1, 2, 3}, {0, 2, 3}, {2, 0, 0}} {
		p := DiagonalPrior([]float64{1, 2, 3}, std)
		for i, v := range p.Variances() {
			if v != std[i]*std[i] {
				t.Errorf("%v: variance %d is %g", std, i, v)
			}
		}
		if err := p.validate(3, 2); err != nil {
			t.Errorf("%v: %v", std, err)
		}
	}
	if err := DiagonalPrior(make([]float64, 3), make([]float64, 3)).validate(3, 2); err == nil {
		t.Error("all rewards are known")
	}
}

// Every form of prior is accepted and factorised, relative to each reward's own scale: to a few roundings, but to as
// many as there are rewards where eigenvalues that may be rounding are left out.
func TestFactorSquaresToTheCovariance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, want := drawPrior(t)
		n := len(p.Mean)
		if err := p.validate(n, 1); err != nil {
			t.Fatal(err)
		}
		factor, err := p.Factor()
		if err != nil {
			t.Fatal(err)
		}
		if rows, k := factor.Dims(); rows != n || k > n {
			t.Fatalf("the factor is %d×%d, want %d rows and at most as many columns", rows, k, n)
		}
		var square mat.Dense
		square.Mul(factor, factor.T())
		cov, variances := p.Covariance(), p.Variances()
		for i := 0; i < n; i++ {
			if !scalar.EqualWithinRel(variances[i], want.At(i, i), 1e-14) {
				t.Errorf("variance %d is %g, want %g", i, variances[i], want.At(i, i))
			}
			for j := 0; j < n; j++ {
				unit := math.Sqrt(want.At(i, i) * want.At(j, j))
				if got := square.At(i, j); math.Abs(got-want.At(i, j)) > 1e-13*unit {
					t.Errorf("(L Lᵀ)[%d,%d] = %g, want %g", i, j, got, want.At(i, j))
				}
				if got := cov.At(i, j); math.Abs(got-want.At(i, j)) > 1e-14*unit {
					t.Errorf("covariance[%d,%d] = %g, want %g", i, j, got, want.At(i, j))
				}
			}
		}
	})
}

// The precision inverts the covariance in units of each reward, or the prior is singular, and then its correlations
// are nearly so.
func TestPrecision(t *testing.T) {
	singular := 0
	rapid.Check(t, func(t *rapid.T) {
		p, cov := drawPrior(t)
		n := len(p.Mean)
		std := make([]float64, n)
		corr, logDet := mat.NewSymDense(n, nil), 0.0
		for i := range std {
			std[i] = math.Sqrt(cov.At(i, i))
			logDet += 2 * math.Log(std[i])
			for j := 0; j <= i; j++ {
				corr.SetSym(i, j, cov.At(i, j)/std[i]/std[j])
			}
		}
		var eig mat.EigenSym
		if !eig.Factorize(corr, false) {
			t.Skip("no eigenvalues")
		}
		values := eig.Values(nil)
		precision, got, err := p.Precision()
		if err != nil {
			if singular++; !errors.Is(err, ErrSingularPrior) {
				t.Errorf("error %v", err)
			}
			if values[0] > 1e-10 { // the condition is estimated in another norm
				t.Errorf("the smallest eigenvalue is %g, but the prior counts as singular", values[0])
			}
			return
		}
		for _, v := range values {
			logDet += math.Log(v)
		}
		tolerance := 1e-14 * float64(n*n) / values[0]
		if !scalar.EqualWithinAbs(got, logDet, tolerance) {
			t.Errorf("log determinant %g, want %g", got, logDet)
		}
		for i := 0; i < n; i++ {
			for j := 0; j < n; j++ {
				sum, want := 0.0, 0.0
				for k := 0; k < n; k++ {
					sum += cov.At(i, k) * precision.At(k, j) / std[i] * std[j]
				}
				if i == j {
					want = 1
				}
				if math.Abs(sum-want) > tolerance {
					t.Errorf("(Σ Σ⁻¹)[%d,%d] = %g", i, j, sum)
				}
			}
		}
	})
	if singular == 0 {
		t.Error("no prior was singular")
	}
}

// Draws have the moments of the prior, whichever its form; the third and the last are singular.
func TestDrawMoments(t *testing.T) {
	const n = 40_000
	for _, p := range []Prior{
		{Mean: []float64{1, -2}, Std: []float64{3, 0.5}},
		{Mean: []float64{1, -2}, Cov: mat.NewSymDense(2, []float64{4, -1.2, -1.2, 1})},
		{Mean: []float64{1, -2}, Cov: mat.NewSymDense(2, []float64{4, -2, -2, 1})},
		{Mean: []float64{1, -2}, LowRank: mat.NewDense(2, 1, []float64{2, 1}), Std: []float64{0, .5}},
		{Mean: []float64{1, -2}, LowRank: mat.NewDense(2, 3, []float64{2, 1, 0, 1, 1, 1})},
		{Mean: []float64{1, -2}, LowRank: mat.NewDense(2, 1, []float64{2, 1})},
	} {
		factor, err := p.Factor()
		if err != nil {
			t.Fatal(err)
		}
		cov := p.Covariance()
		rng := rand.New(rand.NewPCG(3, 0))
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			x := p.Draw(rng, factor)
			a[i], b[i] = x[0], x[1]
		}
		for _, c := range []struct{ got, want, stdErr float64 }{ // the standard errors of Gaussian moments
			{stat.Mean(a, nil), 1, math.Sqrt(cov.At(0, 0) / n)}, {stat.Mean(b, nil), -2, math.Sqrt(cov.At(1, 1) / n)},
			{stat.Variance(a, nil), cov.At(0, 0), cov.At(0, 0) * math.Sqrt(2.0/n)},
			{stat.Covariance(a, b, nil), cov.At(0, 1),
				math.Sqrt((cov.At(0, 0)*cov.At(1, 1) + cov.At(0, 1)*cov.At(0, 1)) / n)},
		} {
			if !scalar.EqualWithinAbs(c.got, c.want, 4*c.stdErr) {
				t.Errorf("moment %g, want %g ± %g", c.got, c.want, c.stdErr)
			}
		}
	}
}

// What is positive semi-definite but for rounding is accepted, at scales that differ by 1e9; what is not is refused by
// its eigenvalue, 1 − c, and whatever its scales.
func TestSemidefiniteToWorkingPrecision(t *testing.T) {
	cov := func(c, small float64) *mat.SymDense {
		return mat.NewSymDense(3, []float64{1, c, 0, c, 1, 0, 0, 0, small * small})
	}
	for _, small := range []float64{1, 1e-6} {
		for _, c := range []float64{1, 1 + 1e-14, 1 + 1e-11} {
			p := Prior{Mean: make([]float64, 3), Cov: cov(c, small)}
			if err := p.validate(3, 1); err != nil {
				t.Errorf("correlation 1 + %g: %v", c-1, err)
			}
			factor, err := p.Factor()
			if err != nil {
				t.Fatal(err)
			}
			if _, k := factor.Dims(); k != 2 {
				t.Errorf("correlation 1 + %g: %d columns, want 2", c-1, k)
			}
			var square mat.Dense
			if square.Mul(factor, factor.T()); math.Abs(square.At(2, 2)/(small*small)-1) > 1e-14 {
				t.Errorf("the variance of the third reward is %g, want %g", square.At(2, 2), small*small)
			}
			if _, _, err := p.Precision(); !errors.Is(err, ErrSingularPrior) {
				t.Errorf("precision of a singular prior: error %v", err)
			}
		}
		p := Prior{Mean: make([]float64, 3), Cov: cov(1.001, small)}
		if err := p.validate(3, 1); err == nil || !strings.Contains(err.Error(), "smallest eigenvalue is -0.001 ") {
			t.Errorf("an indefinite covariance: error %v", err)
		}
		if _, err := p.Factor(); err == nil {
			t.Error("an indefinite covariance was factorised")
		}
	}
	near := Prior{Mean: make([]float64, 3), Cov: cov(1-1e-13, 1)} // which has a factor, but no inverse to trust
	if _, _, err := near.Precision(); !errors.Is(err, ErrSingularPrior) {
		t.Errorf("precision of a prior that is singular to working precision: error %v", err)
	}
	known := Prior{Mean: make([]float64, 2), Cov: mat.NewSymDense(2, []float64{4, 0, 0, 0})}
	if err := known.validate(2, 1); err != nil {
		t.Errorf("a known reward: %v", err)
	}
	if factor, err := known.Factor(); err != nil || math.Abs(factor.At(0, 0)) != 2 || factor.At(1, 0) != 0 {
		t.Errorf("a known reward: factor %v, error %v", factor, err)
	}
	for want, cov := range map[string][]float64{"covariance[1,1] = -1": {4, 0, 0, -1}, "covariance[0,1] = 1 beside": {4,
		1, 1, 0}, "covariance is zero everywhere": {0, 0, 0, 0}} {
		p := Prior{Mean: make([]float64, 2), Cov: mat.NewSymDense(2, cov)}
		if err := p.validate(2, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// The factor of a smooth kernel, singular to rounding, against eigenvalues of the whole matrix: its columns are
// orthogonal, their squares the eigenvalues, and their outer products the covariance.
func TestPrincipalFactor(t *testing.T) {
	const n = 60
	features := mat.NewDense(n, 1, nil)
	for i := range n {
		features.Set(i, 0, float64(i))
	}
	kernel := Kernel{Name: "rbf", Lengthscale: []float64{15}, Std: []float64{1}}
	p, err := KernelPrior(kernel, features, make([]float64, n))
	if err != nil {
		t.Fatal(err)
	}
	factor, err := p.Factor()
	if err != nil {
		t.Fatal(err)
	}
	var eig mat.EigenSym
	if !eig.Factorize(p.Cov, false) {
		t.Fatal("no eigenvalues")
	}
	values := eig.Values(nil)
	var outer, inner mat.Dense
	outer.Mul(factor, factor.T())
	inner.Mul(factor.T(), factor)
	_, rank := factor.Dims()
	if rank < 10 || rank > n/2 {
		t.Errorf("rank %d, of a matrix with a dozen eigenvalues above rounding", rank)
	}
	if !mat.EqualApprox(&outer, p.Cov, 1e-12) {
		t.Error("the factor's square is not the covariance")
	}
	for i := range rank {
		for j := range rank {
			want := 0.0
			if i == j {
				want = values[n-rank+i]
			}
			if got := inner.At(i, j); math.Abs(got-want) > 1e-12*values[n-1] {
				t.Errorf("columns %d and %d: inner product %g, want %g", i, j, got, want)
			}
		}
	}
}

// The Matérn kernels against the general formula 2^(1−ν)/Γ(ν) (√(2ν) r)^ν K_ν(√(2ν) r), whose Bessel function is an
// integral.
func TestKernels(t *testing.T) {
	bessel := func(nu, z float64) float64 { // ∫₀^∞ exp(−z cosh t) cosh(νt) dt
		return quad.Fixed(func(t float64) float64 { return math.Exp(-z*math.Cosh(t)) * math.Cosh(nu*t) }, 0, 12, 400,
			quad.Legendre{}, 0)
	}
	matern := func(nu float64) func(float64) float64 {
		return func(r float64) float64 {
			z := math.Sqrt(2*nu) * r
			return math.Pow(2, 1-nu) / math.Gamma(nu) * math.Pow(z, nu) * bessel(nu, z)
		}
	}
	features := mat.NewDense(3, 2, []float64{0, 0, 3, 4, 0, .5})
	ell, std := []float64{2, 4}, []float64{1, 2, 3}
	for name, c := range map[string]func(float64) float64{
		"rbf": func(r float64) float64 { return math.Exp(-r * r / 2) }, "matern12": matern(.5), "matern32": matern(1.5),
		"matern52": matern(2.5),
		"linear":   nil,
	} {
		p, err := KernelPrior(Kernel{Name: name, Lengthscale: ell, Std: std, Nugget: .25}, features, []float64{1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.validate(3, 1); err != nil {
			t.Fatal(err)
		}
		cov := p.Covariance()
		for i := 0; i < 3; i++ {
			for j := 0; j < 3; j++ {
				r2, dot := 0.0, 0.0
				for k, l := range ell {
					x, y := features.At(i, k)/l, features.At(j, k)/l
					r2, dot = r2+(x-y)*(x-y), dot+x*y
				}
				want := std[i] * std[j] * dot
				if c != nil && i != j {
					want = std[i] * std[j] * c(math.Sqrt(r2))
				} else if c != nil {
					want = std[i] * std[j]
				}
				if i == j {
					want += .25
				}
				if got := cov.At(i, j); !scalar.EqualWithinAbs(got, want, 1e-12) {
					t.Errorf("%s: covariance[%d,%d] = %.15g, want %.15g", name, i, j, got, want)
				}
			}
		}
	}
	good := Kernel{Name: "rbf", Lengthscale: []float64{1}, Std: []float64{1}}
	for want, change := range map[string]func(*Kernel, *mat.Dense){
		`no kernel "rfb"; there are rbf, matern12`: func(k *Kernel, _ *mat.Dense) { k.Name = "rfb" },
		"kernel lengthscale: got 3 numbers": func(k *Kernel, _ *mat.Dense) {
			k.Lengthscale = []float64{1, 1,
				1}
		},
		"kernel lengthscale[0] = 0": func(k *Kernel, _ *mat.Dense) { k.Lengthscale = []float64{0} },
		"kernel std[1] = -1":        func(k *Kernel, _ *mat.Dense) { k.Std = []float64{1, -1, 1} },
		"kernel std: got 0 numbers": func(k *Kernel, _ *mat.Dense) { k.Std = nil },
		"kernel nugget = -1":        func(k *Kernel, _ *mat.Dense) { k.Nugget = -1 },
		"features[2][1] = +Inf":     func(_ *Kernel, x *mat.Dense) { x.Set(2, 1, math.Inf(1)) },
	} {
		k, x := good, mat.DenseCopyOf(features)
		change(&k, x)
		if _, err := KernelPrior(k, x, make([]float64, 3)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	two := good
	two.Lengthscale = []float64{1, 2}
	if _, err := KernelPrior(two, mat.NewDense(3, 1, nil), make([]float64, 3)); err == nil ||
		!strings.HasSuffix(err.Error(), "kernel lengthscale: got 2 numbers, want 1, as there is one feature") {
		t.Errorf("two lengthscales of one feature: error %v", err)
	}
	if _, err := KernelPrior(good, features, nil); err == nil {
		t.Error("a mean of another length was accepted")
	}
	if _, err := KernelPrior(good, nil, nil); err == nil {
		t.Error("no features were accepted")
	}
}

// A smooth kernel on a grid of states, numerically singular at any long lengthscale, and far features are priors like
// any other.
func TestSmoothKernelsAreFactorised(t *testing.T) {
	x := mat.NewDense(36, 2, nil)
	for i := 0; i < 36; i++ {
		x.SetRow(i, []float64{float64(i % 6), float64(i / 6)})
	}
	for _, name := range Kernels() {
		for _, ell := range []float64{1e-8, 1, 3, 30, 1e6} {
			p, err := KernelPrior(Kernel{Name: name, Lengthscale: []float64{ell}, Std: []float64{1e-3}}, x,
				make([]float64, 36))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.validate(36, 1); err != nil {
				t.Errorf("%s, lengthscale %g: %v", name, ell, err)
				continue
			}
			factor, err := p.Factor()
			if err != nil {
				t.Fatal(err)
			}
			var square mat.Dense
			square.Mul(factor, factor.T())
			cov, variances := p.Covariance(), p.Variances()
			for i := 0; i < 36; i++ {
				for j := 0; j < 36; j++ {
					if unit := math.Sqrt(variances[i] * variances[j]); math.Abs(square.At(i, j)-cov.At(i,
						j)) > 1e-12*unit {
						t.Fatalf("%s, lengthscale %g: (L Lᵀ)[%d,%d] = %g, want %g", name, ell, i, j, square.At(i, j),
							cov.At(i, j))
					}
				}
			}
		}
	}
}
