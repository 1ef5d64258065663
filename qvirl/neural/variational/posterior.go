package variational

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/graphs"
	"github.com/go-birl/birl/qvirl/neural"
)

// Posterior answers questions of a trained model, in double precision and in the environment's own units. It is safe
// for concurrent use.
type Posterior struct {
	model     *neural.Fitted
	objective Objective
	warp      *plainWarp // nil for normal marginals
}

// NewPosterior returns the posterior of a model that was trained with an Objective.
func NewPosterior(m *neural.Fitted) (*Posterior, error) {
	if m == nil {
		return nil, fmt.Errorf("variational: the model is nil: want one of %s", Name)
	}
	o, ok := m.Objective().(Objective)
	if !ok {
		return nil, fmt.Errorf("variational: want a model of %s, got one of %s, which has no posterior over rewards",
			Name, m.Name())
	}
	p := &Posterior{model: m, objective: o}
	if o.Marginals == SinhArcsinh {
		p.warp = newPlainWarp(p.parameter(paramSkew)[0], math.Exp(p.parameter(paramLogTail)[0]))
	}
	return p, nil
}

// Values returns the optimal Q-values of all actions in n observations [n, observation], those of an observation next
// to each other: quantity i·|A| + a is Q(s_i, a).
func (p *Posterior) Values(observations []float32) (*Joint, error) {
	points, err := p.points(observations)
	if err != nil {
		return nil, err
	}
	return valuesOf(points, p.warp), nil
}

// valuesOf returns the joint distribution of the values of points (Eq. q-mean-cov).
func valuesOf(points []point, w *plainWarp) *Joint {
	j := &Joint{Mean: make([]float64, len(points)), Cov: mat.NewSymDense(len(points), nil), warp: w}
	if w != nil {
		j.latent = mat.NewSymDense(len(points), nil)
	}
	for i, a := range points {
		j.Mean[i] = a.mean
		for k, b := range points[:i+1] {
			j.Cov.SetSym(i, k, a.covariance(b, w))
			if w != nil {
				j.latent.SetSym(i, k, a.correlation(b))
			}
		}
	}
	return j
}

// Transitions are n transitions to ask for the rewards of, with m successors each, over which the expectation is taken:
// one that a transition led to, or draws of a simulator.
type Transitions struct {
	Observations []float32 // [n, observation]
	Actions      []int     // [n]
	Next         []float32 // [n, m, observation]
	Terminated   []bool    // [n, m], or nil if none of them terminated its episode
}

// TransitionsOf returns the transitions of a trajectory, with the successors that they led to. Pictures become numbers
// of four bytes each.
func TransitionsOf(t *demo.Trajectory) Transitions {
	n, observations := t.Len(), t.Observations
	if t.Frames != nil {
		for i := range n + 1 {
			observations = append(observations, t.Observation(i)...)
		}
	}
	size := len(observations) / (n + 1)
	terminated := make([]bool, n)
	if n > 0 {
		terminated[n-1] = t.Terminated
	}
	return Transitions{Observations: observations[:n*size], Next: observations[size:], Actions: t.Actions,
		Terminated: terminated}
}

// successors returns m, and refuses transitions whose lengths do not match.
func (t *Transitions) successors(observation int) (int, error) {
	n := len(t.Actions)
	if n == 0 || len(t.Observations) != n*observation || len(t.Next) == 0 || len(t.Next)%len(t.Observations) != 0 ||
		t.Terminated != nil && len(t.Terminated)*observation != len(t.Next) {
		return 0, fmt.Errorf("variational: %d actions, %d and %d numbers of observations, %d flags; want "+
			"observations of %d numbers, and as many successors of each",
			n, len(t.Observations), len(t.Next), len(t.Terminated), observation)
	}
	return len(t.Next) / len(t.Observations), nil
}

