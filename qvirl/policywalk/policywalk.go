package policywalk

import (
	"context"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Name is the method's name in result rows.
const Name = "policywalk"

// Method is PolicyWalk with one configuration. It is an irl.Method.
type Method struct{ config Config }

// New returns the method with the given configuration.
func New(config Config) (*Method, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Method{config}, nil
}

// Name returns "policywalk".
func (m *Method) Name() string { return Name }

// Fit samples the posterior of each problem; every one is a *Posterior. It works on as many chains at a time as
// GOMAXPROCS allows. The samples of a problem depend on the problem itself and on the configuration, seed included, but
// neither on its place in the batch nor on the other problems nor on GOMAXPROCS, so that batches may be split freely.
// Poor convergence is not an error: see Posterior.Diagnostics.
func (m *Method) Fit(ctx context.Context, problems []*irl.Problem, progress irl.Progress) ([]irl.Posterior, error) {
	if err := irl.ValidateAll(problems); err != nil {
		return nil, err
	}
	if err := irl.CheckBetaKnown(m.Name(), problems); err != nil {
		return nil, err
	}
	return mcmc.Fit(ctx, problems, progress, m.sample)
}

// Posterior is a sampled posterior. It is an irl.ValuePosterior and safe for concurrent use.
type Posterior struct {
	*mcmc.Posterior
	diagnostics Diagnostics
}

// Diagnostics says how well a posterior was sampled.
type Diagnostics struct {
	mcmc.Diagnostics
	Widths []float64 // of the steps of each whitened component, mean over the chains, [k] as of Prior.Factor
}

// Sampling returns the part of the diagnostics that all Markov chains have.
func (p *Posterior) Sampling() *mcmc.Diagnostics { return &p.diagnostics.Diagnostics }

// Computation implements irl.Computed.
func (p *Posterior) Computation() map[string]float64 { return p.diagnostics.Diagnostics.Computation() }

// Convergence reports whether the chains agree and are long enough by the configuration's targets.
func (p *Posterior) Convergence() (ok bool, reason string) { return p.diagnostics.Converged() }

// Diagnostics returns how well the posterior was sampled.
func (p *Posterior) Diagnostics() Diagnostics { return p.diagnostics }

// sample samples the posterior of one problem.
func (m *Method) sample(ctx context.Context, problem *irl.Problem, job *mcmc.Job) (irl.Posterior, error) {
	c := m.config
	chains, traces := make([]*chain, c.Chains), make([]*mcmc.Trace, c.Chains)
	err := job.Time(func() error {
		hash := mcmc.Fingerprint(problem)
		factor, err := problem.Prior.Factor()
		if err != nil {
			return err
		}
		for i := range chains {
			if chains[i], err = newChain(problem, factor, mcmc.Stream(c.Seed, hash, uint64(i)),
				storeLimit*c.Samples/c.Chains); err != nil {
				return err
			}
			traces[i] = chains[i].trace
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := job.Each(len(chains), func(i int) error {
		return chains[i].adapt(ctx, c.Warmup, c.TargetAccept)
	}); err != nil {
		return nil, err
	}
	samples, convergence, err := job.Converge(c.budget(),
		func(i, iterations int) error { return chains[i].sample(ctx, iterations) },
		func(perChain int) (*mcmc.Posterior, error) {
			n := problem.RewardDim()
			return mcmc.Collect(problem, traces, perChain, func(p *mcmc.Posterior, i int, x []float64) {
				p.Set(i, x[:n], x[n:])
			}), nil
		})
	if err != nil {
		return nil, err
	}
	d := Diagnostics{Diagnostics: convergence, Widths: make([]float64, len(chains[0].width))}
	for _, k := range chains {
		d.Acceptance += k.accepted / float64(d.Iterations*len(chains))
		for i, w := range k.width {
			d.Widths[i] += w / float64(len(chains))
		}
	}
	return &Posterior{samples, d}, nil
}
