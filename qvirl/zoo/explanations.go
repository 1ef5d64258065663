package zoo

import (
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/irl"
)

// explanations have demonstrations that several rewards explain, with next to nothing between them.
func explanations(b *builder) {
	b.add("two-roads", "The expert turns off, away from a known reward of 4, to where two roads of 8 rooms begin. "+
		"Either may be worth it, against four standard deviations of the prior.", roads(), nil)
	b.add("two-roads-beta", "The two roads with β inferred, log β ~ N(log 5, 0.5²), from ten steps.", roads(),
		set(func(p *irl.Problem) { p.BetaLogStd, p.Demos = 0.5, p.Demos[:10] }))
	const arms, rooms = 6, 3
	goals := &irl.Problem{MDP: moves(2+arms*rooms, arms, func(s, a int) int {
		switch {
		case s == 0 && a > 0, s > 1 && (s-2)%rooms == rooms-1:
			return s
		case s == 1:
			return 2 + rooms*a
		}
		return s + 1
	}, nil), Prior: irl.IndependentPrior(2+arms*rooms, 0, 1), Discount: 0.95, Beta: 3, Demos: repeat(40, 0, 0)}
	goals.Prior.Mean[0], goals.Prior.Std[0] = 2, 0.05
	b.add("six-goals", "The expert leaves a lobby with a known reward of 2 for a hall with six corridors of three "+
		"rooms, in the last of which one stays: one of six goals is worth it.", goals, nil)
	const consistent, states = 2, 3
	bandits := &irl.Problem{MDP: moves(states, 2, func(int, int) int { return -1 }, nil),
		Prior: irl.IndependentPrior(2*states, 0, 0.03), Beta: 3, BetaLogStd: 1.2}
	for s := range states {
		other := 0
		if s >= consistent {
			bandits.Prior.Std[2*s], bandits.Prior.Std[2*s+1], other = 10, 10, 1
		}
		bandits.Demos = slices.Concat(bandits.Demos, repeat(3, s, 0), repeat(3, s, other))
	}
	b.add("two-rationalities", "Three choices between two rewards, β unknown: where little is at stake the expert is "+
		"consistent, and where much is, contradictory. He errs everywhere, or what is much is tied.", bandits, nil)
}

// roads is the problem of an expert who turns off, away from a known reward of 4, to where two roads of 8 rooms begin.
func roads() *irl.Problem {
	const length, turn, ahead, first, second = 8, 1, 2, 3, 3 + 8
	p := &irl.Problem{MDP: moves(second+length, 2, func(s, a int) int {
		switch s {
		case 0:
			return turn + a
		case turn:
			return first + a*length
		case ahead, second - 1, second + length - 1:
			return -1
		}
		return s + 1
	}, nil), Prior: irl.IndependentPrior(second+length, 0, 0.01), Discount: 0.99, Beta: 5, Demos: repeat(30, 0, 0)}
	p.Prior.Mean[ahead] = 4
	for i := range length {
		p.Prior.Std[first+i] = 1 / math.Sqrt(length)
		p.Prior.Mean[second+i], p.Prior.Std[second+i] = -2./length, 1.5/math.Sqrt(length)
	}
	return p
}

// trees are binary: each action leads to a part of the world of its own, and the leaves are worth most.
func trees(b *builder) {
	tree := func(states int) *irl.Problem {
		p := &irl.Problem{MDP: moves(states, 2, func(s, a int) int {
			if next := 2*s + 1 + a; next < states {
				return next
			}
			return -1
		}, nil), Prior: irl.IndependentPrior(states, 0, 0.3), Discount: 0.95, Beta: 5}
		for s := states / 2; s < states; s++ {
			p.Prior.Std[s] = 2
		}
		return p
	}
	b.add("tree-15", "A binary tree of 15 states; from its root the expert goes left ten times and right once.",
		tree(15), set(func(p *irl.Problem) { p.Demos = slices.Concat(repeat(10, 0, 0), repeat(1, 0, 1)) }))
	b.add("tree-31", "A binary tree of 31 states; from its root the expert goes left ten times: one of eight leaves "+
		"is worth it.", tree(31), set(func(p *irl.Problem) { p.Demos = repeat(10, 0, 0) }))
	b.add("tree-31-paths", "A binary tree of 31 states with four trajectories from its root to a leaf.", tree(31),
		simulate(4, 5, nil))
	b.add("tree-63", "A binary tree of 63 states with thirty steps to the left from its root, and thirty to the right "+
		"where those lead.", tree(63), set(func(p *irl.Problem) {
		p.Demos = slices.Concat(repeat(30, 0, 0), repeat(30, 1, 1))
	}))
}
