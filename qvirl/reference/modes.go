package reference

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/mcmc"
)

const (
	apart     = 1 // distance of two modes, in whitened rewards,
	distinct  = 4 // or in standard deviations of the narrower
	inferior  = 9 // nats below the best mode at which one is left out: see beside
	mostModes = 256
	modeSize  = 8_000_000 // most numbers in the roots of all modes
	little    = 0.01      // information on a whitened reward, beside 1 of the prior, that counts as none,
	lost      = 1e-20     // and on a combination of them that is lost in rounding
	few       = 25        // samples of a mode, which do not tell what it adds to a variance
	mostAway  = 1024      // modes that are counted of those that were turned away,
	crowd     = 0.05      // share of these in the evidence from which on too much is

	scoringSteps = 20   // of a climb, at most,
	settled      = 0.01 // until a step promises half as many nats,
	shortest     = 0.01 // or is so small a share of the first one tried
)

// mode is a local maximum of the posterior's density, with Laplace's approximation there, N(u, (I + H)⁻¹) of the
// evidence
//
//	log p(D | u) − ½ ‖u‖² − ½ log det(I + H),
//
// where H is the Fisher information; or what stands for that: a better Gaussian around it (see improved).
type mode struct {
	u        []float64
	parts    []part   // of I + H,
	others   []int    // which is the identity among all other coordinates
	logDet   float64  // of I + H
	evidence float64  // up to a constant
	told     [][]bool // whether each demonstrated state says something of each coordinate
}

// modes are several maxima of a posterior: explanations of the demonstrations between which no small step leads, such
// as that one far place is worth a detour or another. Chains jump between them (see block).
type modes []*mode

// with returns the modes, the best first, with one more, unless it is nil, among them already or inferior. If there is
// no room, one that others combine to goes, or else the least, which is turned away.
func (m modes) with(o *mode) (out, away modes) {
	if o == nil {
		return m, nil
	}
	out = slices.Clone(m)
	near := m.same(o)
	if near < 0 {
		out = append(out, o)
	} else if o.evidence > m[near].evidence {
		out[near] = o
	}
	slices.SortFunc(out, func(a, b *mode) int { return -cmp.Compare(a.evidence, b.evidence) })
	best := out[0]
	out = slices.DeleteFunc(out, func(p *mode) bool { return !best.beside(p) })
	var from []set
	for len(out) > mostModes || len(out) > 2 && out.size() > modeSize {
		if from == nil {
			from = out.differ()
		}
		least := len(out) - 1
		for least > 0 && !out.recombines(from, least) {
			least--
		}
		if least == 0 {
			least = len(out) - 1
			away = append(away, out[least])
		}
		out, from = slices.Delete(out, least, least+1), slices.Delete(from, least, least+1)
	}
	return out, away
}

// search is what climbs have found: the modes that chains jump between, and those that there was no room for.
type search struct {
	modes
	away modes // without parts; not those near one that is kept

	summits modes // that climbs have led to, and with
	fitted  modes // the best approximation of each (see Target.improved)
}

// climbed adds the mode that a climb has led to, unless it is nil, as it is with the best approximation, and returns
// that.
func (s *search) climbed(t *Target, summit *mode) *mode {
	if summit == nil {
		return nil
	}
	if i := s.summits.same(summit); i >= 0 {
		s.add(s.fitted[i])
		return s.fitted[i]
	}
	o := t.improved(summit)
	if len(s.summits) < mostSeen && s.summits.size() < modeSize {
		s.summits, s.fitted = append(s.summits, summit), append(s.fitted, o)
	}
	s.add(o)
	return o
}

// add adds a mode.
func (s *search) add(o *mode) {
	var away modes
	s.modes, away = s.modes.with(o)
	for _, o := range away {
		if len(s.away) < mostAway && s.away.same(o) < 0 && !slices.ContainsFunc(s.modes, o.near) {
			s.away = append(s.away, &mode{u: o.u, evidence: o.evidence})
		}
	}
}