// Rewards returns the rewards of transitions (Corollary joint-reward), without the independent part that
// Objective.Nugget adds: a Gaussian, with SinhArcsinh marginals of the values too.
func (p *Posterior) Rewards(t Transitions) (*Joint, error) {
	spec := p.model.Spec()
	n := len(t.Actions)
	m, err := t.successors(spec.Observation)
	if err != nil {
		return nil, err
	}
	now, err := p.points(t.Observations)
	if err != nil {
		return nil, err
	}
	next, err := p.points(t.Next)
	if err != nil {
		return nil, err
	}
	j := &Joint{Mean: make([]float64, n), Cov: mat.NewSymDense(n, nil)}
	parts := make([][]point, n) // whose values sum to the reward, with the means and deviations scaled by their weights
	for i, a := range t.Actions {
		if a < 0 || a >= spec.Actions {
			return nil, fmt.Errorf("variational: action[%d] is %d, want 0 to %d", i, a, spec.Actions-1)
		}
		taken := now[i*spec.Actions+a]
		j.Mean[i], parts[i] = taken.mean, []point{taken}
		lift := 0.0
		for s, share := range t.shares(i, m, spec.Observation) {
			if share == 0 {
				continue
			}
			share *= spec.Discount
			successor := next[(i*m+s)*spec.Actions : (i*m+s+1)*spec.Actions]
			v := valuesOf(successor, p.warp)
			mean, variance, weights, err := p.objective.maximum(v)
			if err != nil {
				return nil, fmt.Errorf("variational: transition %d, successor %d: %w", i, s, err)
			}
			j.Mean[i] -= share * mean
			w := mat.NewVecDense(len(weights), weights)
			lift += share * share * math.Max(0, variance-mat.Inner(w, v.Cov, w))
			for k, q := range successor {
				q.std *= -share * weights[k]
				parts[i] = append(parts[i], q)
			}
		}
		j.Cov.SetSym(i, i, lift)
	}
	for i := range parts {
		for k := range i + 1 {
			sum := j.Cov.At(i, k)
			for _, a := range parts[i] {
				for _, b := range parts[k] {
					sum += a.covariance(b, p.warp)
				}
			}
			j.Cov.SetSym(i, k, sum)
		}
	}
	return j, nil
}

// shares returns the shares that the m successors of transition i have in the expectation, where those that terminated
// have none, and the first of equal ones has that of all.
func (t *Transitions) shares(i, m, observation int) []float64 {
	each := slices.Repeat([]float64{1 / float64(m)}, m)
	for k := range each {
		if t.Terminated != nil && t.Terminated[i*m+k] {
			each[k] = 0
		}
	}
	return neural.Merged(t.Next[i*m*observation:(i+1)*m*observation], each)
}

// maximum approximates the greatest of jointly Gaussian values as the objective does.
func (o Objective) maximum(v *Joint) (mean, variance float64, weights []float64, err error) {
	if o.Maximum == graphs.Clark {
		return graphs.ClarkMax(v.Mean, v.Cov)
	}
	best := floats.MaxIdx(v.Mean)
	weights = make([]float64, len(v.Mean))
	weights[best] = 1
	return v.Mean[best], v.Cov.At(best, best), weights, nil
}

// point is what the network says of a state and an action.
type point struct {
	mean, std float64
	embedding []float32
}

// correlation returns k.
func (p point) correlation(q point) float64 {
	distance2 := 0.0
	for i, x := range p.embedding {
		d := float64(x) - float64(q.embedding[i])
		distance2 += d * d
	}
	return math.Exp(-distance2 / 2)
}

// covariance returns the covariance of two values (Eq. q-mean-cov).
func (p point) covariance(q point, w *plainWarp) float64 {
	return p.std * q.std * w.correlation(p.correlation(q))
}

// points returns those of observations [n, observation] and all actions, [n·actions].
func (p *Posterior) points(observations []float32) ([]point, error) {
	size := p.model.Spec().Observation
	if len(observations) == 0 || len(observations)%size != 0 {
		return nil, fmt.Errorf("variational: %d numbers are no observations of %d numbers each", len(observations),
			size)
	}
	outputs, err := p.model.Outputs(observations)
	if err != nil {
		return nil, err
	}
	return p.objective.points(outputs, p.model.Spec().Beta), nil
}

// points reads a network's outputs [points, 2 + d] for a demonstrator's β.
func (o Objective) points(outputs []float32, beta float64) []point {
	size := outEmbedding + o.Embedding
	points, unit := make([]point, len(outputs)/size), o.unit(beta)
	for i := range points {
		row := outputs[i*size : (i+1)*size]
		points[i] = point{mean: unit * float64(row[outMean]), std: unit * math.Exp(float64(row[outLogStd])),
			embedding: row[outEmbedding:]}
	}
	return points
}

// Prior is the prior over rewards as training left it.
type Prior struct {
	Mean, Std float64
	// Lengthscales are those of the observation's features and of the one-hot action, in the environment's units; nil
	// for images.
	Lengthscales []float64
}

// Prior returns the prior over rewards that was learnt.
func (p *Posterior) Prior() Prior {
	out := Prior{Mean: p.parameter(paramPriorMean)[0], Std: math.Exp(p.parameter(paramPriorLogStd)[0])}
	scale := p.model.Scale()
	for f, l := range p.parameter(paramLengthscales) {
		length := math.Exp(l)
		if f < len(scale.Std) {
			length *= float64(scale.Std[f])
		}
		out.Lengthscales = append(out.Lengthscales, length)
	}
	return out
}

// parameter returns the model's parameter of the given name, which its objective lists.
func (p *Posterior) parameter(name string) []float64 {
	var out []float64
	for _, parameter := range p.model.Parameters() {
		if parameter.Name == name {
			out = append(out, npz.Widen(parameter.Value)...)
		}
	}
	return out
}
