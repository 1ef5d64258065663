package mcmc

import (
	"context"
	"errors"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
)

// TestConvergeBeginsAnew: chains that miss a target begin anew where that is asked for, and the error of asking ends
// them.
func TestConvergeBeginsAnew(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		asked int // from which on there is an error; 0: never
		want  error
	}{{0, nil}, {2, broken}} {
		budget := Budget{Samples: 400, Chains: 4, MinESS: 1000, MaxRHat: 10, MaxIterations: 1000}
		asked := 0
		budget.Again = func(samples *Posterior, iterations int) (bool, error) {
			asked++
			if samples.Len() != 400 || iterations < 200 {
				t.Errorf("asked of %d samples after %d iterations", samples.Len(), iterations)
			}
			if asked == c.asked {
				return false, broken
			}
			return asked == 1, nil
		}
		var reached []int // by the first chain
		_, err := Fit(t.Context(), []*irl.Problem{flips(t, 4, 100, 0.5).Problem()}, nil,
			func(_ context.Context, _ *irl.Problem, job *Job) (irl.Posterior, error) {
				p, d, err := job.Converge(budget, func(chain, iterations int) error {
					if chain == 0 {
						reached = append(reached, iterations)
					}
					return nil
				}, func(perChain int) (*Posterior, error) { return flips(t, 4, perChain, 0.5), nil })
				if err == nil && d.Iterations != 1000 {
					t.Errorf("%d iterations since the chains began anew, want 1000", d.Iterations)
				}
				return p, err
			})
		if !errors.Is(err, c.want) {
			t.Errorf("error %v, want %v", err, c.want)
		}
		began := 0
		for i, n := range reached {
			if i == 0 || n < reached[i-1] {
				began++
			}
		}
		if began != 2 {
			t.Errorf("chains began %d times, want 2: %v", began, reached)
		}
	}
}

// TestFewSamples: as many again are kept as long as they are few, but no more than may be, or than chains are long.
func TestFewSamples(t *testing.T) {
	for _, c := range []struct{ few, most, want int }{{0, 10_000, 400}, {400, 10_000, 800}, {10_000, 10_000, 1600},
		{10_000, 300, 400}} { // of 300 iterations, each chain has no 200 samples as far apart as 100 of 200
		few, want := c.few, c.want
		budget := Budget{Samples: 400, Chains: 4, MinESS: 1, MaxRHat: 10, MaxIterations: c.most, MaxSamples: 2000,
			Few: func(samples *Posterior) bool { return samples.Len() <= few }}
		posts, err := Fit(t.Context(), []*irl.Problem{flips(t, 4, 100, 0.5).Problem()}, nil,
			func(_ context.Context, _ *irl.Problem, job *Job) (irl.Posterior, error) {
				p, d, err := job.Converge(budget, func(chain, iterations int) error { return nil },
					func(perChain int) (*Posterior, error) { return flips(t, 4, perChain, 0.5), nil })
				if ok, reason := d.Converged(); !ok {
					t.Errorf("few up to %d: not converged: %s", few, reason)
				}
				return p, err
			})
		if err != nil {
			t.Fatal(err)
		}
		if got := posts[0].(*Posterior).Len(); got != want {
			t.Errorf("few up to %d: %d samples, want %d", few, got, want)
		}
	}
}

// TestPatience: chains go on for longer if they have a quarter of what is asked for by then, and are not asked to begin
// anew if they have half of it.
func TestPatience(t *testing.T) {
	for ess, want := range map[float64]int{600: 3000, 1000: 3000, 4000: 1000} { // 400 independent samples are kept
		asked := false
		budget := Budget{Samples: 400, Chains: 4, MinESS: ess, MaxRHat: 10, MaxIterations: 1000, MostIterations: 3000,
			Again: func(*Posterior, int) (bool, error) { asked = true; return false, nil }}
		_, err := Fit(t.Context(), []*irl.Problem{flips(t, 4, 100, 0.5).Problem()}, nil,
			func(_ context.Context, _ *irl.Problem, job *Job) (irl.Posterior, error) {
				p, d, err := job.Converge(budget, func(chain, iterations int) error { return nil },
					func(perChain int) (*Posterior, error) { return flips(t, 4, perChain, 0.5), nil })
				if d.Iterations != want {
					t.Errorf("%g effective samples asked for: %d iterations, want %d", ess, d.Iterations, want)
				}
				return p, err
			})
		if err != nil {
			t.Fatal(err)
		}
		if asked != (ess > 600) {
			t.Errorf("%g effective samples asked for: asked to begin anew: %t", ess, asked)
		}
	}
}

// TestWantsMore: more samples are drawn for β's standard deviation, and for values', only if the most there may be
// would do.
func TestWantsMore(t *testing.T) {
	b := Budget{MaxStdError: 0.04, MaxSamples: 16000}
	for _, c := range []struct {
		stdError float64
		samples  int
		want     bool
	}{{0.03, 1000, false}, {0.15, 1000, true}, {0.17, 1000, false}, {0.05, 8000, true}, {0.06, 8000, false},
		{0.05, 16000, false}} {
		if got := b.wantsMore(c.stdError, c.samples); got != c.want {
			t.Errorf("an error of %g of %d samples: %t, want %t", c.stdError, c.samples, got, c.want)
		}
	}
	if (Budget{MaxSamples: 16000}).wantsMore(1, 1) {
		t.Error("without a target more samples are drawn")
	}
}

// TestLeastIterations: chains go on for so long at least, and their progress never falls, though they begin anew.
func TestLeastIterations(t *testing.T) {
	budget := Budget{Samples: 400, Chains: 4, MinESS: 1, MaxRHat: 10, MaxIterations: 10_000, MinIterations: 700}
	last := 0
	progress := func(done, total int, _ string) {
		if done < last || total != progressParts {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}
	_, err := Fit(t.Context(), []*irl.Problem{flips(t, 4, 100, 0.5).Problem()}, progress,
		func(_ context.Context, _ *irl.Problem, job *Job) (irl.Posterior, error) {
			job.Report(0.5, "")
			job.WarmUp(0.5, "")
			p, d, err := job.Converge(budget, func(int, int) error { return nil },
				func(perChain int) (*Posterior, error) { return flips(t, 4, perChain, 0.5), nil })
			if d.Iterations != 700 {
				t.Errorf("%d iterations, want 700", d.Iterations)
			}
			return p, err
		})
	if err != nil || last != progressParts {
		t.Errorf("the progress ends at %d; error %v", last, err)
	}
}
