package reference

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// setShares sets the shares by how far each kernel moves the rewards and values for its cost.
func (s *sampling) setShares(ctx context.Context) error {
	moved, cost, err := s.movements(ctx)
	if err != nil {
		return err
	}
	chains := float64(s.config.Chains)
	spent := bestShares(moved, cost, float64(s.config.Samples)/chains, s.config.MinESS/chains, cheapWork/chains)
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

// setCrossing lets chains with a ladder cross so often that it takes about as much work as all other moves.
func (s *sampling) setCrossing(ctx context.Context) error {
	if s.chains[0].ladder == nil {
		return nil
	}
	cost, err := s.costOf(ctx, (*chain).cross)
	if err != nil {
		return err
	}
	for _, k := range s.chains {
		k.crossShare = min(1, k.cost/cost)
		k.cost *= 2
	}
	return nil
}

// setJumps lets chains with several modes jump so often that it takes a share of the work of all other moves. First
// they jump away from where there is next to nothing of the posterior, as if for ever, and see in which blocks jumps
// lead from one mode to another.
func (s *sampling) setJumps(ctx context.Context) error {
	if s.chains[0].blocks == nil {
		return nil
	}
	leads := make([][]float64, len(s.chains)) // mean probabilities by block
	err := s.job.Each(len(s.chains), func(j int) error {
		k := s.chains[j]
		leads[j] = make([]float64, len(k.blocks))
		end, made := k.work()+settleWork, 0
		for ; made < settleJumps && k.work() < end && ctx.Err() == nil; made++ {
			for b := range k.blocks {
				leads[j][b] += k.jumpIn(&k.blocks[b])
			}
		}
		floats.Scale(1/math.Max(float64(made*len(s.chains)), 1), leads[j])
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	mean := make([]float64, len(s.chains[0].blocks))
	for _, l := range leads {
		floats.Add(mean, l)
	}
	if len(mean) == 1 && mean[0] < leastShare {
		for _, k := range s.chains {
			k.blocks = nil
		}
		return nil
	}
	share(s.chains[0].blocks, mean)
	cost, err := s.costOf(ctx, (*chain).jump)
	if err != nil {
		return err
	}
	for _, k := range s.chains {
		k.cost -= k.jumpCost
		k.jumps = max(leastJumps, min(jumpWork*k.cost/cost, mostJumps))
		k.jumpCost = k.jumps * cost
		k.cost += k.jumpCost
	}
	return nil
}

// costOf lets every chain make moves of a kind and returns what one of them costs.
func (s *sampling) costOf(ctx context.Context, move func(k *chain)) (float64, error) {
	costs := make([]float64, len(s.chains))
	err := s.job.Each(len(s.chains), func(j int) error {
		k := s.chains[j]
		start, n := k.work(), 0
		for ; n == 0 || n < leastMoves && k.work() < start+pilotWork; n++ {
			move(k)
		}
		costs[j] = (k.work() - start) / float64(n)
		return ctx.Err()
	})
	return stat.Mean(costs, nil), err
}

// movements lets each kernel make moves alone and returns how far these move each reward and value for a unit of cost,
// and what a transition of each kernel costs. The movement of a quantity is the mean square of its jump over twice its
// variance, one minus its autocorrelation. A move of a cheap kernel is as many transitions as cost what one of a dear
// one does: its first transitions go further than those after them.
func (s *sampling) movements(ctx context.Context) (moved [kernels][]float64, cost [kernels]float64, err error) {
	if _, cost, err = s.pilots(ctx, costMoves, [kernels]int{1, 1, 1, 1}); err != nil {
		return moved, cost, err
	}
	unit := math.Max(cost[hamiltonianKernel], cost[walkKernel])
	var strides [kernels]int
	for kernel, c := range cost {
		strides[kernel] = 1
		if c > 0 {
			strides[kernel] = max(1, min(maxStride, int(math.Round(unit/c))))
		}
	}
	return s.pilots(ctx, max(leastMoves, min(mostMoves, int(pilotWork/unit))), strides)
}

// pilots lets each kernel make moves alone, of as many transitions as its stride. It returns the movement of each
// quantity for a unit of cost, and the cost of a transition.
func (s *sampling) pilots(ctx context.Context, moves int, strides [kernels]int) (moved [kernels][]float64,
	cost [kernels]float64, err error) {
	size := len(s.chains[0].draw)
	jumps := make([][kernels][]float64, len(s.chains))
	costs := make([][kernels]float64, len(s.chains))
	draws := make([][]float64, len(s.chains))
	err = s.job.Each(len(s.chains), func(j int) error {
		k := s.chains[j]
		before := make([]float64, size)
		for kernel, stride := range strides {
			if kernel == walkKernel && k.walker == nil {
				continue
			}
			jumps[j][kernel] = make([]float64, size)
			start := k.work()
			for range moves {
				if err := ctx.Err(); err != nil {
					return err
				}
				copy(before, k.draw)
				for range stride {
					k.move(kernel)
				}
				for i, x := range k.draw {
					jumps[j][kernel][i] += (x - before[i]) * (x - before[i])
				}
				draws[j] = append(draws[j], k.draw...)
			}
			costs[j][kernel] = k.work() - start
		}
		return nil
	})
	if err != nil {
		return moved, cost, err
	}
	all := slices.Concat(draws...)
	positions, variance := mat.NewDense(len(all)/size, size, all), make([]float64, size)
	for i := range variance {
		variance[i] = stat.Variance(mat.Col(nil, i, positions), nil)
	}
	for kernel, stride := range strides {
		if jumps[0][kernel] == nil {
			continue
		}
		moved[kernel] = make([]float64, size)
		for j := range s.chains {
			floats.Add(moved[kernel], jumps[j][kernel])
			cost[kernel] += costs[j][kernel]
		}
		for i := range moved[kernel] {
			if v := variance[i]; v > 0 {
				moved[kernel][i] /= 2 * v * cost[kernel]
			} else {
				moved[kernel][i] = math.Inf(1)
			}
		}
		cost[kernel] /= float64(moves * stride * len(s.chains))
	}
	return moved, cost, nil
}

// bestShares returns the shares of the cost, in tenths, with which a chain is done first: with so many iterations at
// least, in which there are so many independent draws. A draw takes work 2/m of a quantity that a unit of work moves by
// m, and as much again of those that are slower than a pilot shows,
//
//	work = max(iterations · c, draws · 4 √(mean_i m_i⁻²)),   1/c = Σ_k share_k / cost_k,   m_i = Σ_k share_k moved_ki,
//
// but cheap work is done in any case. In the mean of squares the slowest quantities count most, and the error of a
// single one's movement does not decide. A kernel without movements is left out; every other has a tenth at least, but
// for slices of single coordinates, of which sweeps have some: a pilot is too short to see the slowest of movements,
// such as a goal far from the demonstrations that becomes another.
func bestShares(moved [kernels][]float64, cost [kernels]float64,
	iterations, draws, cheap float64) (best [kernels]float64) {
	const (
		tenths = 10
		still  = 1e-100 // movement of what no kernel moves
	)
	least := [2]float64{math.Inf(1), math.Inf(1)}
	var tried [kernels]float64
	var try func(kernel, left int)
	try = func(kernel, left int) {
		if kernel == kernels {
			if left > 0 {
				return
			}
			squares, rate := 0.0, 0.0
			for i := range moved[hamiltonianKernel] {
				sum := still
				for kernel, m := range moved {
					if tried[kernel] > 0 {
						sum += tried[kernel] * m[i]
					}
				}
				squares += 1 / (sum * sum)
			}
			for kernel, f := range tried {
				if f > 0 {
					rate += f / cost[kernel]
				}
			}
			drawn := draws * 4 * math.Sqrt(squares/float64(len(moved[hamiltonianKernel])))
			work := [2]float64{max(iterations/rate, cheap, drawn), drawn}
			if slices.Compare(work[:], least[:]) < 0 {
				least, best = work, tried
			}
			return
		}
		from := 1
		if kernel == singleKernel || moved[kernel] == nil {
			from = 0
		}
		for n := from; n <= left && (n == 0 || moved[kernel] != nil); n++ {
			tried[kernel] = float64(n) / tenths
			try(kernel+1, left-n)
		}
		tried[kernel] = 0
	}
	try(hamiltonianKernel, tenths)
	return best
}
