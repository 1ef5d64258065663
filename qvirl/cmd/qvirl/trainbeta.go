package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/neural"
)

// fit returns the model of the task; of several β, that of the one that best predicts left-out parts of the
// demonstrations.
func (o *trainOptions) fit(ctx context.Context, method neural.Method, task *neural.Task, progress irl.Progress,
	notes io.Writer) (best neural.Model, err error) {
	o.seconds = 0
	if len(o.betas) == 1 {
		return o.fitOne(ctx, method, task, progress)
	}
	for i, beta := range o.betas {
		t := *task
		t.Beta, t.Checkpoint = beta, filepath.Join(task.Checkpoint, fmt.Sprintf("beta-%g", beta))
		m, err := o.fitOne(ctx, method, &t, progress.Stage(fmt.Sprintf("β = %g: ", beta), i, 1, len(o.betas)))
		if err != nil {
			return nil, err
		}
		c := m.Calibration()
		if c == nil {
			return nil, errors.New("--beta: from so few demonstrations nothing can be left out to choose by")
		}
		fmt.Fprintf(notes, "note: β = %g predicts left-out parts of the demonstrations with %.3f nats per "+
			"action\n", beta, c.Foreseen)
		if best == nil || c.Foreseen > best.Calibration().Foreseen {
			best = m
		}
	}
	return best, nil
}

// fitOne returns the model of a task of one run, and counts the time that it took.
func (o *trainOptions) fitOne(ctx context.Context, method neural.Method, task *neural.Task, progress irl.Progress) (
	neural.Model, error) {
	models, err := method.Fit(ctx, task, progress)
	if err != nil {
		return nil, err
	}
	o.seconds += models[0].Seconds()
	return models[0], nil
}
