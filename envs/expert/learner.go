package expert

import (
	"fmt"
	"maps"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/envs/training"
)

// The scopes of the trained network and of the one that follows it.
const (
	onlineScope = "online"
	targetScope = "target"
)

// learner holds the two networks, and the optimizer's state, on a backend.
type learner struct {
	config  Config
	widths  []int
	actions int
	store   *model.Store
	act     *model.Exec // observations [environments, size] → mean values [environments, actions]
	step    *model.Exec // learning rate, batch → loss
}

// newLearner draws the first weights and compiles the programs, with the given loss or, if it is nil, the quantile
// Huber loss.
func newLearner(on compute.Backend, c Config, observation, actions int, given Loss) (*learner, error) {
	l := &learner{config: c, widths: c.widths(observation, actions), actions: actions, store: model.NewStore()}
	err := l.draw()
	if err == nil {
		err = l.compile(on, given)
	}
	if err == nil {
		err = l.warmUp(observation)
	}
	if err != nil {
		l.free()
		return nil, err
	}
	return l, nil
}

// draw draws the first weights, which both networks begin with.
func (l *learner) draw() error {
	first := newNetwork(l.widths, l.config.Seed)
	for _, scope := range []string{onlineScope, targetScope} {
		for i, layer := range first {
			arrays := []*tensors.Tensor{
				tensors.FromFlatDataAndDimensions(layer.weights, layer.in, layer.out),
				tensors.FromFlatDataAndDimensions(layer.biases, layer.out),
			}
			for k, value := range arrays {
				v, err := l.store.Scope("/"+scope).CreateVariable(arrayName(2*i+k), value)
				if err != nil {
					return fmt.Errorf("expert: %w", err)
				}
				v.SetTrainable(scope == onlineScope)
			}
		}
	}
	return nil
}

// compile makes the programs.
func (l *learner) compile(on compute.Backend, given Loss) error {
	c, actions := l.config, l.actions
	adam := optimizer.Adam().Epsilon(1e-8).Done()
	return training.Guard("expert", "building the programs", func() {
		l.act = model.MustNewExec(on, l.store, func(scope *model.Scope, x *Node) *Node {
			return ReduceMean(l.nodes(scope, onlineScope, x.Graph()).forward(x, actions, c.Norm), 2)
		})
		l.step = model.MustNewExec(on, l.store, func(scope *model.Scope, rate, x, a, r, discount, next *Node) *Node {
			g := rate.Graph()
			optimizer.LearningRateVar(scope, dtypes.Float32, 0).SetNodeValue(rate)
			online := l.nodes(scope, onlineScope, g)
			now := online.forward(x, actions, c.Norm)
			after := l.nodes(scope, targetScope, g).forward(next, actions, c.Norm)
			var loss *Node
			if given != nil {
				loss = given(Values{Now: ReduceMean(now, 2), Next: ReduceMean(after, 2), Actions: a,
					Discounts: discount, Demonstrated: c.Demonstrated})
			} else {
				chooser := after
				if c.Double {
					chooser = online.forward(next, actions, c.Norm)
				}
				target := bellmanTarget(r, discount, after, chooser, c.backup())
				loss = quantileHuberLoss(expect(now, OneHot(a, actions, now.DType())), target, c.Huber)
			}
			adam.UpdateGraph(scope, g, loss)
			l.follow(scope, g)
			return loss
		})
	})
}

// warmUp makes the optimizer's variables, which a stored state needs to be put into, by a first step, of which nothing
// else stays.
func (l *learner) warmUp(observation int) error {
	before, err := l.state()
	if err != nil {
		return err
	}
	n := l.config.Batch
	if _, err := l.learn(0, batch{
		observations: make([]float32, n*observation), nexts: make([]float32, n*observation), actions: make([]int32, n),
		rewards: make([]float32, n), discounts: make([]float32, n),
	}); err != nil {
		return err
	}
	state, err := l.state()
	if err != nil {
		return err
	}
	for _, a := range state {
		clear(a.Data) // the optimizer begins at zero
	}
	maps.Copy(state, before) // and the networks where they were
	return l.setState(func(name string) (*npz.Array, error) { a := state[name]; return &a, nil })
}

// free gives back what the learner holds of the device, without waiting for the garbage collector, which does not see
// its size.
func (l *learner) free() {
	// memory that cannot be given back is no reason to lose a training
	_ = training.Guard("expert", "freeing the learner", func() {
		for _, program := range []*model.Exec{l.act, l.step} {
			if program != nil {
				program.Finalize()
			}
		}
		l.store.Finalize()
	})
}

// nodes returns a network's arrays as they are at this point of the graph.
func (l *learner) nodes(scope *model.Scope, name string, g *Graph) nodes {
	out := make(nodes, 2*(len(l.widths)-1))
	for k := range out {
		out[k] = l.variable(scope, name, k).NodeValue(g)
	}
	return out
}

