package zoo

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/qvirl/irl"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
)

// corridors are README's corridor with one field changed.
func corridors(b *builder) {
	b.add("corridor", "README's three rooms in a row, all rewards N(0, 2²).", corridor(), nil)
	b.add("corridor-scales", "The corridor with prior standard deviations 10⁻³, 1 and 10³.", corridor(),
		set(func(p *irl.Problem) { p.Prior.Std = []float64{1e-3, 1, 1e3} }))
	b.add("corridor-ones", "The corridor with prior covariance 1·1ᵀ + 10⁻⁸ I: all rewards are almost the same one.",
		corridor(), set(func(p *irl.Problem) { withCov(p, func(i, j int) float64 { return 1 + 1e-8*eye(i, j) }) }))
	b.add("corridor-discount-0.999", "The corridor with γ = 0.999.", corridor(),
		set(func(p *irl.Problem) { p.Discount = 0.999 }))
	b.add("corridor-mean-1000", "The corridor with prior mean 1000: one would rather stay than walk to the end.",
		corridor(), set(func(p *irl.Problem) { p.Prior.Mean = constant(3, 1000) }))
	for _, beta := range []float64{20, 1e3, 1e6} {
		b.add(fmt.Sprintf("corridor-beta-%.0f", beta), fmt.Sprintf("The corridor with β = %.0f.", beta), corridor(),
			set(func(p *irl.Problem) { p.Beta = beta }))
	}
}

// scales have prior standard deviations over six orders.
func scales(b *builder) {
	b.add("scales-reversed", "The corridor with prior standard deviations 10³, 1 and 10⁻³.", corridor(),
		set(func(p *irl.Problem) { p.Prior.Std = []float64{1e3, 1, 1e-3} }))
	b.add("scales-grid", "A 3×3 gridworld with prior standard deviations from 10⁻³ to 10³.", grid(3),
		simulate(3, 5, func(p *irl.Problem) { p.Prior.Std = spread(9, -3, 3) }))
	b.add("scales-ring", "A recurrent ring of 6 states with prior standard deviations from 10⁻³ to 10³.",
		&irl.Problem{MDP: ring(6, 0.1), Prior: irl.IndependentPrior(6, 0, 1), Discount: 0.9, Beta: 1},
		simulate(3, 5, func(p *irl.Problem) { p.Prior.Std = spread(6, -3, 3) }))
	b.add("scales-pairs", "State-action rewards of the corridor with prior standard deviations from 10⁻³ to 10³.",
		corridor(),
		simulate(3, 4, func(p *irl.Problem) {
			p.Prior = irl.Prior{Mean: make([]float64, 6), Std: spread(6, 3, -3)}
		}))
}

// offsets have rewards far from zero, or in an unusual unit.
func offsets(b *builder) {
	b.add("offset-grid", "A paper's 3×3 world with prior mean 100.", world(3, 1, 3),
		set(func(p *irl.Problem) { p.Prior.Mean = constant(9, 100) }))
	b.add("offset-negative", "The corridor with prior mean −1000: all rooms cost dearly.", corridor(),
		set(func(p *irl.Problem) { p.Prior.Mean = constant(3, -1000) }))
	b.add("offset-recurrent", "A recurrent ring of 5 states with prior mean 10⁴, which decides nothing.",
		&irl.Problem{MDP: ring(5, 0.1), Prior: irl.IndependentPrior(5, 1e4, 1), Discount: 0.95,
			Beta: 2}, simulate(4, 5, nil))
	b.add("offset-mixed",
		"A 3×3 gridworld with prior means that alternate between −200 and 200, all of standard deviation 30.", grid(3),
		simulate(3, 5, func(p *irl.Problem) {
			p.Prior.Std, p.Beta = constant(9, 30), 0.2
			for i := range p.Prior.Mean {
				p.Prior.Mean[i] = float64(400*(i%2) - 200)
			}
		}))
	b.add("unit-micro", "The corridor with rewards in a unit a million times smaller: N(0, (2·10⁻⁶)²), β = 2·10⁶.",
		corridor(), set(func(p *irl.Problem) { p.Prior.Std, p.Beta = constant(3, 2e-6), 2e6 }))
}

