package atari

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
)

// encoderVersion counts what changed in what all learners see images through: 1 for He's first weights.
const encoderVersion = 1

// Units returns the units of the experiment: each learner in each game and run, and for each game those who do not
// learn.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	r := &runner{config: c, backend: backendName, games: map[string]*demo.Set{}}
	var units []experiment.Unit
	for _, g := range c.Games {
		on := c
		on.Games, on.Learners = []Game{g}, nil
		units = append(units, experiment.Unit{Name: g.Name + "-references", Method: random, On: on,
			Data: []string{g.Demos},
			Owns: func(r experiment.Row) bool {
				return r.Environment == g.Environment && (r.Method == random || r.Method == demonstrator)
			},
			Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				return r.references(ctx, g, t)
			}})
	}
	for _, k := range c.Runs { // so that an interrupted experiment has all methods of a run before the next
		for _, g := range c.Games {
			for _, l := range c.Learners {
				if !l.takesPart(g.Name, k) {
					continue
				}
				l.Games, l.Runs = nil, nil
				on := c
				on.Games, on.Runs, on.Learners = []Game{g}, []uint64{k}, []Learner{l}
				units = append(units, experiment.Unit{Name: fmt.Sprintf("%s-%s-%d", g.Name, l.name(), k),
					Method: l.name(), Version: encoderVersion, On: on, Data: []string{g.Demos},
					Owns: func(r experiment.Row) bool {
						return r.Environment == g.Environment && r.Method == l.name() && r.Seed == k
					},
					Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
						return r.run(ctx, g, l, k, t)
					}})
			}
		}
	}
	return units, nil
}

// runner runs units. It keeps the demonstrations, and the pictures of those that it showed last: the learners of a run
// follow one another.
type runner struct {
	config  Config
	backend string

	mutex sync.Mutex
	games map[string]*demo.Set // by name, without pictures
	last  struct {
		game  string
		run   uint64
		shown *demo.Set
	}
}

// open returns the demonstrations of a game: those to learn from in subsets, and those that are held out.
func (r *runner) open(g Game) (set *demo.Set, train [][]demo.Trajectory, heldOut []demo.Trajectory, err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	c := r.config
	if set = r.games[g.Name]; set == nil {
		if set, err = experiment.Demonstrations(g.Demos, g.Environment); err != nil {
			return nil, nil, nil, err
		}
		if set.Beta == nil {
			return nil, nil, nil, fmt.Errorf("atari: %s does not say how rational its demonstrator was", g.Demos)
		}
		r.games[g.Name] = set
	}
	train, parts, err := demo.Deal(set.Trajectories, c.SplitSeed, c.Train*c.Subsets, c.Subsets, c.HeldOut)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("atari: dealing %s: %w", g.Demos, err)
	}
	heldOut = parts[0]
	if c.Trajectories > 0 {
		for k := range train {
			train[k] = train[k][:c.Trajectories]
		}
		heldOut = heldOut[:min(c.Trajectories, len(heldOut))]
	}
	return set, train, heldOut, nil
}

// Task returns what a run learns from in a game.
func (c Config) Task(ctx context.Context, g Game, k uint64) (*neural.Task, error) {
	return (&runner{config: c, games: map[string]*demo.Set{}}).task(ctx, g, k)
}

// task returns it.
func (r *runner) task(ctx context.Context, g Game, k uint64) (*neural.Task, error) {
	set, train, heldOut, err := r.open(g)
	if err != nil {
		return nil, err
	}
	demos := len(train[k])
	r.mutex.Lock()
	defer r.mutex.Unlock()
	shown := r.last.shown
	if shown == nil || r.last.game != g.Name || r.last.run != k {
		r.last.shown = nil // or the pictures of two runs would be in memory
		if shown, err = gym.Observe(ctx, set, append(train[k][:demos:demos], heldOut...),
			gym.ReplayOptions{}); err != nil {
			return nil, err
		}
		r.last.game, r.last.run, r.last.shown = g.Name, k, shown
	}
	return &neural.Task{Environment: g.Environment, Observation: shown.ObservationSize(),
		Image: neural.ImageOf(shown), Actions: set.Actions, Discount: r.config.Discount, Beta: *set.Beta,
		Runs:    []neural.Run{{Demos: shown.Trajectories[:demos], Seed: k}},
		HeldOut: shown.Trajectories[demos:]}, nil
}

