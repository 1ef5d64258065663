package neural

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
)

// Explore says how auxiliary transitions are gathered from rollouts of the apprentices while they learn.
//
// The first round, of the untrained apprentices, comes before the first step. From then on, at every Every'th step, the
// trajectories of the last round join the auxiliary ones, and a round of the present apprentices begins, which takes
// place while training goes on, unless training ends before it would be taken up. Which transitions a step sees depends
// on the steps alone, not on how long rounds take; training waits for one that takes longer than Every steps.
type Explore struct {
	// Every is the number of steps between rounds, a multiple of Config.ReportEvery.
	Every int
	// Keep is the number of trajectories that a run keeps, the last ones.
	Keep int
	// Source says where Rollout gathers them, and how. A training that was interrupted goes on only with the same.
	Source string
	// Rollout returns trajectories of a run's apprentice. The same round has to return the same, whenever it takes
	// place. It is called by several goroutines at a time.
	Rollout func(ctx context.Context, run, round int, m Model) ([]demo.Trajectory, error)
	// Successors returns further successors of what Rollout returned, as many of each transition as Run.Successors has;
	// nil where runs have none. It has to repeat itself as Rollout has, and is called as that is.
	Successors func(ctx context.Context, run, round int, of []demo.Trajectory) ([]Successors, error)
}

// validate reports the first field that is out of range.
func (e *Explore) validate(reportEvery int) error {
	return check.All("neural: Explore", check.That(e.Every >= 1 && e.Every%reportEvery == 0, "Every = %d, want a "+
		"multiple of Config.ReportEvery, %d", e.Every, reportEvery), check.AtLeast(1, "Keep", e.Keep),
		check.That(e.Rollout != nil, "Rollout is nil"))
}

// explorer gathers the auxiliary trajectories of a job.
type explorer struct {
	*Explore
	job     *job
	learner *Learner
	cancel  context.CancelFunc
	pending *errgroup.Group // the round under way; nil for none
	found   []explored      // what it returns, by run
}

// explored are trajectories of a run's apprentice.
type explored struct {
	Trajectories []demo.Trajectory
	Successors   []Successors // of each; nil without further ones
}

// last returns the last of the trajectories, at most n.
func (e explored) last(n int) explored {
	drop := max(0, len(e.Trajectories)-n)
	e.Trajectories = e.Trajectories[drop:]
	if e.Successors != nil {
		e.Successors = e.Successors[drop:]
	}
	return e
}

// begin starts a round of the present apprentices.
func (e *explorer) begin(ctx context.Context, v *vectors) error {
	j := e.job
	if err := v.read(&j.state); err != nil {
		return err
	}
	round := j.Step / e.Every
	ctx, e.cancel = context.WithCancel(ctx)
	e.pending, ctx = errgroup.WithContext(ctx)
	e.found = make([]explored, len(j.runs))
	for r := range j.runs {
		m := j.model(e.learner, r, j.Trained)
		e.pending.Go(func() (err error) {
			if e.found[r], err = e.explore(ctx, r, round, m); err != nil {
				return fmt.Errorf("neural: run %d, round %d of auxiliary rollouts: %w", j.first+r, round, err)
			}
			return nil
		})
	}
	return nil
}

// explore rolls the apprentice of run r out.
func (e *explorer) explore(ctx context.Context, r, round int, m Model) (found explored, err error) {
	j := e.job
	if found.Trajectories, err = e.Rollout(ctx, j.first+r, round, m); err != nil {
		return found, err
	}
	if err := j.task.check(found.Trajectories); err != nil {
		return found, fmt.Errorf("trajectory %w", err)
	}
	if e.Successors != nil {
		if found.Successors, err = e.Successors(ctx, j.first+r, round, found.Trajectories); err != nil {
			return found, err
		}
	}
	return found, j.task.checkSuccessors(found.Trajectories, found.Successors)
}

// join waits for the round under way, if there is one, and takes its trajectories up.
func (e *explorer) join() error {
	if e.pending == nil {
		return nil
	}
	err := e.pending.Wait()
	e.cancel()
	e.pending = nil
	if err != nil {
		return err
	}
	j := e.job
	for r, found := range e.found {
		all := explored{slices.Concat(j.Aux[r].Trajectories, found.Trajectories), slices.Concat(j.Aux[r].Successors,
			found.Successors)}
		j.Aux[r] = all.last(e.Keep)
	}
	return e.handOver()
}

// handOver gives the auxiliary trajectories to the sampler.
func (e *explorer) handOver() error {
	j := e.job
	aux := make([]*Data, len(j.runs))
	for r, kept := range j.Aux {
		if len(kept.Trajectories) == 0 {
			return fmt.Errorf("neural: run %d: the first round of auxiliary rollouts has no trajectories", j.first+r)
		}
		aux[r] = newData(kept.Trajectories, kept.Successors, j.task.Image, j.sampler.expert[r].Scale, j.task.Actions,
			j.task.Discount)
	}
	j.sampler.setAux(aux)
	return nil
}

// step takes a round up and begins the next one, if it is time. Nothing happens with no explorer.
func (e *explorer) step(ctx context.Context, v *vectors) error {
	if e == nil || e.job.Step%e.Every != 0 {
		return nil
	}
	if err := e.join(); err != nil {
		return err
	}
	return e.next(ctx, v)
}

// next begins a round, if training lasts until it is taken up.
func (e *explorer) next(ctx context.Context, v *vectors) error {
	if e.job.Step+e.Every > e.job.config.Steps {
		return nil
	}
	return e.begin(ctx, v)
}

// start makes the auxiliary trajectories that the next step needs.
func (e *explorer) start(ctx context.Context, v *vectors) error {
	if e == nil || e.job.Step >= e.job.config.Steps {
		return nil
	}
	if e.job.Step > 0 { // a checkpoint had them
		if err := e.handOver(); err != nil {
			return err
		}
		return e.next(ctx, v)
	}
	e.job.Aux = make([]explored, len(e.job.runs))
	if err := e.begin(ctx, v); err != nil {
		return err
	}
	return e.join()
}

// settled tells whether a state that is kept now can be gone on with: a round has just been taken up, or there are
// none.
func (e *explorer) settled() bool {
	return e == nil || e.job.Step%e.Every == 0 || e.job.Step >= e.job.config.Steps
}

// stop ends the round under way, of which nothing is of use any more. It is cancelled only if training failed: that
// may end the environments' processes, which belong to whoever gave Rollout, along with the round.
func (e *explorer) stop(failed bool) {
	if e == nil || e.pending == nil {
		return
	}
	if failed {
		e.cancel()
	}
	_ = e.pending.Wait()
	e.cancel()
}