// correlations have correlated priors.
func correlations(b *builder) {
	b.add("correlated-equal", "A 4×4 gridworld whose rewards all correlate by 0.9.", grid(4),
		simulate(4, 5, func(p *irl.Problem) {
			withCov(p, func(i, j int) float64 { return 9 * (0.9 + 0.1*eye(i, j)) })
		}))
	b.add("correlated-negative", "A 3×3 gridworld whose neighbours in number correlate by −0.5.", grid(3),
		simulate(4, 5, func(p *irl.Problem) {
			withCov(p, func(i, j int) float64 {
				if j == i+1 {
					return -4.5 * 0.99
				}
				return 9 * eye(i, j)
			})
		}))
	b.add("correlated-blocks", "A 4×4 gridworld whose rows each have nearly one reward, correlation 0.99.", grid(4),
		simulate(4, 5, func(p *irl.Problem) {
			withCov(p, func(i, j int) float64 {
				if i/4 != j/4 {
					return 0
				}
				return 9 * (0.99 + 0.01*eye(i, j))
			})
		}))
	b.add("correlated-pairs",
		"State-action rewards of a line of 5 rooms: a common part of each room, and costs of actions.",
		&irl.Problem{MDP: line(5, 0.9), Prior: irl.IndependentPrior(10, 0, 1), Discount: 0.95, Beta: 3},
		simulate(4, 6, func(p *irl.Problem) {
			withCov(p, func(i, j int) float64 {
				v := 0.1 * eye(i, j)
				if i/2 == j/2 {
					v += 4
				}
				if i%2 == j%2 {
					v += 1
				}
				return v
			})
		}))
}

// kernels have smooth priors.
func kernels(b *builder) {
	smooth := func(size int, kernel string, lengthscale float64) func(p *irl.Problem) {
		return func(p *irl.Problem) {
			k := irl.Kernel{Name: kernel, Lengthscale: []float64{lengthscale}, Std: []float64{3}, Nugget: 9e-8}
			withKernel(p, k, size)
		}
	}
	b.add("rbf-5x5", "A paper's 5×5 world with an RBF prior of lengthscale 3 over its cells.", world(5, 1, 5),
		set(smooth(5, "rbf", 3)))
	b.add("rbf-4x4-short", "A 4×4 gridworld with an RBF prior of lengthscale 1.", grid(4),
		simulate(4, 5, smooth(4, "rbf", 1)))
	b.add("rbf-4x4-long",
		"A 4×4 gridworld with an RBF prior of lengthscale 10: rewards are almost linear in the position.", grid(4),
		simulate(4, 5, smooth(4, "rbf", 10)))
	b.add("matern-32", "A 5×5 gridworld with a Matérn-3/2 prior of lengthscale 2.", grid(5),
		simulate(5, 5, smooth(5, "matern32", 2)))
	b.add("matern-52", "A paper's 4×4 world with a Matérn-5/2 prior of lengthscale 4.", world(4, 2, 4),
		set(smooth(4, "matern52", 4)))
	b.add("matern-12-line", "A line of 30 rooms with an Ornstein–Uhlenbeck (Matérn-1/2) prior of lengthscale 10.",
		&irl.Problem{MDP: line(30, 0.9), Prior: irl.IndependentPrior(30, 0, 1), Discount: 0.95, Beta: 2},
		simulate(4, 8, func(p *irl.Problem) {
			withKernel(p, irl.Kernel{Name: "matern12", Lengthscale: []float64{10}, Std: []float64{1}}, 1)
		}))
}

