package reference

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	weighedDraws = 32    // of an approximation, that its evidence is estimated by;
	alikeEnough  = 0.5   // with so large an effective share of them it will do
	mostPasses   = 20    // of expectation propagation,
	passWork     = 3e7   // of so many multiplications at most,
	damping      = 0.5   // share of a pass that is taken,
	still        = 0.02  // until nothing moves by so many standard deviations
	tails        = 20    // nats below the mode from which on a density counts as nothing
	intervals    = 64    // of Simpson's rule, on each side of the mode
	flat         = 1e-12 // variance of what the rewards do not change
)

// improved returns a mode with a better approximation of the posterior around it, if there is one. The curvature at a
// mode tells little where an expert hardly ever errs: demonstrations are walls then, modes lean against them, and the
// posterior goes on behind as wide as the prior lets it. Laplace's approximation stays where draws of it have nearly
// equal importance weights; the approximation by expectation propagation takes its place where these make the evidence
// larger.
func (t *Target) improved(m *mode) *mode {
	evidence, effective := t.weigh(m)
	if better := *m; !math.IsInf(evidence, -1) {
		better.evidence = evidence
		m = &better
	}
	if effective >= alikeEnough {
		return m
	}
	o := t.propagate(m)
	if o == nil {
		return m
	}
	if o.evidence, _ = t.weigh(o); !(o.evidence > m.evidence) {
		return m
	}
	o.told = m.told
	return o
}

// weigh returns an estimate of a mode's evidence, from draws u_i of its approximation N(μ, S),
//
//	log mean_i exp(log p(D | u_i) − ½ ‖u_i‖² + ½ (u_i − μ)ᵀ S⁻¹ (u_i − μ)) + ½ log det S,
//
// and the effective share of the draws. They are the same for all modes, so that these can be compared.
func (t *Target) weigh(m *mode) (evidence, effective float64) {
	rng := rand.New(rand.NewPCG(weighedDraws, 0))
	logs := make([]float64, weighedDraws)
	for i := range logs {
		u := m.draw(rng)
		if logs[i] = t.logDensity(u) + m.squared(u)/2; math.IsNaN(logs[i]) {
			logs[i] = math.Inf(-1)
		}
	}
	weights := shares(logs)
	return floats.LogSumExp(logs) - math.Log(weighedDraws) - m.logDet/2,
		1 / (weighedDraws * floats.Dot(weights, weights))
}

// pair compares two actions of a state by x = β (Q(s,a) − Q(s,b)), which is linear in u as long as the policy stays the
// same, x = offset + rowᵀ u. Of the demonstrations of both, σ(x)^won σ(−x)^lost is the likelihood, where σ is logistic:
// that of a state with more actions is about the product over its pairs.
type pair struct {
	offset, won, lost float64
}

// pairs returns the pairs of which one action was demonstrated, as they are at the last evaluation, which was at u, and
// their rows; nil if there are none.
func (t *Target) pairs(u []float64) (pairs []pair, rows *mat.Dense) {
	scores, actions := t.scores(), t.problem.MDP.Actions()
	var data []float64
	for d, s := range t.demoed {
		q, counts := t.solution.Q[s*actions:(s+1)*actions], t.counts[d*actions:(d+1)*actions]
		for a := range actions {
			for b := a + 1; b < actions; b++ {
				if counts[a] == 0 && counts[b] == 0 {
					continue
				}
				row := make([]float64, len(u))
				floats.SubTo(row, scores.RawRowView(d*actions+a), scores.RawRowView(d*actions+b))
				if floats.Dot(row, row) > flat {
					pairs = append(pairs, pair{t.beta*(q[a]-q[b]) - floats.Dot(row, u), counts[a], counts[b]})
					data = append(data, row...)
				}
			}
		}
	}
	if pairs == nil {
		return nil, nil
	}
	return pairs, mat.NewDense(len(pairs), len(u), data)
}

