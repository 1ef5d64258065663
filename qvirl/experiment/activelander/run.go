package activelander

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-birl/birl/envs/atomicfile"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/active"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// Units returns the units of the experiment: each run of each method, all methods of a run one after the other, so that
// what is finished early is complete runs.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	first, more, err := c.Learners(backendName)
	if err != nil {
		return nil, err
	}
	r := &runner{config: c, backend: backendName, open: sync.OnceValues(c.Open), first: first, more: more}
	var units []experiment.Unit
	for _, run := range c.Runs {
		for _, method := range c.Methods {
			on := c
			on.Runs, on.Methods = []uint64{run}, []string{method}
			units = append(units, experiment.Unit{Name: fmt.Sprintf("run-%02d-%s", run, method), Method: method, On: on,
				Data: []string{c.Demos, c.Expert},
				Owns: func(r experiment.Row) bool { return r.Method == method && r.Seed == run },
				Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
					result := &experiment.Result{}
					return result, t.Run("", method, func(progress irl.Progress) (err error) {
						result.Rows, err = r.run(ctx, method, run, experiment.Scratch(ctx), progress)
						return err
					})
				}})
		}
	}
	return units, nil
}

// runner runs units. It keeps what several of them need.
type runner struct {
	config  Config
	backend string

	open        func() (*Data, error)
	first, more *neural.Learner
}

// run takes a method through the queries of a run. What it finds it keeps in a folder, query by query, from which it
// goes on; without a folder it keeps nothing.
func (r *runner) run(ctx context.Context, method string, run uint64, folder string, progress irl.Progress) (
	[]experiment.Row, error) {
	c := r.config
	data, err := r.open()
	if err != nil {
		return nil, err
	}
	pool, err := c.Pool(ctx, data)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	rollouts, err := c.Pool(ctx, data) // beside the one whose environments stay at the candidates
	if err != nil {
		return nil, err
	}
	defer rollouts.Close()
	start, err := c.Start(ctx, pool, data, run)
	if err != nil {
		return nil, err
	}
	course, err := c.Course(pool, data, start, method, run, r.first, r.more)
	if err != nil {
		return nil, err
	}
	l := &ledger{config: c, method: method, run: run, folder: folder}
	state, err := l.load(ctx, course, r.backend)
	if err != nil {
		return nil, err
	}
	if state == nil {
		progress.Report(0, c.Queries()+1, method+": learning from one trajectory")
		if state, err = course.Begin(ctx); err != nil {
			return nil, err
		}
		if err := l.measure(ctx, rollouts, data, state); err != nil {
			return nil, err
		}
	}
	for k := len(state.Asked); k < c.Queries(); k++ {
		progress.Report(k+1, c.Queries()+1, fmt.Sprintf("%s: query %d", method, k+1))
		began := time.Now()
		choice, err := course.Choose(ctx, state)
		if err != nil {
			return nil, err
		}
		l.add(k, ChoosingSeconds, time.Since(began).Seconds())
		score := choice.Score()
		l.add(k, Query, float64(choice.Candidate))
		l.add(k, QueryScore, score.Value)
		l.add(k, QueryStdErr, score.StdErr)
		began = time.Now()
		if state, err = course.Learn(ctx, state, choice.Candidate); err != nil {
			return nil, err
		}
		l.add(k, TrainingSeconds, time.Since(began).Seconds())
		if err := l.measure(ctx, rollouts, data, state); err != nil {
			return nil, err
		}
	}
	return l.rows, nil
}

// ledger is what is found on a course, in memory and in a folder.
type ledger struct {
	config Config
	method string
	run    uint64
	folder string
	rows   []experiment.Row
}

func (l *ledger) add(queries int, metric string, value float64) {
	l.rows = append(l.rows, experiment.Row{Environment: l.config.Environment, Method: l.method, Demos: queries,
		Seed: l.run, Metric: metric, Value: value})
}

// measure measures a state's apprentice, if it is to be measured after that many queries, and keeps the state.
func (l *ledger) measure(ctx context.Context, pool *gym.Pool, d *Data, s *active.State) error {
	k := len(s.Asked)
	if slices.Contains(l.config.At, k) {
		mean, heldOut, err := l.config.Measure(ctx, pool, d, s.Model)
		if err != nil {
			return err
		}
		l.add(k, Return, mean)
		l.add(k, HeldOut, heldOut)
	}
	return l.keep(s)
}

// progressFile is the file of a unit that is under way; the model of the state lies beside it, in a folder of the
// number of its queries.
const progressFile = "progress.json"

// stored is how far a course has come, of the config, version and files of the unit that the folder is named after.
type stored struct {
	Asked []int            `json:"asked"`
	Rows  []experiment.Row `json:"rows"`
}

// keep stores a state and the rows. The file comes after the model that it is of, and that of the state before goes
// last.
func (l *ledger) keep(s *active.State) error {
	if l.folder == "" {
		return nil
	}
	k := len(s.Asked)
	if err := s.Model.Save(l.model(k)); err != nil {
		return err
	}
	if err := atomicfile.WriteJSON(filepath.Join(l.folder, progressFile), stored{s.Asked, l.rows}); err != nil {
		return fmt.Errorf("activelander: %w", err)
	}
	return os.RemoveAll(l.model(k - 1)) // none before the first query
}

// model is the folder of the model after a number of queries.
func (l *ledger) model(queries int) string {
	return filepath.Join(l.folder, fmt.Sprintf("model-%d", queries))
}

// load reads what was kept, and returns the state to go on from; nil if there is none.
func (l *ledger) load(ctx context.Context, c *active.Course, backendName string) (*active.State, error) {
	if l.folder == "" {
		return nil, nil
	}
	var s stored
	err := atomicfile.ReadJSON(filepath.Join(l.folder, progressFile), &s)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("activelander: %w", err)
	}
	m, err := neural.Load[variational.Objective](l.model(len(s.Asked)), backendName)
	if err != nil {
		return nil, err
	}
	l.rows = s.Rows
	return c.Resume(ctx, s.Asked, m)
}