// singular have priors whose covariance is almost singular.
func singular(b *builder) {
	b.add("ones-grid", "A 3×3 gridworld with an end, whose rewards are almost one number: covariance 4·1·1ᵀ + 10⁻⁸ I.",
		world(3, 2, 3), set(func(p *irl.Problem) { withCov(p, func(i, j int) float64 { return 4 + 1e-8*eye(i, j) }) }))
	lowRank := func(n, rank int, diagonal float64) func(*irl.Problem, *rand.Rand) error {
		return func(p *irl.Problem, rng *rand.Rand) error {
			features := make([]float64, n*rank)
			for i := range features {
				features[i] = 2 * rng.NormFloat64()
			}
			return simulate(4, 5, func(p *irl.Problem) {
				withCov(p, func(i, j int) float64 {
					sum := diagonal * eye(i, j)
					for k := range rank {
						sum += features[i*rank+k] * features[j*rank+k]
					}
					return sum
				})
			})(p, rng)
		}
	}
	b.add("low-rank-1",
		"A 4×4 gridworld whose rewards are one unknown weight times a feature, but for 10⁻⁸ of variance.", grid(4),
		lowRank(16, 1, 1e-8))
	b.add("low-rank-2", "A 4×4 gridworld whose rewards are linear in two features, but for 10⁻⁸ of variance.", grid(4),
		lowRank(16, 2, 1e-8))
	b.add("low-rank-3", "A 5×5 gridworld whose rewards are linear in three features, but for 10⁻⁴ of variance.",
		grid(5), lowRank(25, 3, 1e-4))
	b.add("sum-zero", "A recurrent ring of 8 states whose rewards sum to almost nothing.",
		&irl.Problem{MDP: ring(8, 0.1), Prior: irl.IndependentPrior(8, 0, 1), Discount: 0.9, Beta: 3},
		simulate(4, 5, func(p *irl.Problem) {
			withCov(p, func(i, j int) float64 { return 4 * (eye(i, j) - 1.0/8 + 1e-8*eye(i, j)) })
		}))
}

// discounts go from a single step to ten thousand.
func discounts(b *builder) {
	b.add("discount-0", "State-action rewards with γ = 0: a logistic regression in each state.", corridor(),
		simulate(4, 4, func(p *irl.Problem) { p.Prior, p.Discount = irl.IndependentPrior(6, 0, 2), 0 }))
	b.add("discount-0.5", "A paper's 3×3 world with γ = 0.5.", world(3, 1, 3),
		simulate(3, 5, func(p *irl.Problem) { p.Discount = 0.5 }))
	for _, g := range []float64{0.99, 0.999, 0.9999} {
		b.add(fmt.Sprintf("discount-%g-grid", g), fmt.Sprintf("A 3×3 gridworld without an end, γ = %g.", g), grid(3),
			simulate(3, 5, func(p *irl.Problem) { p.Discount = g }))
	}
	b.add("discount-0.9999-ring", "A recurrent ring of 5 states, γ = 0.9999.",
		&irl.Problem{MDP: ring(5, 0.2), Prior: irl.IndependentPrior(5, 0, 1), Discount: 0.9999,
			Beta: 1}, simulate(4, 5, nil))
	b.add("discount-0.9999-corridor", "The corridor with γ = 0.9999.", corridor(),
		set(func(p *irl.Problem) { p.Discount = 0.9999 }))
}

// rationalities go from an expert who hardly cares to one who never errs.
func rationalities(b *builder) {
	for _, beta := range []float64{0.01, 0.1, 1, 10, 100, 1e4} {
		b.add(fmt.Sprintf("beta-%g", beta), fmt.Sprintf("A 3×3 gridworld without an end, and an expert with β = %g.",
			beta), grid(3), simulate(3, 5, func(p *irl.Problem) { p.Beta = beta }))
	}
}

// data have none, few, many or contradictory demonstrations.
func data(b *builder) {
	b.add("none-3x3", "A paper's 3×3 world without demonstrations: the posterior is the prior.", world(3, 1, 0), nil)
	b.add("none-5x5", "A paper's 5×5 world without demonstrations.", world(5, 1, 0), nil)
	b.add("none-wide", "A 4×4 gridworld without an end and without demonstrations, all rewards N(0, 100²).", grid(4),
		set(func(p *irl.Problem) { p.Prior = irl.IndependentPrior(16, 0, 100) }))
	b.add("one", "A paper's 4×4 world with a single demonstrated step.", world(4, 1, 1),
		set(func(p *irl.Problem) { p.Demos = p.Demos[:1] }))
	b.add("contradictory", "The corridor with ten steps to the left and ten to the right in the same room.", corridor(),
		set(func(p *irl.Problem) { p.Demos = slices.Concat(repeat(10, 1, 0), repeat(10, 1, 1)) }))
	b.add("contradictory-grid", "A 3×3 gridworld whose expert took every action three times in the middle.", grid(3),
		set(func(p *irl.Problem) {
			for a := range gridworld.Actions {
				p.Demos = append(p.Demos, repeat(3, 4, a)...)
			}
		}))
	b.add("many-corridor", "The corridor with 10⁴ steps of an expert.", corridor(), simulateSteps(1e4))
	b.add("many-grid", "A 3×3 gridworld without an end, with 10⁴ steps of an expert.", grid(3), simulateSteps(1e4))
	b.add("many-pairs", "State-action rewards of a ring of 3 states, with 10⁴ steps of an expert.",
		&irl.Problem{MDP: ring(3, 0.1), Prior: irl.IndependentPrior(6, 0, 1), Discount: 0.9,
			Beta: 1}, simulateSteps(1e4))
}

