package zoo

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/irl"
)

// shares compares probabilities that an answer gives with exact ones.
func shares(t *testing.T, c Case, what string, first int, want ...float64) {
	t.Helper()
	for i, w := range want {
		got, e := c.Exact.Policy[first+i], c.Exact.Error.Policy[first+i]
		if !(math.Abs(got-w) <= 4*e) || !(e < 0.01) {
			t.Errorf("%s: the probability of %s %d is %.4f ± %.4f, want %.4f", c.Name, what, i, got, e, w)
		}
	}
}

// TestAnswersCountExplanations compares answers that importance sampling gave, of which a proposal might have missed an
// explanation, with quadrature and with symmetry.
func TestAnswersCountExplanations(t *testing.T) {
	cases := map[string]Case{}
	for _, c := range all(t) {
		cases[c.Name] = c
	}
	shares(t, cases["six-goals"], "corridor", 6, 1./6, 1./6, 1./6, 1./6, 1./6, 1./6)
	for _, name := range []string{"two-roads", "two-roads-beta"} {
		shares(t, cases[name], "road", 2, exactRoads(cases[name].Problem)...)
	}
	shares(t, cases["two-rationalities"], "action", 0, consistency(cases["two-rationalities"].Problem))
}

// logSigmoid is log 1/(1 + exp −x).
func logSigmoid(x float64) float64 { return math.Min(x, 0) - math.Log1p(math.Exp(-math.Abs(x))) }

// normal calls f with the nodes and log weights of a sum over a standard normal variable.
func normal(nodes int, f func(z, logWeight float64)) {
	for i := range nodes {
		z := 9 * (2*float64(i)/float64(nodes-1) - 1)
		f(z, -z*z/2)
	}
}

// exactRoads returns the probabilities of the two roads, by quadrature over what each is worth and log β.
func exactRoads(p *irl.Problem) []float64 {
	const turn, ahead, first, length = 1, 2, 3, 8
	worth := func(road int) (mean, std float64) {
		for i := range length {
			s, w := first+road*length+i, math.Pow(p.Discount, float64(i))
			mean, std = mean+w*p.Prior.Mean[s], math.Hypot(std, w*p.Prior.Std[s])
		}
		return mean, std
	}
	mean0, std0 := worth(0)
	mean1, std1 := worth(1)
	known, spread := p.Prior.Mean[turn]-p.Prior.Mean[ahead], math.Hypot(p.Prior.Std[turn], p.Prior.Std[ahead])
	var all, second []float64
	normal(37, func(b, wb float64) {
		beta := p.Beta * math.Exp(p.BetaLogStd*b)
		normal(181, func(x, wx float64) {
			normal(181, func(y, wy float64) {
				v0, v1 := mean0+std0*x, mean1+std1*y
				choice := logSigmoid(beta * p.Discount * (v1 - v0))
				normal(19, func(z, wz float64) {
					gap := p.Discount * (known + spread*z + p.Discount*math.Max(v0, v1))
					l := wb + wx + wy + wz + float64(len(p.Demos))*logSigmoid(beta*gap)
					all, second = append(all, l), append(second, l+choice)
				})
			})
		})
	})
	share := math.Exp(floats.LogSumExp(second) - floats.LogSumExp(all))
	return []float64{1 - share, share}
}

// consistency returns the probability of the action that the expert always took in state 0 of bandits of two actions,
// by quadrature over β and the difference of rewards of each state, z standard deviations of the prior: the nodes are
// sinh-spaced, since under a large β those near 0 count alone.
func consistency(p *irl.Problem) float64 {
	const nodes, stretch, far = 4001, 12, 9
	counts := p.DemoCounts()
	var all, again []float64
	normal(401, func(b, wb float64) {
		beta, more := p.Beta*math.Exp(p.BetaLogStd*b), 0.0
		for s := range p.MDP.States() {
			std := math.Hypot(p.Prior.Std[2*s], p.Prior.Std[2*s+1])
			var likelihood, predicted []float64
			for i := range nodes {
				v := stretch * (2*float64(i)/(nodes-1) - 1)
				z := far * math.Sinh(v) / math.Sinh(stretch)
				gap := beta * std * z
				l := math.Log(math.Cosh(v)) - z*z/2 + counts[2*s]*logSigmoid(gap) + counts[2*s+1]*logSigmoid(-gap)
				likelihood, predicted = append(likelihood, l), append(predicted, l+logSigmoid(gap))
			}
			sum := floats.LogSumExp(likelihood)
			wb += sum
			if s == 0 {
				more = floats.LogSumExp(predicted) - sum
			}
		}
		all, again = append(all, wb), append(again, wb+more)
	})
	return math.Exp(floats.LogSumExp(again) - floats.LogSumExp(all))
}
