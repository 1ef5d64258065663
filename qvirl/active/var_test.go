package active

import (
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

// TestActiveVaRByHand: in state 0 both actions end the episode; in state 1 the first leads to state 0 and the second ends.
// Rewards are of state-action pairs, γ = ½.
func TestActiveVaRByHand(t *testing.T) {
	m, err := mdp.New(2, 2, [][]mdp.Transition{nil, nil, {{Next: 0, Prob: 1}}, nil}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(4, 0, 1), Discount: 0.5, Beta: 1}
	samples, err := p.SolveSamples(mat.NewDense(4, 4, []float64{
		4, 0, 0, 0,
		2, 3, 0, 9,
		0, 2, 1, 0,
		6, 0, 2, 3,
	}))
	if err != nil {
		t.Fatal(err)
	}
	// The mean reward is (3, 1¼, ¾, 3): the apprentice takes the first action in state 0, worth 3, and the second in state
	// 1, worth 3 against ¾ + ½·3. It loses (0, 1, 2, 0) from state 0. From state 1 its values are (0, 9, 0, 3), the
	// optimal ones max(R(1,0) + ½V(0), R(1,1)) = max(2, 0), max(1½, 9), max(2, 0), max(5, 3): it loses (2, 0, 2, 2).
	for _, c := range []struct{ level, from0, from1 float64 }{
		{0.25, 0, 0}, {0.5, 0, 2}, {0.75, 1, 2}, {0.76, 2, 2}, {0.95, 2, 2},
	} {
		scores, err := ActiveVaR{c.level}.Score(p, samples, []int{0, 1, 0}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !scalar.EqualWithinAbs(scores[0].Value, c.from0, 1e-12) || !scalar.EqualWithinAbs(scores[1].Value, c.from1, 1e-12) || scores[2] != scores[0] {
			t.Errorf("level %g: %+v, want %g and %g", c.level, scores, c.from0, c.from1)
		}
	}
	// at ½ the standard deviation of the rank is ¼: half the distance from the ¼ to the ¾ quantile
	scores, err := ActiveVaR{0.5}.Score(p, samples, []int{0, 1}, nil)
	if err != nil || scores[0].StdErr != 0.5 || scores[1].StdErr != 1 {
		t.Errorf("%+v, want standard errors ½ and 1 (error %v)", scores, err)
	}
}
