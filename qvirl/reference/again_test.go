package reference

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// The row: rooms with rewards N(0, 1), each behind a hall that leads to it or to a known rowOther. Of each hall and the
// one before it the expert chooses either as often, rowDemos times, so that all are worth the same; and a few times the
// first hall rather than rowLeft. Either no room is worth more than rowOther, or all are, and as much as each other
// within a twentieth. Nothing leads from the one to the other but all of them at once.
const (
	rowOther    = 0.3
	rowLeft     = 2
	rowDemos    = 40
	rowBeta     = 5
	rowDiscount = 0.9
)

func row(t *testing.T, rooms, few int) *irl.Problem {
	t.Helper()
	fork := func(i int) int { return 2*rooms + i }
	other, left := 3*rooms, 3*rooms+1
	rows := make([][]mdp.Transition, 2*(3*rooms+2))
	means, std := make([]float64, 3*rooms+2), make([]float64, 3*rooms+2)
	means[other], means[left] = rowOther, rowLeft
	p := &irl.Problem{Discount: rowDiscount, Beta: rowBeta}
	to := func(s, a, next int) { rows[2*s+a] = []mdp.Transition{{Next: next, Prob: 1}} }
	for i := range rooms {
		std[i] = 1
		to(rooms+i, 0, i)
		to(rooms+i, 1, other)
		to(fork(i), 0, rooms+i)
		if i == 0 {
			to(fork(i), 1, left)
			for range few {
				p.Demos = append(p.Demos, mdp.Step{State: fork(i)})
			}
			continue
		}
		to(fork(i), 1, rooms+i-1)
		for range rowDemos {
			p.Demos = append(p.Demos, mdp.Step{State: fork(i)}, mdp.Step{State: fork(i), Action: 1})
		}
	}
	p.Prior = irl.DiagonalPrior(means, std)
	var err error
	if p.MDP, err = mdp.New(3*rooms+2, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	return p
}

// rowMarginals returns the mean and standard deviation of each room, by products of transfer matrices over a grid.
func rowMarginals(rooms, few int) (mean, std []float64) {
	const points, step = 801, 0.0125
	grid, first := make([]float64, points), make([]float64, points)
	value := func(x float64) float64 { return rowDiscount * math.Max(x, rowOther) }
	likelihood := func(advantage float64) float64 { return 1 / (1 + math.Exp(-rowBeta*advantage)) }
	for i := range grid {
		grid[i] = step * float64(i-points/2)
		first[i] = math.Exp(-grid[i]*grid[i]/2) *
			math.Pow(likelihood(rowDiscount*(value(grid[i])-rowLeft)), float64(few))
	}
	next := mat.NewDense(points, points, nil)
	next.Apply(func(i, j int, _ float64) float64 {
		p := likelihood(rowDiscount * (value(grid[i]) - value(grid[j])))
		return math.Pow(4*p*(1-p), rowDemos) * math.Exp(-grid[j]*grid[j]/2)
	}, next)
	forward, backward := make([]*mat.VecDense, rooms), make([]*mat.VecDense, rooms)
	for i := range rooms {
		forward[i], backward[i] = mat.NewVecDense(points, nil), mat.NewVecDense(points, nil)
	}
	forward[0] = mat.NewVecDense(points, first)
	for k := range points {
		backward[rooms-1].SetVec(k, 1)
	}
	for i := 1; i < rooms; i++ {
		forward[i].MulVec(next.T(), forward[i-1])
		backward[rooms-1-i].MulVec(next, backward[rooms-i])
	}
	mean, std = make([]float64, rooms), make([]float64, rooms)
	for i := range rooms {
		var weights mat.VecDense
		weights.MulElemVec(forward[i], backward[i])
		mean[i], std[i] = stat.PopMeanStdDev(grid, weights.RawVector().Data)
	}
	return mean, std
}

// TestAllAtOnce: the likelihood rises along no way to all rooms, but the demonstrations lead there one state after the
// other.
func TestAllAtOnce(t *testing.T) {
	for rooms, few := range map[int]int{4: 2, 6: 4} { // all are worth it with probability 0.07 and 0.77
		post := fit(t, Default(), row(t, rooms, few))[0]
		if ok, reason := post.Convergence(); !ok || post.Diagnostics().Modes < 2 {
			t.Errorf("%d rooms: %d modes, converged: %v, %s", rooms, post.Diagnostics().Modes, ok, reason)
		}
		mean, std := rowMarginals(rooms, few)
		for i := range rooms {
			// 1,000 effective draws: a standard error of 0.03 std of the mean, and as much of a deviation that rests on
			// the share of the two
			if r := post.Reward(i); math.Abs(r.Mean()-mean[i]) > 0.12*std[i] || math.Abs(r.StdDev()/std[i]-1) > 0.12 {
				t.Errorf("%d rooms, room %d: %g ± %g, want %g ± %g", rooms, i, r.Mean(), r.StdDev(), mean[i], std[i])
			}
		}
	}
}

// TestChainsBeginAnew: where samples hold an explanation that nobody knew of, chains begin anew and jump to it; where
// they hold none, or soon after, they go on.
func TestChainsBeginAnew(t *testing.T) {
	p := row(t, 4, 2)
	samples := fit(t, Default(), p)[0].Posterior
	_, err := mcmc.Fit(t.Context(), []*irl.Problem{p}, nil, func(ctx context.Context, p *irl.Problem,
		job *mcmc.Job) (irl.Posterior, error) {
		j, err := newJoint(Default(), p, job, nil)
		if err != nil {
			return nil, err
		}
		s := j.subs[0]
		if err := s.prepare(ctx); err != nil {
			return nil, err
		}
		if err := s.warmUp(ctx); err != nil {
			return nil, err
		}
		again := j.searchAgain(ctx)
		j.samples[0] = samples
		if more, err := again(samples, 1000); more || err != nil {
			t.Errorf("of samples that hold what is known: anew %v, error %v", more, err)
		}
		s.found.modes = s.found.modes[:1]
		for _, k := range s.chains {
			k.blocks = nil
			k.sample()
		}
		if more, err := again(samples, 3999); more || err != nil {
			t.Errorf("soon after: anew %v, error %v", more, err)
		}
		if more, err := again(samples, 4000); !more || err != nil || len(s.found.modes) < 2 {
			t.Errorf("of samples that hold more: anew %v, error %v, %d explanations", more, err, len(s.found.modes))
		}
		for i, k := range s.chains {
			if k.trace.Len() > 0 || k.blocks == nil || k.jumps == 0 {
				t.Errorf("chain %d has %d iterations, %d blocks and %g jumps in each", i, k.trace.Len(), len(k.blocks),
					k.jumps)
			}
		}
		return samples, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
