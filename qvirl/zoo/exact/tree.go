package exact

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/zoo"
)

// tree answers by belief propagation (Pearl, 1988, "Probabilistic Reasoning in Intelligent Systems", Ch. 4) where two
// actions lead from each state to two states of its own, or the episode ends: then the optimal values, given those of a
// state's children, are independent of all that is not below it. With u the greater of the children's values x and y,
//
//	V = R + γ u,   R ~ N(m, σ²),   p(demonstrations | x, y) = Π_a softmax(βγ (x, y))_a^(n_a),
//
// and messages are densities of V on one grid: up from the children, down from the parent.
type tree struct {
	*irl.Problem
	left, right []int // a state's children, −1 where the episode ends, [S]
	order       []int // parents come before their children
	counts      []float64
}

// newTree returns nil for another problem.
func newTree(p *irl.Problem) *tree {
	if !p.StateOnly() || !p.Prior.Independent() || p.InfersBeta() || p.MDP.Actions() != 2 {
		return nil
	}
	states := p.MDP.States()
	t := &tree{Problem: p, left: make([]int, states), right: make([]int, states), counts: p.DemoCounts()}
	parents := make([]int, states)
	child := func(s, a int) int {
		if next, prob := p.MDP.Row(s, a); len(next) == 1 && prob[0] == 1 {
			parents[next[0]]++
			return int(next[0])
		}
		return -1
	}
	for s := range states {
		t.left[s], t.right[s] = child(s, 0), child(s, 1)
		if (t.left[s] < 0) != (t.right[s] < 0) || t.left[s] < 0 && len(p.MDP.Successors(s)) > 0 ||
			!(p.Prior.Std[s] > 0) {
			return nil
		}
	}
	for s, n := range parents {
		if n > 1 {
			return nil
		}
		if n == 0 {
			t.order = append(t.order, s)
		}
	}
	for at := 0; at < len(t.order); at++ {
		if s := t.order[at]; t.left[s] >= 0 {
			t.order = append(t.order, t.left[s], t.right[s])
		}
	}
	if len(t.order) < states { // the others go round in circles
		return nil
	}
	return t
}

// maxTreeSide is the largest number of intervals of a tree's grid.
const maxTreeSide = 1 << 12

func (t *tree) answer(ctx context.Context) (*zoo.Answer, error) {
	return settle(ctx, 256, func(side int) bool { return side <= maxTreeSide }, t.grid,
		func(e estimates, side int) *zoo.Answer {
			// each integral is over the values of two states
			return &zoo.Answer{Summary: e.summary(t.Problem), EffectiveSize: math.Pow(float64(side+1), 2),
				Recipe: fmt.Sprintf("belief propagation on a grid of %d values", side+1)}
		})
}

// grid returns the estimates with side+1 values from the least to the greatest that matter.
func (t *tree) grid(ctx context.Context, side int) (estimates, error) {
	states, n := t.MDP.States(), side+1
	low, high := make([]float64, states), make([]float64, states)
	for k := states - 1; k >= 0; k-- {
		s := t.order[k]
		m, half := t.Prior.Mean[s], reach*t.Prior.Std[s]
		low[s], high[s] = m-half, m+half
		if l, r := t.left[s], t.right[s]; l >= 0 {
			low[s] += t.Discount * max(low[l], low[r])
			high[s] += t.Discount * max(high[l], high[r])
		}
	}
	v := floats.Span(make([]float64, n), floats.Min(low), floats.Max(high))
	density := func(s int, r float64) float64 {
		z := (r - t.Prior.Mean[s]) / t.Prior.Std[s]
		return math.Exp(-z * z / 2)
	}
	// likelihood[d + side] is of a state's demonstrations where its left child's value is d steps above the right's
	likelihood := make([][]float64, states)
	logProb := make([]float64, 2*side+1) // of the left action, likewise
	for d := range logProb {
		x := t.Beta * t.Discount * float64(d-side) * (v[1] - v[0])
		logProb[d] = math.Min(x, 0) - math.Log1p(math.Exp(-math.Abs(x)))
	}
	for s := range likelihood {
		likelihood[s] = make([]float64, 2*side+1)
		for d := range logProb {
			likelihood[s][d] = math.Exp(t.counts[2*s]*logProb[d] + t.counts[2*s+1]*logProb[2*side-d])
		}
	}
	up, greater, down := make([][]float64, states), make([][]float64, states), make([][]float64, states)
	for k := states - 1; k >= 0; k-- {
		if ctx.Err() != nil {
			return estimates{}, ctx.Err()
		}
		s := t.order[k]
		up[s] = make([]float64, n)
		if t.left[s] < 0 {
			for i := range v {
				up[s][i] = density(s, v[i])
			}
			continue
		}
		x, y, u := up[t.left[s]], up[t.right[s]], make([]float64, n)
		for i := range v {
			u[i] = x[i] * y[i] * likelihood[s][side]
			for j := range i {
				u[i] += x[i]*y[j]*likelihood[s][side+i-j] + x[j]*y[i]*likelihood[s][side+j-i]
			}
		}
		greater[s] = normalised(u)
		for i := range v {
			for j, p := range u {
				up[s][i] += p * density(s, v[i]-t.Discount*v[j])
			}
		}
		normalised(up[s])
	}
	e := newEstimates(quantityCount(t.Problem))
	for _, s := range t.order {
		if ctx.Err() != nil {
			return estimates{}, ctx.Err()
		}
		if down[s] == nil { // a root
			down[s] = make([]float64, n)
			floats.AddConst(1, down[s])
		}
		var value, reward spread
		for i, p := range down[s] {
			value.add(p*up[s][i], v[i])
		}
		e.mean[states+s], e.std[states+s] = value.moments()
		first := 2*states + 2*s // of the quantities, the probability of the left action
		l, r := t.left[s], t.right[s]
		if l < 0 {
			e.mean[s], e.std[s] = value.moments()
			e.mean[first], e.mean[first+1] = 0.5, 0.5
			continue
		}
		above := make([]float64, n) // the message to u
		for i, p := range down[s] {
			for j := range v {
				each := v[i] - t.Discount*v[j]
				weight := p * density(s, each)
				above[j] += weight
				reward.add(weight*greater[s][j], each)
			}
		}
		normalised(above)
		e.mean[s], e.std[s] = reward.moments()
		down[l], down[r] = make([]float64, n), make([]float64, n)
		var policy spread
		for i := range v {
			for j := range v {
				weight := likelihood[s][side+i-j] * above[max(i, j)]
				down[l][i] += weight * up[r][j]
				down[r][j] += weight * up[l][i]
				policy.add(weight*up[l][i]*up[r][j], math.Exp(logProb[side+i-j]))
			}
		}
		normalised(down[l])
		normalised(down[r])
		e.mean[first], e.std[first] = policy.moments()
		e.mean[first+1], e.std[first+1] = 1-e.mean[first], e.std[first]
	}
	return e, nil
}

// normalised divides x by its sum.
func normalised(x []float64) []float64 {
	floats.Scale(1/floats.Sum(x), x)
	return x
}

// spread sums the weighted powers of a quantity.
type spread struct{ weight, first, second float64 }

func (s *spread) add(weight, x float64) {
	s.weight += weight
	s.first += weight * x
	s.second += weight * x * x
}

func (s *spread) moments() (mean, std float64) {
	mean = s.first / s.weight
	return mean, math.Sqrt(max(s.second/s.weight-mean*mean, 0))
}
