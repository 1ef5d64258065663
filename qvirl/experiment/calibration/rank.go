package calibration

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/tabular"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// rank returns the rows of a posterior: ranks of the truth among its samples. QVIRL's has two kinds of samples.
func (c Config) rank(w *worlds.World, method string, post irl.Posterior) ([]experiment.Row, error) {
	rng := worlds.Stream(w.Seed, method)
	switch p := post.(type) {
	case *valuewalk.Posterior:
		return c.rows(w, method, thin(p.Samples()), rng)
	case *tabular.Gaussian:
		exact, err := p.ImpliedSample(rng, Samples)
		if err != nil {
			return nil, err
		}
		rewards, err := p.SampleRewards(rng, Samples)
		if err != nil {
			return nil, err
		}
		own, err := c.rows(w, method, &irl.Samples{Reward: rewards, Q: exact.Q}, rng)
		if err != nil {
			return nil, err
		}
		other, err := c.rows(w, ExactMax, exact, rng)
		return append(own, other...), err
	}
	samples, err := post.Sample(rng, Samples)
	if err != nil {
		return nil, err
	}
	return c.rows(w, method, samples, rng)
}

// thin returns Samples of the samples at equal distances.
func thin(s *irl.Samples) *irl.Samples {
	kept, dim := s.Reward.Dims()
	_, pairs := s.Q.Dims()
	out := &irl.Samples{Reward: mat.NewDense(Samples, dim, nil), Q: mat.NewDense(Samples, pairs, nil)}
	for i := range Samples {
		at := (2*i + 1) * kept / (2 * Samples)
		out.Reward.SetRow(i, s.Reward.RawRowView(at))
		out.Q.SetRow(i, s.Q.RawRowView(at))
	}
	return out
}

// rows returns the ranks of the true rewards and of the quantities.
func (c Config) rows(w *worlds.World, method string, s *irl.Samples, rng *rand.Rand) ([]experiment.Row, error) {
	p := w.Problem
	sol, err := p.MDP.Solve(w.Grid.Reward, p.Discount)
	if err != nil {
		return nil, err
	}
	row := experiment.RowOf(method, c.Posteriors.World.Name(), len(w.Demos), w.Seed)
	var out []experiment.Row
	add := func(metric string, value float64) {
		out = append(out, row.With(metric, value))
	}
	ranks := make([]int, len(w.Grid.Reward))
	covered := map[string]float64{}
	open := 0.0 // states that are not terminal
	for state, reward := range w.Grid.Reward {
		ranks[state] = rankOf(reward, mat.Col(nil, state, s.Reward), rng)
		if w.Grid.Terminal[state] {
			add(experiment.OfState(RankTerminal, state), float64(ranks[state]))
			continue
		}
		add(experiment.OfState(RankState, state), float64(ranks[state]))
		open++
		for metric, level := range map[string]float64{Coverage50: 0.5, Coverage90: 0.9} {
			if inMiddle(ranks[state], level) {
				covered[metric]++
			}
		}
	}
	if open > 0 {
		for _, metric := range []string{Coverage50, Coverage90} {
			add(metric, covered[metric]/open)
		}
	}
	for metric, state := range chosen(w) {
		add(metric, float64(ranks[state]))
	}
	counts := p.DemoCounts()
	value, fit := make([]float64, Samples), make([]float64, Samples)
	values := s.Values(p.MDP.Actions())
	for i := range value {
		value[i] = floats.Dot(p.MDP.Initial(), values.RawRowView(i))
		fit[i] = p.LogLikelihood(s.Q.RawRowView(i), counts)
	}
	add(RankValue, float64(rankOf(floats.Dot(p.MDP.Initial(), sol.V), value, rng)))
	add(RankLogLikelihood, float64(rankOf(p.LogLikelihood(sol.Q, counts), fit, rng)))
	return out, nil
}

// chosen returns the states of RankVisited, RankUnvisited and RankTerminal, of those that the world has. They depend on
// the demonstrations, the terminal states and the seed alone, which leaves the ranks uniform for the true posterior.
func chosen(w *worlds.World) map[string]int {
	visits := make([]int, len(w.Grid.Terminal))
	for _, d := range mdp.Flatten(w.Demos) {
		visits[d.State]++
	}
	most := -1
	var unvisited, terminal []int
	for s, end := range w.Grid.Terminal {
		switch {
		case end:
			terminal = append(terminal, s)
		case visits[s] == 0:
			unvisited = append(unvisited, s)
		case most < 0 || visits[s] > visits[most]:
			most = s
		}
	}
	rng := worlds.Stream(w.Seed, Name)
	out := map[string]int{}
	if most >= 0 {
		out[RankVisited] = most
	}
	if n := len(unvisited); n > 0 {
		out[RankUnvisited] = unvisited[rng.IntN(n)]
	}
	if n := len(terminal); n > 0 {
		out[RankTerminal] = terminal[rng.IntN(n)]
	}
	return out
}

// rankOf returns the number of samples below the truth. Among equals the truth's place is drawn at random.
func rankOf(truth float64, samples []float64, rng *rand.Rand) int {
	below, equal := 0, 0
	for _, x := range samples {
		if x < truth {
			below++
		} else if x == truth {
			equal++
		}
	}
	return below + rng.IntN(equal+1)
}

// inMiddle reports whether a rank is one of the middle ranks of all Samples + 1 that make up the level.
func inMiddle(rank int, level float64) bool {
	distance := float64(2*rank-Samples) / (Samples + 1) // in (−1, 1)
	return max(distance, -distance) <= level
}
