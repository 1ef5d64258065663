package reference

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/mcmc"
)

const (
	apart     = 1 // distance of two modes, in whitened rewards,
	distinct  = 4 // or in standard deviations of the narrower
	inferior  = 9 // nats below the best mode at which one is left out: see beside
	mostModes = 256
	modeSize  = 8_000_000 // most numbers in the matrices of all modes
	little    = 0.01      // information on a whitened reward, beside 1 of the prior, that counts as none
	few       = 25        // samples of a mode, which do not tell what it adds to a variance
	fair      = 0.25      // share of a mode, in that of each if all had the same, that others like it may have, too
)

// mode is a local maximum of the posterior's density, with Laplace's approximation there, N(u, (I + H)⁻¹) of the
// evidence
//
//	log p(D | u) − ½ ‖u‖² − ½ log det(I + H),
//
// where H is the Fisher information.
type mode struct {
	u        []float64
	at       []int        // coordinates that the demonstrations tell something of: of all others, I + H is the identity
	upper    mat.TriDense // U of I + H = Uᵀ U among these
	logDet   float64      // of I + H
	evidence float64      // up to a constant
	told     [][]bool     // whether each demonstrated state says something of each coordinate
}

// modes are several maxima of a posterior: explanations of the demonstrations between which no small step leads, such
// as that one far place is worth a detour or another. Chains jump between them (see block).
type modes []*mode

// with returns the modes, the best first, with one more, unless it is nil, among them already or inferior.
func (m modes) with(o *mode) modes {
	if o == nil {
		return m
	}
	out := slices.Clone(m)
	near := m.same(o)
	if near < 0 {
		out = append(out, o)
	} else if o.evidence > m[near].evidence {
		out[near] = o
	}
	slices.SortFunc(out, func(a, b *mode) int { return -cmp.Compare(a.evidence, b.evidence) })
	best := out[0]
	out = slices.DeleteFunc(out, func(p *mode) bool { return !best.beside(p) })
	for len(out) > mostModes || len(out) > 2 && out.size() > modeSize {
		least := len(out) - 1
		for i := least; i > 0; i-- {
			if out.recombines(i) {
				least = i
				break
			}
		}
		out = slices.Delete(out, least, least+1)
	}
	return out
}

// crowded reports whether there is no place for another mode that may count as much as these do: there are as many as
// are kept, the least of them has a fair share of the evidence, and none combines others.
func (m modes) crowded() bool {
	if len(m) < mostModes || floats.Min(m.shares())*mostModes < fair {
		return false
	}
	for i := range m[1:] {
		if m.recombines(i + 1) {
			return false
		}
	}
	return true
}

// size returns how many numbers the matrices have.
func (m modes) size() (sum int) {
	for _, o := range m {
		sum += len(o.at) * len(o.at)
	}
	return sum
}

// recombines reports whether mode i has nothing of its own: where it differs from the best one, it is the same as
// others that differ from the best in a part of these places. Chains that jump in one place at a time come to it
// without knowing it.
func (m modes) recombines(i int) bool {
	differs := m[i].differs(m[0])
	left := slices.Clone(differs)
	for k, o := range m[1:] {
		from := o.differs(m[0])
		if k+1 == i || !differs.holds(from) || slices.Equal(from, differs) {
			continue
		}
		for j, d := range o.differs(m[i]) {
			left[j] = left[j] && (d || !from[j])
		}
	}
	return !slices.Contains(left, true)
}

// beside reports whether a mode with less evidence counts: its share of the posterior, times the square of its distance
// in standard deviations, is what it adds to a variance.
func (m *mode) beside(o *mode) bool {
	return o.evidence-m.evidence+math.Log(math.Max(1, m.squared(o.u))) > -inferior
}

// squared returns (u − μ)ᵀ (I + H) (u − μ), the square of the distance from the mode at μ in its standard deviations.
func (m *mode) squared(u []float64) float64 {
	offset := make([]float64, len(u))
	floats.SubTo(offset, u, m.u)
	m.within(offset, func(told blas64.Vector) { blas64.Trmv(blas.NoTrans, m.upper.RawTriangular(), told) })
	return floats.Dot(offset, offset)
}

// within lets do change what of x is at the coordinates that the demonstrations tell something of, if there are any.
func (m *mode) within(x []float64, do func(told blas64.Vector)) {
	if len(m.at) == 0 {
		return
	}
	told := make([]float64, len(m.at))
	for k, j := range m.at {
		told[k] = x[j]
	}
	do(blas64.Vector{N: len(told), Data: told, Inc: 1})
	for k, j := range m.at {
		x[j] = told[k]
	}
}

// rare returns the most that a mode adds to the standard deviation of a reward, relative to that of the samples, of
// those that few of them are of by their shares in the evidence.
func (t *Target) rare(m modes, samples *mcmc.Posterior) (most float64) {
	if len(m) < 2 {
		return 0
	}
	var shares []float64
	var rewards [][]float64
	for i, share := range m.shares() {
		if share*float64(samples.Len()) < few {
			t.rewardAt(m[i].u)
			shares, rewards = append(shares, share), append(rewards, slices.Clone(t.reward))
		}
	}
	for j := range t.reward {
		mean, variance := stat.MeanVariance(mat.Col(nil, j, samples.Rewards()), nil)
		for i, share := range shares {
			if off := rewards[i][j] - mean; variance > 0 {
				most = math.Max(most, math.Sqrt(1+share*off*off/variance)-1)
			}
		}
	}
	return most
}

