package qvirl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/tabular"
)

// TestFitByEveryMethod compares what each method ends at with the reference.
func TestFitByEveryMethod(t *testing.T) {
	summaries := map[string]*qvirl.Summary{}
	for _, name := range method.Names(method.Fitters()) {
		var told atomic.Int32
		result, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(name), qvirl.WithSeed(3),
			qvirl.WithProgress(func(int, int, string) { told.Add(1) }))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := map[qvirl.Verdict]string{qvirl.Converged: name, qvirl.Trust: name, qvirl.Refine: "refined",
			qvirl.DoNotUse: method.Reference}[result.Verdict]
		sampler := name == method.Reference || name == method.ValueWalk || name == method.PolicyWalk
		if !result.Converged || result.Err() != nil || result.Reason == "" || result.Returned != want ||
			sampler != (result.Diagnosis == nil) || told.Load() == 0 {
			t.Errorf("%s: verdict %q, returned %q, converged %v: %s; %d reports of progress", name,
				result.Verdict, result.Returned, result.Converged, result.Reason, told.Load())
		}
		if summaries[name], err = qvirl.Summarise(result.Posterior); err != nil {
			t.Fatal(err)
		}
	}
	exact := summaries[method.Reference]
	for name, s := range summaries {
		for i := range exact.RewardMean {
			// what a trusted posterior may be off, and 4 standard errors of 1000 effective samples in either
			got, want, std := s.RewardMean[i], exact.RewardMean[i], exact.RewardStd[i]
			if !(math.Abs(got-want) <= std*(0.1+4*math.Sqrt(2./1000))) || std == 0 {
				t.Errorf("%s: mean of reward %d: %g, want %g ± %g", name, i, got, want, std)
			}
		}
	}
}

func TestFitRefuses(t *testing.T) {
	bad := walked()
	bad.Prior.Std[1] = 0
	huge := walked()
	for i := range huge.Prior.Mean {
		huge.Prior.Mean[i] = 1e17
	}
	for _, p := range []*qvirl.Problem{nil, {}, bad, huge} {
		r, err := qvirl.Fit(context.Background(), p)
		if r != nil || !errors.Is(err, qvirl.ErrBadProblem) || errors.Is(err, qvirl.ErrNotConverged) {
			t.Errorf("%v: %v", p, err)
		}
	}
	_, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod("magic"))
	if !errors.Is(err, qvirl.ErrUnknownMethod) || !strings.Contains(err.Error(), `"magic"`) ||
		!strings.Contains(err.Error(), method.Matched) {
		t.Errorf("an unknown method: %v", err)
	}
	rational := walked()
	rational.BetaLogStd = 1
	_, err = qvirl.Fit(t.Context(), rational, qvirl.WithMethod(method.PolicyWalk))
	if !errors.Is(err, qvirl.ErrUnsupported) {
		t.Errorf("β unknown: %v", err)
	}
	known := walked()
	known.Prior.Std[0] = 0
	known.Prior = qvirl.DiagonalPrior(known.Prior.Mean, known.Prior.Std)
	_, err = qvirl.Fit(t.Context(), known, qvirl.WithMethod(method.ValueWalk))
	if !errors.Is(err, qvirl.ErrSingularPrior) {
		t.Errorf("a known reward: %v", err)
	}
	if _, err = qvirl.NewMethod(method.QVIRL, qvirl.Options{Backend: "abacus"}); !errors.Is(err, qvirl.ErrNoBackend) {
		t.Errorf("an unknown backend: %v", err)
	}
	if _, err = qvirl.Fit(t.Context(), walked(), qvirl.WithBackend("abacus")); !errors.Is(err, qvirl.ErrNoBackend) {
		t.Errorf("a fit on an unknown backend: %v", err)
	}
	_, err = qvirl.Fit(t.Context(), walked(), qvirl.WithConfig([]byte(`{"Patience": 1}`)))
	if err == nil || !strings.Contains(err.Error(), `"Patience"`) {
		t.Errorf("an unknown field of the configuration: %v", err)
	}
	if _, err := qvirl.Summarise(nil); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("a summary of no posterior: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, name := range method.Names(method.Fitters()) {
		if r, err := qvirl.Fit(ctx, walked(), qvirl.WithMethod(name)); r != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: %v, %v", name, r, err)
		}
	}
	t.Setenv("GOMLX_BACKEND", "abacus")
	adam, err := json.Marshal(tabular.AdamConfig())
	if err != nil {
		t.Fatal(err)
	}
	start := func(config []byte) []byte { return fmt.Appendf(nil, `{"Start": %s}`, config) }
	for name, config := range map[string][]byte{method.Matched: start(adam), method.QVIRL: adam,
		method.Refined: start(adam)} {
		if _, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(name)); err != nil {
			t.Errorf("%s, which needs no backend: %v", name, err)
		}
		r, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(name), qvirl.WithConfig(config))
		if r != nil || !errors.Is(err, qvirl.ErrNoBackend) || !strings.Contains(err.Error(), "abacus") {
			t.Errorf("%s without a backend: %v, %v", name, r, err)
		}
	}
}

// TestFitConfigures: of the fields of a configuration, those that are given replace the default's.
func TestFitConfigures(t *testing.T) {
	r, err := qvirl.Fit(t.Context(), walked(), qvirl.WithMethod(method.Reference),
		qvirl.WithConfig([]byte(`{"Samples": 800, "MinESS": 100}`)))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := r.Posterior.(*reference.Posterior); !ok || p.Len() != 800 {
		t.Errorf("a configuration of 800 samples made %T, %+v", r.Posterior, r)
	}
}

// TestFitWithoutVerdict: the posterior is the one that a fit with a verdict judges, and nothing vouches for it.
func TestFitWithoutVerdict(t *testing.T) {
	for _, name := range []string{method.QVIRL, method.Matched} {
		r, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(name), qvirl.WithoutVerdict())
		if !errors.Is(err, qvirl.ErrNotConverged) || r == nil {
			t.Fatalf("%s: %v, %v", name, r, err)
		}
		if r.Converged || r.Returned != name || r.Diagnosis != nil ||
			!strings.Contains(r.Reason, "it was not judged (as was asked)") {
			t.Errorf("%s: %+v", name, r)
		}
		judged, _ := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(name), qvirl.WithoutEscalation())
		if judged == nil || judged.Diagnosis == nil {
			t.Fatalf("%s, judged: %+v", name, judged)
		}
		got, want := r.Posterior.Reward(1), judged.Posterior.Reward(1)
		if got.Mean() != want.Mean() || got.StdDev() != want.StdDev() || got.StdDev() == 0 {
			t.Errorf("%s: reward %g ± %g, judged %g ± %g", name, got.Mean(), got.StdDev(), want.Mean(), want.StdDev())
		}
	}
}

// TestFitIsDeterminedByItsSeed draws twice from one seed, and once from another.
func TestFitIsDeterminedByItsSeed(t *testing.T) {
	for _, name := range []string{method.Matched, method.Reference} {
		var means []float64
		for _, seed := range []uint64{1, 1, 2} {
			r, err := qvirl.Fit(context.Background(), walked(), qvirl.WithMethod(name), qvirl.WithSeed(seed))
			if err != nil {
				t.Fatal(err)
			}
			means = append(means, r.Posterior.Reward(0).Mean())
		}
		if means[0] != means[1] || means[0] == means[2] {
			t.Errorf("%s: seeds 1, 1 and 2 gave the means %v", name, means)
		}
	}
}
