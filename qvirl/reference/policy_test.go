package reference

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// twoWays returns a corridor that forks into two of three rooms each, deterministic, with rewards of state-action
// pairs. The expert walks to the fork, and there takes either way as often: at the end of which its goal is, and
// whether it comes back, is open.
func twoWays(t *testing.T) *irl.Problem {
	t.Helper()
	next := [][]int{{1, 0, 0}, {2, 1, 0}, {3, 6, 1}, {4, 3, 2}, {5, 4, 3}, {5, 5, 4}, {7, 6, 2}, {8, 7, 6}, {8, 8, 7}}
	var rows [][]mdp.Transition
	for _, to := range slices.Concat(next...) {
		rows = append(rows, []mdp.Transition{{Next: to, Prob: 1}})
	}
	m, err := mdp.New(len(next), 3, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	var demos []mdp.Step
	for _, d := range []struct{ state, action, times int }{{0, 0, 10}, {1, 0, 10}, {2, 0, 15}, {2, 1, 15}} {
		demos = append(demos, slices.Repeat([]mdp.Step{{State: d.state, Action: d.action}}, d.times)...)
	}
	return &irl.Problem{MDP: m, Prior: irl.IndependentPrior(27, 0, 1), Discount: 0.95, Beta: 8, Demos: demos}
}

// TestPolicyIsKnown: the chains go on until the policy is known as well as MinESS draws would know it, and not only
// rewards and values. Here they have a thousand effective samples of each reward and value when there are half as many
// of the policy in a side room.
func TestPolicyIsKnown(t *testing.T) {
	c := Default()
	c.Seed = 1
	method, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	posts, err := method.Fit(context.Background(), []*irl.Problem{twoWays(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	post := posts[0].(*Posterior)
	if ok, reason := post.Convergence(); !ok {
		t.Fatal(reason)
	}
	samples, worst := post.Samples(), 0.0
	for s := range 9 {
		for a := range 3 {
			probs := make([]float64, post.Len())
			for i := range probs {
				q, sum := samples.Q.RawRowView(i)[3*s:3*s+3], 0.0
				for _, other := range q {
					sum += math.Exp(8 * (other - q[a]))
				}
				probs[i] = 1 / sum
			}
			if std := stat.StdDev(probs, nil); std > 0.1 {
				worst = max(worst, std/math.Sqrt(mcmc.ESS(post.ByChain(probs))))
			}
		}
	}
	limit := 0.5 / math.Sqrt(c.MinESS)
	if got := post.Diagnostics().PolicyError; !(got > 0.001 && got <= limit && got <= 1.01*worst) || worst > 1.1*limit {
		t.Errorf("the policy is known within %.4f (%.4f over all actions), want at most %.4f", got, worst, limit)
	}
}
