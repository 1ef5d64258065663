package neural

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// order gives the indices 0, …, n − 1 in batches: all of them in random order, then all in another one, and so on.
// Which indices a step gets depends on the seed, the stream and the step alone.
type order struct {
	seed      uint64
	stream, n int
	epoch     int // of indices; −1 before the first
	indices   []int
}

func newOrder(seed uint64, stream, n int) *order {
	return &order{seed: seed, stream: stream, n: n, epoch: -1}
}

// batch writes the indices of a step's batch.
func (o *order) batch(step int, batch []int) {
	for i := range batch {
		at := step*len(batch) + i
		if epoch := at / o.n; epoch != o.epoch {
			o.epoch, o.indices = epoch, random(o.seed, o.stream, epoch).Perm(o.n)
		}
		batch[i] = o.indices[at%o.n]
	}
}

// sampler draws the batches of several runs.
type sampler struct {
	expert, aux         []*Data // by run; aux is nil without auxiliary transitions
	expertSize, auxSize int
	noise               int
	seeds               []uint64
	expertOrder         []*order
	auxOrder            []*order
}

func newSampler(expert, aux []*Data, seeds []uint64, expertSize, auxSize, noise int) *sampler {
	d := &sampler{expert: expert, aux: aux, expertSize: expertSize, auxSize: auxSize, noise: noise, seeds: seeds}
	for r, seed := range seeds {
		d.expertOrder = append(d.expertOrder, newOrder(seed, streamOrder, expert[r].Len()))
	}
	if aux != nil {
		d.setAux(aux)
	}
	return d
}

// setAux sets the auxiliary transitions.
func (d *sampler) setAux(aux []*Data) {
	d.aux, d.auxOrder = aux, nil
	for r, seed := range d.seeds {
		d.auxOrder = append(d.auxOrder, newOrder(seed, streamAuxOrder, aux[r].Len()))
	}
}

// draw returns the inputs of the steps from, …, from+count−1 (see unpackBatch): each has leading axes over steps and
// runs.
func (d *sampler) draw(from, count int) []*tensors.Tensor {
	out := d.transitions(d.expert, d.expertOrder, d.expertSize, from, count)
	if d.aux != nil {
		out = append(out, d.transitions(d.aux, d.auxOrder, d.auxSize, from, count)...)
	}
	if d.noise == 0 {
		return out
	}
	noise := make([]float32, 0, count*len(d.seeds)*d.noise)
	for k := range count {
		for _, seed := range d.seeds {
			normal := random(seed, streamNoise, from+k)
			for range d.noise {
				noise = append(noise, float32(normal.NormFloat64()))
			}
		}
	}
	return append(out, tensors.FromFlatDataAndDimensions(noise, count, len(d.seeds), d.noise))
}

// The number of inputs of one kind of transitions, and how many more there are with further successors.
const (
	transitionInputs = 5
	successorInputs  = 2
)

// transitions draws state, next, action, nextAction and discount, and the successors and their weights if there are
// further ones.
func (d *sampler) transitions(data []*Data, orders []*order, n, from, count int) []*tensors.Tensor {
	runs, size := len(data), data[0].size()
	var state, next states
	action := make([]int32, 0, count*runs*n)
	nextAction := make([]int32, 0, count*runs*n)
	discount := make([]float32, 0, count*runs*n)
	m := data[0].Successors
	successor := make([]float32, 0, count*runs*n*m*size)
	weight := make([]float32, 0, count*runs*n*m)
	batch := make([]int, n)
	for k := range count {
		for r, x := range data {
			orders[r].batch(from+k, batch)
			for _, i := range batch {
				state.add(x, i, 0)
				next.add(x, i, 1)
				action, nextAction = append(action, x.Action[i]), append(nextAction, x.NextAction[i])
				discount = append(discount, x.Discount[i])
				successor = append(successor, x.Successor[i*m*size:(i+1)*m*size]...)
				weight = append(weight, x.Weight[i*m:(i+1)*m]...)
			}
		}
	}
	out := []*tensors.Tensor{
		state.tensor(count, runs, n, size), next.tensor(count, runs, n, size),
		tensors.FromFlatDataAndDimensions(action, count, runs, n), tensors.FromFlatDataAndDimensions(nextAction, count,
			runs, n),
		tensors.FromFlatDataAndDimensions(discount, count, runs, n),
	}
	if m > 0 {
		out = append(out, tensors.FromFlatDataAndDimensions(successor, count, runs, n, m, size),
			tensors.FromFlatDataAndDimensions(weight, count, runs, n, m))
	}
	return out
}

// size returns the length of a state.
func (d *Data) size() int {
	if d.Scale == nil {
		return d.Image.Size()
	}
	return len(d.Scale.Mean)
}

// unpackBatch returns the batch of step k of what draw returned for a program's shape.
func unpackBatch(inputs []*graph.Node, k, actions int, s shape) *Batch {
	at := func(i int) *graph.Node { return graph.Squeeze(graph.SliceAxis(inputs[i], 0, graph.AxisElem(k)), 0) }
	transitions := func(first int) Transitions {
		oneHot := func(i int) *graph.Node { return graph.OneHot(at(i), actions, dtypes.Float32) }
		t := Transitions{State: at(first), Next: at(first + 1), Action: oneHot(first + 2),
			NextAction: oneHot(first + 3), Discount: at(first + 4)}
		if s.successors {
			t.Successor, t.Weight = at(first+transitionInputs), at(first+transitionInputs+1)
		}
		return t
	}
	each := transitionInputs
	if s.successors {
		each += successorInputs
	}
	b := &Batch{Expert: transitions(0)}
	next := each
	if s.aux {
		aux := transitions(next)
		b.Aux, next = &aux, next+each
	}
	if s.noise {
		b.Noise = at(next)
	}
	return b
}
