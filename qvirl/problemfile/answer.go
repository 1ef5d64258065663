package problemfile

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/irl"
)

// Answer is a posterior as it is written to a file: in numbers to look at, and whole, to be loaded again. State-action
// rewards have an axis of actions after that of states.
type Answer struct {
	Problem       *irl.Problem // written as Write writes it
	Posterior     irl.Storable // written as Save writes it; nil: not written
	RewardMean    []float64    // reward_mean [S] or [S,A]
	RewardStd     []float64    // reward_std [S] or [S,A]
	RewardCov     *mat.Dense   // reward_cov [S,S] or [S·A,S·A]; nil, beyond MaxCov rewards: not written
	RewardSamples *mat.Dense   // reward_samples [k,S] or [k,S,A]; nil: not written
	ValueMean     []float64    // value_mean [S], of the optimal state values
	ValueStd      []float64    // value_std [S]
	ActionProbs   []float64    // action_probs [S,A]: the expert's action probabilities, averaged over the posterior
	BetaMean      float64      // beta_mean [], written with the next two if β is inferred
	BetaStd       float64      // beta_std []
	BetaSamples   []float64    // beta_samples [k], of the same draws as reward_samples; nil: not written
	RHat          []float64    // rhat [S] or [S,A], of the rewards; nil: not written
	ESSBulk       []float64    // ess_bulk [S] or [S,A]; nil: not written

	Judgement // not written if its Verdict is empty
}

// Judgement is what is known of an answer's worth, in arrays of the same names.
type Judgement struct {
	Verdict   string
	Returned  string // the method that it is of
	Reason    string // why it may be relied on, or why not
	Converged bool   // it may
}

// MaxCov is the number of rewards up to which an answer holds their covariance: 134 MB.
const MaxCov = 4096

// mostNumbers bounds the action values of the draws that are held at a time: a quarter of a gigabyte.
const mostNumbers = 1 << 25

// DrawsAtOnce returns how many draws NewAnswer holds at a time, of a posterior that knows its moments: at most
// DefaultDraws.
func DrawsAtOnce(p *irl.Problem) int {
	return min(DefaultDraws, max(2, mostNumbers/(p.MDP.States()*p.MDP.Actions())))
}

// DefaultDraws is AnswerOptions.Draws where that is 0.
const DefaultDraws = 5000

// AnswerOptions say what an answer holds.
type AnswerOptions struct {
	// Samples is the number k of reward samples; 0 for none, or all of them if the posterior consists of samples.
	Samples int
	// Draws is the number of draws over which action probabilities are averaged, and what else the posterior does not
	// know in closed form, unless it consists of samples: then all of those count. 0: DefaultDraws
	Draws int
	Seed  uint64 // of both
}

// sampled is a posterior that consists of samples, as that of a Markov chain.
type sampled interface{ Samples() *irl.Samples }

// correlated is a posterior that knows the covariance of its rewards.
type correlated interface{ RewardCov() *mat.Dense }

