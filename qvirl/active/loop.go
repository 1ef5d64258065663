package active

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/parallel"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/tabular"
)

// Fitter fits posteriors to a batch of problems. previous are the posteriors of the same problems before the latest
// demonstrations were added, or nil at first; it may start from them.
type Fitter func(ctx context.Context, problems []*irl.Problem, previous []irl.Posterior,
	progress irl.Progress) ([]irl.Posterior, error)

// Fit returns the fitter of a method. QVIRL trains on from the previous posteriors; other methods start afresh.
func Fit(m irl.Method) Fitter {
	v, ok := m.(*tabular.Variational)
	return func(ctx context.Context, problems []*irl.Problem, previous []irl.Posterior,
		progress irl.Progress) ([]irl.Posterior, error) {
		if err := irl.CheckFit("active", ctx, m); err != nil {
			return nil, err
		}
		if !ok || previous == nil {
			return m.Fit(ctx, problems, progress)
		}
		start := make([]*tabular.Gaussian, len(previous))
		for i, p := range previous {
			g, ok := p.(*tabular.Gaussian)
			if !ok {
				return nil, fmt.Errorf("active: previous posterior %d is a %T, and QVIRL cannot start from it", i, p)
			}
			start[i] = g
		}
		return v.FitFrom(ctx, problems, start, progress)
	}
}

// Run is one course of active learning on one problem.
type Run struct {
	Problem *irl.Problem // with the demonstrations to start from; it is not changed
	// Ask returns what the expert demonstrates from a state that was asked for that many times before.
	Ask  func(state, before int) (mdp.Trajectory, error)
	Seed uint64 // of the posterior samples and of what the acquisition function simulates
}

// Step is the state of a run after a number of queries, and the query that follows.
type Step struct {
	Posterior irl.Posterior
	Samples   *irl.Samples   // joint samples of it, by which candidates are scored
	Scores    []Score        // of the candidates; nil after the last query
	Query     int            // the state that is asked for; −1 after the last query
	Answer    mdp.Trajectory // the demonstration that the expert gave
}

// Loop asks, learns and asks again. The runs of a batch are fitted together, which is what makes QVIRL quick.
type Loop struct {
	Fit         Fitter
	Acquisition Acquisition
	Queries     int // demonstrations to ask for in each run
	Samples     int // posterior samples to score by
}

// Validate reports the first field that is missing or out of range.
func (l *Loop) Validate() error {
	switch {
	case l.Fit == nil || l.Acquisition == nil:
		return errors.New("active: a loop needs a Fit and an Acquisition")
	case l.Queries < 0 || l.Samples < 2:
		return fmt.Errorf("active: Queries = %d, Samples = %d: want at least 0 and 2", l.Queries, l.Samples)
	}
	return nil
}

// Do takes the runs through all queries. visit is called after 0, 1, … Queries queries with a step of each run; its
// error ends the loop. The same runs give the same steps, as far as the fits do. visit and progress may be nil.
func (l *Loop) Do(ctx context.Context, runs []Run, visit func(queries int, steps []Step) error,
	progress irl.Progress) error {
	if err := l.Validate(); err != nil {
		return err
	}
	problems := make([]*irl.Problem, len(runs))
	for i, r := range runs {
		if r.Problem == nil || r.Ask == nil {
			return fmt.Errorf("active: run %d: it needs a Problem and an Ask", i)
		}
		problems[i] = r.Problem
	}
	const resolution = 1000 // parts of a query, in the progress
	var posteriors []irl.Posterior
	asked := make([]map[int]int, len(runs)) // how often each state was asked for
	for i := range asked {
		asked[i] = map[int]int{}
	}
	for k := 0; ; k++ {
		var err error
		posteriors, err = l.Fit(ctx, problems, posteriors, func(done, total int, status string) {
			progress.Report(k*resolution+done*resolution/max(total, 1), (l.Queries+1)*resolution,
				fmt.Sprintf("%d queries: %s", k, status))
		})
		if err != nil {
			return fmt.Errorf("active: after %d queries: %w", k, err)
		}
		steps := make([]Step, len(runs))
		err = parallel.Each(ctx, len(runs), func(_ context.Context, i int) (err error) {
			if steps[i], err = l.step(k, runs[i], posteriors[i], asked[i]); err != nil {
				return fmt.Errorf("run %d: %w", i, err)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("active: after %d queries: %w", k, err)
		}
		if visit != nil {
			if err := visit(k, steps); err != nil {
				return err
			}
		}
		if k == l.Queries {
			return nil
		}
		for i, s := range steps {
			extended := *problems[i]
			extended.Demos = slices.Concat(extended.Demos, s.Answer)
			problems[i] = &extended
			asked[i][s.Query]++
		}
	}
}

// step chooses the query that follows k queries and asks it. asked says how often each state was asked for.
func (l *Loop) step(k int, r Run, post irl.Posterior, asked map[int]int) (Step, error) {
	samples, err := tabular.ImpliedSamples(post, Stream(r.Seed, "samples", k), l.Samples)
	if err != nil {
		return Step{}, err
	}
	s := Step{Posterior: post, Samples: samples, Query: -1}
	if k == l.Queries {
		return s, nil
	}
	candidates := States(r.Problem.MDP)
	s.Scores, err = l.Acquisition.Score(post.Problem(), samples, candidates, Stream(r.Seed, l.Acquisition.Name(), k))
	if err != nil {
		return Step{}, err
	}
	s.Query = candidates[Best(s.Scores)]
	s.Answer, err = r.Ask(s.Query, asked[s.Query])
	return s, err
}

// States lists all states of an MDP: the candidates when an episode may begin anywhere.
func States(m *mdp.MDP) []int {
	out := make([]int, m.States())
	for s := range out {
		out[s] = s
	}
	return out
}

// Stream returns a random generator that is determined by a seed, a purpose and a number, such as that of queries.
func Stream(seed uint64, purpose string, number int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", purpose, number) // does not fail
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// Expert answers queries in the MDP of a problem as a Boltzmann-rational expert for the true reward, who demonstrates
// at most length steps. An answer depends on the seed, the state, and how often that state was asked for before:
// learners who ask for the same states are told the same, in whatever order they ask, and which one knows more does not
// depend on luck.
func Expert(p *irl.Problem, reward []float64, length int, seed uint64) (func(state, before int) (mdp.Trajectory, error),
	error) {
	if length < 1 {
		return nil, fmt.Errorf("active: length = %d, want at least 1", length)
	}
	sol, err := p.MDP.Solve(reward, p.Discount)
	if err != nil {
		return nil, err
	}
	policy := mdp.Boltzmann(nil, sol.Q, p.MDP.Actions(), p.Beta)
	return func(state, before int) (mdp.Trajectory, error) {
		if state < 0 || state >= p.MDP.States() {
			return nil, fmt.Errorf("active: the expert was asked for state %d, which is outside 0..%d", state,
				p.MDP.States()-1)
		}
		return p.MDP.Rollout(Stream(seed, fmt.Sprintf("expert in state %d", state), before), policy, state, length), nil
	}, nil
}
