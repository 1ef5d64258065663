// Package online is imitation learning by soft Q-functions that are trained in the environment: IQ-Learn (Garg et al.
// 2021), online, and SQIL (Reddy et al. 2020). They are rivals that use the environment as planned apprentices do
// (qvirl/neural/planning), by the same learner.
//
// Both act by the soft policy π(a|s) ∝ exp(Q(s,a)/T), whose value is V(s) = T log Σ_a exp(Q(s,a)/T), and draw a part of
// each batch from the demonstrations. The end of an episode is absorbing (Kostrikov et al. 2019): it goes on from its
// last state to the same for ever. Values of successors are those of a network that slowly follows the trained one.
package online

import (
	"context"
	"fmt"
	"math"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/neural"
)

// The methods' names in result rows.
const (
	NameIQLearn = "iqlearn-online"
	NameSQIL    = "sqil"
)

// Config says how an apprentice is trained. The same config and seed give the same apprentice on the same backend.
type Config struct {
	// Method is NameIQLearn or NameSQIL.
	Method string `json:"method"`
	// Temperature is T.
	Temperature float64 `json:"temperature"`
	// Alpha is α of IQ-Learn: the smaller, the smaller the rewards. SQIL has none.
	Alpha float64 `json:"alpha,omitempty"`
	// Learner is how the learner trains, with a part of each batch from the demonstrations.
	Learner expert.Config `json:"learner"`
}

// Default returns the config of a method in an environment, with about as many of its steps as planning takes. T, α,
// the learning rate and half a batch of demonstrations are those of the code of IQ-Learn's authors, which makes a
// gradient step for each step of the environment; here there is one for four of them, and the target network is slower.
// SQIL has the same.
func Default(method, environment string, discount float64) Config {
	l := expert.Default(environment)
	l.Discount, l.Steps, l.SegmentSteps, l.Batch, l.Demonstrated, l.Quantiles = discount, 192_000, 32_000, 128, 64, 1
	l.Undisturbed, l.EpsilonStart, l.EpsilonEnd, l.EpsilonSteps = 0, 0, 0, 0
	l.LearningRate, l.FinalLearningRate, l.CurveEpisodes = 1e-4, 1e-4, 4
	c := Config{Method: method, Temperature: 0.01, Learner: l}
	if method == NameIQLearn {
		c.Alpha = 0.5
	}
	c.Learner.Beta = 1 / c.Temperature
	return c
}

// Validate reports the first field that is out of range, by its key in JSON.
func (c Config) Validate() error {
	l := c.Learner
	return check.First(check.All("online", check.OneOf("method", c.Method, NameIQLearn, NameSQIL),
		check.Positive("temperature", c.Temperature),
		check.That(c.Method != NameIQLearn || c.Alpha > 0 && !math.IsInf(c.Alpha, 0), "alpha = %g, want a finite "+
			"positive number", c.Alpha),
		check.That(l.Beta == 1/c.Temperature && l.RewardScale == 1, "learner.beta = %g and reward_scale = %g, want "+
			"1/temperature = %g and 1", l.Beta, l.RewardScale, 1/c.Temperature),
		check.That(l.Demonstrated >= 1 && l.Demonstrated < l.Batch, "learner.demonstrated = %d of a batch of %d, want "+
			"a part of it", l.Demonstrated, l.Batch),
		check.That(l.ReturnSteps <= 1, "learner.return_steps = %d, want 1", l.ReturnSteps)), l.Validate())
}

// Train trains an apprentice in a pool, opened as Config.Learner's Gym says, from demonstrations. Rewards of the
// environment decide nothing: the apprentice is the network in the end.
func Train(ctx context.Context, on compute.Backend, pool *gym.Pool, demos []demo.Trajectory, c Config,
	o expert.Options) (*expert.Expert, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	o.Demonstrations = demos
	if o.Source != "" {
		o.Source = ", " + o.Source
	}
	o.Source = fmt.Sprintf("%s, T = %g, α = %g", c.Method, c.Temperature, c.Alpha) + o.Source
	o.Loss = func(v expert.Values) *Node { return SQIL(v, c.Temperature) }
	if c.Method == NameIQLearn {
		o.Loss = func(v expert.Values) *Node { return IQLearn(v, c.Temperature, c.Alpha) }
	}
	e, err := expert.Train(ctx, on, pool, c.Learner, o)
	if err != nil {
		return nil, fmt.Errorf("online: %w", err)
	}
	return e, nil
}

// IQLearn returns the negative of IQ-Learn's objective with χ²-regularisation,
//
//	−E_D[r] + E[V(s) − γV(s')] + E[r²]/(4α)   with   r = Q(s,a) − γV(s'),
//
// where E_D is over the demonstrated transitions and E over all of the batch: the form for learning online in the
// authors' code ("value" with "regularize"), with the actions that were taken.
func IQLearn(v expert.Values, temperature, alpha float64) *Node {
	next := Mul(v.Discounts, StopGradient(neural.SoftMax(v.Next, temperature)))
	reward := Sub(taken(v), next)
	n := reward.Shape().Dim(0)
	demonstrated := SliceAxis(reward, 0, AxisRange(n-v.Demonstrated, n))
	value := ReduceAllMean(Sub(neural.SoftMax(v.Now, temperature), next))
	return Add(Sub(value, ReduceAllMean(demonstrated)), MulScalar(ReduceAllMean(Square(reward)), 1/(4*alpha)))
}

// SQIL returns the squared soft Bellman error, of demonstrated transitions with the reward 1, of others with 0, each
// kind's mean:
//
//	E_D[(Q(s,a) − 1 − γV(s'))²] + E_other[(Q(s,a) − γV(s'))²].
func SQIL(v expert.Values, temperature float64) *Node {
	reward := Sub(taken(v), Mul(v.Discounts, StopGradient(neural.SoftMax(v.Next, temperature))))
	n := reward.Shape().Dim(0)
	other := SliceAxis(reward, 0, AxisRange(0, n-v.Demonstrated))
	demonstrated := SliceAxis(reward, 0, AxisRange(n-v.Demonstrated, n))
	return Add(ReduceAllMean(Square(AddScalar(demonstrated, -1))), ReduceAllMean(Square(other)))
}

// taken returns Q(s,a) [batch].
func taken(v expert.Values) *Node {
	return ReduceSum(Mul(v.Now, OneHot(v.Actions, v.Now.Shape().Dim(1), v.Now.DType())), 1)
}
