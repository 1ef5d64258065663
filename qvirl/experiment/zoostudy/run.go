package zoostudy

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/zoo"
)

// Plan returns the plan of the experiment: a unit for each problem and method.
func (c Config) Plan(scale, backendName string) (*experiment.Plan, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	cases, err := c.cases()
	if err != nil {
		return nil, err
	}
	var jobs experiment.Jobs
	for _, name := range c.Methods {
		fit, err := c.fitter(name, backendName)
		if err != nil {
			return nil, err
		}
		for _, z := range cases {
			unit := experiment.Unit{Name: z.Name + separator + name, Cost: cost(&z)}
			jobs.Add(unit, name, func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
				return judge(ctx, &z, name, fit, unit.Cost, t)
			})
		}
	}
	plan := jobs.Plan(Name, scale, c)
	plan.Part = part
	return plan, nil
}

// cost is about how many seconds a method takes.
func cost(z *zoo.Case) float64 {
	return 3 + 0.1*float64(z.Problem.MDP.States()*z.Problem.MDP.Actions())
}

// judge is the unit of one problem and method. A method that fails has a row that says so, and a note.
func judge(ctx context.Context, z *zoo.Case, name string, fit Fitter, cost float64,
	t *experiment.Stages) (*experiment.Result, error) {
	result := &experiment.Result{}
	row := func(metric string, value float64) {
		result.Rows = append(result.Rows, experiment.Row{Environment: z.Name, Method: name, Demos: len(z.Problem.Demos),
			Metric: metric, Value: value})
	}
	var answer *summary.Summary
	var claims bool
	var reason string
	var failure error
	err := t.Run(name, z.Name+": "+name, cost, func(progress irl.Progress) error {
		answer, claims, reason, failure = fit(ctx, z.Problem, progress)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	row(Seconds, t.Times().Seconds[name])
	row(Failed, number(failure != nil))
	if failure != nil {
		row(Claims, 0)
		row(Right, 0)
		result.Notes = append(result.Notes, fmt.Sprintf("failed: %v", failure))
		return result, nil
	}
	errors, err := zoo.Judge(z, answer)
	if err != nil {
		return nil, err
	}
	row(MeanError, errors.Mean)
	row(StdError, errors.Std)
	row(ValueMeanError, errors.ValueMean)
	row(ValueStdError, errors.ValueStd)
	if z.Problem.InfersBeta() {
		row(BetaMeanError, errors.BetaMean)
		row(BetaStdError, errors.BetaStd)
	}
	row(PolicyTV, errors.PolicyTV)
	row(Right, number(errors.Right()))
	row(Claims, number(claims))
	switch {
	case !errors.Right() && claims:
		result.Notes = append(result.Notes, "wrong, and does not say so: "+errors.Wrong)
	case !errors.Right():
		result.Notes = append(result.Notes, fmt.Sprintf("wrong: %s; it says: %s", errors.Wrong, reason))
	case !claims:
		result.Notes = append(result.Notes, "right, but says: "+reason)
	}
	return result, nil
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