// crowded reports whether modes that there was no room for, and that no shifts lead to, have too large a share of the
// evidence.
func (s *search) crowded() bool {
	left := slices.DeleteFunc(slices.Clone(s.away), func(o *mode) bool { return s.same(o) >= 0 })
	shifts, reached := s.shifts(), slices.Clone(s.modes)
	for n := 0; n < len(reached) && len(left) > 0; n++ {
		left = slices.DeleteFunc(left, func(o *mode) bool {
			leads := shifts.lead(reached[n], o)
			if leads {
				reached = append(reached, o)
			}
			return leads
		})
	}
	if len(left) == 0 {
		return false
	}
	all := append(reached, left...).shares()
	return floats.Sum(all[len(reached):]) > crowd
}

// size returns how many numbers the roots have.
func (m modes) size() (sum int) {
	for _, o := range m {
		for _, p := range o.parts {
			sum += len(p.root.RawMatrix().Data)
		}
	}
	return sum
}

// differ returns in which coordinates each mode is not the same as the best one.
func (m modes) differ() []set {
	out := make([]set, len(m))
	for i, o := range m {
		out[i] = o.differs(m[0])
	}
	return out
}

// recombines reports whether mode i has nothing of its own: where it differs from the best one, it is the same as
// others that differ from the best in a part of these places. Chains that jump in one place at a time come to it
// without knowing it. differ are the coordinates in which each differs from the best (see modes.differ).
func (m modes) recombines(differ []set, i int) bool {
	left := slices.Clone(differ[i])
	for k, o := range m {
		if k == 0 || k == i || !differ[i].holds(differ[k]) || slices.Equal(differ[k], differ[i]) {
			continue
		}
		for j, d := range o.differs(m[i]) {
			left[j] = left[j] && (d || !differ[k][j])
		}
	}
	return !slices.Contains(left, true)
}

// beside reports whether a mode with less evidence counts: its share of the posterior, times the square of its distance
// in standard deviations, is what it adds to a variance.
func (m *mode) beside(o *mode) bool {
	return o.evidence-m.evidence+math.Log(math.Max(1, m.squared(o.u))) > -inferior
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
			most = math.Max(most, adds(share, rewards[i][j]-mean, variance))
		}
	}
	return most
}

// rareBeta returns the same of β. There, modes count that are too improbable for chains to jump to: β is not Gaussian
// where its logarithm is, and one a thousand times as large adds a million times as much.
func (t *Target) rareBeta(found modes, samples *mcmc.Posterior) (most float64) {
	if len(found) < 2 {
		return 0
	}
	mean, variance := stat.MeanVariance(samples.Samples().Beta, nil)
	for i, share := range found.shares() {
		if t.rewardAt(found[i].u); share*float64(samples.Len()) < few {
			most = math.Max(most, adds(share, t.beta-mean, variance))
		}
	}
	return most
}

// adds returns what a share of the draws that is so far off the mean of the others adds to their standard deviation,
// relative; 0 where they have none.
func adds(share, off, variance float64) float64 {
	if !(variance > 0) {
		return 0
	}
	return math.Sqrt(1+share*off*off/variance) - 1
}

// same returns the index of the mode that is the same as o but for what climbs leave, or -1.
func (m modes) same(o *mode) int {
	return slices.IndexFunc(m, func(p *mode) bool { return floats.Distance(p.u, o.u, 2) < apart && p.near(o) })
}

// near reports whether two modes are so close for their widths that chains go from one to the other by themselves: half
// way, the density is exp(−distinct²/8) of that at either, about a seventh, or more.
func (m *mode) near(o *mode) bool {
	return math.Max(m.squared(o.u), o.squared(m.u)) < distinct*distinct
}

// climb returns the place of the greatest density that some steps of L-BFGS find from u.
func (t *Target) climb(u []float64) []float64 { return t.relax(t.ascend(u, nil)) }

