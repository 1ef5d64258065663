package reference

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/mcmc"
)

const (
	jumpWork    = 0.25 // work of all jumps, in that of all other moves,
	leastJumps  = 0.5  // but so many after another transition
	mostJumps   = 16   // at least and at most,
	settleJumps = 64   // and in each block so many first, but no more than
	settleWork  = 2e8  // multiplications take
	leastShare  = 0.01 // of the first jumps in a single mode that lead anywhere, or there are no more,
	idle        = 1e-4 // of the first jumps in a block that lead from one mode to another, below which chains jump
	idleShare   = 0.1  // there so much less often
	mostBlocks  = 64
	blockSize   = 4e6 // most numbers in their matrices together,
	blockWork   = 4e9 // and most multiplications that these take
)

// block is some coordinates of u with the marginals there of the approximations at modes. Demonstrations in several
// places may each have several explanations, and all of them together more than can be found: a chain jumps in one
// place at a time, too, and leaves the others as they are.
type block struct {
	at      []int
	mixture mixture
	shifts  shifts  // or, with nothing else, differences of modes
	share   float64 // of the jumps
}

// blocks returns all coordinates and, of several modes, those in which they differ, in one place at a time; nil without
// modes.
func (m modes) blocks() []block {
	if len(m) == 0 {
		return nil
	}
	all := make([]int, len(m[0].u))
	for j := range all {
		all[j] = j
	}
	blocks, size, work := []block{{at: all, mixture: m.mixture()}}, 0, m.seenWork()
	if len(m) == 1 {
		return blocks
	}
	blocks = append(blocks, block{shifts: m.shifts()})
	for _, at := range m.differences() {
		size += len(m) * len(at) * len(at)
		if len(blocks) > mostBlocks || size > blockSize || float64(len(blocks))*work > blockWork {
			break
		}
		if marginals := m.marginals(at); len(marginals) > 1 {
			blocks = append(blocks, block{at: at, mixture: marginals.mixture()})
		}
	}
	return blocks
}

const whole = 2 // blocks are of all coordinates

// share gives a third of the jumps each to all coordinates, shifts and all other blocks together; a block in which
// jumps hardly lead from one mode to another, by the mean of their probabilities, gets a tenth of that.
func share(blocks []block, leads []float64) {
	sum := 0.0
	for i := range blocks {
		blocks[i].share = 1
		if i < whole {
			blocks[i].share = math.Max(1, float64(len(blocks)-whole))
		}
		if leads[i] < idle {
			blocks[i].share *= idleShare
		}
		sum += blocks[i].share
	}
	for i := range blocks {
		blocks[i].share /= sum
	}
}

// marginals returns those of the modes at some coordinates; of several that are the same, one has all the evidence.
func (m modes) marginals(at []int) modes {
	var out modes
	for _, o := range m {
		marginal := o.marginal(at)
		if marginal == nil {
			continue
		}
		if same := out.same(marginal); same >= 0 {
			out[same].evidence = floats.LogSumExp([]float64{out[same].evidence, o.evidence})
		} else {
			out = append(out, marginal)
		}
	}
	slices.SortFunc(out, func(a, b *mode) int { return cmp.Compare(b.evidence, a.evidence) })
	return out
}

// seenWork returns how many multiplications it takes to find the covariance of what is seen of all modes.
func (m modes) seenWork() (work float64) {
	for _, o := range m {
		for _, p := range o.parts {
			rows, columns := p.root.Dims()
			work += float64(rows) * float64(rows) * float64(columns) / 2
		}
	}
	return work
}

// reach adds the modes that climbs from some positions lead to, and returns all that are reached, inferior ones too. It
// reports whether there are modes among them that nobody knew of and that count, and that no others combine to.
func (s *sampling) reach(ctx context.Context, positions [][]float64) (reached modes, more bool) {
	before := s.found.modes
	summit := func(t *Target, i int) *mode { return t.summit(slices.Clone(positions[i])) }
	for o := range fromEach(ctx, s.base, len(positions), summit) {
		if o = s.found.climbed(s.base, o); o != nil && reached.same(o) < 0 {
			reached = append(reached, o)
		}
	}
	return reached, slices.ContainsFunc(s.found.modes, func(o *mode) bool {
		if before.same(o) >= 0 {
			return false
		}
		all := append(slices.Clone(before), o)
		return !all.recombines(all.differ(), len(before))
	})
}

// jumpBetween has the chains jump between the modes that are known, and those that they have reached, so that one that
// is stranded where there is next to nothing of the posterior jumps away from there; and exchange their goals.
func (s *sampling) jumpBetween(reached modes) {
	all := slices.Clone(s.found.modes)
	for _, o := range reached {
		if all.same(o) < 0 {
			all = append(all, o)
		}
	}
	blocks, goals := all.blocks(), all.goals()
	for _, k := range s.chains {
		k.blocks, k.goals = blocks, goals
	}
}

