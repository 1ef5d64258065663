package active

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/neural"
)

// Candidate is a state to ask about: one of a demonstrated episode.
type Candidate struct {
	Observation []float32
	expert.Moment
}

// Candidates draws n states in which an action was taken from trajectories, all of them with the same probability and
// none twice, by the seed. It replays their episodes in environment 0 of a pool, opened with autoreset Disabled, to
// take the snapshots. Candidates of one trajectory stand together, in the order of its time.
func Candidates(ctx context.Context, pool *gym.Pool, of []demo.Trajectory, n int, seed uint64) ([]Candidate, error) {
	total := demo.Transitions(of)
	if n < 1 || n > total {
		return nil, fmt.Errorf("active: %d candidates among %d states, want at least 1 and at most all", n, total)
	}
	chosen := rand.New(rand.NewPCG(seed, candidateStream)).Perm(total)[:n]
	slices.Sort(chosen)
	var out []Candidate
	first := 0 // number of the trajectory's first state
	for i := range of {
		t := &of[i]
		var steps []int
		for len(chosen) > 0 && chosen[0] < first+t.Len() {
			steps, chosen = append(steps, chosen[0]-first), chosen[1:]
		}
		first += t.Len()
		if len(steps) == 0 {
			continue
		}
		snapshots, err := neural.Snapshots(ctx, pool, t, steps)
		if err != nil {
			return nil, fmt.Errorf("active: candidates of trajectory %d: %w", i, err)
		}
		for k, step := range steps {
			out = append(out, Candidate{t.Observation(step), expert.Moment{Snapshot: snapshots[k], Episode: t.Seed,
				Step: step}})
		}
	}
	return out, nil
}

// Branches returns what each of so many actions leads to from each candidate, a trajectory of one step each, action
// after action. They serve as auxiliary transitions (see neural.Run.Aux), by which the divergence holds the values of
// candidates that nobody has asked about to the prior.
func Branches(ctx context.Context, s Simulator, of []Candidate, actions int) ([]demo.Trajectory, error) {
	var snapshots []gym.Snapshot
	for range actions {
		for i := range of {
			snapshots = append(snapshots, of[i].Snapshot)
		}
	}
	out, err := s.Continue(ctx, snapshots, 1, func(which []int, _ gym.Array) ([]int, error) {
		chosen := make([]int, len(which))
		for i, k := range which {
			chosen[i] = k / len(of)
		}
		return chosen, nil
	})
	if err != nil {
		return nil, fmt.Errorf("active: branches: %w", err)
	}
	return out, nil
}

// candidateStream keeps the draw of candidates apart from others of the same seed.
const candidateStream = 0x63616e64
