package mcmc

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

// autoregressive returns chains of x_t = ρ x_{t−1} + √(1−ρ²) ε_t, started in their stationary distribution N(0, 1).
func autoregressive(chains, n int, rho float64, seed uint64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([][]float64, chains)
	for c := range out {
		x := rng.NormFloat64()
		for range n {
			x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			out[c] = append(out[c], x)
		}
	}
	return out
}

func rHat(x [][]float64) float64    { r, _, _ := Diagnose(x); return r }
func bulkESS(x [][]float64) float64 { _, e, _ := Diagnose(x); return e }
func tailESS(x [][]float64) float64 { _, _, e := Diagnose(x); return e }

// TestAutoregressive compares with the closed form: the mean of an AR(1) process has n (1−ρ)/(1+ρ) effective samples.
// The estimate's own standard deviation is a few percent at this length; 10 % is more than 3 of them.
func TestAutoregressive(t *testing.T) {
	const chains, n = 4, 20000
	for _, rho := range []float64{-0.3, 0, 0.5, 0.9} {
		x := autoregressive(chains, n, rho, 1)
		want := chains * n * (1 - rho) / (1 + rho)
		for name, got := range map[string]float64{"ESS": ESS(x), "BulkESS": bulkESS(x)} {
			if !scalar.EqualWithinAbs(got/want, 1, 0.1) {
				t.Errorf("ρ = %g: %s = %.0f, want %.0f", rho, name, got, want)
			}
		}
		// An indicator in the tail forgets faster than the process itself, but is no better than independent draws.
		if got := tailESS(x); rho >= 0 && !(got > 0.9*want && got < 1.1*chains*n) {
			t.Errorf("ρ = %g: TailESS = %.0f, want between %.0f and %d", rho, got, want, chains*n)
		}
		if got := rHat(x); !(got >= 0.9999 && got < 1.005) {
			t.Errorf("ρ = %g: R̂ = %.4f of chains that agree", rho, got)
		}
	}
}

// congruential returns chains of x_t = ρ x_{t−1} + u_t − ½, with u uniform by a linear congruential generator. With
// skewed, positive draws are cubed.
func congruential(chains, n int, rho float64, skewed bool) [][]float64 {
	state, out := uint32(12345), make([][]float64, chains)
	for c := range out {
		x := 0.0
		for range n {
			state = 1664525*state + 1013904223
			x = rho * x
			x += float64(state)/0x1p32 - 0.5
			draw := x
			if skewed && x > 0 {
				draw = x * x * x
			}
			out[c] = append(out[c], draw)
		}
	}
	return out
}

// TestArviZsNumbers compares with what ArviZ 0.23.4 says of chains of odd and even lengths that mix well and badly, and
// of antithetic ones, with more and with fewer effective samples than an estimate is believed.
func TestArviZsNumbers(t *testing.T) {
	for _, c := range []struct {
		chains, n              int
		rho                    float64
		skewed                 bool
		rHat, bulk, tail, mean float64
	}{
		{4, 201, 0.6, true, 1.0150493528387523, 161.98835106608712, 435.7700821173328, 180.79122027709292},
		{2, 40, -0.9, false, 1.0020692050973032, 152.24719895935547, 68.37740572680336, 152.24719895935547},
		{3, 50, 0.9, false, 1.186182920435473, 13.366344897641056, 34.670034733186, 13.029204399349686},
		{4, 400, -0.3, true, 1.0007824540318762, 4175.353410215705, 1518.5249421190674, 3616.1711200771383},
		{2, 23, 0.2, true, 1.0941051441153724, 16.64796742558961, 28.733908261467324, 21.203972901073474},
		{2, 9, 0.3, true, 1.1506779186014344, 19.265919722494797, 19.265919722494797, 19.265919722494797},
	} {
		x := congruential(c.chains, c.n, c.rho, c.skewed)
		rHat, bulk, tail := Diagnose(x)
		for name, numbers := range map[string][2]float64{"R̂": {rHat, c.rHat}, "bulk ESS": {bulk, c.bulk},
			"tail ESS": {tail, c.tail}, "ESS": {ESS(x), c.mean}} {
			if !scalar.EqualWithinRel(numbers[0], numbers[1], 1e-9) {
				t.Errorf("%d chains of %d draws, ρ = %g: %s = %.12g, want %.12g", c.chains, c.n, c.rho, name,
					numbers[0], numbers[1])
			}
		}
	}
}

