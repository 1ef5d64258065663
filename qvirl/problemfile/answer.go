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
	"github.com/go-birl/birl/qvirl/matmul"
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
	if err := irl.CheckPosterior("problemfile", post); err != nil {
		return nil, err
	}
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
		a.RewardCov = mat.DenseCopyOf(matmul.Covariance(draws.Reward))
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

// ofAnswers are the arrays that Write adds to those of the problem and of the posterior; those without data are not
// written.
var ofAnswers = map[string]func(a *Answer) npz.Array{
	"reward_mean":    func(a *Answer) npz.Array { return npz.Floats(a.RewardMean, rewardShape(a.Problem)...) },
	"reward_std":     func(a *Answer) npz.Array { return npz.Floats(a.RewardStd, rewardShape(a.Problem)...) },
	"reward_cov":     func(a *Answer) npz.Array { return matrix(a.RewardCov, a.Problem.RewardDim()) },
	"reward_samples": func(a *Answer) npz.Array { return matrix(a.RewardSamples, rewardShape(a.Problem)...) },
	"value_mean":     func(a *Answer) npz.Array { return npz.Floats(a.ValueMean, a.Problem.MDP.States()) },
	"value_std":      func(a *Answer) npz.Array { return npz.Floats(a.ValueStd, a.Problem.MDP.States()) },
	"action_probs": func(a *Answer) npz.Array {
		return npz.Floats(a.ActionProbs, a.Problem.MDP.States(), a.Problem.MDP.Actions())
	},
	"beta_mean": func(a *Answer) npz.Array { return where(a.Problem.InfersBeta(), npz.Scalar(a.BetaMean)) },
	"beta_std":  func(a *Answer) npz.Array { return where(a.Problem.InfersBeta(), npz.Scalar(a.BetaStd)) },
	"beta_samples": func(a *Answer) npz.Array {
		return where(a.Problem.InfersBeta(), npz.Floats(a.BetaSamples, len(a.BetaSamples)))
	},
	"rhat":     func(a *Answer) npz.Array { return npz.Floats(a.RHat, rewardShape(a.Problem)...) },
	"ess_bulk": func(a *Answer) npz.Array { return npz.Floats(a.ESSBulk, rewardShape(a.Problem)...) },
	"verdict":  func(a *Answer) npz.Array { return where(a.Verdict != "", npz.String(a.Verdict)) },
	"returned": func(a *Answer) npz.Array { return where(a.Verdict != "", npz.String(a.Returned)) },
	"reason":   func(a *Answer) npz.Array { return where(a.Verdict != "", npz.String(a.Reason)) },
	"converged": func(a *Answer) npz.Array {
		return where(a.Verdict != "", npz.Array{Data: []float64{npz.Indicator(a.Converged)}, Type: npz.Bool})
	},
}

// matrix returns an array of as many rows as the matrix has, of a shape.
func matrix(m *mat.Dense, row ...int) npz.Array {
	if m == nil {
		return npz.Array{}
	}
	return npz.Floats(dense(m), append([]int{m.RawMatrix().Rows}, row...)...)
}

// where returns an array if there is something to write, and nothing otherwise.
func where(there bool, a npz.Array) npz.Array {
	if !there {
		return npz.Array{}
	}
	return a
}

// Write writes the answer, atomically. The folder must exist.
func (a *Answer) Write(path string) error {
	arrays := arraysOf(a.Problem)
	if a.Posterior != nil {
		addPosterior(arrays, a.Posterior)
	}
	for name, of := range ofAnswers {
		if array := of(a); array.Data != nil {
			arrays[name] = array
		}
	}
	if err := write(path, arrays); err != nil {
		return fmt.Errorf("problemfile: the answer: %w", err)
	}
	return nil
}
