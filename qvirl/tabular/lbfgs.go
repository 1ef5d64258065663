package tabular

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/go-birl/birl/qvirl/irl"
)

const (
	// lineSearch is the number of evaluations of a line search after which rounding hides what it looks for.
	lineSearch = 40
	// A round need not be run to its end where stall steps have changed the loss by no more than stalled tolerances.
	stall, stalled = 10, 1e-3
)

// form is an objective as L-BFGS sees it.
type form interface {
	// at returns the loss at a point and unless gradient is nil sets that. Where there is no loss it is +Inf.
	at(x, gradient []float64) float64
	// parts returns what the last loss is the difference of.
	parts() (kl, logLikelihood float64)
}

// descent is the course of L-BFGS on the objective of one problem. It is an optimize.Converger.
type descent struct {
	ctx      context.Context
	form     form
	config   Config
	progress irl.Progress
	store    int // pairs that L-BFGS keeps; 0 for its own default

	point, gradient []float64 // of the last evaluation
	loss            float64

	iterations, evaluations int
	searchedFrom            int // evaluations when the present line search began
	curve                   []CurvePoint
	first                   int     // of the curve's points, that of the present objective
	before                  float64 // loss at the end of the round before
	converged               bool
}

// begin prepares a descent, and evaluates the point that it starts from.
func (m *Variational) begin(ctx context.Context, f form, x []float64, progress irl.Progress) *descent {
	d := &descent{ctx: ctx, form: f, config: m.config, progress: progress, before: math.Inf(1),
		point: make([]float64, len(x)), gradient: make([]float64, len(x))}
	if d.evaluate(x); !math.IsInf(d.loss, 1) {
		d.record()
	}
	return d
}

// run descends from a point until the loss has converged or the iterations are most, and returns where it ends.
func (d *descent) run(x []float64, most int) ([]float64, error) {
	for !d.converged && d.iterations < most {
		done := d.iterations
		d.searchedFrom = d.evaluations
		result, err := optimize.Minimize(
			optimize.Problem{Func: d.evaluate, Grad: d.derivative, Status: d.interrupted}, x,
			&optimize.Settings{MajorIterations: most - done, Converger: d}, &optimize.LBFGS{Store: d.store})
		if d.ctx.Err() != nil {
			return nil, d.ctx.Err()
		}
		if !(result.F < math.Inf(1)) { // and X is not what it is the loss of
			return nil, fmt.Errorf("tabular: the objective is %g where the descent begins: prior, β or discount are "+
				"too extreme", result.F)
		}
		x = result.X
		if err == nil && result.Status == optimize.GradientThreshold {
			d.converged = true
		}
		if d.iterations == done { // a search that rounding ends is begun anew, unless it began just there
			d.converged = d.converged || math.Abs(d.before-result.F) <= d.config.Tolerance
			break
		}
	}
	d.evaluate(x)
	return x, nil
}

// restart goes on from a point of an objective that has changed.
func (d *descent) restart(x []float64) {
	d.converged, d.before, d.first = false, math.Inf(1), len(d.curve)
	d.evaluate(x)
	d.record()
}

// end reports how the descent ended.
func (d *descent) end() {
	status := "converged"
	if !d.converged {
		status = fmt.Sprintf("stopped after %d rounds, not converged", (d.iterations+d.config.Steps-1)/d.config.Steps)
	}
	d.progress.Report(d.config.Rounds*d.config.Steps, d.config.Rounds*d.config.Steps, status)
}

// fitAlone fits the problem of a group of one by L-BFGS, over the mean and the lower triangle of the factor of z.
func (m *Variational) fitAlone(ctx context.Context, g *group, progress irl.Progress) ([]*Gaussian, error) {
	b, index := g.parts[0], g.indices[0]
	n := b.dim
	mean, factor := make([]float64, n), identities(1, n)
	if g.start != nil {
		var err error
		if mean, factor, err = b.startPoint(g.start, g.indices, m.config); err != nil {
			return nil, err
		}
	}
	x := append(make([]float64, 0, n+n*(n+1)/2), mean...)
	for i := range n {
		x = append(x, factor[i*n:i*n+i+1]...)
	}
	f := newClosedForm(b, m.config.Maximum)
	d := m.begin(ctx, f, x, progress)
	if math.IsInf(d.loss, 1) {
		return nil, m.explain(&diverged{problem: index, loss: d.loss, kl: f.kl, logLikelihood: f.logLikelihood}, b)
	}
	x, err := d.run(x, m.config.Rounds*m.config.Steps)
	if err != nil {
		return nil, err
	}
	d.end()

	r := f.reading(d.loss, x[:n], f.factor)
	p, err := b.posterior(0, m.config, &course{curves: [][]CurvePoint{d.curve}, converged: []bool{d.converged},
		best: []*reading{r}}, FitInfo{Float64: true, Why: "L-BFGS computes in double precision",
		Evaluations: d.evaluations})
	if err != nil {
		return nil, fmt.Errorf("tabular: problem %d: %w", index, err)
	}
	return []*Gaussian{p}, nil
}

// evaluate returns the loss at a point and keeps its gradient; a loss that is not a number is +Inf.
func (d *descent) evaluate(x []float64) float64 {
	copy(d.point, x)
	d.evaluations++
	d.loss = d.form.at(x, d.gradient)
	if math.IsNaN(d.loss) {
		d.loss = math.Inf(1)
	}
	return d.loss
}

// derivative sets the gradient at a point.
func (d *descent) derivative(gradient, x []float64) {
	if !floats.Equal(x, d.point) {
		d.evaluate(x)
	}
	copy(gradient, d.gradient)
}

// interrupted ends the search with the context, or where a line search goes on for too long.
func (d *descent) interrupted() (optimize.Status, error) {
	if err := d.ctx.Err(); err != nil {
		return optimize.Failure, err
	}
	if d.evaluations-d.searchedFrom > lineSearch {
		return optimize.StepConvergence, nil
	}
	return optimize.NotTerminated, nil
}

// Init implements optimize.Converger.
func (d *descent) Init(int) {}

// Converged counts an iteration, and ends the search after a round that has changed the loss by no more than the
// tolerance, or where the loss has come to a stop.
func (d *descent) Converged(*optimize.Location) optimize.Status {
	d.iterations++
	d.searchedFrom = d.evaluations
	d.record()
	if d.iterations%d.config.Steps == 0 {
		d.converged = math.Abs(d.before-d.loss) <= d.config.Tolerance
		d.before = d.loss
	}
	if k := len(d.curve) - 1 - stall; k >= d.first && -d.curve[k].ELBO-d.loss <= stalled*d.config.Tolerance {
		d.converged = true
	}
	if d.converged {
		return optimize.FunctionConvergence
	}
	return optimize.NotTerminated
}

// record appends the present point to the curve and reports it.
func (d *descent) record() {
	kl, logLikelihood := d.form.parts()
	d.curve = append(d.curve, CurvePoint{Step: d.iterations, ELBO: -d.loss, KL: kl, LogLikelihood: logLikelihood})
	d.progress.Report(d.iterations, d.config.Rounds*d.config.Steps, fmt.Sprintf("ELBO %.3f", -d.loss))
}
