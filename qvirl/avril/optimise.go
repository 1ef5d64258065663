package avril

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/go-birl/birl/qvirl/irl"
	"gonum.org/v1/gonum/floats"
)

const (
	window = 500 // steps over which the objective is averaged to detect convergence
	drops  = 4   // windows without gain, each lowering the learning rate tenfold, until the optimisation ends
)

// fit maximises the objective of one problem by Adam (Kingma & Ba, 2015).
func (m *Method) fit(ctx context.Context, p *irl.Problem) (*Posterior, error) {
	o, err := newObjective(p, m.config.Lambda)
	if err != nil {
		return nil, err
	}
	x, err := o.start(m.config)
	if err != nil {
		return nil, err
	}
	gradient := newPoint(len(x.q), len(x.mean))
	scale := o.units()
	adam := &adam{first: make([]float64, len(x.flat)), second: make([]float64, len(x.flat)), decay1: 1, decay2: 1}
	d := Diagnostics{}
	rate, sum, before, lowered := m.config.LearningRate, 0.0, math.Inf(-1), 0
	for d.Steps < m.config.Steps && lowered < drops {
		sum += o.evaluate(x, gradient)
		floats.Mul(gradient.flat, scale)
		adam.ascend(x.flat, gradient.flat, scale, rate)
		for i, std := range o.scale {
			x.logStd[i] = math.Max(x.logStd[i], math.Log(std)+MinLogStd)
		}
		d.Steps++
		if d.Steps%window != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d.Curve = append(d.Curve, sum/window)
		if m.config.Tolerance > 0 && sum/window < before+m.config.Tolerance {
			rate /= 10
			lowered++
		}
		before, sum = sum/window, 0
	}
	d.Converged = lowered == drops
	d.Objective = o.evaluate(x, gradient)
	std := make([]float64, len(x.logStd))
	for i, logStd := range x.logStd {
		if std[i] = math.Exp(logStd); std[i] < collapsed*o.scale[i] {
			d.Collapsed++
		}
	}
	return &Posterior{problem: p, q: x.q, mean: x.mean, std: std, diagnostics: d}, nil
}

// start returns the first parameters: the reward posterior at the prior, and Q the optimal values of the prior mean
// with a little noise, which breaks the ties of a constant prior mean.
func (o *objective) start(c Config) (*point, error) {
	p := o.problem
	x := newPoint(p.MDP.States()*p.MDP.Actions(), p.RewardDim())
	sol, err := p.MDP.Solve(p.Prior.Mean, p.Discount)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	for i := range x.q {
		x.q[i] = sol.Q[i] + c.InitStd*o.scale[i/o.shared]*rng.NormFloat64()
	}
	copy(x.mean, p.Prior.Mean)
	for i, std := range o.scale {
		x.logStd[i] = math.Log(std)
	}
	return x, nil
}

// units returns how much each parameter changes with one unit of what Adam works on: a prior standard deviation for
// Q-values and reward means, 1 for log standard deviations.
func (o *objective) units() []float64 {
	u := newPoint(len(o.counts), len(o.scale))
	for i := range u.q {
		u.q[i] = o.scale[i/o.shared]
	}
	copy(u.mean, o.scale)
	for i := range u.logStd {
		u.logStd[i] = 1
	}
	return u.flat
}

// adam holds the running moments of the gradient.
type adam struct {
	first, second []float64
	decay1        float64 // 0.9^t
	decay2        float64 // 0.999^t
}

// ascend adds one Adam step along the gradient to x, each parameter in its unit.
func (o *adam) ascend(x, gradient, unit []float64, rate float64) {
	const b1, b2, epsilon = 0.9, 0.999, 1e-8
	o.decay1 *= b1
	o.decay2 *= b2
	rate /= 1 - o.decay1
	bias := 1 / (1 - o.decay2)
	for i, g := range gradient {
		o.first[i] = b1*o.first[i] + (1-b1)*g
		o.second[i] = b2*o.second[i] + (1-b2)*g*g
		x[i] += unit[i] * rate * o.first[i] / (math.Sqrt(o.second[i]*bias) + epsilon)
	}
}