// propagate returns the approximation of the posterior around a mode by expectation propagation (Minka, 2001): the
// likelihood of each pair becomes exp(ν x − ½ τ x²), such that the mean and the variance of x are as if that were the
// exact one. With rows R and intercepts o, the covariance is (I + Rᵀ T R)⁻¹ and the mean that times Rᵀ (ν − T o). It is
// nil where that takes long, or leads nowhere.
func (t *Target) propagate(m *mode) *mode {
	t.LogLikelihood(m.u, nil)
	pairs, rows := t.pairs(m.u)
	n, dim := len(pairs), len(m.u)
	work := float64(dim) * float64(dim) * float64(n+dim/3)
	if n == 0 || work > passWork {
		return nil
	}
	tau, nu, about := make([]float64, n), make([]float64, n), make([]float64, n)
	mean, centre := make([]float64, n), make([]float64, dim)
	var root mat.Dense // √T R
	for pass, moved := 0, math.Inf(1); ; pass++ {
		t.spent += dense * work
		root.Apply(func(i, _ int, x float64) float64 { return math.Sqrt(tau[i]) * x }, rows)
		factor, _ := seen(root.T())
		if factor == nil {
			return nil
		}
		half := mat.DenseCopyOf(rows.T()) // C⁻¹ Rᵀ, C Cᵀ = I + Rᵀ T R
		blas64.Trsm(blas.Left, blas.NoTrans, 1, factor.RawTriangular(), half.RawMatrix())
		for i, p := range pairs {
			about[i] = nu[i] - tau[i]*p.offset
		}
		gemv(blas.NoTrans, half, about, 0, centre)
		if pass == mostPasses || moved < still {
			blas64.Trsv(blas.Trans, factor.RawTriangular(), blas64.Vector{N: dim, Data: centre, Inc: 1})
			break
		}
		gemv(blas.Trans, half, centre, 0, mean)
		moved = 0
		for i, p := range pairs {
			x, variance := p.offset+mean[i], 0.0
			for j := range dim {
				variance += half.At(j, i) * half.At(j, i)
			}
			left := 1/variance - tau[i] // of the precision, without this pair
			if !(left > 0) {
				continue
			}
			without := (x/variance - nu[i]) / left
			at, spread := p.tilted(without, 1/left)
			if !(spread > 0) {
				continue
			}
			moved = math.Max(moved, math.Abs(at-x)/math.Sqrt(variance)+math.Abs(spread/variance-1))
			tau[i] += damping * (math.Max(1/spread-left, 0) - tau[i])
			nu[i] += damping * (at/spread - without*left - nu[i])
		}
	}
	if floats.HasNaN(centre) {
		return nil
	}
	return newMode(centre, &root)
}

// tilted returns the mean and the variance of the density ∝ N(x; m, v) σ(x)^won σ(−x)^lost, which is log-concave: by
// Simpson's rule on either side of its mode.
func (p pair) tilted(m, v float64) (mean, variance float64) {
	log := func(x float64) float64 { // of both, log σ(−x) = log σ(x) − x
		if p.won == 0 {
			return -(x-m)*(x-m)/(2*v) - p.lost*softplus(x)
		}
		return -(x-m)*(x-m)/(2*v) - p.lost*x - (p.won+p.lost)*softplus(-x)
	}
	low, high := m-v*p.lost, m+v*p.won
	for range 60 {
		x := (low + high) / 2
		if slope := (m-x)/v + p.won/(1+math.Exp(x)) - p.lost/(1+math.Exp(-x)); slope > 0 {
			low = x
		} else {
			high = x
		}
	}
	mode := (low + high) / 2
	top := log(mode)
	var sum, first, second float64
	for _, side := range []float64{-1, 1} {
		reach := math.Min(math.Sqrt(v), 1/(1+p.won+p.lost))
		for top-log(mode+side*reach) < tails {
			reach *= 2
		}
		for i := range intervals + 1 {
			x := side * reach * float64(i) / intervals
			w := reach * math.Exp(log(mode+x)-top)
			switch {
			case i == 0 || i == intervals:
			case i%2 == 1:
				w *= 4
			default:
				w *= 2
			}
			sum += w
			first += w * x
			second += w * x * x
		}
	}
	first /= sum
	return mode + first, second/sum - first*first
}

// softplus returns log(1 + eˣ).
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
