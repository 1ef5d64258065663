package verdict

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/go-birl/birl/qvirl/irl"
)

func TestFit(t *testing.T) {
	p := world(t)
	wrong, broken, stuck := right(p), right(p), right(p)
	wrong.shift, broken.broken, stuck.stuck = 1, true, true
	failure := fmt.Errorf("it failed")
	short := Default(1)
	short.Reference.Samples, short.Reference.MinESS, short.Reference.MaxIterations = 32, 1e6, 8
	for name, c := range map[string]struct {
		method    method
		config    Config
		escalate  bool
		returned  string
		verdict   Verdict
		converged bool
		stages    string
	}{
		"trusted": {method{post: right(p)}, Default(1), true, "quick", Trust, true, "quick diagnosis"},
		"refined": {method{post: wrong}, Default(1), true, "refined", Refine, true, "quick diagnosis"},
		"kept":    {method{post: wrong}, Default(1), false, "quick", Refine, false, "quick diagnosis"},
		"failed":  {method{err: failure}, Default(1), true, "reference", DoNotUse, true, "quick reference"},
		"not for it": {method{err: irl.ErrSingularPrior}, Default(1), true, "reference", Converged, true,
			"quick reference"},
		"no draws": {method{post: broken}, Default(1), true, "reference", DoNotUse, true,
			"quick diagnosis reference"},
		"judges too short": {method{post: right(p)}, short, true, "reference", DoNotUse, false,
			"quick diagnosis reference"},
		"judges too short, kept":   {method{post: right(p)}, short, false, "quick", DoNotUse, false, "quick diagnosis"},
		"not converged, and saved": {method{post: stuck}, Default(1), true, "refined", Refine, true, "quick diagnosis"},
	} {
		last := 0.0
		r, err := Fit(context.Background(), c.method, p, c.escalate, c.config, func(done, total int, _ string) {
			if total > 0 {
				last = max(last, float64(done)/float64(total))
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var stages []string
		for _, s := range r.Stages {
			stages = append(stages, s.Name)
			if s.Seconds < 0 {
				t.Errorf("%s: %s took %g s", name, s.Name, s.Seconds)
			}
		}
		diagnosed := r.Diagnosis != nil
		if r.Returned != c.returned || r.Verdict != c.verdict || diagnosed && r.Diagnosis.Verdict != c.verdict ||
			diagnosed == (c.verdict == Converged) || r.Converged != c.converged ||
			(r.Err() == nil) != c.converged || strings.Join(stages, " ") != c.stages {
			t.Errorf("%s: returned %s after %v, verdict %s, converged %v: %s", name, r.Returned, stages, r.Verdict,
				r.Converged,
				r.Reason)
		}
		if r.Posterior == nil || r.Posterior.Problem() != p || r.Reason == "" || !(last > 0.3 && last <= 1) {
			t.Errorf("%s: posterior %v, reason %q, progress %g", name, r.Posterior, r.Reason, last)
		}
		if !diagnosed {
			continue
		}
		if judged := strings.Contains(r.Diagnosis.String(), "R̂"); judged != (r.Diagnosis.ESS > 0) {
			t.Errorf("%s: %s", name, r.Diagnosis)
		}
		// Whatever the method did, what counts as converged is the prior, N(1, 2²).
		if mean := r.Posterior.Reward(0).Mean(); r.Converged && !(math.Abs(mean-1) < 0.2) {
			t.Errorf("%s: mean %g", name, mean)
		}
	}
	if _, err := Fit(context.Background(), method{err: failure}, p, false, Default(1), nil); !errors.Is(err, failure) {
		t.Errorf("a method that fails: %v", err)
	}
	_, err := Fit(context.Background(), method{post: broken}, p, false, Default(1), nil)
	if err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("an approximation without draws: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, m := range []method{{post: right(p)}, {err: failure}} {
		if _, err := Fit(ctx, m, p, true, Default(1), nil); err == nil {
			t.Error("a cancelled fit returned")
		}
	}
	bad := *p
	bad.Beta = -1
	_, err = Fit(context.Background(), method{post: right(p)}, &bad, true, Default(1), nil)
	if err == nil || !strings.Contains(err.Error(), "β = -1") {
		t.Errorf("a bad problem: %v", err)
	}
}

// TestSample checks that samples are returned as they are, with their own word on them.
func TestSample(t *testing.T) {
	p := world(t)
	for name, c := range map[string]struct {
		stuck   bool
		verdict Verdict
	}{"converged": {false, Converged}, "stuck": {true, NotConverged}} {
		post := right(p)
		post.stuck = c.stuck
		r, err := Sample(context.Background(), method{post: post}, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.verdict || r.Converged == c.stuck || r.Posterior != post || r.Returned != "quick" ||
			r.Diagnosis != nil || len(r.Stages) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
		err = r.Err()
		if c.stuck != errors.Is(err, ErrNotConverged) || c.stuck && !strings.Contains(err.Error(), "it stood still") {
			t.Errorf("%s: %v", name, err)
		}
	}
	failure := errors.New("it failed")
	if _, err := Sample(context.Background(), method{err: failure}, p, nil); !errors.Is(err, failure) {
		t.Errorf("a sampler that fails: %v", err)
	}
}