// same returns the index of the mode that is the same as o but for what climbs leave, or -1.
func (m modes) same(o *mode) int {
	return slices.IndexFunc(m, func(p *mode) bool {
		return floats.Distance(p.u, o.u, 2) < apart && math.Max(p.squared(o.u), o.squared(p.u)) < distinct*distinct
	})
}

// climb returns the place of the greatest density that some steps of L-BFGS find from u.
func (t *Target) climb(u []float64) []float64 {
	r, _ := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return floats.Dot(x, x)/2 - t.LogLikelihood(x, nil) },
		Grad: func(grad, x []float64) {
			t.LogLikelihood(x, grad)
			floats.SubTo(grad, x, grad)
		},
	}, u, &optimize.Settings{FuncEvaluations: climbSteps}, &optimize.LBFGS{})
	if r == nil || !(r.F < math.Inf(1)) { // err is that of a climb that ended early, too
		return u
	}
	return t.rest(r.X)
}

// rest returns u with the coordinates that demonstrations hardly say anything of there where the prior has them, all
// of them but those without which the density falls. A climb ends on the edge of two explanations that pay as one, such
// as rewards the least of which counts, before it has come to rest in all else.
func (t *Target) rest(u []float64) []float64 {
	grad := make([]float64, len(u))
	density := t.LogLikelihood(u, grad) - floats.Dot(u, u)/2
	var free []int
	for j, g := range grad {
		if math.Abs(g) < math.Min(little, math.Abs(u[j])/2) {
			free = append(free, j)
		}
	}
	var let func(free []int)
	let = func(free []int) {
		at := slices.Clone(u)
		for _, j := range free {
			at[j] = 0
		}
		if d := t.logDensity(at); d >= density {
			u, density = at, d
		} else if half := len(free) / 2; half > 0 {
			let(free[:half])
			let(free[half:])
		}
	}
	if len(free) > 0 {
		let(free)
	}
	return u
}

// modeAt returns the mode at u, or nil where there is no density.
func (t *Target) modeAt(u []float64) *mode {
	logDensity := t.LogLikelihood(u, nil) - floats.Dot(u, u)/2
	information := mat.NewSymDense(len(u), nil)
	root := t.addInformation(information)
	m := newMode(u, priorAnd(information, 1))
	if math.IsNaN(logDensity) || m == nil {
		return nil
	}
	m.evidence = logDensity - m.logDet/2
	actions := t.problem.MDP.Actions()
	for d := range t.demoed {
		about := make([]float64, len(u))
		for a := range actions {
			for j, x := range root.RawRowView(d*actions + a) {
				about[j] += x * x
			}
		}
		told := make([]bool, len(u))
		for j, information := range about {
			told[j] = information > little
		}
		m.told = append(m.told, told)
	}
	return m
}

// newMode returns a mode with a curvature, but for its evidence; nil if that is not positive definite to rounding.
func newMode(u []float64, curvature *mat.SymDense) *mode {
	m := &mode{u: u}
	for j := range u {
		for l := range u {
			if x := curvature.At(j, l); j == l && x != 1 || j != l && x != 0 {
				m.at = append(m.at, j)
				break
			}
		}
	}
	if len(m.at) == 0 {
		return m
	}
	told := mat.NewSymDense(len(m.at), nil)
	for k, j := range m.at {
		for l := range k + 1 {
			told.SetSym(k, l, curvature.At(j, m.at[l]))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(told) {
		return nil
	}
	m.logDet = chol.LogDet()
	chol.UTo(&m.upper)
	return m
}

// draw draws from the mixture of the approximations: U⁻¹ ξ has the covariance (I + H)⁻¹.
func (m modes) draw(rng *rand.Rand) []float64 {
	chosen := m[pick(m.weights(), rng)]
	out := make([]float64, len(chosen.u))
	for i := range out {
		out[i] = rng.NormFloat64()
	}
	chosen.within(out, func(told blas64.Vector) { blas64.Trsv(blas.NoTrans, chosen.upper.RawTriangular(), told) })
	floats.Add(out, chosen.u)
	return out
}

// shares are those of the modes in the evidence.
func (m modes) shares() []float64 {
	evidences := make([]float64, len(m))
	for i, o := range m {
		evidences[i] = o.evidence
	}
	return shares(evidences)
}

// weights are those of the modes in the mixture: half are their shares, and half are the same for all, so that chains
// soon leave one that has hardly a share, such as one of a block whose share depends on what else is as it is.
func (m modes) weights() []float64 {
	out := m.shares()
	floats.Scale(0.5, out)
	floats.AddConst(0.5/float64(len(m)), out)
	return out
}

// logDensities are those of the parts of the mixture, each with its weight, up to a constant.
func (m modes) logDensities(u []float64) []float64 {
	terms := make([]float64, len(m))
	for i, weight := range m.weights() {
		terms[i] = math.Log(weight) + m[i].logDet/2 - m[i].squared(u)/2
	}
	return terms
}
