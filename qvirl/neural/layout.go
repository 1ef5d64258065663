package neural

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
)

// layout says where in two vectors, one trained and one fixed, the parameters of a run are. Being one vector, all
// parameters take a step of Adam in one operation, and a checkpoint is a handful of arrays.
type layout struct {
	slots          []slot
	trained, fixed int // lengths of the vectors
}

// slot is the place of a parameter, which is without its value here.
type slot struct {
	Parameter
	from, to int
}

// of returns the parameter's values in a run's vectors.
func (s *slot) of(trained, fixed []float32) []float32 {
	if s.Fixed {
		return fixed[s.from:s.to]
	}
	return trained[s.from:s.to]
}

// newLayout places the parameters of a run, and returns their values.
func newLayout(parameters []Parameter) (l *layout, trained, fixed []float32, err error) {
	l = &layout{}
	for _, p := range parameters {
		size := 1
		for _, d := range p.Dims {
			size *= max(d, 0) // a stored shape may say anything
		}
		if len(p.Value) != size {
			return nil, nil, nil, fmt.Errorf("neural: the parameter %q has %d values, its shape %v wants %d", p.Name,
				len(p.Value), p.Dims, size)
		}
		if slices.ContainsFunc(l.slots, func(s slot) bool { return s.Name == p.Name }) {
			return nil, nil, nil, fmt.Errorf("neural: the parameter %q is listed twice", p.Name)
		}
		vector := &trained
		if p.Fixed {
			vector = &fixed
		}
		from := len(*vector)
		*vector = append(*vector, p.Value...)
		p.Value = nil
		l.slots = append(l.slots, slot{p, from, from + size})
	}
	if len(fixed) == 0 {
		fixed = []float32{0} // graphs take no empty arrays
	}
	l.trained, l.fixed = len(trained), len(fixed)
	return l, trained, fixed, nil
}

// signature identifies the layout: equal ones share programs.
func (l *layout) signature() string {
	text := ""
	for _, s := range l.slots {
		text += fmt.Sprintf("%s%v%t%t;", s.Name, s.Dims, s.Fixed, s.NoDecay)
	}
	return text
}

// nodes cuts the vectors trained [runs, l.trained] and fixed [runs, l.fixed] (nil if there is none) into parameters
// [runs, dims…], in the order of the slots.
func (l *layout) nodes(trained, fixed *graph.Node) []*graph.Node {
	out := make([]*graph.Node, len(l.slots))
	for i, s := range l.slots {
		vector := trained
		if s.Fixed {
			vector = fixed
		}
		part := graph.SliceAxis(vector, 1, graph.AxisRange(s.from, s.to))
		out[i] = graph.Reshape(part, append([]int{vector.Shape().Dim(0)}, s.Dims...)...)
	}
	return out
}

// decay returns the vector [trained] of 1 where weights decay and 0 elsewhere.
func (l *layout) decay() []float32 {
	out := make([]float32, l.trained)
	for _, s := range l.slots {
		for i := s.from; i < s.to && !s.Fixed; i++ {
			if !s.NoDecay {
				out[i] = 1
			}
		}
	}
	return out
}

// gather cuts a run's vectors into named parameters.
func (l *layout) gather(trained, fixed []float32) []Parameter {
	out := make([]Parameter, len(l.slots))
	for i, s := range l.slots {
		out[i] = s.Parameter
		out[i].Value = s.of(trained, fixed)
	}
	return out
}

// find returns a parameter of a run's vectors by its name, which the layout has.
func (l *layout) find(name string, trained, fixed []float32) []float32 {
	for _, s := range l.slots {
		if s.Name == name {
			return s.of(trained, fixed)
		}
	}
	panic(fmt.Errorf("neural: the model has no parameter %q", name))
}

// The random streams of a run.
const (
	streamWeights  = 1
	streamOrder    = 2
	streamAuxOrder = 3
	streamNoise    = 5
)

// random returns the generator of a run's stream at a count, such as a step: what is drawn depends on nothing else.
func random(seed uint64, stream, count int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(stream)<<48|uint64(count)))
}
