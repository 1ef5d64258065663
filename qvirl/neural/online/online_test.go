package online

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // registers "go"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/expert"
)

const (
	batch, actions, demonstrated = 7, 3, 3
	temperature, alpha           = 0.4, 0.3
)

// plain is the batch in double precision: the Q-values at states and successors, what was done, and the discounts.
type plain struct {
	now, next [][]float64
	actions   []int
	discounts []float64
}

// draw draws a batch; in the discounts, two successors count for nothing.
func draw() plain {
	random := rand.New(rand.NewPCG(3, 5))
	var p plain
	for i := range batch {
		var now, next []float64
		for range actions {
			now, next = append(now, random.NormFloat64()), append(next, random.NormFloat64())
		}
		p.now, p.next, p.actions = append(p.now, now), append(p.next, next), append(p.actions, random.IntN(actions))
		p.discounts = append(p.discounts, 0.9*min(1, float64(i%4)))
	}
	return p
}

// soft is V of one state's values.
func soft(q []float64) float64 {
	scaled := make([]float64, len(q))
	for a, x := range q {
		scaled[a] = x / temperature
	}
	return temperature * floats.LogSumExp(scaled)
}

// iqlearn sums up the objective transition by transition, as the paper writes it, and negates it.
func (p plain) iqlearn() float64 {
	objective := 0.0
	for i, q := range p.now {
		next := p.discounts[i] * soft(p.next[i])
		reward := q[p.actions[i]] - next
		if i >= batch-demonstrated {
			objective += reward / demonstrated
		}
		objective -= (soft(q) - next + reward*reward/(4*alpha)) / batch
	}
	return -objective
}

// sqil averages the squared errors of either kind.
func (p plain) sqil() float64 {
	loss := 0.0
	for i, q := range p.now {
		reward, share := 0.0, float64(batch-demonstrated)
		if i >= batch-demonstrated {
			reward, share = 1, demonstrated
		}
		loss += math.Pow(reward+p.discounts[i]*soft(p.next[i])-q[p.actions[i]], 2) / share
	}
	return loss
}

func flat(rows [][]float64) *tensors.Tensor {
	var out []float32
	for _, r := range rows {
		for _, x := range r {
			out = append(out, float32(x))
		}
	}
	return tensors.FromFlatDataAndDimensions(out, len(rows), actions)
}

// TestLossesAndGradientsAgreeWithPlainGo compares the losses with sums in double precision, and their gradients in the
// values with difference quotients of those. In the successors' values there is none.
func TestLossesAndGradientsAgreeWithPlainGo(t *testing.T) {
	on, err := compute.NewWithConfig("go")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		graph func(expert.Values) *Node
		plain func(plain) float64
	}{
		NameIQLearn: {func(v expert.Values) *Node { return IQLearn(v, temperature, alpha) }, plain.iqlearn},
		NameSQIL:    {func(v expert.Values) *Node { return SQIL(v, temperature) }, plain.sqil},
	} {
		p := draw()
		taken, discounts := make([]int32, batch), make([]float32, batch)
		for i := range batch {
			taken[i], discounts[i] = int32(p.actions[i]), float32(p.discounts[i])
		}
		exec := MustNewExec(on, func(now, next, taken, discounts *Node) []*Node {
			loss := c.graph(expert.Values{Now: now, Next: next, Actions: taken, Discounts: discounts,
				Demonstrated: demonstrated})
			return append([]*Node{loss}, Gradient(loss, now, next)...)
		})
		out, err := exec.Call(flat(p.now), flat(p.next), taken, discounts)
		if err != nil {
			t.Fatal(err)
		}
		want := c.plain(p)
		if got := out[0].Value().(float32); !scalar.EqualWithinAbs(float64(got), want, 1e-5) || want == 0 { // float32
			t.Errorf("%s: the loss is %g, plain Go has %g", name, got, want)
		}
		gradient, still := out[1].Value().([][]float32), out[2].Value().([][]float32)
		for i := range batch {
			for a := range actions {
				const h = 1e-5
				at := func(by float64) float64 {
					q := draw()
					q.now[i][a] += by
					return c.plain(q)
				}
				want := (at(h) - at(-h)) / (2 * h)
				if got := float64(gradient[i][a]); !scalar.EqualWithinAbs(got, want, 1e-5) {
					t.Errorf("%s: the gradient in Q(%d, %d) is %g, the difference quotient %g", name, i, a, got, want)
				}
				if still[i][a] != 0 {
					t.Errorf("%s: the loss moves the successors' values", name)
				}
			}
		}
	}
}

func TestConfigs(t *testing.T) {
	for _, method := range []string{NameIQLearn, NameSQIL} {
		if err := Default(method, "CartPole-v1", 0.99).Validate(); err != nil {
			t.Error(err)
		}
	}
	for name, change := range map[string]func(*Config){
		"method": func(c *Config) { c.Method = "dqn" }, "temperature": func(c *Config) { c.Temperature = 0 },
		"alpha": func(c *Config) { c.Alpha = 0 }, "β": func(c *Config) { c.Learner.Beta = 1 },
		"no demonstrations": func(c *Config) { c.Learner.Demonstrated = 0 },
		"nothing else":      func(c *Config) { c.Learner.Demonstrated = c.Learner.Batch },
		"steps":             func(c *Config) { c.Learner.ReturnSteps = 3 },
		"learner":           func(c *Config) { c.Learner.Steps = 0 },
	} {
		c := Default(NameIQLearn, "CartPole-v1", 0.99)
		if change(&c); c.Validate() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
