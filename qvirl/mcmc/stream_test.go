package mcmc

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// TestFingerprint: problems that differ in anything that the posterior depends on draw other random numbers, and the
// order of the demonstrations is no such thing.
func TestFingerprint(t *testing.T) {
	dynamics := func(to int) *mdp.MDP {
		m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: to, Prob: 1}}, nil, nil}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	problem := func(change func(p *irl.Problem)) *irl.Problem {
		p := &irl.Problem{MDP: dynamics(1), Prior: irl.IndependentPrior(2, 0, 1), Discount: 0.9, Beta: 1,
			Demos: []mdp.Step{{State: 0, Action: 0}, {State: 0, Action: 1}}}
		change(p)
		return p
	}
	seen := map[uint64]string{}
	for name, change := range map[string]func(p *irl.Problem){
		"none":        func(*irl.Problem) {},
		"dynamics":    func(p *irl.Problem) { p.MDP = dynamics(0) },
		"discount":    func(p *irl.Problem) { p.Discount = 0.8 },
		"β":           func(p *irl.Problem) { p.Beta = 2 },
		"β unknown":   func(p *irl.Problem) { p.BetaLogStd = 1 },
		"β far off":   func(p *irl.Problem) { p.BetaLogStd = 2 },
		"prior mean":  func(p *irl.Problem) { p.Prior.Mean[1] = 1 },
		"prior std":   func(p *irl.Problem) { p.Prior.Std[1] = 2 },
		"prior of SA": func(p *irl.Problem) { p.Prior = irl.IndependentPrior(4, 0, 1) },
		"known":       func(p *irl.Problem) { p.Prior = irl.DiagonalPrior(p.Prior.Mean, []float64{0, 1}) },
		"features":    func(p *irl.Problem) { p.Prior.LowRank = mat.NewDense(2, 1, []float64{1, 2}) },
		"features, wide": func(p *irl.Problem) {
			p.Prior.LowRank, p.Prior.Std = mat.NewDense(2, 1, []float64{1, 2}), []float64{2, 2}
		},
		"other features": func(p *irl.Problem) { p.Prior.LowRank = mat.NewDense(2, 1, []float64{1, 3}) },
		"correlation": func(p *irl.Problem) {
			p.Prior.Std, p.Prior.Cov = nil, mat.NewSymDense(2, []float64{1, 0.5, 0.5, 1})
		},
		"more correlation": func(p *irl.Problem) {
			p.Prior.Std, p.Prior.Cov = nil, mat.NewSymDense(2, []float64{1, 0.7, 0.7, 1})
		},
		"a demonstration more": func(p *irl.Problem) { p.Demos = append(p.Demos, mdp.Step{State: 0, Action: 1}) },
		"another state":        func(p *irl.Problem) { p.Demos[0].State, p.Demos[1].State = 1, 1 },
	} {
		hash := Fingerprint(problem(change))
		if other, ok := seen[hash]; ok {
			t.Errorf("%q has the fingerprint of %q", name, other)
		}
		seen[hash] = name
	}
	if hash := Fingerprint(problem(func(p *irl.Problem) { slices.Reverse(p.Demos) })); seen[hash] != "none" {
		t.Error("the fingerprint depends on the order of the demonstrations")
	}
}

// TestSample: fewer draws than there are samples are different ones, as many are all in their order, and more are any;
// each has its own β.
func TestSample(t *testing.T) {
	problem := flips(t, 2, 4, 0.5).Problem()
	problem.BetaLogStd = 1
	p := NewPosterior(problem, 2, 4)
	for i := range p.Len() {
		p.SetValues(i, []float64{0, 0}, []float64{float64(i), 0, float64(i) / 10})
	}
	for _, n := range []int{7, 8, 50} {
		s, err := p.Sample(rand.New(rand.NewPCG(1, 0)), n)
		if err != nil {
			t.Fatal(err)
		}
		var drawn []float64
		for i := range n {
			drawn = append(drawn, s.Q.At(i, 0))
			if want := math.Exp(drawn[i] / 10); math.Abs(s.Beta[i]-want) > 1e-12 {
				t.Errorf("draw %d of %d is sample %g with β = %g, want %g", i, n, drawn[i], s.Beta[i], want)
			}
		}
		different := len(slices.Compact(slices.Sorted(slices.Values(drawn))))
		if n <= 8 && different != n || n == 8 && !slices.IsSorted(drawn) || n > 8 && different < 7 {
			t.Errorf("%d draws are of samples %v", n, drawn)
		}
	}
}