func (l *learner) variable(scope *model.Scope, name string, k int) *model.Variable {
	return scope.Store().GetVariable("/" + name + "/" + arrayName(k))
}

// follow moves the target network by a part of the way to the trained one (Lillicrap et al. 2016).
func (l *learner) follow(scope *model.Scope, g *Graph) {
	for k := range 2 * (len(l.widths) - 1) {
		online, target := l.variable(scope, onlineScope, k).NodeValue(g), l.variable(scope, targetScope, k)
		old := target.NodeValue(g)
		target.SetNodeValue(Add(old, MulScalar(Sub(online, old), l.config.TargetRate)))
	}
}

// learn makes a gradient step on a batch and returns its loss.
func (l *learner) learn(rate float64, b batch) (float64, error) {
	n, size := l.config.Batch, l.widths[0]
	out, err := l.call(l.step, float32(rate),
		tensors.FromFlatDataAndDimensions(l.config.features(b.observations), n, size),
		tensors.FromFlatDataAndDimensions(b.actions, n),
		tensors.FromFlatDataAndDimensions(b.rewards, n), tensors.FromFlatDataAndDimensions(b.discounts, n),
		tensors.FromFlatDataAndDimensions(l.config.features(b.nexts), n, size))
	if err != nil {
		return 0, err
	}
	return float64(out[0]), nil
}

// values returns the mean values [k, actions] of observations [k, size], on the scale of the rewards.
func (l *learner) values(observations []float32) ([]float64, error) {
	size, x := l.widths[0], l.config.features(observations)
	out, err := l.call(l.act, tensors.FromFlatDataAndDimensions(x, len(x)/size, size))
	if err != nil {
		return nil, err
	}
	return unscaled(out, l.config.RewardScale), nil
}

// unscaled returns values on the scale of the rewards.
func unscaled(values []float32, scale float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v) / scale
	}
	return out
}

// call runs a program, which frees the arrays that it is given, and returns the numbers of its only output.
func (l *learner) call(program *model.Exec, args ...any) ([]float32, error) {
	out, err := training.Call("expert", "computing", program, args...)
	if err != nil {
		return nil, err
	}
	numbers, err := tensors.CopyFlatData[float32](out[0])
	training.Finalize(out...)
	for _, a := range args {
		if t, ok := a.(*tensors.Tensor); ok {
			training.Finalize(t)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("expert: computing: %w", err)
	}
	return numbers, nil
}

// state returns all variables by name, those of the optimizer too.
func (l *learner) state() (map[string]npz.Array, error) {
	out := map[string]npz.Array{}
	for v := range l.store.IterVariables() {
		t, err := v.Value()
		if err != nil {
			return nil, fmt.Errorf("expert: %w", err)
		}
		a := npz.Array{Shape: append([]int{}, t.Shape().Dimensions...)}
		err = t.ConstFlatData(func(flat any) {
			switch numbers := flat.(type) {
			case []float32:
				a.Data, a.Type = npz.Widen(numbers), npz.Float32
			case []int64:
				a.Data, a.Type = npz.Widen(numbers), npz.Int64
			}
		})
		if err == nil && a.Data == nil {
			err = fmt.Errorf("the variable %s has the type %s, which is not stored", v.Path(), t.DType())
		}
		if err != nil {
			return nil, fmt.Errorf("expert: %w", err)
		}
		out[storedName(v)] = a
	}
	return out, nil
}

// storedName is a variable's name in a file.
func storedName(v *model.Variable) string {
	return strings.ReplaceAll(strings.TrimPrefix(v.Path(), "/"), "/", ".")
}

// setState sets all variables.
func (l *learner) setState(get func(name string) (*npz.Array, error)) error {
	for v := range l.store.IterVariables() {
		a, err := get(storedName(v))
		if err != nil {
			return err
		}
		dims := v.Shape().Dimensions
		if n := v.Shape().Size(); n != len(a.Data) {
			return fmt.Errorf("%s holds %d numbers, want %v", storedName(v), len(a.Data), dims)
		}
		var value *tensors.Tensor
		if v.DType() == dtypes.Int64 {
			value = tensors.FromFlatDataAndDimensions(npz.Narrow[int64](a.Data), dims...)
		} else {
			value = tensors.FromFlatDataAndDimensions(npz.Narrow[float32](a.Data), dims...)
		}
		if err := v.SetValue(value); err != nil {
			return fmt.Errorf("expert: %w", err)
		}
	}
	return nil
}

// network returns the target network.
func (l *learner) network() (network, error) {
	state, err := l.state()
	if err != nil {
		return nil, err
	}
	return networkOf(l.widths, func(name string) (*npz.Array, error) {
		a := state[targetScope+"."+name]
		return &a, nil
	})
}
