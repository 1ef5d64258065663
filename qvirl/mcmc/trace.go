package mcmc

import "github.com/go-birl/birl/qvirl/irl"

// Transition is the one that led a chain to a position.
type Transition struct {
	Acceptance float64 // the probability with which it was accepted; of several proposals, the mean
	Divergent  bool    // whether the error of its energy exceeded 1000 nats
}

// Trace keeps the positions of a chain at equal distances, and ever fewer of them as the chain grows, so that it needs
// bounded memory however long the chain runs.
type Trace struct {
	n, limit     int
	stride, seen int
	draws        []float64    // [kept, n]
	transitions  []Transition // [kept]
}

// Collect makes a posterior of perChain thinned samples of each chain; set sets sample i of it from a position.
func Collect(problem *irl.Problem, traces []*Trace, perChain int, set func(p *Posterior, i int,
	x []float64)) *Posterior {
	p := NewPosterior(problem, len(traces), perChain)
	var transitions []Transition
	for j, trace := range traces {
		draws, by := trace.Thinned(perChain)
		for i, x := range draws {
			set(p, j*perChain+i, x)
		}
		transitions = append(transitions, by...)
	}
	p.SetTransitions(transitions)
	return p
}

// NewTrace returns a trace of positions of n numbers that keeps at most limit of them.
func NewTrace(n, limit int) *Trace { return &Trace{n: n, limit: limit, stride: 1} }

// Len returns the number of positions that were added, kept or not.
func (t *Trace) Len() int { return t.seen }

// Add adds a position, which is copied, and the transition that led to it. It halves the number of positions that are
// kept, by doubling the distance between them, when that exceeds the limit.
func (t *Trace) Add(x []float64, by Transition) {
	t.seen++
	if t.seen%t.stride != 0 {
		return
	}
	t.draws, t.transitions = append(t.draws, x...), append(t.transitions, by)
	if kept := len(t.transitions); kept > t.limit {
		half := kept / 2
		for i := 0; i < half; i++ {
			copy(t.draws[i*t.n:(i+1)*t.n], t.draws[(2*i+1)*t.n:(2*i+2)*t.n])
			t.transitions[i] = t.transitions[2*i+1]
		}
		t.draws, t.transitions = t.draws[:half*t.n], t.transitions[:half]
		t.stride *= 2
	}
}

// Thinned returns count positions that stand at equal distances among those that are kept, and the transitions that led
// to them.
func (t *Trace) Thinned(count int) ([][]float64, []Transition) {
	kept := len(t.transitions)
	x, by := make([][]float64, count), make([]Transition, count)
	for i := range x {
		at := (2*i + 1) * kept / (2 * count)
		x[i], by[i] = t.draws[at*t.n:(at+1)*t.n], t.transitions[at]
	}
	return x, by
}
