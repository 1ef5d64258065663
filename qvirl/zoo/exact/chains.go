package exact

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/irl"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/valuewalk"
	"github.com/go-birl/birl/qvirl/zoo"
)

const (
	chainCount = 32
	burnIn     = 100
	jumps      = 10   // independent proposals between kept draws
	maxChain   = 8000 // kept draws of each chain
	maxRHat    = 1.01
	agreement  = 4 // Monte Carlo errors of their difference that two samplers may differ by
)

// chains returns the answer of long chains of elliptical slice sampling and independent jumps from points of the cloud,
// if ValueWalk agrees.
func (p *problem) chains(ctx context.Context, points [][]float64, proposal proposal) (*zoo.Answer, error) {
	s, err := p.walk(ctx, points, proposal, maxChain)
	if err != nil {
		return nil, err
	}
	if !(s.rHat <= maxRHat) {
		return nil, fmt.Errorf("%w: R̂ of elliptical slice sampling is %.3f", ErrNotEstablished, s.rHat)
	}
	other, err := p.valueWalk(ctx)
	if err != nil {
		return nil, err
	}
	if !(other.rHat <= maxRHat) {
		return nil, fmt.Errorf("%w: R̂ of ValueWalk is %.3f", ErrNotEstablished, other.rHat)
	}
	worst := s.distance(other.estimates)
	if !(worst <= agreement) {
		return nil, fmt.Errorf("%w: elliptical slice sampling and ValueWalk differ by %.1f Monte Carlo errors",
			ErrNotEstablished, worst)
	}
	return &zoo.Answer{Summary: s.summary(p.Problem), EffectiveSize: s.size,
		Recipe: fmt.Sprintf("elliptical slice sampling with independent jumps, %d draws, R̂ %.4f; "+
			"ValueWalk (effective size %.0f, R̂ %.4f) agrees within %.1f Monte Carlo errors", s.draws, s.rHat,
			other.size, other.rHat, worst)}, nil
}

// walk makes chains from points of the cloud until their effective size does, or they have length draws each.
func (p *problem) walk(ctx context.Context, points [][]float64, proposal proposal, length int) (outcome, error) {
	around, _, ok := fitGaussian(points, slices.Repeat([]float64{1}, len(points)), 1.2, nil, 0)
	if !ok {
		return outcome{}, fmt.Errorf("%w: the particles' covariance is singular", ErrNotEstablished)
	}
	count := quantityCount(p.Problem)
	walkers, draws := make([]*walker, chainCount), make([][][]float64, chainCount) // [chain][draw][quantity]
	starts := make([][]float64, chainCount)
	for i := range starts {
		starts[i] = points[i*len(points)/chainCount]
	}
	for now := min(250, length); ; now = min(2*now, length) {
		err := p.parallel(ctx, chainCount, func(l *likelihood, i int) {
			w := walkers[i]
			if w == nil {
				w = newWalker(l, append([]float64(nil), starts[i]...), l.log(starts[i]), 1,
					p.rng(streamChains+uint64(i)))
				walkers[i] = w
				for range burnIn {
					w.sweep(around, proposal)
				}
			}
			w.l = l
			for len(draws[i]) < now && ctx.Err() == nil {
				w.sweep(around, proposal)
				l.log(w.z)
				x := make([]float64, count)
				l.quantities(x)
				draws[i] = append(draws[i], x)
			}
		})
		if err != nil {
			return outcome{}, err
		}
		s := summarise(count, func(q int) [][]float64 {
			out := make([][]float64, chainCount)
			for i, chain := range draws {
				for _, x := range chain {
					out[i] = append(out[i], x[q])
				}
			}
			return out
		})
		if s.draws = now * chainCount; s.size >= MinEffectiveSize && s.rHat <= maxRHat || now == length {
			return s, nil
		}
	}
}

// sweep makes the transitions between two kept draws.
func (w *walker) sweep(around *gaussian, proposal proposal) {
	for range 2 {
		w.step(around)
		w.step(nil)
	}
	w.jump(jumps, proposal)
}

// outcome is what chains say: estimates, the smallest effective sample size of a mean, and the largest R̂.
type outcome struct {
	estimates
	size, rHat float64
	draws      int
}

// summarise takes the chains of each quantity.
func summarise(count int, chains func(q int) [][]float64) outcome {
	s := outcome{estimates: newEstimates(count), size: math.Inf(1)}
	for q := range count {
		x := chains(q)
		mean, std := stat.MeanStdDev(slices.Concat(x...), nil)
		s.mean[q], s.std[q] = mean, std
		size := mcmc.ESS(x)
		if math.IsNaN(size) { // a constant, such as the policy in an end
			continue
		}
		s.meanError[q] = std / math.Sqrt(size)
		rHat, _, _ := mcmc.Diagnose(x)
		s.size, s.rHat = min(s.size, size), max(s.rHat, rHat)
		if relative := mcmc.StdError(x); !math.IsNaN(relative) {
			s.stdError[q] = std * relative
		}
	}
	return s
}

// distance is the largest difference from other estimates, in Monte Carlo errors of the difference.
func (e estimates) distance(other estimates) float64 {
	worst := 0.0
	for i := range e.mean {
		for _, d := range [][2]float64{
			{e.mean[i] - other.mean[i], math.Hypot(e.meanError[i], other.meanError[i])},
			{e.std[i] - other.std[i], math.Hypot(e.stdError[i], other.stdError[i])},
		} {
			if d[1] > 0 {
				worst = max(worst, math.Abs(d[0])/d[1])
			}
		}
	}
	return worst
}

// valueWalk samples with a long run of ValueWalk.
func (p *problem) valueWalk(ctx context.Context) (outcome, error) {
	c := valuewalk.Default()
	c.Samples, c.MinESS, c.MaxIterations, c.Seed = 20_000, 10_000, 100_000, 21
	m, err := valuewalk.New(c)
	if err != nil {
		return outcome{}, err
	}
	posts, err := m.Fit(ctx, []*irl.Problem{p.Problem}, nil)
	if err != nil {
		return outcome{}, err
	}
	post := posts[0].(*valuewalk.Posterior)
	samples, actions := post.Samples(), p.MDP.Actions()
	values, policies := samples.Values(actions), samples.Policies(actions, p.Beta)
	n, states := p.RewardDim(), p.MDP.States()
	return summarise(quantityCount(p.Problem), func(q int) [][]float64 {
		switch {
		case q < n:
			return post.RewardChains(q)
		case q < n+states:
			return post.ByChain(mat.Col(nil, q-n, values))
		case q < n+states+states*actions:
			return post.ByChain(mat.Col(nil, q-n-states, policies))
		}
		return post.ByChain(samples.Beta)
	}), nil
}
