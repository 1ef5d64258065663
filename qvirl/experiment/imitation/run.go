package imitation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"

	"github.com/gomlx/compute"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/online"
	"github.com/go-birl/birl/qvirl/neural/planning"
	"github.com/go-birl/birl/qvirl/overlay"
)

// Units returns the units of the experiment: the constant policy, each learner and number of trajectories, in which all
// runs are trained as one batch, and each run of a learner whose apprentices are planned.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	r := &runner{config: c, backend: backendName, open: sync.OnceValues(c.Open), methods: map[string]neural.Method{}}
	for _, l := range c.Learners {
		if l.Online != nil {
			continue
		}
		m, err := c.Method(l, backendName)
		if err != nil {
			return nil, err
		}
		r.methods[l.Name] = m
	}
	var units []experiment.Unit
	if k := c.Constant; k != nil {
		on := Config{Environment: c.Environment, Imports: c.Imports, Constant: k, Episodes: c.Episodes,
			EvaluationSeed: c.EvaluationSeed}
		units = append(units, experiment.Unit{Name: k.Name, Method: k.Name, On: on,
			Owns: func(r experiment.Row) bool { return r.Method == k.Name },
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				rows, err := on.constant(ctx, t)
				return &experiment.Result{Rows: rows}, err
			}})
	}
	for _, w := range c.units() {
		on, err := c.on(w)
		if err != nil {
			return nil, err
		}
		units = append(units, experiment.Unit{Name: w.name(), Group: w.group(), Method: w.learner.Name, On: on,
			Data: []string{c.Demos},
			Owns: func(r experiment.Row) bool {
				return r.Name() == w.learner.Name && r.Demos == w.size && slices.Contains(w.runs, r.Seed)
			},
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				rows, err := r.run(ctx, w, t)
				return &experiment.Result{Rows: rows}, err
			}})
	}
	return units, nil
}

// constant returns the rows of the constant policy.
func (c Config) constant(ctx context.Context, stages *experiment.Stages) ([]experiment.Row, error) {
	pool, err := c.open(ctx, c.Episodes)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	always := func(_ gym.Array, random []*rand.Rand) ([]int, error) {
		return slices.Repeat([]int{c.Constant.Action}, len(random)), nil
	}
	episodes, err := experiment.Stage(stages, "", "episodes of "+c.Constant.Name,
		func(progress irl.Progress) ([]demo.Trajectory, error) {
			return gym.Collect(ctx, pool, always, gym.CollectOptions{Episodes: c.Episodes, FirstSeed: c.EvaluationSeed,
				Progress: func(done int) { progress.Report(done, c.Episodes, "") }})
		})
	if err != nil {
		return nil, err
	}
	return outcomeOf(episodes).rows(experiment.Row{Environment: c.Environment, Method: c.Constant.Name}), nil
}

// work is what a unit computes: a learner that learns from a number of trajectories, in some runs.
type work struct {
	learner Learner
	size    int
	runs    []uint64
}

// name is that of the unit.
func (w work) name() string {
	name := fmt.Sprintf("%s-%02d", w.learner.Name, w.size)
	if w.learner.runs() {
		name += fmt.Sprintf("-run-%d", w.runs[0])
	}
	return name
}

// units returns what the units of the experiment compute.
func (c Config) units() []work {
	var out []work
	for _, l := range c.Learners {
		for _, n := range c.Sizes {
			if l.Sizes != nil && !slices.Contains(l.Sizes, n) {
				continue
			}
			if !l.runs() {
				out = append(out, work{l, n, c.Runs})
				continue
			}
			for _, k := range c.Runs {
				out = append(out, work{l, n, []uint64{k}})
			}
		}
	}
	return out
}

// on returns what of a config a learner's unit depends on: all but the constant policy, the other learners and sizes,
// and how the learner would explore if it does not. It makes no difference whether the experiment or the learner says
// how that trains.
func (c Config) on(w work) (any, error) {
	l := w.learner
	c.Constant = nil
	if l.Online != nil {
		c.Training = neural.Config{}
	} else {
		method, err := c.Method(l, "")
		if err != nil {
			return nil, err
		}
		c.Training = method.Config()
		fields := map[string]json.RawMessage{}
		if err := overlay.JSON(&fields, l.Config); err != nil {
			return nil, err
		}
		delete(fields, "Training")
		if l.Config, err = json.Marshal(fields); err != nil {
			return nil, err
		}
	}
	l.Sizes = nil
	c.Learners, c.Sizes, c.Runs = []Learner{l}, []int{w.size}, w.runs
	if !l.Explore {
		c.Explore = neural.ExploreOptions{}
	}
	return c, nil
}

// runner runs units. It keeps what several of them need.
type runner struct {
	config  Config
	backend string

	open    func() (*Data, error)
	methods map[string]neural.Method // by learner, but those that learn in the environment
}