// simulateSteps is simulate for n steps in states drawn uniformly of those where the episode goes on.
func simulateSteps(n int) func(*irl.Problem, *rand.Rand) error {
	return func(p *irl.Problem, rng *rand.Rand) error {
		starts := make([]float64, p.MDP.States())
		live := 0.0
		for s := range starts {
			if !p.MDP.Terminal(s) {
				starts[s], live = 1, live+1
			}
		}
		for s := range starts {
			starts[s] /= live
		}
		m, err := mdp.FromDense(p.MDP.States(), p.MDP.Actions(), p.MDP.Dense(), starts)
		if err != nil {
			return err
		}
		p.MDP = m
		return simulate(n, 1, nil)(p, rng)
	}
}

// improbable have demonstrations that no good policy would give under the prior.
func improbable(b *builder) {
	// The goal of 10 is to the right of the start, the pit of −10 to the left, and the expert goes left.
	pit := func(std, beta float64) *irl.Problem {
		m := moves(5, 2, func(s, a int) int {
			if s == 0 || s == 4 {
				return -1
			}
			return s + 2*a - 1
		}, nil)
		return &irl.Problem{MDP: m, Discount: 0.95, Beta: beta,
			Prior: irl.Prior{Mean: []float64{-10, 0, 0, 0, 10}, Std: constant(5, std)},
			Demos: slices.Concat(repeat(3, 2, 0), repeat(3, 1, 0))}
	}
	b.add("into-the-pit",
		"The expert walks into a pit of −10, and not to the goal of 10; both are known up to a standard deviation of "+
			"1.", pit(1, 2), nil)
	b.add("into-the-pit-known", "The same with rewards known up to 0.1: the steps are all but impossible.", pit(0.1, 2),
		nil)
	b.add("into-the-pit-rational", "The same with a standard deviation of 3 and β = 20.", pit(3, 20), nil)
	b.add("away-from-the-goal", "A 4×4 gridworld whose expert bumps into walls beside a goal of 10 ± 1.", grid(4),
		set(func(p *irl.Problem) {
			p.Prior.Mean[5], p.Prior.Std[5] = 10, 1
			p.Demos = slices.Concat(repeat(3, 1, gridworld.Up), repeat(3, 4, gridworld.Left))
		}))
}

// dynamics differ in where and how surely actions lead.
func dynamics(b *builder) {
	prior := func(m *mdp.MDP) *irl.Problem {
		return &irl.Problem{MDP: m, Prior: irl.IndependentPrior(m.States(), 0, 2), Discount: 0.9, Beta: 2}
	}
	b.add("self-loops", "A line of 6 rooms in which a step succeeds one time in ten.", prior(line(6, 0.1)),
		simulate(5, 6, nil))
	b.add("absorbing", "A line of 8 rooms, deterministic, the last of which ends the episode.", prior(line(8, 1)),
		simulate(5, 6, nil))
	b.add("absorbing-loop", "A line of 6 rooms, deterministic, whose last room can never be left and never ends.",
		prior(moves(6, 2, func(s, a int) int {
			if s == 5 {
				return 5
			}
			return max(s+2*a-1, 0)
		}, nil)), simulate(5, 6, nil))
	b.add("recurrent", "A ring of 8 states, deterministic, without an end.", prior(ring(8, 0)), simulate(5, 6, nil))
	b.add("random-sparse", "10 states, 3 actions, two random successors each.", &irl.Problem{},
		drawn(func(rng *rand.Rand) *irl.Problem { return prior(random(10, 3, 2, rng)) }, simulate(5, 6, nil)))
	b.add("random-dense", "8 states, 3 actions, every state a successor of every pair.", &irl.Problem{},
		drawn(func(rng *rand.Rand) *irl.Problem { return prior(random(8, 3, 8, rng)) }, simulate(5, 6, nil)))
	b.add("same-actions", "Two actions that do the same in a ring of 4 states: the demonstrations say nothing.",
		func() *irl.Problem {
			p := prior(moves(4, 2, func(s, _ int) int { return (s + 1) % 4 }, nil))
			p.Demos = slices.Concat(repeat(5, 0, 1), repeat(5, 2, 0))
			return p
		}(), nil)
	around := func(s, a int) int { return s/4*4 + (s+2*a+3)%4 } // back and on in rings of 4 states
	b.add("stop", "A ring of 4 states in which a third action ends the episode.",
		prior(moves(4, 3, func(s, a int) int {
			if a == 2 {
				return -1
			}
			return around(s, a)
		}, nil)), simulate(8, 6, nil))
	b.add("unreachable", "Two rings of 4 states without a way between them; the expert was in one.",
		prior(moves(8, 2, around, []float64{1, 0, 0, 0, 0, 0, 0, 0})), simulate(5, 6, nil))
}

