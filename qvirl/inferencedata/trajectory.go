package inferencedata

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/netcdf"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// maxValues bounds the values that are drawn jointly along a trajectory: their covariance is factorised.
const maxValues = 4096

// WriteTrajectory writes what a model of QVIRL that was learnt from observations believes along a trajectory of T steps
// to a file, atomically; the folder must exist. The file has the groups (A actions)
//
//	posterior        q (Q*) [chain, draw, step, action], value (V*) [chain, draw, step], and reward [chain, draw, step]:
//	                 independent joint draws in one chain
//	prior            reward, draws of the Gaussian process that training left as the prior
//	log_likelihood   demonstrated_action [chain, draw, step]: log π(a|s) of each action that was taken
//	observed_data    demonstrated_action [step], by its number
//	constant_data    observation [step, feature], and environment_reward [step] where the trajectory has its rewards
//
// A draw's reward is the one that belongs to its values where a step's successor is the one that was met,
//
//	r_t = Q(s_t, a_t) − γ max_a Q(s_{t+1}, a),
//
// without the second term at the end of an episode: the maximum is that of the draw, where training approximates its
// distribution.
func WriteTrajectory(path string, m *neural.Fitted, t *demo.Trajectory, o Options) error {
	root, err := NewTrajectory(m, t, o)
	return write(path, root, err)
}

// NewTrajectory returns what WriteTrajectory writes.
func NewTrajectory(m *neural.Fitted, t *demo.Trajectory, o Options) (*netcdf.Group, error) {
	spec, steps := m.Spec(), t.Len()
	switch {
	case o.Draws < 2:
		return nil, fmt.Errorf("inferencedata: %d draws, want at least 2", o.Draws)
	case spec.Image != (neural.Image{}):
		return nil, errors.New("inferencedata: the model is one of pictures, along which no posterior is drawn: " +
			"variational.NewPosterior gives its values and rewards")
	case steps == 0 || len(t.Observations) != (steps+1)*spec.Observation:
		return nil, fmt.Errorf("inferencedata: %d actions with %d numbers of observations; the model wants "+
			"observations of %d numbers, one more than actions", steps, len(t.Observations), spec.Observation)
	case (steps+1)*spec.Actions > maxValues:
		return nil, fmt.Errorf("inferencedata: %d steps of %d actions are too many to draw jointly; of a part of the "+
			"trajectory there are at most %d steps", steps, spec.Actions, maxValues/spec.Actions-1)
	}
	for i, a := range t.Actions {
		if a < 0 || a >= spec.Actions {
			return nil, fmt.Errorf("inferencedata: action[%d] is %d, want 0 to %d", i, a, spec.Actions-1)
		}
	}
	model, err := variational.NewPosterior(m)
	if err != nil {
		return nil, fmt.Errorf("inferencedata: %w", err)
	}
	w := &trajectory{spec: spec, Trajectory: t, draws: o.Draws}
	rng := rand.New(rand.NewPCG(o.Seed, 0))
	values, err := model.Values(t.Observations)
	if err != nil {
		return nil, fmt.Errorf("inferencedata: %w", err)
	}
	q, err := values.Sample(rng, o.Draws)
	if err != nil {
		return nil, fmt.Errorf("inferencedata: %w", err)
	}
	prior, err := w.prior(model.Prior()).Sample(rng, o.Draws)
	if err != nil {
		return nil, fmt.Errorf("inferencedata: %w", err)
	}
	observed := npz.Widen(t.Observations[:steps*spec.Observation])
	actions := make([]int64, steps)
	for i, a := range t.Actions {
		actions[i] = int64(a)
	}
	given := []netcdf.Variable{{Name: "observation", Dims: []string{step, feature}, Data: observed}}
	if t.Rewards != nil {
		given = append(given, netcdf.Variable{Name: "environment_reward", Dims: []string{step}, Data: t.Rewards})
	}
	posterior, logs := w.posterior(q)
	root := &netcdf.Group{Attributes: map[string]string{"inference_library": "github.com/go-birl/birl",
		"method": m.Name(), "beta": strconv.FormatFloat(spec.Beta, 'g', -1, 64),
		"discount": strconv.FormatFloat(spec.Discount, 'g', -1, 64)}}
	maps.Copy(root.Attributes, o.Attributes)
	drawn := append(draw, step)
	root.Groups = []netcdf.Group{
		w.group("posterior", append(drawn, action), posterior...),
		w.group("prior", drawn, netcdf.Variable{Name: "reward", Dims: drawn, Data: flat(prior)}),
		w.group("log_likelihood", drawn, netcdf.Variable{Name: demonstrated, Dims: drawn, Data: logs}),
		w.group("observed_data", []string{step},
			netcdf.Variable{Name: demonstrated, Dims: []string{step}, Data: actions}),
		w.group("constant_data", []string{step, feature}, given...),
	}
	return root, nil
}

