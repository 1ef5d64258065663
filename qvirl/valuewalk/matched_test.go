package valuewalk_test

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/matched"
	"github.com/go-birl/birl/qvirl/problemfile"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// given is a method whose posteriors are there already.
type given struct{ posts []irl.Posterior }

func (g given) Name() string { return "given" }

func (g given) Fit(context.Context, []*irl.Problem, irl.Progress) ([]irl.Posterior, error) {
	return g.posts, nil
}

// fitted is what posteriors of all families answer.
type fitted interface {
	irl.ValuePosterior
	irl.BetaPosterior
	valuewalk.Approximation
	ActionProbs() []float64
	Converged() bool
	irl.Storable
}

// match returns the posterior of a family that is matched to a walk from a start.
func match(t *testing.T, family matched.Family, c valuewalk.RefineConfig, start irl.Posterior) fitted {
	t.Helper()
	m, err := matched.New("matched", given{[]irl.Posterior{start}}, family, c)
	if err != nil {
		t.Fatal(err)
	}
	posts, err := m.Fit(context.Background(), []*irl.Problem{start.Problem()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Name() != "matched" {
		t.Errorf("the method's name is %q", m.Name())
	}
	return posts[0].(fitted)
}

// families lists all families, and what restores their posteriors.
var families = map[matched.Family]map[string]irl.Restore{
	matched.GaussianValues:  {tabular.Kind: tabular.Restore},
	matched.GaussianRewards: {matched.Kind: matched.Restore},
	matched.WarpedRewards:   {matched.Kind: matched.Restore},
}

// TestMatchedMomentsAreThoseOfQuadrature starts far away, and compares moments of what a family is over with
// quadrature.
func TestMatchedMomentsAreThoseOfQuadrature(t *testing.T) {
	problem, exact := valuewalk.TractableMoments(t)
	c := matched.Default()
	c.Transitions, c.Samples = 40, 15000
	for family := range families {
		g := match(t, family, c, valuewalk.Isotropic(problem, 1, 3, 3))
		for i := range 2 {
			want, m := exact.Reward[i], g.Reward(i)
			if family == matched.GaussianValues {
				want, m = exact.Value[i], g.Value(i)
			}
			mean, std := want.Mu, want.Sigma
			// 1000 walkers: at least as many effective samples, so a standard error of at most 0.03 standard
			// deviations; the warped marginals have L-moments for their targets, and their standard deviations follow
			// less closely
			if !scalar.EqualWithinAbs(m.Mean(), mean, 0.12*std) || !scalar.EqualWithinAbs(m.StdDev()/std, 1, 0.12) {
				t.Errorf("%s: reward or value %d: mean %.3f, standard deviation %.3f, want %.3f and %.3f", family, i,
					m.Mean(), m.StdDev(), mean, std)
			}
		}
		if !g.Converged() {
			t.Errorf("%s: a long walk has not converged", family)
		}
	}
	c.Transitions, c.Trajectory, c.Kept, c.Samples = 0, 0.05, 4, 2000 // steps too short to arrive
	for _, family := range []matched.Family{matched.WarpedRewards, matched.GaussianValues} {
		if match(t, family, c, valuewalk.Isotropic(problem, 1, 30, 30)).Converged() {
			t.Errorf("%s: a walk that is still on its way has converged", family)
		}
	}
}

// TestMatchingImprovesAPoorStart compares distances to the exact posterior before and after, and those of a posterior
// that was saved and loaded.
func TestMatchingImprovesAPoorStart(t *testing.T) {
	exact := valuewalk.ExactSmall(t)
	start := valuewalk.Spoilt(exact, 0.7, 0.8)
	off := func(p irl.Posterior) float64 {
		sum := 0.0
		for i := range p.Problem().RewardDim() {
			sum += math.Abs(p.Reward(i).Mean()-exact.Reward(i).Mean()) / exact.Reward(i).StdDev()
			sum += math.Abs(p.Reward(i).StdDev()/exact.Reward(i).StdDev() - 1)
		}
		return sum / float64(p.Problem().RewardDim())
	}
	before := valuewalk.RefineStarts(t, valuewalk.RefineConfig{Kept: 1, Samples: 3000, TargetAccept: 0.65,
		Trajectory: 1.5}, start)[0]
	for family, kinds := range families {
		g := match(t, family, matched.Default(), start)
		// the start is 0.7 deviations off in its values and 0.2 too narrow; Monte Carlo error of a thousand effective
		// samples is about 0.05
		if was, is := off(before), off(g); !(was > 0.4) || !(is < 0.15) {
			t.Errorf("%s: error of means and standard deviations %.3f before, %.3f after matching", family, was, is)
		}
		path := filepath.Join(t.TempDir(), "matched.npz")
		if err := problemfile.Save(path, g); err != nil {
			t.Fatal(err)
		}
		restored, err := problemfile.Load(path, kinds)
		if err != nil {
			t.Fatal(err)
		}
		loaded := restored.(fitted)
		if a, b := off(g), off(loaded); !scalar.EqualWithinAbs(a, b, 1e-9) || loaded.Converged() != g.Converged() {
			t.Errorf("%s: error %g became %g by saving", family, a, b)
		}
		if probs := g.ActionProbs(); !scalar.EqualWithinAbs(floats.Sum(probs), float64(g.Problem().MDP.States()),
			1e-9) {
			t.Errorf("%s: action probabilities sum to %g", family, floats.Sum(probs))
		}
		if x := valuewalk.Must(g.SampleValues(rand.New(rand.NewPCG(1, 2)),
			4000)); !scalar.EqualWithinAbs(stat.Mean(mat.Col(nil, 0, x), nil), g.Value(0).Mean(),
			0.1*g.Value(0).StdDev()) {
			t.Errorf("%s: values are drawn from another distribution than the marginal of the first: mean %g, %g",
				family,
				stat.Mean(mat.Col(nil, 0, x), nil), g.Value(0).Mean())
		}
	}
}

func TestBadMatches(t *testing.T) {
	_, problem := valuewalk.SmallWorld(t, 70)
	c := matched.Default()
	c.Kept = 0
	if _, err := matched.New("m", given{}, matched.WarpedRewards, c); err == nil ||
		!strings.Contains(err.Error(), "Kept = 0") {
		t.Errorf("error %v for a bad config", err)
	}
	c = matched.Default()
	c.Kept, c.Samples = 1, 8 // for 9 values
	m, err := matched.New("m", given{[]irl.Posterior{valuewalk.Isotropic(problem, 1)}}, matched.WarpedRewards, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(context.Background(), []*irl.Problem{problem}, nil); err == nil ||
		!strings.Contains(err.Error(), "raise Samples") {
		t.Errorf("error %v for too few samples", err)
	}
	if _, err := matched.New("m", given{}, "skewed", matched.Default()); err == nil ||
		!strings.Contains(err.Error(), "skewed") {
		t.Errorf("error %v for an unknown family", err)
	}
}

// TestMatchedBetaAgreesWithQuadrature compares the posterior of β with quadrature.
func TestMatchedBetaAgreesWithQuadrature(t *testing.T) {
	p, mean, variance := valuewalk.BetaMoments(t)
	c := valuewalk.DefaultRefine()
	c.Transitions, c.Kept, c.Samples = 30, 20, 20000
	for family := range families {
		g := match(t, family, c, valuewalk.Isotropic(p, 1, 3, 3)).Beta()
		// log β has its moments; of 1000 walkers, with a standard error of at most 0.03 standard deviations
		if got := math.Log(g.Quantile(0.5)); !scalar.EqualWithinAbs(got, mean, 0.12*math.Sqrt(variance)) {
			t.Errorf("%s: median of β %g, want %g", family, g.Quantile(0.5), math.Exp(mean))
		}
		if got, want := math.Log(g.Quantile(0.95)/g.Quantile(0.05)),
			3.2897*math.Sqrt(variance); !scalar.EqualWithinAbs(got/want, 1, 0.12) {
			t.Errorf("%s: log of the 95 %% quantile of β over the 5 %% quantile %g, want %g", family, got, want)
		}
	}
}
