package neural

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
)

// Objective is what distinguishes one learner from another. Its methods build graphs in which every array has a leading
// axis over runs; they may panic as GoMLX's functions do. An objective is a value that marshals to JSON and determines
// its graphs.
type Objective interface {
	// Networks lists the encoders by name. Each maps a state to Outputs numbers for every action.
	Networks() []Network
	// Parameters lists what there is beside the networks' weights, with the values of one run. They may depend on the
	// run's data, but names and shapes may not.
	Parameters(data *Data) ([]Parameter, error)
	// Noise returns how many standard normal draws Loss takes for each run, given the sizes of the batches and |A|.
	Noise(expert, aux, actions int) int
	// Loss returns what is minimised.
	Loss(w *Weights, b *Batch) Loss
	// Predictor returns what the learner says of states, given what the first of its Networks puts out there.
	Predictor(c Constants) Predictor
}

// Plain is embedded by objectives that have nothing beside the networks' weights, and no noise.
type Plain struct{}

// Parameters lists none.
func (Plain) Parameters(*Data) ([]Parameter, error) { return nil, nil }

// Noise returns 0.
func (Plain) Noise(expert, aux, actions int) int { return 0 }

// Predictor writes, of the outputs of a network for states [n, actions, outputs], log π(a|s), the log-probabilities of
// the demonstrator's actions, and the values whose greatest one is the apprentice's action; both [n, actions].
// It is for concurrent use.
type Predictor func(outputs, logProbs, values []float32)

// Constants are what predictions depend on beside the networks' outputs.
type Constants struct {
	Actions   int
	Beta      float64                     // the demonstrator's rationality coefficient β
	Parameter func(name string) []float32 // of the objective
}

// Boltzmann returns the predictor of outputs that are Q-values [n, actions]: log(exp(β Qₐ) / Σ_b exp(β Q_b)), and Q.
func Boltzmann(actions int, beta float64) Predictor {
	return func(outputs, logProbs, values []float32) {
		copy(values, outputs)
		for q := range slices.Chunk(outputs, actions) {
			top, sum := slices.Max(q), 0.0
			for _, v := range q {
				sum += math.Exp(beta * float64(v-top))
			}
			for a, v := range q {
				logProbs[a] = float32(beta*float64(v-top) - math.Log(sum))
			}
			logProbs = logProbs[actions:]
		}
	}
}

// SoftMax returns T log Σ_a exp(Q_a/T) [runs, …] of Q [runs, …, actions] at the temperature T.
func SoftMax(q *graph.Node, temperature float64) *graph.Node {
	greatest := graph.StopGradient(graph.ReduceMax(q, -1))
	shifted := graph.Exp(graph.MulScalar(graph.Sub(q, graph.ExpandAxes(greatest, -1)), 1/temperature))
	return graph.Add(greatest, graph.MulScalar(graph.Log(graph.ReduceSum(shifted, -1)), temperature))
}

// InGraph is an objective whose predictions of many states take long in plain Go, and are part of the graph.
type InGraph interface {
	Objective
	// Predictions returns what the Predictor writes, both [runs, n, actions], of outputs [runs, n, actions, outputs].
	Predictions(w *Weights, outputs *graph.Node) (logProbs, values *graph.Node)
}

// Unrolled is an objective that says how many steps of training one execution takes. For others it is several, which
// saves time between them; a large graph costs more time to compile for each of them than that saves.
type Unrolled interface {
	Objective
	Unroll() int
}

// Loss is the value of an objective on a batch.
type Loss struct {
	Total *graph.Node // [runs]
	// Surrogate [runs], if not nil, has the gradient of Total, while its value means nothing.
	Surrogate *graph.Node
	// Terms are what Total is made of, and other figures to watch, each [runs]. The first of them that is not finite is
	// what training names when it stops.
	Terms []Term
}

// Term is a named figure of a loss.
type Term struct {
	Name  string
	Value *graph.Node // [runs]
}

// The names of terms that more than one objective has.
const (
	TermLogLikelihood = "log_likelihood" // mean log p(a|s) over the batch of expert transitions
	TermKL            = "kl"             // divergence from the prior, as it enters the loss
)

// Parameter is an array that an objective has beside its networks.
type Parameter struct {
	Name  string    `json:"name"`
	Dims  []int     `json:"shape"` // of one run; empty for a scalar
	Value []float32 `json:"-"`     // that training starts from
	// Fixed is true for a constant that belongs to the run: it is stored with the model and not trained.
	Fixed bool `json:"fixed,omitempty"`
	// NoDecay exempts the parameter from weight decay.
	NoDecay bool `json:"no_decay,omitempty"`
}

// Batch is what a step of training sees.
type Batch struct {
	Expert Transitions
	// Aux are auxiliary transitions, which say where the environment leads but nothing about the demonstrator; nil
	// where the task has none.
	Aux *Transitions
	// Noise [runs, Objective.Noise(…)] are standard normal draws.
	Noise *graph.Node
}

// Transitions are n transitions of each run. States are in units of the run's scale.
type Transitions struct {
	State, Next *graph.Node // [runs, n, observation]
	Action      *graph.Node // [runs, n, actions], one-hot
	NextAction  *graph.Node // [runs, n, actions], one-hot; zero where the trajectory ends with the transition
	// [runs, n]: γ, and 0 where the transition terminated the episode; a truncated episode goes on
	Discount *graph.Node

	// Successor [runs, n, m, observation] are m successors of each transition, the first one as in Next, and Weight
	// [runs, n, m] the weights that their values have in a reward, which Discount is the sum of where none ended the
	// episode. Both are nil where tasks have no further successors.
	Successor, Weight *graph.Node
}

// Len returns the number n of transitions of each run.
func (t *Transitions) Len() int { return t.Action.Shape().Dim(1) }
