package zoostudy

import (
	"context"
	"fmt"
	"math"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/zoo"
)

// Units returns the units of the experiment: each method on each problem.
func (c Config) Units(backendName string) ([]experiment.Unit, error) {
	cases, err := c.cases()
	if err != nil {
		return nil, err
	}
	var units []experiment.Unit
	for _, name := range c.Methods {
		fit, on, err := c.fitter(name, backendName)
		if err != nil {
			return nil, err
		}
		var code []string
		if name == Fit || name == Matched {
			code = []string{Matched, Paper, ValueWalk}
		}
		for _, z := range cases {
			units = append(units, experiment.Unit{Name: z.Name + "--" + name, Method: name,
				Code: code, On: []any{z.Digest, z.Exact, c.Draws, on},
				Owns: func(r experiment.Row) bool { return r.Environment == z.Name && r.Method == name },
				Run: func(ctx context.Context, t *experiment.Stages) (*experiment.Result, error) {
					return judge(ctx, &z, name, fit, t)
				}})
		}
	}
	return units, nil
}

// judge is the unit of one problem and method. A method that fails has a row that says so, and a note.
func judge(ctx context.Context, z *zoo.Case, name string, fit Fitter,
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
	err := t.Run(name, z.Name+": "+name, func(progress irl.Progress) error {
		answer, claims, reason, failure = fit(ctx, z.Problem, progress)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	row(Seconds, t.Seconds(name))
	row(Failed, experiment.Indicator(failure != nil))
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
		if !math.IsNaN(answer.BetaStd) {
			row(BetaStdError, errors.BetaStd)
		}
	}
	row(PolicyTV, errors.PolicyTV)
	row(Right, experiment.Indicator(errors.Right()))
	row(Claims, experiment.Indicator(claims))
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