// drawn is a change of a problem that is itself random.
func drawn(make func(*rand.Rand) *irl.Problem, then func(*irl.Problem, *rand.Rand) error) func(*irl.Problem,
	*rand.Rand) error {
	return func(p *irl.Problem, rng *rand.Rand) error {
		*p = *make(rng)
		return then(p, rng)
	}
}

// sizes go from one state to two hundred.
func sizes(b *builder) {
	b.add("one-state", "One state, three actions, state-action rewards: a bandit with a memory of γ = 0.9.",
		&irl.Problem{MDP: moves(1, 3, func(int, int) int { return 0 }, nil), Prior: irl.IndependentPrior(3, 0, 1),
			Discount: 0.9, Beta: 1, Demos: slices.Concat(repeat(4, 0, 0), repeat(2, 0, 1), repeat(1, 0, 2))}, nil)
	b.add("one-action", "Five states in a ring and a single action: the demonstrations say nothing.",
		func() *irl.Problem {
			rows := make([][]mdp.Transition, 5)
			for s := range rows {
				rows[s] = []mdp.Transition{{Next: (s + 1) % 5, Prob: 0.8}, {Next: s, Prob: 0.2}}
			}
			return &irl.Problem{MDP: must(mdp.New(5, 1, rows, nil)), Prior: irl.IndependentPrior(5, 1, 2),
				Discount: 0.9, Beta: 1, Demos: repeat(20, 1, 0)}
		}(), nil)
	b.add("two-states", "Two states, to stay or to change.",
		&irl.Problem{MDP: moves(2, 2, func(s, a int) int { return (s + a) % 2 }, nil),
			Prior: irl.IndependentPrior(2, 0, 2), Discount: 0.9, Beta: 1,
			Demos: slices.Concat(repeat(3, 0, 1), repeat(4, 1, 0), repeat(1, 1, 1))}, nil)
	b.add("ring-20", "A ring of 20 states.", &irl.Problem{MDP: ring(20, 0.1), Prior: irl.IndependentPrior(20, 0, 1),
		Discount: 0.9, Beta: 2}, simulate(5, 5, nil))
	b.add("line-100", "A line of 100 rooms, seen in a few places.",
		&irl.Problem{MDP: line(100, 0.9), Prior: irl.IndependentPrior(100, 0, 1), Discount: 0.9,
			Beta: 1}, simulate(4, 3, nil))
	b.add("line-200", "A line of 200 rooms, seen in a few places.",
		&irl.Problem{MDP: line(200, 0.9), Prior: irl.IndependentPrior(200, 0, 1), Discount: 0.95,
			Beta: 1}, simulate(3, 3, nil))
}