// run trains a learner in the runs of a unit, and returns the rows.
func (r *runner) run(ctx context.Context, w work, stages *experiment.Stages) ([]experiment.Row, error) {
	l, n, c := w.learner, w.size, r.config
	c.Runs = w.runs
	data, err := r.open()
	if err != nil {
		return nil, err
	}
	task, err := c.Task(data, n)
	if err != nil {
		return nil, err
	}
	if l.Every > 0 {
		for i := range task.Runs {
			task.Runs[i].Demos = thin(task.Runs[i].Demos, l.Every)
		}
	}
	// Before the training, so that nobody waits for that to hear that the environment is not there.
	episodes, err := c.open(ctx, c.Episodes)
	if err != nil {
		return nil, err
	}
	defer episodes.Close()
	if l.Explore {
		pool, err := c.open(ctx, c.Explore.Episodes)
		if err != nil {
			return nil, err
		}
		defer pool.Close()
		task.Explore = neural.NewExplore(pool, c.Explore)
	}
	if l.Branches {
		pool, err := c.open(ctx, 1)
		if err != nil {
			return nil, err
		}
		defer pool.Close()
		for i := range task.Runs {
			run := &task.Runs[i]
			run.Aux, err = neural.SampleBranches(ctx, pool, run.Demos, neural.BranchOptions{Seed: run.Seed})
			if err != nil {
				return nil, fmt.Errorf("%s, run %d: %w", l.Name, run.Seed, err)
			}
		}
	}
	models, err := experiment.Share(ctx, "models", func() ([]neural.Model, error) {
		return experiment.Stage(stages, "", fmt.Sprintf("%s, %d trajectories", l.Name, n),
			func(progress irl.Progress) ([]neural.Model, error) {
				if l.Online != nil {
					return r.online(ctx, *l.Online, task, progress)
				}
				return r.methods[l.Name].Fit(ctx, task, progress)
			})
	})
	if err != nil {
		return nil, err
	}
	if l.Plan != nil {
		models, err = experiment.Stage(stages, "", fmt.Sprintf("planning of %s, %d trajectories", l.Name, n),
			func(progress irl.Progress) ([]neural.Model, error) {
				return r.plan(ctx, l, task, models, data.Test, progress)
			})
		if err != nil {
			return nil, err
		}
	}
	returns, err := experiment.Stage(stages, "", fmt.Sprintf("episodes of %s, %d trajectories", l.Name, n),
		func(progress irl.Progress) ([]outcome, error) { return c.returns(ctx, episodes, models, progress) })
	if err != nil {
		return nil, err
	}
	return c.rows(l.Name, n, data, models, returns)
}

// group returns the group of the unit: that of units which learn the same and differ in how they plan, on models that
// are trained once. Others are alone.
func (w work) group() string {
	if w.learner.Plan == nil {
		return ""
	}
	w.learner.Name, w.learner.Sizes, w.learner.Plan = "", nil, nil
	text, _ := json.Marshal([]any{w.learner, w.size, w.runs}) // on has refused what cannot be marshalled
	return string(text)
}

// plan plans the apprentices of a unit's runs. Others are demonstrations that none of them has seen.
func (r *runner) plan(ctx context.Context, l Learner, task *neural.Task, models []neural.Model,
	others []demo.Trajectory, progress irl.Progress) ([]neural.Model, error) {
	return r.inTurn(ctx, task, l.Plan.Learner, progress, func(on compute.Backend, pool *gym.Pool, i int,
		progress func(expert.Progress)) (neural.Model, error) {
		return planning.Plan(ctx, on, pool, models[i], task.Runs[i].Demos, *l.Plan,
			planning.Options{Progress: progress, Others: others})
	})
}

// online trains the models of a unit's runs in the environment.
func (r *runner) online(ctx context.Context, c online.Config, task *neural.Task, progress irl.Progress) ([]neural.Model,
	error) {
	return r.inTurn(ctx, task, c.Learner, progress, func(on compute.Backend, pool *gym.Pool, i int,
		progress func(expert.Progress)) (neural.Model, error) {
		return online.Learn(ctx, on, pool, task, task.Runs[i], c, expert.Options{Progress: progress})
	})
}

// inTurn makes the models of a task's runs one after the other, with a learner in a pool of environments.
func (r *runner) inTurn(ctx context.Context, task *neural.Task, learner expert.Config, progress irl.Progress,
	learn func(on compute.Backend, pool *gym.Pool, i int, progress func(expert.Progress)) (neural.Model,
		error)) ([]neural.Model, error) {
	on, release, err := backend.Client(r.backend)
	if err != nil {
		return nil, err
	}
	defer release()
	config, err := learner.Gym(1)
	if err != nil {
		return nil, err
	}
	pool, err := gym.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	out := make([]neural.Model, len(task.Runs))
	for i, run := range task.Runs {
		out[i], err = learn(on, pool, i, func(p expert.Progress) {
			progress.Report(i*p.Total+p.Steps, len(out)*p.Total, "")
		})
		if err != nil {
			return nil, fmt.Errorf("the run of seed %d: %w", run.Seed, err)
		}
	}
	return out, nil
}

