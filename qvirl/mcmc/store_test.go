package mcmc

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// TestStoredSamplesSayTheSame: moments of rewards and the policy are what they were, in whatever units rewards are, and
// single precision is used where it is enough.
func TestStoredSamplesSayTheSame(t *testing.T) {
	m, err := mdp.New(2, 2, [][]mdp.Transition{{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}}, nil, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		mean, std, beta, logStd float64
		kind                    npz.Type
	}{
		"usual":      {1, 2, 1, 0, npz.Float32},
		"β inferred": {1, 2, 1, 0.5, npz.Float32},
		"known":      {1, 0, 1, 0, npz.Float32},
		"zero":       {0, 0, 1, 0, npz.Float32},
		"tiny":       {0, 1e-50, 1e50, 0, npz.Float64},
		"huge":       {0, 1e50, 1e-50, 0, npz.Float64},
		"far off":    {1e7, 1, 1, 0, npz.Float64},
		"sure":       {1e3, 1e-4, 1, 0, npz.Float64},
		"β of 1e6":   {1, 2, 1e6, 0, npz.Float64},
		"β up to so": {1, 2, 100, 4, npz.Float64},
	} {
		p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(2, c.mean, c.std), Discount: 0.9, Beta: c.beta,
			BetaLogStd: c.logStd}
		rng := rand.New(rand.NewPCG(7, 0))
		post := NewPosterior(p, 2, 50)
		for i := range post.Len() {
			reward := []float64{c.mean + c.std*rng.NormFloat64(), c.mean + c.std*rng.NormFloat64()}
			s, err := m.Solve(reward, p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			post.Set(i, reward, s.V)
			if c.logStd > 0 {
				post.beta[i] = c.beta * math.Exp(c.logStd*rng.NormFloat64())
			}
		}
		by := make([]Transition, post.Len())
		for i := range by {
			by[i] = Transition{float64(i) / 128, i%7 == 0}
		}
		post.SetTransitions(by)
		path := filepath.Join(t.TempDir(), "posterior.npz")
		arrays := post.Arrays()
		if arrays["reward"].Type != c.kind || arrays["value"].Type != c.kind {
			t.Errorf("%s: stored as type %d, want %d", name, arrays["reward"].Type, c.kind)
		}
		if err := npz.Write(path, arrays); err != nil {
			t.Fatal(err)
		}
		a, err := npz.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r := a.Under("")
		again := Restore(r, p, MinPerChain)
		if err := r.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(again.Transitions(), by) {
			t.Errorf("%s: the transitions are %v", name, again.Transitions())
		}
		short := a.Under("")
		if Restore(short, p, post.Len()); short.Err() == nil {
			t.Errorf("%s: %d samples of 2 chains were taken for as many of each", name, post.Len())
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		got, want := again.Reward(1), post.Reward(1)
		if !scalar.EqualWithinRel(got.StdDev(), want.StdDev(), 1e-3) ||
			math.Abs(got.Mean()-want.Mean()) > 1e-3*want.StdDev()+1e-6*math.Abs(want.Mean()) {
			t.Errorf("%s: %g ± %g, before %g ± %g", name, got.Mean(), got.StdDev(), want.Mean(), want.StdDev())
		}
		policy, before := irl.ColumnMeans(again.Samples().Policies(2, p.Beta)),
			irl.ColumnMeans(post.Samples().Policies(2, p.Beta))
		if !floats.EqualApprox(policy, before, 1e-3) {
			t.Errorf("%s: the policy %v, before %v", name, policy, before)
		}
	}
}
