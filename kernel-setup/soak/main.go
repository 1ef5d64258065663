// Soak does for hours what programs do for minutes, and finds out whether anything is left behind: fits and predictions
// in one process, and steps of environments whose worker processes are killed at random. It prints a verdict of each,
// and ends with status 1 if memory grew or anything was left.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/catalogue"
)

func main() { command.Main(newRoot()) }

// amounts say how much is done.
type amounts struct {
	fits, predictions, steps, killEvery int
	growth                              float64
	seed                                uint64
	full                                bool
}

func newRoot() *cobra.Command {
	var a amounts
	c := &cobra.Command{
		Use:   "soak",
		Short: "Fit, predict and step for a long time, and find out whether anything is left behind",
		Long: `soak fits posteriors and computes predictions in one process, then steps environments of CartPole whose
worker processes it kills at random. After each part it prints a verdict: whether the process's memory
grew from the first quarter on, whether file handles, goroutines or child processes are left, and whether
each killed worker was reported. It ends with status 1 if one of the verdicts is bad. The defaults take
some minutes; --full, hours. Linux only.`,
		Example: `  go run ./kernel-setup soak
  go run ./kernel-setup soak --full
  go run ./kernel-setup soak --fits 0 --predictions 0 --steps 1000000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.run(cmd) },
	}
	f := c.Flags()
	f.IntVar(&a.fits, "fits", 2000, "posteriors to fit")
	f.IntVar(&a.predictions, "predictions", 20_000, "predictions to compute, each of a batch of observations")
	f.IntVar(&a.steps, "steps", 400_000, "steps of environments")
	f.IntVar(&a.killEvery, "kill-every", 40_000, "mean number of steps between two kills of a worker")
	f.Float64Var(&a.growth, "growth", 0.05, "how much the memory may grow, as a part of it")
	f.Uint64Var(&a.seed, "seed", 1, "of problems, actions and kills")
	f.BoolVar(&a.full, "full", false, "10⁵ fits, 10⁶ predictions, 10⁷ steps with a kill every 10⁵")
	return c
}

func (a *amounts) run(cmd *cobra.Command) error {
	if a.full {
		a.fits, a.predictions, a.steps, a.killEvery = 1e5, 1e6, 1e7, 1e5
	}
	if min(a.fits, a.predictions, a.steps) < 0 || a.killEvery < 1 || !(a.growth > 0) {
		return fmt.Errorf("soak: %d fits, %d predictions, %d steps, a kill every %d, growth %g: want none or more, "+
			"and positive numbers", a.fits, a.predictions, a.steps, a.killEvery, a.growth)
	}
	if _, err := look(); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(a.seed, 0))
	bad := false
	for _, part := range []struct {
		name  string
		count int
		work  func(ctx context.Context, rng *rand.Rand, n int, w *watch) error
	}{
		{"fits", a.fits, fits}, {"predictions", a.predictions, predictions},
		{"steps", a.steps, func(ctx context.Context, rng *rand.Rand, n int, w *watch) error {
			return steps(ctx, rng, n, a.killEvery, w)
		}},
	} {
		if part.count == 0 {
			continue
		}
		w := &watch{name: part.name, total: part.count, stderr: cmd.ErrOrStderr()}
		began := time.Now()
		if err := part.work(cmd.Context(), rng, part.count, w); err != nil {
			return fmt.Errorf("soak: %s: %w", part.name, err)
		}
		text, ok := w.verdict(a.growth)
		bad = bad || !ok
		fmt.Fprintf(cmd.OutOrStdout(), "%s in %v\n", text, time.Since(began).Round(time.Second))
	}
	if bad {
		return errors.New("soak: something grew or was left behind")
	}
	return nil
}

// renewals is how often the method of the fits is closed, with its compiled programs, and made anew.
const renewals = 8

// fits fits corridors of three lengths.
func fits(ctx context.Context, rng *rand.Rand, n int, w *watch) error {
	config := json.RawMessage(`{"Steps": 40, "Rounds": 1}`)
	var method qvirl.Method
	defer func() { _ = irl.Close(method) }()
	for i := range n {
		if i%max(n/renewals, 1) == 0 {
			err := irl.Close(method)
			if err != nil {
				return err
			}
			if method, err = qvirl.NewMethod("qvirl", qvirl.Options{Seed: rng.Uint64(), Config: config}); err != nil {
				return err
			}
		}
		problem, err := corridor(rng, 3+i%3)
		if err != nil {
			return err
		}
		posteriors, err := method.Fit(ctx, []*qvirl.Problem{problem}, nil)
		if err != nil {
			return err
		}
		if _, err := qvirl.Summarise(posteriors[0]); err != nil {
			return err
		}
		if err := w.did(1); err != nil {
			return err
		}
	}
	return nil
}

// corridor is a row of rooms, with random demonstrations.
func corridor(rng *rand.Rand, rooms int) (*qvirl.Problem, error) {
	rows := make([][]mdp.Transition, 2*rooms) // index room·2 + action; the last room ends the episode
	for s := range rooms - 1 {
		rows[2*s] = []mdp.Transition{{Next: max(s-1, 0), Prob: 1}}
		rows[2*s+1] = []mdp.Transition{{Next: s, Prob: 0.1}, {Next: s + 1, Prob: 0.9}}
	}
	m, err := mdp.New(rooms, 2, rows, nil)
	if err != nil {
		return nil, err
	}
	p := &qvirl.Problem{MDP: m, Prior: qvirl.IndependentPrior(rooms, 0, 2), Discount: 0.9, Beta: 2}
	for range 4 {
		p.Demos = append(p.Demos, mdp.Step{State: rng.IntN(rooms - 1), Action: rng.IntN(2)})
	}
	return p, nil
}

// predictions trains a model for a moment and asks it for batches of several sizes.
func predictions(ctx context.Context, rng *rand.Rand, n int, w *watch) error {
	const features, actions = 4, 3
	observations := func(n int) []float32 {
		out := make([]float32, n*features)
		for i := range out {
			out[i] = float32(rng.NormFloat64())
		}
		return out
	}
	run := neural.Run{Seed: 1}
	for range 4 {
		d := demo.Trajectory{Observations: observations(21), Seed: demo.NoSeed, Terminated: true}
		for range 20 {
			d.Actions = append(d.Actions, rng.IntN(actions))
		}
		run.Demos = append(run.Demos, d)
	}
	entry, err := catalogue.Find("qvirl")
	if err != nil {
		return err
	}
	training := neural.Default()
	training.Steps, training.Folds, training.ReportEvery = 20, 0, 20
	method, err := entry.New(training, nil)
	if err != nil {
		return err
	}
	models, err := method.Fit(ctx, &neural.Task{Environment: "soak", Observation: features, Actions: actions,
		Discount: 0.99, Beta: 3, Runs: []neural.Run{run}}, nil)
	if err != nil {
		return err
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := models[0].Predict(observations(1 + i%7)); err != nil {
			return err
		}
		if err := w.did(1); err != nil {
			return err
		}
	}
	return nil
}

// steps steps a pool of environments, kills one of its processes now and then, and opens it again.
func steps(ctx context.Context, rng *rand.Rand, n, killEvery int, w *watch) error {
	const workers, each = 2, 8
	var pool *gym.Pool
	defer func() {
		if pool != nil {
			_ = pool.Close() // after an error
		}
	}()
	killed := false
	for done := 0; done < n; {
		if pool == nil {
			var err error
			if pool, err = gym.Open(ctx, gym.Config{ID: "CartPole-v1", Workers: workers,
				EnvsPerWorker: each}); err != nil {
				return err
			}
			seeds := make([]int64, pool.Len())
			for i := range seeds {
				seeds[i] = int64(rng.Int32())
			}
			if _, err := pool.Reset(ctx, seeds); err != nil {
				return err
			}
		}
		actions := make([]int, pool.Len())
		for i := range actions {
			actions[i] = rng.IntN(2)
		}
		_, err := pool.Step(ctx, actions)
		var fault *gym.Error
		switch {
		case killed && err == nil:
			return errors.New("a worker was killed, and the step after it says nothing of it")
		case killed && errors.As(err, &fault) && fault.Died:
			killed = false
			_ = pool.Close() // the fault closed it
			pool = nil
			if left := children(); len(left) > 0 {
				return fmt.Errorf("after the death of a worker, the processes %v are left", left)
			}
			w.restarts++
			continue
		case err != nil:
			return err
		}
		done += pool.Len()
		if err := w.did(pool.Len()); err != nil {
			return err
		}
		if rng.Float64() < float64(pool.Len())/float64(killEvery) {
			pids := children()
			if len(pids) < workers {
				return fmt.Errorf("the pool of %d workers has the processes %v", workers, pids)
			}
			worker, err := os.FindProcess(pids[rng.IntN(len(pids))])
			if err == nil {
				err = worker.Kill()
			}
			if err != nil {
				return err
			}
			killed = true
		}
	}
	err := pool.Close()
	pool = nil
	return err
}

// watch looks at this process while it works.
type watch struct {
	name        string
	total, done int
	restarts    int
	states      []state // at equal distances
	stderr      io.Writer
}

// looks is how often a watch looks.
const looks = 40

// did counts work.
func (w *watch) did(n int) error {
	w.done += n
	if w.done*looks/w.total == len(w.states) {
		return nil
	}
	s, err := look()
	w.states = append(w.states, s)
	fmt.Fprintf(w.stderr, "%s: %d of %d, %.1f MB\n", w.name, w.done, w.total, s.memory/1e6)
	return err
}

// state is what a process holds.
type state struct {
	memory              float64 // resident, in bytes
	handles, goroutines int
}

// verdict compares the last quarter with the second one: in the first, programs are compiled and pools are filled.
func (w *watch) verdict(growth float64) (text string, ok bool) {
	if len(w.states) < looks/2 {
		return fmt.Sprintf("✗ %d %s are too few for a verdict", w.done, w.name), false
	}
	quarter := len(w.states) / 4
	early, late := mean(w.states[quarter:2*quarter]), mean(w.states[len(w.states)-quarter:])
	grew := late.memory/early.memory - 1
	left := children()
	ok = grew <= growth && late.handles <= early.handles && late.goroutines <= early.goroutines+1 && len(left) == 0
	mark := "✗"
	if ok {
		mark = "✓"
	}
	return fmt.Sprintf("%s %d %s: %.1f MB, then %.1f MB (%+.1f %%); file handles %d, then %d; goroutines %d, then "+
		"%d; %d child processes left; %d workers killed and reported", mark, w.done, w.name, early.memory/1e6,
		late.memory/1e6, 100*grew,
		early.handles, late.handles, early.goroutines, late.goroutines, len(left), w.restarts), ok
}

// mean returns the mean memory, and the most handles and goroutines.
func mean(states []state) (m state) {
	for _, s := range states {
		m.memory += s.memory / float64(len(states))
		m.handles, m.goroutines = max(m.handles, s.handles), max(m.goroutines, s.goroutines)
	}
	return m
}