// ascend is climb as far as L-BFGS goes, without steps in some orthonormal directions, which are held.
func (t *Target) ascend(u []float64, held [][]float64) []float64 {
	r, _ := optimize.Minimize(optimize.Problem{
		Func: func(x []float64) float64 { return floats.Dot(x, x)/2 - t.LogLikelihood(x, nil) },
		Grad: func(grad, x []float64) {
			t.LogLikelihood(x, grad)
			floats.SubTo(grad, x, grad)
			for _, h := range held {
				floats.AddScaled(grad, -floats.Dot(grad, h), h)
			}
		},
	}, u, &optimize.Settings{FuncEvaluations: climbSteps}, &optimize.LBFGS{})
	if r == nil || !(r.F < math.Inf(1)) { // err is that of a climb that ended early, too
		return u
	}
	return r.X
}

// summit returns the mode that a climb from u leads to, or nil where there is no density. From where L-BFGS has ended,
// Fisher scoring goes on until the density has hardly anything to gain,
//
//	u ← u + t (I + H)⁻¹ ∇ log p(u | D),   t the first of 1, ½, ¼, … at which the density rises.
//
// A log-likelihood is concave in the rewards as long as the best policy stays the same, however ill-conditioned. Where
// it does not, on the edge of two explanations, no step rises, and the climb ends.
func (t *Target) summit(u []float64) *mode {
	m := t.modeAt(t.climb(u))
	grad, way, to := make([]float64, len(u)), make([]float64, len(u)), make([]float64, len(u))
	for step := 0; m != nil && step < scoringSteps; step++ {
		density := t.LogLikelihood(m.u, grad) - floats.Dot(m.u, m.u)/2
		floats.Sub(grad, m.u)
		copy(way, grad)
		m.condition(way, func() float64 { return 0 })
		if !(floats.Dot(way, grad) > settled) {
			break
		}
		scale := 1.0
		for ; scale > shortest; scale /= 2 {
			floats.AddScaledTo(to, m.u, scale, way)
			if t.logDensity(to) > density {
				break
			}
		}
		if scale <= shortest {
			break
		}
		m = t.modeAt(slices.Clone(to))
	}
	return m
}

// relax returns u with the coordinates that demonstrations hardly say anything of there where the prior has them, all
// of them but those without which the density falls. A climb ends on the edge of two explanations that pay as one, such
// as rewards the least of which counts, before it has come to rest in all else.
func (t *Target) relax(u []float64) []float64 {
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
	root := t.information()
	m := newMode(u, root)
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

// shares are those of the modes in the evidence.
func (m modes) shares() []float64 {
	evidences := make([]float64, len(m))
	for i, o := range m {
		evidences[i] = o.evidence
	}
	return shares(evidences)
}

// mixture is that of the approximations at modes. Half of the weights are the modes' shares, and half are the same for
// all, so that chains soon leave one that has hardly a share, such as one of a block whose share depends on what else
// is as it is.
type mixture struct {
	modes
	weights []float64
	logs    []float64 // of the weights' densities at the modes, up to a constant
}

// mixture returns that of the modes.
func (m modes) mixture() mixture {
	out := mixture{m, m.shares(), make([]float64, len(m))}
	for i, o := range m {
		out.weights[i] = (out.weights[i] + 1/float64(len(m))) / 2
		out.logs[i] = math.Log(out.weights[i]) + o.logDet/2
	}
	return out
}

// draw draws from the mixture.
func (m *mixture) draw(rng *rand.Rand) []float64 {
	return m.modes[mdp.Draw(rng, m.weights)].draw(rng)
}

// nothing is how many nats below the greatest of its parts one adds nothing to a mixture's density.
const nothing = 50

// logDensities are those of the parts of the mixture, each with its weight, up to a constant; of parts that add nothing
// they are too large.
func (m *mixture) logDensities(u []float64) []float64 {
	terms, scratch, greatest := make([]float64, len(m.modes)), make([]float64, len(u)), math.Inf(-1)
	for i, o := range m.modes {
		terms[i] = m.logs[i] - o.squaredUpTo(u, 2*(m.logs[i]-greatest+nothing), scratch)/2
		greatest = math.Max(greatest, terms[i])
	}
	return terms
}
