package reference

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// The mean and the variance of a tilted normal are those of the sums over a fine grid, wherever the walls stand.
func TestTilted(t *testing.T) {
	for _, c := range []struct{ m, v, won, lost float64 }{
		{0, 1, 1, 0}, {0, 1, 0, 1}, {-3, 4, 1, 0}, {-1500, 900 * 900, 1, 0}, {1500, 900 * 900, 1, 0},
		{200, 900 * 900, 30, 2}, {-20, 1, 3, 0}, {0.3, 1e-4, 5, 5}, {0, 1e8, 40, 1},
	} {
		p := pair{won: c.won, lost: c.lost}
		mean, variance := p.tilted(c.m, c.v)
		var grid, logs []float64
		std := math.Sqrt(variance)
		for i := range 400001 {
			x := mean + std*(float64(i)/5000-40)
			grid = append(grid, x)
			logs = append(logs, -(x-c.m)*(x-c.m)/(2*c.v)-c.won*softplus(-x)-c.lost*softplus(x))
		}
		top := floats.Max(logs)
		for i, l := range logs {
			logs[i] = math.Exp(l - top)
		}
		wantMean, wantStd := stat.PopMeanStdDev(grid, logs)
		// a wall between two points of the rule costs up to half of their distance, of which there are about ten in a
		// standard deviation, times the share of the density that it cuts off at once
		if math.Abs(mean-wantMean) > 5e-3*wantStd || math.Abs(std/wantStd-1) > 5e-3 {
			t.Errorf("N(%g, %g), %g won and %g lost: %g ± %g, want %g ± %g", c.m, c.v, c.won, c.lost, mean, std,
				wantMean, wantStd)
		}
	}
}

// walls is a problem in which an expert who hardly ever errs has chosen one of two ways in each of some forks: to an
// arm of the reward N(0, 1), rather than to an end that pays alt. From all arms a tunnel, a known loss, leads to the
// goal of the reward N(0, 1): either each arm pays for itself, or the goal for all of them.
func walls(t *testing.T, arms int, beta, alt, tunnel float64) (p *irl.Problem, goal int) {
	t.Helper()
	end, other, into, goal := 2*arms, 2*arms+1, 2*arms+2, 2*arms+3
	rows, means, std := make([][]mdp.Transition, 2*(goal+1)), make([]float64, goal+1), make([]float64, goal+1)
	p = &irl.Problem{Discount: 0.99, Beta: beta}
	way := func(s, first, second int) {
		rows[2*s], rows[2*s+1] = []mdp.Transition{{Next: first, Prob: 1}}, []mdp.Transition{{Next: second, Prob: 1}}
	}
	for k := range arms {
		way(k, arms+k, other)
		way(arms+k, end, into)
		std[arms+k] = 1
		p.Demos = append(p.Demos, mdp.Step{State: k})
	}
	way(into, goal, goal)
	means[other], means[into], std[goal] = alt, tunnel, 1
	p.Prior = irl.DiagonalPrior(means, std)
	var err error
	if p.MDP, err = mdp.New(goal+1, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p, goal
}

// goalOf returns the mean and the standard deviation of the goal's reward by the sums over a grid: given it, the arms
// are independent.
func goalOf(p *irl.Problem, arms int, goal int) (mean, std float64) {
	alt, tunnel := p.Prior.Mean[goal-2], p.Prior.Mean[goal-1]
	behind := func(ahead float64) (sum float64) { // what of an arm's prior is behind its wall
		for x := -8.; x < 8; x += 1e-3 {
			sum += math.Exp(-x*x/2 - softplus(-p.Beta*p.Discount*(x+ahead-alt)))
		}
		return sum
	}
	var grid, logs []float64
	alone := behind(0)
	for g := -8.; g < 12; g += 0.02 {
		sum := alone
		if ahead := p.Discount * (tunnel + p.Discount*g); ahead > 0 {
			sum = behind(ahead)
		}
		grid, logs = append(grid, g), append(logs, float64(arms)*math.Log(sum)-g*g/2)
	}
	top := floats.Max(logs)
	for i, l := range logs {
		logs[i] = math.Exp(l - top)
	}
	return stat.PopMeanStdDev(grid, logs)
}

// TestWalls: one percent of the posterior, or five, has a goal far out that pays for everything, and the rest arms that
// each lean against a wall. What Laplace's approximation says of a wall is nothing like what is behind it, and no jump
// by it leads from one to the other.
func TestWalls(t *testing.T) {
	const arms = 8
	for _, c := range []struct{ beta, alt, tunnel float64 }{{1000, 1.7, -5}, {1000, 1.4, -4.3}, {30, 1.7, -5}} {
		p, goal := walls(t, arms, c.beta, c.alt, c.tunnel)
		mean, std := goalOf(p, arms, goal)
		post := fit(t, Default(), p)[0]
		if ok, why := irl.Converged(post); !ok {
			t.Errorf("%+v: %s", c, why)
		}
		// four Monte Carlo standard errors of 1000 draws; the rare goal adds to that of the standard deviation
		got := post.Reward(goal)
		if math.Abs(got.Mean()-mean) > 4*std/math.Sqrt(1000) || math.Abs(got.StdDev()/std-1) > 0.1 {
			t.Errorf("%+v: the goal pays %.3f ± %.3f, want %.3f ± %.3f", c, got.Mean(), got.StdDev(), mean, std)
		}
	}
}

// TestPropagate: of the one explanation of walls without a tunnel, each arm is a normal above a wall. The mode's
// approximation has their moments, and the evidence is the product of what is behind each.
func TestPropagate(t *testing.T) {
	const arms, alt = 12, 1.5
	p, goal := walls(t, arms, 1000, alt, -100)
	target, found := searched(t, p)
	if len(found) != 1 {
		t.Fatalf("%d modes, want one", len(found))
	}
	m := found[0]
	var behind []float64
	for x := alt; x < 9; x += 1e-4 {
		behind = append(behind, x)
	}
	weights := make([]float64, len(behind))
	for i, x := range behind {
		weights[i] = math.Exp(-x * x / 2)
	}
	mean, std := stat.PopMeanStdDev(behind, weights)
	target.rewardAt(m.u)
	for k := arms; k < 2*arms; k++ {
		if got := target.reward[k]; math.Abs(got-mean) > 0.01 {
			t.Errorf("arm %d has the mean %g, want %g", k, got, mean)
		}
	}
	// the standard deviation from the density's fall one to the side
	for j, i := range target.free {
		if i == goal {
			continue
		}
		u := append([]float64(nil), m.u...)
		u[j]++
		if got := 1 / math.Sqrt(m.squared(u)); math.Abs(got-std) > 0.01 {
			t.Errorf("reward %d has the standard deviation %g, want %g", i, got, std)
		}
	}
	// log of ∫ exp(−½ x²) behind the wall, for each arm, in units of √(2π); 32 draws of a product of 12
	want := float64(arms) * math.Log(floats.Sum(weights)*1e-4/math.Sqrt(2*math.Pi))
	if math.Abs(m.evidence-want) > 1.5 {
		t.Errorf("the log-evidence is %g, want %g", m.evidence, want)
	}
}