// TestESSIsTheErrorOfTheMean checks what an effective sample size is for: over many replicates, the variance of the
// chains' mean is the variance of the draws over it.
func TestESSIsTheErrorOfTheMean(t *testing.T) {
	const replicates, chains, n = 400, 4, 500
	squares, predicted := 0.0, 0.0
	for r := range uint64(replicates) {
		x := autoregressive(chains, n, 0.7, 100+r)
		sum := 0.0
		for _, c := range x {
			for _, v := range c {
				sum += v
			}
		}
		squares += math.Pow(sum/(chains*n), 2) / replicates
		predicted += 1 / ESS(x) / replicates
	}
	// the mean of 400 squares of Gaussians has a relative standard error of √(2/400) = 7 %
	if !scalar.EqualWithinAbs(squares/predicted, 1, 4*math.Sqrt(2.0/replicates)) {
		t.Errorf("the variance of the mean is %g, the effective sample size says %g", squares, predicted)
	}
}

func TestDisagreementShows(t *testing.T) {
	shifted := autoregressive(4, 1000, 0, 2)
	for i := range shifted[0] {
		shifted[0][i] += 1
	}
	// One of four chains off by 1: eight halves whose means vary by 3/16·8/7 give √(1 + 0.21) before rank
	// normalisation.
	if got := rHat(shifted); !scalar.EqualWithinAbs(got, math.Sqrt(1+3.0/16*8/7), 0.05) {
		t.Errorf("R̂ = %.3f of chains with different means", got)
	}
	if got := bulkESS(shifted); got > 100 {
		t.Errorf("bulk ESS = %.0f of chains with different means", got)
	}
	wider := autoregressive(4, 1000, 0, 3)
	for i := range wider[0] {
		wider[0][i] *= 4
	}
	if got := rHat(wider); !(got > 1.1) {
		t.Errorf("R̂ = %.3f of chains with the same mean and different spreads", got)
	}
	drift := autoregressive(4, 1000, 0, 4)
	for _, c := range drift {
		for i := range c {
			c[i] += 3 * float64(i) / 1000
		}
	}
	if got := rHat(drift); !(got > 1.1) {
		t.Errorf("R̂ = %.3f of chains that drift alike, which only splitting shows", got)
	}
}

// TestHeavyTails checks that rank normalisation makes the diagnostics work without moments: Cauchy draws.
func TestHeavyTails(t *testing.T) {
	x := autoregressive(4, 2000, 0, 5)
	y := autoregressive(4, 2000, 0, 6)
	for c := range x {
		for i := range x[c] {
			x[c][i] /= y[c][i]
		}
	}
	if got := bulkESS(x); !scalar.EqualWithinAbs(got/8000, 1, 0.1) {
		t.Errorf("bulk ESS = %.0f of 8000 independent Cauchy draws", got)
	}
	if got := rHat(x); got > 1.005 {
		t.Errorf("R̂ = %.4f of independent Cauchy draws", got)
	}
}

func TestUndefined(t *testing.T) {
	for name, x := range map[string][][]float64{
		"nothing":         nil,
		"short":           {{1, 2, 3}},
		"constant":        {{1, 1, 1, 1}, {1, 1, 1, 1}},
		"unequal lengths": {{1, 2, 3, 4}, {1, 2, 3, 4, 5}},
		"not a number":    {{1, 2, 3, math.NaN()}},
		"infinite":        {{1, 2, 3, math.Inf(1)}},
	} {
		for function, f := range map[string]func([][]float64) float64{"rHat": rHat, "ESS": ESS, "bulkESS": bulkESS,
			"tailESS": tailESS} {
			if got := f(x); !math.IsNaN(got) {
				t.Errorf("%s of %s = %g, want NaN", function, name, got)
			}
		}
	}
	stuck := make([][]float64, 2) // each chain in a place of its own
	for c := range stuck {
		for range 100 {
			stuck[c] = append(stuck[c], float64(c))
		}
	}
	if got := rHat(stuck); !(got > 1.1) {
		t.Errorf("R̂ = %g of stuck chains", got)
	}
	if got := bulkESS(stuck); !(got < 4) {
		t.Errorf("bulk ESS = %g of stuck chains", got)
	}
}