// pairs have rewards of state-action pairs.
func pairs(b *builder) {
	b.add("pairs-corridor", "State-action rewards of the corridor.", corridor(),
		simulate(4, 4, func(p *irl.Problem) { p.Prior = irl.IndependentPrior(6, 0, 2) }))
	b.add("pairs-ring", "State-action rewards of a ring of 4 states, γ = 0.99.",
		&irl.Problem{MDP: ring(4, 0.1), Prior: irl.IndependentPrior(8, 1, 1), Discount: 0.99, Beta: 2}, simulate(4,
			5, nil))
	b.add("pairs-grid", "State-action rewards of a 3×3 gridworld, 45 of them.", grid(3),
		simulate(4, 5, func(p *irl.Problem) { p.Prior = irl.IndependentPrior(45, -1, 2) }))
}

// known have known rewards beside unknown ones.
func known(b *builder) {
	// singleUnknown is the paper's illustration: all rewards known up to std, one N(−1, 10²).
	singleUnknown := func(std float64) *irl.Problem {
		w := must(gridworld.Parse("-1 -1 20T\n-1 -1 -1\n-1 -1 -1", 0))
		p := &irl.Problem{MDP: w.MDP, Prior: irl.Prior{Mean: slices.Clone(w.Reward), Std: constant(9, std)},
			Discount: 0.8, Beta: 1,
			Demos: []mdp.Step{{State: 0, Action: gridworld.Right}, {State: 1, Action: gridworld.Right},
				{State: 2, Action: gridworld.Stay}}}
		p.Prior.Mean[5], p.Prior.Std[5] = -1, 10
		return p
	}
	b.add("single-unknown", "The paper's 3×3 world with known rewards of standard deviation 0.1 beside one of 10.",
		singleUnknown(0.1), nil)
	b.add("single-unknown-sharp", "The same with known rewards of standard deviation 10⁻⁶.", singleUnknown(1e-6), nil)
	b.add("known-end", "The corridor with an end that is known to be worth 5, up to 10⁻⁶.", corridor(),
		set(func(p *irl.Problem) { p.Prior.Mean[2], p.Prior.Std[2] = 5, 1e-6 }))
	b.add("known-half", "A 4×4 gridworld of which every other reward is known up to 10⁻⁶.", grid(4),
		simulate(5, 5, func(p *irl.Problem) {
			for i := range p.Prior.Std {
				if i%2 == 0 {
					p.Prior.Std[i] = 1e-6
				}
			}
		}))
}

// inferred have an unknown β.
func inferred(b *builder) {
	unknown := func(median, logStd float64) func(p *irl.Problem) {
		return func(p *irl.Problem) { p.Beta, p.BetaLogStd = median, logStd }
	}
	b.add("beta-corridor", "The corridor with β inferred, log β ~ N(log 2, 0.5²).", corridor(), set(unknown(2, 0.5)))
	b.add("beta-grid", "A paper's 3×3 world with β inferred, log β ~ N(0, 1).", world(3, 1, 5), set(unknown(1, 1)))
	b.add("beta-none", "A paper's 3×3 world with β inferred and no demonstrations.", world(3, 2, 0),
		set(unknown(1, 0.5)))
	b.add("beta-many", "A ring of 4 states with β inferred from 500 steps.",
		&irl.Problem{MDP: ring(4, 0.1), Prior: irl.IndependentPrior(4, 0, 1), Discount: 0.9,
			Beta: 1}, func(p *irl.Problem, rng *rand.Rand) error {
			err := simulateSteps(500)(p, rng)
			p.BetaLogStd = 0.5
			return err
		})
	b.add("beta-contradictory", "The corridor with ten steps to the left and ten to the right, and β inferred.",
		corridor(),
		set(func(p *irl.Problem) { p.Demos, p.BetaLogStd = slices.Concat(repeat(10, 1, 0), repeat(10, 1, 1)), 0.5 }))
	b.add("beta-pairs", "State-action rewards of the corridor with β inferred.", corridor(),
		simulate(4, 4, func(p *irl.Problem) { p.Prior, p.BetaLogStd = irl.IndependentPrior(6, 0, 2), 0.5 }))
}

// gridworlds are the paper's.
func gridworlds(b *builder) {
	for _, size := range []int{3, 5, 8} {
		for seed := uint64(1); seed <= 2; seed++ {
			b.add(fmt.Sprintf("gridworld-%dx%d-%d", size, size, seed),
				fmt.Sprintf("A paper's random %d×%d world.", size, size), world(size, seed, 5), nil)
		}
	}
}