// The dimensions of a trajectory's file beside those of a problem's.
const (
	step    = "step"
	feature = "feature"
)

// trajectory makes the groups of a trajectory's file.
type trajectory struct {
	*demo.Trajectory
	spec  neural.Spec
	draws int
}

// group returns a group with the numbers of the places of each dimension as coordinates, and the variables.
func (w *trajectory) group(name string, dims []string, variables ...netcdf.Variable) netcdf.Group {
	sizes := map[string]int{"chain": 1, "draw": w.draws, step: w.Len(), action: w.spec.Actions,
		feature: w.spec.Observation}
	return group(name, dims, func(dim string) any { return numbers(sizes[dim]) }, variables)
}

// posterior returns the variables of draws of the values of all T+1 observations, [draws, (T+1)·A], and the
// log-likelihoods [draws, T].
func (w *trajectory) posterior(q *mat.Dense) (variables []netcdf.Variable, logs []float64) {
	steps, actions := w.Len(), w.spec.Actions
	var kept, value, reward []float64
	for d := range w.draws {
		all := q.RawRowView(d)
		kept = append(kept, all[:steps*actions]...)
		for i, a := range w.Actions {
			now, next := all[i*actions:(i+1)*actions], all[(i+1)*actions:(i+2)*actions]
			r := now[a]
			if !(w.Terminated && i == steps-1) {
				r -= w.spec.Discount * floats.Max(next)
			}
			value, reward = append(value, floats.Max(now)), append(reward, r)
			logs = append(logs, mdp.LogBoltzmann(nil, now, actions, w.spec.Beta)[a])
		}
	}
	drawn := append(draw, step)
	return []netcdf.Variable{{Name: "reward", Dims: drawn, Data: reward}, {Name: "value", Dims: drawn, Data: value},
		{Name: "q", Dims: append(drawn, action), Data: kept}}, logs
}

// prior returns the Gaussian process at the trajectory's steps: of the covariance σ² exp(−½ Σ (Δx/ℓ)²), where x is the
// observation and the one-hot action.
func (w *trajectory) prior(p variational.Prior) *variational.Joint {
	j := &variational.Joint{Mean: make([]float64, w.Len()), Cov: mat.NewSymDense(w.Len(), nil)}
	size := w.spec.Observation
	for i, a := range w.Actions {
		j.Mean[i] = p.Mean
		for k, b := range w.Actions[:i+1] {
			sum := 0.0
			for f, x := range w.Observation(i) {
				sum += math.Pow(float64(x-w.Observation(k)[f])/p.Lengthscales[f], 2)
			}
			if a != b {
				sum += math.Pow(p.Lengthscales[size+a], -2) + math.Pow(p.Lengthscales[size+b], -2)
			}
			j.Cov.SetSym(i, k, p.Std*p.Std*math.Exp(-sum/2))
		}
	}
	return j
}
