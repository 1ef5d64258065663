package experiment

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/irl"
)

// Job computes one unit in stages, whose costs add up to the unit's. The times of its result are those of the stages.
type Job func(ctx context.Context, t *Stages) (*Result, error)

// Jobs are the units of a plan with what computes each.
type Jobs struct {
	units []Unit
	keys  []string
	jobs  []Job
}

// Add adds a unit. If key is not empty, all its time counts as key's.
func (j *Jobs) Add(u Unit, key string, job Job) {
	j.units, j.keys, j.jobs = append(j.units, u), append(j.keys, key), append(j.jobs, job)
}

// AddChunks adds a unit for each chunk of at most size seeds, named by kind and the place of its first seed. A seed
// costs each.
func (j *Jobs) AddChunks(kind string, seeds []uint64, size int, each float64, job func(ctx context.Context,
	seeds []uint64, t *Stages) (*Result, error)) {
	for first := 0; first < len(seeds); first += size {
		chunk := seeds[first:min(first+size, len(seeds))]
		j.Add(Unit{Name: fmt.Sprintf("%s-%04d", kind, first), Cost: float64(len(chunk)) * each}, "",
			func(ctx context.Context, t *Stages) (*Result, error) { return job(ctx, chunk, t) })
	}
}

// Plan returns the plan of an experiment's jobs at a scale. config is what determines its rows.
func (j *Jobs) Plan(experiment, scale string, config any) *Plan {
	return &Plan{Experiment: experiment, Scale: scale, Config: config, Units: j.units,
		Run: func(ctx context.Context, unit int, progress irl.Progress) (*Result, error) {
			t := NewStages(j.units[unit].Cost, j.keys[unit], progress)
			result, err := j.jobs[unit](ctx, t)
			if err != nil {
				return nil, err
			}
			result.Times = t.Times()
			return result, nil
		}}
}
