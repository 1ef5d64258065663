package reference

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"
)

// quadrature sums over a grid of whitened rewards, of which the prior must have one or two, and of log β where it is
// inferred. The grid covers what a coarser one finds within 25 nats of the best.
func quadrature(t testing.TB, p *irl.Problem) *summary.Summary {
	t.Helper()
	factor, err := p.Prior.Factor()
	if err != nil {
		t.Fatal(err)
	}
	n, k := factor.Dims()
	solver, err := p.MDP.NewSolver(p.Discount)
	if err != nil {
		t.Fatal(err)
	}
	counts, reward := p.DemoCounts(), make([]float64, n)
	betas, betaWeights := []float64{p.Beta}, []float64{0}
	if p.InfersBeta() {
		betas, betaWeights = nil, nil
		for b := -6.0; b <= 6; b += 0.1 {
			betas, betaWeights = append(betas, p.Beta*math.Exp(p.BetaLogStd*b)), append(betaWeights, -b*b/2)
		}
	}
	// visit calls f at the centres of a grid of cells squared with the log density of each β.
	visit := func(low, high [2]float64, cells int, f func(z [2]float64, s *mdp.Solution, logs []float64)) {
		logs := make([]float64, len(betas))
		at := func(i, axis int) float64 { return low[axis] + (float64(i)+0.5)*(high[axis]-low[axis])/float64(cells) }
		second := cells
		if k == 1 {
			second = 1
		}
		for i := range cells {
			for j := range second {
				z := [2]float64{at(i, 0), 0}
				if k == 2 {
					z[1] = at(j, 1)
				}
				mat.NewVecDense(n, reward).MulVec(factor, mat.NewVecDense(k, z[:k]))
				floats.Add(reward, p.Prior.Mean)
				s, err := solver.Solve(reward)
				if err != nil {
					t.Fatal(err)
				}
				for b, beta := range betas {
					known := *p
					known.Beta = beta
					logs[b] = known.LogLikelihood(s.Q, counts) - (z[0]*z[0]+z[1]*z[1])/2 + betaWeights[b]
				}
				f(z, s, logs)
			}
		}
	}
	const wide = 40.0
	coarse, cells := 400, 500
	if p.InfersBeta() {
		coarse, cells = 120, 120
	}
	width := 2 * wide / float64(coarse)
	top := math.Inf(-1)
	visit([2]float64{-wide, -wide}, [2]float64{wide, wide}, coarse, func(_ [2]float64, _ *mdp.Solution,
		logs []float64) {
		top = math.Max(top, floats.Max(logs))
	})
	low, high := [2]float64{wide, wide}, [2]float64{-wide, -wide}
	visit([2]float64{-wide, -wide}, [2]float64{wide, wide}, coarse, func(z [2]float64, _ *mdp.Solution,
		logs []float64) {
		if floats.Max(logs) > top-25 {
			for axis := range z {
				low[axis], high[axis] = math.Min(low[axis], z[axis]-width), math.Max(high[axis], z[axis]+width)
			}
		}
	})
	states, pairs := p.MDP.States(), p.MDP.States()*p.MDP.Actions()
	out := &summary.Summary{RewardMean: make([]float64, n), RewardStd: make([]float64, n),
		ValueMean: make([]float64, states), ValueStd: make([]float64, states), Policy: make([]float64, pairs)}
	total := 0.0
	// Welford's update, for means far from zero.
	add := func(mean, spread *float64, x, weight float64) {
		d := x - *mean
		*mean += d * weight / total
		*spread += weight * d * (x - *mean)
	}
	visit(low, high, cells, func(_ [2]float64, s *mdp.Solution, logs []float64) {
		for b, log := range logs {
			w := math.Exp(log - top)
			if w < 1e-14 {
				continue
			}
			total += w
			for i, r := range reward {
				add(&out.RewardMean[i], &out.RewardStd[i], r, w)
			}
			for i, v := range s.V {
				add(&out.ValueMean[i], &out.ValueStd[i], v, w)
			}
			if p.InfersBeta() {
				add(&out.BetaMean, &out.BetaStd, betas[b], w)
			}
			floats.AddScaled(out.Policy, w, mdp.Boltzmann(nil, s.Q, p.MDP.Actions(), betas[b]))
		}
	})
	for _, spread := range [][]float64{out.RewardStd, out.ValueStd} {
		for i := range spread {
			spread[i] = math.Sqrt(spread[i] / total)
		}
	}
	out.BetaStd = math.Sqrt(out.BetaStd / total)
	floats.Scale(1/total, out.Policy)
	return out
}
