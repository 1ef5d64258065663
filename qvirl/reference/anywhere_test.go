package reference

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// goals returns a lobby with a known reward, a hall behind it, and so many corridors of three rooms from there, in the
// last of which one stays. The expert leaves the lobby: one of the goals, five rooms apart, is worth more than it, and
// which is open.
func goals(t *testing.T, arms int) *irl.Problem {
	t.Helper()
	const length = 3
	to := func(s int) []mdp.Transition { return []mdp.Transition{{Next: s, Prob: 1}} }
	rows := [][]mdp.Transition{to(1)}
	for range arms - 1 {
		rows = append(rows, to(0))
	}
	for arm := range arms {
		rows = append(rows, to(2+length*arm))
	}
	for s := 2; s < 2+arms*length; s++ {
		next := s
		if (s-2)%length < length-1 {
			next++
		}
		for range arms {
			rows = append(rows, to(next))
		}
	}
	m, err := mdp.New(2+arms*length, arms, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	prior := irl.IndependentPrior(m.States(), 0, 1)
	prior.Mean[0], prior.Std[0] = 2, 0.05
	p := &irl.Problem{MDP: m, Prior: prior, Discount: 0.95, Beta: 3}
	for range 40 {
		p.Demos = append(p.Demos, mdp.Step{State: 0, Action: 0})
	}
	return p
}

// TestAnywhere: the six ways from the hall are one another's mirror images, so that their probabilities are all 1/6.
// Exchanges of the rewards of near states alone do not lead from one goal to another, but jumps between modes do.
func TestAnywhere(t *testing.T) {
	p := goals(t, 6)
	for _, anywhere := range []bool{true, false} {
		c := Default()
		c.Seed, c.Anywhere, c.MaxIterations = 2, anywhere, 80000
		method, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		posts, err := method.Fit(context.Background(), []*irl.Problem{p}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ok, reason := irl.Converged(posts[0])
		if !ok {
			t.Errorf("anywhere %v: %s", anywhere, reason)
		}
		samples, err := posts[0].Sample(rand.New(rand.NewPCG(1, 0)), c.Samples)
		if err != nil {
			t.Fatal(err)
		}
		policy := make([]float64, 6)
		for i := range c.Samples {
			q := append([]float64(nil), samples.Q.RawRowView(i)[6:12]...)
			floats.Scale(p.Beta, q)
			total := floats.LogSumExp(q)
			for a := range q {
				policy[a] += math.Exp(q[a]-total) / float64(c.Samples)
			}
		}
		for a, got := range policy { // four errors of MinESS draws of one way each
			if math.Abs(got-1./6) > 4*math.Sqrt(5./36/c.MinESS) {
				t.Errorf("anywhere %v: way %d has the probability %.3f, want 1/6", anywhere, a, got)
			}
		}
	}
}

// TestNearByDefault: results are stored under the JSON of a configuration, which must not change where the field is not
// set.
func TestNearByDefault(t *testing.T) {
	text, err := json.Marshal(Default())
	if err != nil || strings.Contains(string(text), "Anywhere") || !strings.Contains(string(text), "Trajectory") {
		t.Errorf("%s (error %v)", text, err)
	}
}

// TestDistantExchange: every pair of two states comes up, as the coordinates of all their rewards.
func TestDistantExchange(t *testing.T) {
	m, err := mdp.New(4, 2, make([][]mdp.Transition, 8), nil)
	if err != nil {
		t.Fatal(err)
	}
	target, err := NewTarget(&irl.Problem{MDP: m, Prior: irl.IndependentPrior(8, 0, 1), Beta: 1})
	if err != nil {
		t.Fatal(err)
	}
	exchange := target.distantExchanges()
	rng, count := rand.New(rand.NewPCG(3, 0)), map[[2]int]int{}
	const draws = 12000
	for range draws {
		pair := exchange(rng)
		for _, coordinates := range pair {
			if len(coordinates) != 2 || coordinates[0]%2 != 0 || coordinates[1] != coordinates[0]+1 {
				t.Fatalf("coordinates %v are not those of a state", coordinates)
			}
		}
		count[[2]int{pair[0][0] / 2, pair[1][0] / 2}]++
	}
	for s := range 4 {
		for other := range 4 {
			want := draws / 12. // a standard deviation of 30
			if s == other {
				want = 0
			}
			if got := float64(count[[2]int{s, other}]); math.Abs(got-want) > 120 {
				t.Errorf("states %d and %d: %g of %d draws, want %g", s, other, got, draws, want)
			}
		}
	}
}
