package tabular

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"github.com/go-birl/birl/qvirl/irl"
)

const (
	// lineSearch is the number of evaluations of a line search after which rounding hides what it looks for.
	lineSearch = 40
	// A round need not be run to its end where stall steps have changed the loss by no more than stalled tolerances.
	stall, stalled = 10, 1e-3
)

// descent is the course of L-BFGS on the closed form of one problem, over the mean and the lower triangle of the factor
// of z. It is an optimize.Converger.
type descent struct {
	ctx      context.Context
	form     *closedForm
	config   Config
	progress irl.Progress

	point, gradient []float64 // of the last evaluation: n means, then the rows of the triangle
	loss            float64
	factor          *mat.TriDense
	slopeFactor     *mat.Dense

	iterations, evaluations int
	searchedFrom            int // evaluations when the present line search began
	curve                   []CurvePoint
	before                  float64 // loss at the end of the round before
	converged               bool
}

// fitAlone fits the problem of a group of one by L-BFGS.
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
	d := &descent{ctx: ctx, form: newClosedForm(b, m.config.Maximum), config: m.config, progress: progress,
		factor: mat.NewTriDense(n, mat.Lower, nil), slopeFactor: mat.NewDense(n, n, nil), before: math.Inf(1),
		point: make([]float64, len(x)), gradient: make([]float64, len(x))}
	if loss := d.evaluate(x); math.IsInf(loss, 1) {
		return nil, m.explain(&diverged{problem: index, loss: loss, kl: d.form.kl, logLikelihood: d.form.logLikelihood},
			b)
	}
	d.record()
	for total := m.config.Rounds * m.config.Steps; !d.converged && d.iterations < total; {
		done := d.iterations
		d.searchedFrom = d.evaluations
		result, err := optimize.Minimize(
			optimize.Problem{Func: d.evaluate, Grad: d.derivative, Status: d.interrupted}, x,
			&optimize.Settings{MajorIterations: total - done, Converger: d}, &optimize.LBFGS{})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		x = result.X
		if err == nil && result.Status == optimize.GradientThreshold {
			d.converged = true
		}
		if d.iterations == done { // a search that rounding ends is begun anew, unless it began just there
			d.converged = d.converged || math.Abs(d.before-result.F) <= m.config.Tolerance
			break
		}
	}
	loss := d.evaluate(x)
	status := "converged"
	if !d.converged {
		status = fmt.Sprintf("stopped after %d rounds, not converged", (d.iterations+m.config.Steps-1)/m.config.Steps)
	}
	progress.Report(m.config.Rounds*m.config.Steps, m.config.Rounds*m.config.Steps, status)

	r := &reading{loss: loss, mean: x[:n], spread: make([]float64, n*n), rise: d.form.rise, residual: d.form.residual,
		weights: make([]float64, b.actions*b.states), logProbs: make([]float64, b.actions*b.states)}
	for i := range n {
		copy(r.spread[i*n:], d.factor.RawTriangular().Data[i*n:i*n+i+1])
	}
	for s := range d.form.states {
		for a := range b.actions {
			r.weights[a*b.states+s] = d.form.states[s].weights[a]
			r.logProbs[a*b.states+s] = d.form.states[s].logProbs[a]
		}
	}
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
	n, raw := d.form.dim, d.factor.RawTriangular()
	at := n
	for i := range n {
		at += copy(raw.Data[i*raw.Stride:i*raw.Stride+i+1], x[at:])
	}
	d.evaluations++
	d.loss = d.form.evaluate(x[:n], d.factor, d.gradient[:n], d.slopeFactor)
	if math.IsNaN(d.loss) {
		d.loss = math.Inf(1)
	}
	at = n
	for i := range n {
		at += copy(d.gradient[at:], d.slopeFactor.RawRowView(i)[:i+1])
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
	if k := len(d.curve) - 1 - stall; k >= 0 && -d.curve[k].ELBO-d.loss <= stalled*d.config.Tolerance {
		d.converged = true
	}
	if d.converged {
		return optimize.FunctionConvergence
	}
	return optimize.NotTerminated
}

// record appends the present point to the curve and reports it.
func (d *descent) record() {
	d.curve = append(d.curve, CurvePoint{Step: d.iterations, ELBO: -d.loss, KL: d.form.kl,
		LogLikelihood: d.form.logLikelihood})
	d.progress.Report(d.iterations, d.config.Rounds*d.config.Steps, fmt.Sprintf("ELBO %.3f", -d.loss))
}