// findBlocks has the chains jump between the modes that are known, and those that the warm-up has led them to.
func (s *sampling) findBlocks(ctx context.Context) error {
	if s.found.modes == nil {
		return nil
	}
	var positions [][]float64
	for _, k := range s.chains {
		positions = append(positions, k.at.u)
	}
	reached, _ := s.reach(ctx, positions)
	s.jumpBetween(reached)
	return ctx.Err()
}

const (
	askedOf    = 64 // samples, from which climbs begin where chains have not converged,
	askedAfter = 4  // times as many iterations as before
)

// searchAgain looks for explanations that chains have come upon but did not know of. If there are any they begin anew,
// and jump to these, too.
func (s *sampling) searchAgain(ctx context.Context, samples *mcmc.Posterior) (more bool, err error) {
	err = s.job.Time(func() error {
		more, err = s.learnFrom(ctx, samples)
		return err
	})
	if !more || err != nil {
		return false, err
	}
	for _, k := range s.chains {
		k.trace = s.newTrace(len(k.draw))
	}
	return true, s.setJumps(ctx)
}

// learnFrom has the chains jump to the modes, too, that climbs from some of their samples lead to, if there are any
// that nobody knew of.
func (s *sampling) learnFrom(ctx context.Context, samples *mcmc.Posterior) (more bool, err error) {
	rng := mcmc.Stream(s.config.Seed, s.fingerprint(), againStream)
	var positions [][]float64
	for range askedOf {
		draw, err := samples.Sample(rng, 1)
		if err != nil {
			return false, err
		}
		if u, err := s.chains[0].target.whiten(draw); err == nil { // others will do
			positions = append(positions, u)
		}
	}
	reached, more := s.reach(ctx, positions)
	if more {
		s.jumpBetween(reached)
	}
	return more, ctx.Err()
}

// jump exchanges the values of two goals, and jumps in one of the blocks.
func (k *chain) jump() {
	if len(k.goals) > 1 && k.slice.exchange(moved(k.goals, k.at.u, k.rng), &k.at, k.rng) {
		k.keep()
	}
	probs := make([]float64, len(k.blocks))
	for i, b := range k.blocks {
		probs[i] = b.share
	}
	k.jumpIn(&k.blocks[mdp.Draw(k.rng, probs)])
}

// moved returns one of several goals, with a probability in proportion to the square of its value, and another. Where
// these have exchanged their values, the same two are as probable.
func moved(goals []int, u []float64, rng *rand.Rand) [2][]int {
	squares := make([]float64, len(goals))
	for k, j := range goals {
		squares[k] = u[j] * u[j]
	}
	floats.Scale(1/floats.Sum(squares), squares)
	from, to := mdp.Draw(rng, squares), rng.IntN(len(goals)-1)
	if to >= from {
		to++
	}
	return [2][]int{goals[from : from+1], goals[to : to+1]}
}

// jumpIn proposes a draw of the mixture in a block, and accepts it with the probability
// min(1, π(u') q(u) / (π(u) q(u'))), or a shift by a difference of modes, there or back. It returns that probability if
// the jump is one from one mode to another, or there is one alone, and otherwise 0.
func (k *chain) jumpIn(b *block) (leads float64) {
	if k.at.known < likelihoodToo {
		k.at.evaluate(k.target, likelihoodToo)
	}
	to := newState(len(k.at.u))
	copy(to.u, k.at.u)
	if b.shifts != nil {
		sign := float64(1 - 2*k.rng.IntN(2))
		floats.AddScaled(to.u, sign, b.shifts[k.rng.IntN(len(b.shifts))])
		to.evaluate(k.target, gradientToo)
		return k.accept(&to, to.logDensity()-k.at.logDensity())
	}
	from, drawn := make([]float64, len(b.at)), b.mixture.draw(k.rng)
	for i, j := range b.at {
		from[i], to.u[j] = k.at.u[j], drawn[i]
	}
	to.evaluate(k.target, gradientToo)
	// of the mixture at both places
	k.target.spent += 2 * dense * float64(len(b.mixture.modes)*len(b.at)+b.mixture.size())
	left, led := b.mixture.logDensities(from), b.mixture.logDensities(drawn)
	gain := to.logDensity() - k.at.logDensity() + floats.LogSumExp(left) - floats.LogSumExp(led)
	probability := k.accept(&to, gain)
	if len(left) > 1 && floats.MaxIdx(left) == floats.MaxIdx(led) {
		return 0
	}
	return probability
}

// accept goes to a state that was just evaluated with the probability min(1, exp(gain)), which it returns.
func (k *chain) accept(to *state, gain float64) (probability float64) {
	if math.IsNaN(gain) {
		return 0
	}
	probability = math.Min(1, math.Exp(gain))
	if k.rng.Float64() < probability {
		k.at.copyFrom(to)
		k.keep()
	}
	return probability
}
