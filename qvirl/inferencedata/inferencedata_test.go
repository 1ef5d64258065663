package inferencedata

import (
	"context"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/netcdf"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/reference"
)

// newProblem returns a problem of three states with two named actions, of state-action rewards and of an inferred β if
// asked.
func newProblem(t testing.TB, pairs, inferBeta bool) *irl.Problem {
	t.Helper()
	m, err := mdp.FromDense(3, 2, []float64{
		1, 0, 0, 0, 1, 0,
		.5, .5, 0, 0, 0, 1,
		0, 0, 1, .25, 0, .75,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 3
	if pairs {
		n = 6
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(n, 0.5, 2), Discount: 0.8, Beta: 1.5,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}, {State: 0, Action: 1},
			{State: 2, Action: 0}},
		ActionNames: []string{"stay", "go"}}
	if inferBeta {
		p.BetaLogStd = 0.5
	}
	return p
}

// sample returns the reference sampler's posterior.
func sample(t testing.TB, p *irl.Problem) irl.Posterior {
	t.Helper()
	m, err := reference.New(reference.Default())
	if err != nil {
		t.Fatal(err)
	}
	posts, err := m.Fit(context.Background(), []*irl.Problem{p}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return posts[0]
}

// find returns a variable of a group.
func find(t testing.TB, root *netcdf.Group, group, name string) netcdf.Variable {
	t.Helper()
	for _, g := range root.Groups {
		for _, v := range g.Variables {
			if g.Name == group && v.Name == name {
				return v
			}
		}
	}
	t.Fatalf("there is no %s in %s", name, group)
	return netcdf.Variable{}
}

// The log density and the log-likelihoods, computed from their definitions for each draw: softmax by hand, and the
// normal densities' exponents one by one.
func TestDensities(t *testing.T) {
	for _, c := range []struct{ pairs, beta bool }{{false, false}, {true, true}} {
		p := newProblem(t, c.pairs, c.beta)
		post := sample(t, p)
		root, err := New(post, Options{Draws: 50, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		draws := post.(mcmc.Chained).Samples()
		lp := find(t, root, "sample_stats", "lp").Data.([]float64)
		each := find(t, root, "log_likelihood", demonstrated).Data.([]float64)
		energy := find(t, root, "sample_stats", "energy").Data.([]float64)
		n, dim := draws.Reward.Dims()
		if len(lp) != n || len(each) != n*len(p.Demos) {
			t.Fatalf("%d densities and %d likelihoods of %d draws", len(lp), len(each), n)
		}
		for i := range n {
			beta, want := p.Beta, 0.0
			if c.beta {
				beta = draws.Beta[i]
				z := math.Log(beta/p.Beta) / p.BetaLogStd
				want -= z * z / 2
			}
			for k, d := range p.Demos {
				odds := math.Exp(beta * (draws.Q.At(i, 2*d.State+1-d.Action) - draws.Q.At(i, 2*d.State+d.Action)))
				l := -math.Log1p(odds)
				want += l
				if got := each[i*len(p.Demos)+k]; math.Abs(got-l) > 1e-9*(1+math.Abs(l)) {
					t.Fatalf("draw %d, decision %d: %g, want %g", i, k, got, l)
				}
			}
			for j := range dim {
				z := (draws.Reward.At(i, j) - p.Prior.Mean[j]) / p.Prior.Std[j]
				want -= z * z / 2
			}
			if math.Abs(lp[i]-want) > 1e-9*(1+math.Abs(want)) || energy[i] != -lp[i] {
				t.Fatalf("draw %d: log density %g, want %g; energy %g", i, lp[i], want, energy[i])
			}
		}
	}
}

// The prior's draws have its moments, within five standard errors.
func TestPriorDraws(t *testing.T) {
	const n = 4000
	p := newProblem(t, false, true)
	root, err := New(sample(t, p), Options{Draws: n, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	x := mat.NewDense(n, 3, find(t, root, "prior", "reward").Data.([]float64))
	for j := range 3 {
		mean := mat.Sum(x.ColView(j)) / n
		if math.Abs(mean-0.5) > 5*2/math.Sqrt(n) {
			t.Errorf("reward %d has the mean %g, want 0.5", j, mean)
		}
	}
	var logs []float64
	for _, b := range find(t, root, "prior", "beta").Data.([]float64) {
		logs = append(logs, math.Log(b/p.Beta))
	}
	if mean, std := stat.MeanStdDev(logs, nil); math.Abs(mean) > 5*p.BetaLogStd/math.Sqrt(n) ||
		math.Abs(std/p.BetaLogStd-1) > 5/math.Sqrt(2*n) {
		t.Errorf("log β/β₀ is %g ± %g, want 0 ± %g", mean, std, p.BetaLogStd)
	}
}

// Without demonstrations the groups about them are missing; under a singular prior there is no density.
func TestNoDemonstrations(t *testing.T) {
	p := newProblem(t, false, false)
	p.Demos = nil
	p.Prior = irl.Prior{Mean: make([]float64, 3), LowRank: mat.NewDense(3, 1, []float64{1, 2, 3})}
	root, err := New(sample(t, p), Options{Draws: 10, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range root.Groups {
		names = append(names, g.Name)
	}
	if got := strings.Join(names, " "); got != "posterior prior sample_stats" {
		t.Errorf("groups %s", got)
	}
	if lp := find(t, root, "sample_stats", "lp").Data.([]float64); !math.IsNaN(lp[0]) {
		t.Errorf("log density %g under a singular prior, want none", lp[0])
	}
	if _, err := New(sample(t, p), Options{}); err == nil {
		t.Error("no draws: no error")
	}
}
