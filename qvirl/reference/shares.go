package reference

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// setShares lets each kernel make transitions alone, and sets the shares that make the least moved quantity move most
// for its cost. The movement of a reward or value by a kernel is its mean squared jump over twice its variance, one
// minus its autocorrelation.
func (s *sampling) setShares(ctx context.Context) error {
	size := len(s.chains[0].draw)
	jumps := make([][kernels][]float64, len(s.chains))
	costs := make([][kernels]float64, len(s.chains))
	draws := make([][][]float64, len(s.chains))
	err := s.job.Each(len(s.chains), func(j int) error {
		k := s.chains[j]
		before := make([]float64, size)
		for kernel := range kernels {
			if kernel == walkKernel && k.walker == nil {
				continue
			}
			jumps[j][kernel] = make([]float64, size)
			start := k.work()
			for range pilotMoves {
				if err := ctx.Err(); err != nil {
					return err
				}
				copy(before, k.draw)
				k.move(kernel)
				for i, x := range k.draw {
					jumps[j][kernel][i] += (x - before[i]) * (x - before[i])
				}
				draws[j] = append(draws[j], append([]float64(nil), k.draw...))
			}
			costs[j][kernel] = k.work() - start
		}
		return nil
	})
	if err != nil {
		return err
	}
	var all []float64
	for _, d := range draws {
		for _, x := range d {
			all = append(all, x...)
		}
	}
	positions := mat.NewDense(len(all)/size, size, all)
	var moved [kernels][]float64 // for a unit of cost
	var cost [kernels]float64    // of a transition
	for kernel := range kernels {
		if jumps[0][kernel] == nil {
			continue
		}
		moved[kernel] = make([]float64, size)
		for j := range s.chains {
			floats.Add(moved[kernel], jumps[j][kernel])
			cost[kernel] += costs[j][kernel]
		}
		for i := range moved[kernel] {
			if v := stat.Variance(mat.Col(nil, i, positions), nil); v > 0 {
				moved[kernel][i] /= 2 * v * cost[kernel]
			} else {
				moved[kernel][i] = math.Inf(1)
			}
		}
		cost[kernel] /= float64(pilotMoves * len(s.chains))
	}
	spent := bestShares(moved)
	var share [kernels]float64
	for kernel, f := range spent {
		if f > 0 {
			share[kernel] = f / cost[kernel]
		}
	}
	floats.Scale(1/floats.Sum(share[:]), share[:])
	for _, k := range s.chains {
		k.share, k.cost = share, 0
		for kernel, f := range share {
			k.cost += f * cost[kernel]
		}
	}
	return nil
}

// bestShares returns the shares of the cost, in tenths, that maximise the smallest movement, min_i Σ_k share_k
// moved_k[i]. A kernel without movements is left out; every other has a tenth at least, but for slices of all
// coordinates: a pilot is too short to see the slowest of movements, such as a goal far from the demonstrations that
// becomes another.
func bestShares(moved [kernels][]float64) (best [kernels]float64) {
	const tenths = 10
	top := -1.0
	var tried [kernels]float64
	var try func(kernel, left int)
	try = func(kernel, left int) {
		if kernel == kernels {
			if left > 0 {
				return
			}
			least := math.Inf(1)
			for i := range moved[hamiltonianKernel] {
				sum := 0.0
				for kernel, m := range moved {
					if tried[kernel] > 0 {
						sum += tried[kernel] * m[i]
					}
				}
				least = math.Min(least, sum)
			}
			if least > top {
				top, best = least, tried
			}
			return
		}
		least := 1
		if kernel == sliceKernel || moved[kernel] == nil {
			least = 0
		}
		for n := least; n <= left && (n == 0 || moved[kernel] != nil); n++ {
			tried[kernel] = float64(n) / tenths
			try(kernel+1, left-n)
		}
		tried[kernel] = 0
	}
	try(hamiltonianKernel, tenths)
	return best
}
