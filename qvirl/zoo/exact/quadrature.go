package exact

import (
	"context"
	"fmt"
	"math"

	"github.com/go-birl/birl/qvirl/zoo"
)

const (
	reach        = 8.5  // standard deviations of the prior that a grid spans on either side
	maxNodes     = 3e7  // of a grid
	gridAccuracy = 2e-3 // the largest error accepted, in standard deviations of each quantity
)

// quadrature is the trapezoidal rule on a tensor grid over z.
func (p *problem) quadrature(ctx context.Context) (*zoo.Answer, error) {
	nodes := func(side int) float64 { return math.Pow(float64(side), float64(p.ValueDim())) }
	return settle(ctx, 128, func(side int) bool { return nodes(side) <= maxNodes }, p.grid,
		func(e estimates, side int) *zoo.Answer {
			return &zoo.Answer{Summary: e.summary(p.Problem), EffectiveSize: nodes(side + 1),
				Recipe: fmt.Sprintf("trapezoidal rule on a grid of %d nodes a side", side+1)}
		})
}

// settle halves the intervals of a grid until the estimates do not change any more, and returns answer with the last
// ones, or nil if that takes more than possible says. The errors are the changes from the last grid but one.
func settle(ctx context.Context, side int, possible func(side int) bool,
	grid func(ctx context.Context, side int) (estimates, error),
	answer func(e estimates, side int) *zoo.Answer) (*zoo.Answer, error) {
	var last estimates
	for ; possible(side); side *= 2 {
		e, err := grid(ctx, side)
		if err != nil {
			return nil, err
		}
		if last.mean != nil {
			worst := 0.0
			for i := range e.mean {
				e.meanError[i], e.stdError[i] = math.Abs(e.mean[i]-last.mean[i]), math.Abs(e.std[i]-last.std[i])
				if change := max(e.meanError[i], e.stdError[i]); change > 0 {
					worst = max(worst, change/e.std[i])
				}
			}
			if worst <= gridAccuracy {
				return answer(e, side), nil
			}
		}
		last = e
	}
	return nil, nil
}

// grid returns the estimates on a grid of side+1 nodes a dimension.
func (p *problem) grid(ctx context.Context, side int) (estimates, error) {
	d := p.ValueDim()
	centre, scale := unit(p.Problem)
	rows := make([]*moments, side+1)
	err := p.parallel(ctx, side+1, func(l *likelihood, i int) {
		m := newMoments(centre, scale)
		at, z, x := make([]int, d), make([]float64, d), make([]float64, len(centre))
		for at[0] = i; ; {
			log := 0.0
			for k, a := range at {
				z[k] = reach * (2*float64(a)/float64(side) - 1)
				log -= z[k] * z[k] / 2
			}
			log += l.log(z)
			l.quantities(x)
			m.add(log, x)
			k := d - 1
			for ; k > 0; k-- {
				if at[k]++; at[k] <= side {
					break
				}
				at[k] = 0
			}
			if k == 0 {
				break
			}
		}
		rows[i] = m
	})
	if err != nil {
		return estimates{}, err
	}
	sum := newMoments(centre, scale)
	for _, m := range rows {
		sum.merge(m)
	}
	return sum.estimates(), nil
}