// outcome is what came of an apprentice's episodes.
type outcome struct {
	mean       float64 // return
	worst      float64 // mean return of the worst twentieth
	terminated float64 // fraction
}

// rows returns the rows of an outcome, with the given row's identity.
func (o outcome) rows(of experiment.Row) []experiment.Row {
	return []experiment.Row{of.With(Return, o.mean), of.With(ReturnWorst, o.worst), of.With(Terminated, o.terminated)}
}

// outcomeOf sums episodes up.
func outcomeOf(episodes []demo.Trajectory) outcome {
	o := outcome{terminated: demo.Ended(episodes)}
	var returns []float64
	n := float64(len(episodes))
	for i := range episodes {
		returns = append(returns, episodes[i].Return())
		o.mean += episodes[i].Return() / n
	}
	slices.Sort(returns)
	left := worstPart * n
	for _, x := range returns { // the last of them counts in part
		share := min(left, 1)
		o.worst += share * x / (worstPart * n)
		if left -= share; left <= 0 {
			break
		}
	}
	return o
}

// worstPart is the part of the episodes that ReturnWorst is of.
const worstPart = 0.05

// rows returns the rows of the models of all runs, whose apprentices had the given outcomes.
func (c Config) rows(method string, n int, data *Data, models []neural.Model, returns []outcome) ([]experiment.Row,
	error) {
	var rows []experiment.Row
	for i, k := range c.Runs {
		of := experiment.Row{Environment: c.Environment, Method: method, Demos: n, Seed: k}
		add := func(metric string, value float64) { rows = append(rows, of.With(metric, value)) }
		rows = append(rows, returns[i].rows(of)...)
		seconds := models[i].Seconds() / float64(len(models))
		if p, ok := models[i].(*planning.Model); ok {
			seconds = p.Base().Seconds()/float64(len(models)) + p.Apprentice().Seconds
			worth := p.Worth()
			add(Objective, worth.Plan)
			add(ObjectiveDemonstrated, worth.Demonstrated)
			add(ObjectiveRollouts, worth.Rollouts)
			add(ObjectiveOthers, worth.Others)
			add(ObjectiveRank, worth.RankOfReturns)
		}
		if p, ok := models[i].(interface{ EnvironmentSteps() int }); ok {
			add(EnvironmentSteps, float64(p.EnvironmentSteps()))
		}
		add(TrainSeconds, seconds)
		s, err := neural.Score(models[i], data.Test, nil)
		if err != nil {
			return nil, err
		}
		add(HeldOut, s.LogLikelihood)
		add(ECE, s.ECE)
		if own := s.Uncalibrated; own != nil {
			add(HeldOutUncalibrated, own.LogLikelihood)
			add(ECEUncalibrated, own.ECE)
		}
		if len(c.Legs) > 0 {
			if s, err = neural.Score(models[i], data.Test, c.airborne); err != nil {
				return nil, err
			}
			add(HeldOutAirborne, s.LogLikelihood)
		}
	}
	return rows, nil
}

// airborne tells whether no leg touches the ground.
func (c Config) airborne(observation []float32) bool {
	return !slices.ContainsFunc(c.Legs, func(i int) bool { return observation[i] != 0 })
}

// environmentsAtATime is how many environments act together.
const environmentsAtATime = 16

// open opens a pool in which a number of episodes takes place.
func (c Config) open(ctx context.Context, episodes int) (*gym.Pool, error) {
	workers := min(runtime.GOMAXPROCS(0), episodes)
	return gym.Open(ctx, gym.Config{ID: c.Environment, Imports: c.Imports, Autoreset: gym.Disabled,
		Workers: workers, EnvsPerWorker: max(1, min(environmentsAtATime, episodes)/workers)})
}

// returns lets the apprentices act in the environments of a pool and returns what came of it for each.
func (c Config) returns(ctx context.Context, pool *gym.Pool, models []neural.Model, progress irl.Progress) ([]outcome,
	error) {
	out := make([]outcome, len(models))
	for i, m := range models {
		trajectories, err := neural.Rollout(ctx, pool, m, neural.RolloutOptions{
			Episodes: c.Episodes, Seed: c.EvaluationSeed, Progress: func(done int) {
				progress.Report(i*c.Episodes+done, len(models)*c.Episodes, "")
			},
		})
		if err != nil {
			return nil, err
		}
		out[i] = outcomeOf(trajectories)
	}
	return out, nil
}