// run trains a learner in a run, and lets its apprentice play.
func (r *runner) run(ctx context.Context, g Game, l Learner, k uint64,
	t *experiment.Stages) (*experiment.Result, error) {
	c := r.config
	method, err := c.Method(g, l, r.backend)
	if err != nil {
		return nil, err
	}
	pool, err := c.pool(ctx, g, c.Episodes) // before the training, to hear at once that there is no emulator
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	var explore *neural.Explore
	if l.Explore != nil {
		rollouts, err := c.pool(ctx, g, l.Explore.Episodes)
		if err != nil {
			return nil, err
		}
		defer rollouts.Close()
		explore = neural.NewExplore(rollouts, *l.Explore)
	}
	var models []neural.Model
	demos := 0
	err = t.Run(l.name(), l.name()+" in "+g.Environment, func(progress irl.Progress) error {
		task, err := r.task(ctx, g, k)
		if err != nil {
			return err
		}
		task.Explore = explore
		demos, task.Checkpoint = len(task.Runs[0].Demos), experiment.Scratch(ctx)
		models, err = method.Fit(ctx, task, progress)
		return err
	})
	if err != nil {
		return nil, err
	}
	var score float64
	err = t.Run(l.name(), "episodes of "+l.name(), func(progress irl.Progress) error {
		score, err = c.play(ctx, pool, neural.Policy(models[0], false), progress)
		return err
	})
	if err != nil {
		return nil, err
	}
	row := experiment.Row{Environment: g.Environment, Method: l.name(), Demos: demos, Seed: k}
	return &experiment.Result{Rows: append(curve(row, models[0].Curve()), row.With(Return, score),
		row.With(TrainSeconds, models[0].Seconds()))}, nil
}

// curve returns the rows of the held-out log-likelihood along the training, at its end, and at its best.
func curve(row experiment.Row, points []neural.CurvePoint) []experiment.Row {
	var rows []experiment.Row
	best := math.Inf(-1)
	for _, p := range points {
		best = max(best, *p.HeldOut)
		rows = append(rows, row.With(HeldOut+At+strconv.Itoa(p.Step), *p.HeldOut))
	}
	return append(rows, row.With(HeldOut, *points[len(points)-1].HeldOut), row.With(HeldOutBest, best))
}

// references returns the rows of the demonstrator, in each run's own demonstrations and those held out, and of a random
// policy in the episodes that all apprentices meet.
func (r *runner) references(ctx context.Context, g Game, t *experiment.Stages) (*experiment.Result, error) {
	c := r.config
	set, train, heldOut, err := r.open(g)
	if err != nil {
		return nil, err
	}
	result := &experiment.Result{}
	for _, k := range c.Runs {
		row := experiment.Row{Environment: g.Environment, Method: demonstrator, Demos: len(train[k]), Seed: k}
		add := func(metric string, value float64) { result.Rows = append(result.Rows, row.With(metric, value)) }
		own, held := demo.Set{Description: set.Description, Trajectories: train[k]},
			demo.Set{Description: set.Description, Trajectories: heldOut}
		if returns := own.Returns(); returns != nil {
			add(Return, returns.Mean)
		}
		if likelihood, ok := held.ExpertLogLikelihood(); ok {
			add(HeldOut, likelihood)
		}
		add(Frequencies, frequencies(train[k], heldOut, set.Actions))
	}
	pool, err := c.pool(ctx, g, c.Episodes)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	return result, t.Run(random, "random play of "+g.Environment, func(progress irl.Progress) error {
		score, err := c.play(ctx, pool, gym.RandomPolicy(set.Actions), progress)
		result.Rows = append(result.Rows, experiment.Row{Environment: g.Environment, Method: random, Metric: Return,
			Value: score})
		return err
	})
}

// frequencies returns the mean log-likelihood of held-out actions by how often each was demonstrated, each once more
// than it was.
func frequencies(train, heldOut []demo.Trajectory, actions int) float64 {
	counts, total := slices.Repeat([]float64{1}, actions), float64(actions)
	for _, t := range train {
		for _, a := range t.Actions {
			counts[a]++
			total++
		}
	}
	sum, n := 0.0, 0.0
	for _, t := range heldOut {
		for _, a := range t.Actions {
			sum += math.Log(counts[a] / total)
			n++
		}
	}
	return sum / n
}

// pool opens environments for so many episodes at a time.
func (c Config) pool(ctx context.Context, g Game, episodes int) (*gym.Pool, error) {
	config := gym.Atari(g.Environment)
	config.Autoreset = gym.Disabled
	config.Workers = min(runtime.GOMAXPROCS(0), episodes)
	config.EnvsPerWorker = (episodes + config.Workers - 1) / config.Workers
	return gym.Open(ctx, config)
}

// play returns the mean score of a policy.
func (c Config) play(ctx context.Context, pool *gym.Pool, policy gym.Policy, progress irl.Progress) (float64, error) {
	episodes, err := gym.Collect(ctx, pool, policy, gym.CollectOptions{Episodes: c.Episodes,
		FirstSeed: c.EvaluationSeed, PolicySeed: uint64(c.EvaluationSeed), MaxSteps: c.MaxSteps,
		Progress: func(done int) { progress.Report(done, c.Episodes, "") }})
	if err != nil {
		return 0, err
	}
	set := demo.Set{Trajectories: episodes}
	return set.Returns().Mean, nil
}