// NewAnswer asks a posterior for what an answer holds. RHat and ESSBulk are left to the caller.
func NewAnswer(post irl.Posterior, o AnswerOptions) (*Answer, error) {
	p := post.Problem()
	o.Draws = cmp.Or(o.Draws, DefaultDraws)
	if o.Samples < 0 || o.Draws < 2 {
		return nil, fmt.Errorf("problemfile: %d samples and %d draws: want none or more, and at least 2", o.Samples,
			o.Draws)
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	a := &Answer{Problem: p}
	a.Posterior, _ = post.(irl.Storable)
	values, knowsValues := post.(irl.ValuePosterior)
	rewards, knowsCov := post.(correlated)
	states, actions := p.MDP.States(), p.MDP.Actions()
	var draws *irl.Samples
	var err error
	if s, ok := post.(sampled); ok {
		draws = s.Samples()
		a.RewardSamples, a.BetaSamples = draws.Reward, draws.Beta
		a.ActionProbs = irl.ColumnMeans(draws.Policies(actions, p.Beta))
	} else {
		batch := o.Draws
		if knowsValues && knowsCov { // nothing else is asked of the draws than their policies
			batch = min(batch, DrawsAtOnce(p))
		}
		a.ActionProbs = make([]float64, states*actions)
		for left := o.Draws; left > 0; left -= batch {
			if draws, err = post.Sample(rng, min(batch, left)); err != nil {
				return nil, err
			}
			policies := draws.Policies(actions, p.Beta)
			for i := range min(batch, left) {
				floats.Add(a.ActionProbs, policies.RawRowView(i))
			}
		}
		floats.Scale(1/float64(o.Draws), a.ActionProbs)
	}
	if o.Samples > 0 {
		s, err := post.Sample(rng, o.Samples)
		if err != nil {
			return nil, err
		}
		a.RewardSamples, a.BetaSamples = s.Reward, s.Beta
	}
	a.RewardMean, a.RewardStd = irl.Moments(p.RewardDim(), post.Reward)
	switch {
	case p.RewardDim() > MaxCov:
	case knowsCov:
		a.RewardCov = rewards.RewardCov()
	default:
		var cov mat.SymDense
		stat.CovarianceMatrix(&cov, draws.Reward, nil)
		a.RewardCov = mat.DenseCopyOf(&cov)
	}
	if knowsValues {
		a.ValueMean, a.ValueStd = irl.Moments(states, values.Value)
	} else {
		drawn := draws.Values(actions)
		for s := range states {
			mean, std := stat.MeanStdDev(mat.Col(nil, s, drawn), nil)
			a.ValueMean, a.ValueStd = append(a.ValueMean, mean), append(a.ValueStd, std)
		}
	}
	if b, ok := post.(irl.BetaPosterior); ok && p.InfersBeta() {
		a.BetaMean, a.BetaStd = b.Beta().Mean(), b.Beta().StdDev()
	}
	return a, nil
}

// ofAnswers are the names of the arrays that Write adds to those of the problem and of the posterior.
var ofAnswers = []string{"reward_mean", "reward_std", "reward_cov", "reward_samples", "value_mean", "value_std",
	"action_probs", "beta_mean", "beta_std", "beta_samples", "rhat", "ess_bulk", "verdict", "returned", "reason",
	"converged"}

// Write writes the answer, atomically. The folder must exist.
func (a *Answer) Write(path string) error {
	p := a.Problem
	n := p.RewardDim()
	arrays := arraysOf(p)
	if a.Posterior != nil {
		addPosterior(arrays, a.Posterior)
	}
	arrays["reward_mean"] = npz.Floats(a.RewardMean, rewardShape(p)...)
	arrays["reward_std"] = npz.Floats(a.RewardStd, rewardShape(p)...)
	if a.RewardCov != nil {
		arrays["reward_cov"] = npz.Floats(dense(a.RewardCov), n, n)
	}
	arrays["value_mean"] = npz.Floats(a.ValueMean, p.MDP.States())
	arrays["value_std"] = npz.Floats(a.ValueStd, p.MDP.States())
	arrays["action_probs"] = npz.Floats(a.ActionProbs, p.MDP.States(), p.MDP.Actions())
	if a.RewardSamples != nil {
		k, _ := a.RewardSamples.Dims()
		arrays["reward_samples"] = npz.Floats(dense(a.RewardSamples), rewardShape(p, k)...)
	}
	if p.InfersBeta() {
		arrays["beta_mean"], arrays["beta_std"] = npz.Scalar(a.BetaMean), npz.Scalar(a.BetaStd)
		if a.BetaSamples != nil {
			arrays["beta_samples"] = npz.Floats(a.BetaSamples, len(a.BetaSamples))
		}
	}
	if a.RHat != nil {
		arrays["rhat"] = npz.Floats(a.RHat, rewardShape(p)...)
	}
	if a.ESSBulk != nil {
		arrays["ess_bulk"] = npz.Floats(a.ESSBulk, rewardShape(p)...)
	}
	if a.Verdict != "" {
		arrays["verdict"], arrays["returned"], arrays["reason"] = npz.String(a.Verdict), npz.String(a.Returned),
			npz.String(a.Reason)
		converged := npz.Bools([]bool{a.Converged})
		converged.Shape = nil
		arrays["converged"] = converged
	}
	if err := npz.Write(path, arrays); err != nil {
		return fmt.Errorf("problemfile: the answer: %w", err)
	}
	return nil
}
