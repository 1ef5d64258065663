package qvirl_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl"
	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/apprentice"
	"github.com/go-birl/birl/qvirl/inferencedata"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/loo"
	"github.com/go-birl/birl/qvirl/method"
	"github.com/go-birl/birl/qvirl/metric"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/portrait"
	"github.com/go-birl/birl/qvirl/predictive"
	"github.com/go-birl/birl/qvirl/reference"
	"github.com/go-birl/birl/qvirl/sbc"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/verdict"
)

// TestWhatIsNilIsNamed: what a caller has forgotten, or has ignored the error of, is said by an error.
func TestWhatIsNilIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	var none *reference.Posterior // an answer whose error was ignored
	var nobodys context.Context
	second := func(_ any, err error) error { return err }
	cases := map[string]func() error{
		"Fit, context": func() error { return second(qvirl.Fit(nobodys, walked())) },
		"FitBy, method": func() error {
			return second(qvirl.FitBy(t.Context(), nil, method.QVIRL, walked(), qvirl.Judging{}, nil))
		},
		"verdict.Fit, context": func() error {
			return second(verdict.Fit(nobodys, nil, walked(), true, verdict.Default(1), nil))
		},
		"verdict.Sample, sampler": func() error { return second(verdict.Sample(t.Context(), nil, walked(), nil)) },
		"SaveResult":              func() error { return qvirl.SaveResult(path, nil, qvirl.AnswerOptions{}) },
		"SaveResult, posterior": func() error {
			return qvirl.SaveResult(path, &qvirl.Result{}, qvirl.AnswerOptions{})
		},
		"active.Loop": func() error {
			l := active.Loop{Fit: active.Fit(nil), Acquisition: active.Random{}, Queries: 1, Samples: 1}
			return l.Do(t.Context(), []active.Run{{Problem: walked()}}, nil, nil)
		},
		"sbc.Check": func() error {
			return second(sbc.Check(t.Context(), walked(), nil, sbc.Options{Problems: sbc.MinProblems}, nil))
		},
		"neural.Score": func() error { return second(neural.Score(nil, nil, nil)) },
		"neural.Rollout": func() error {
			return second(neural.Rollout(t.Context(), nil, nil, neural.RolloutOptions{}))
		},
		"apprentice.Visits":         func() error { return second(apprentice.Visits(nil, nil)) },
		"apprentice.Visits, policy": func() error { return second(apprentice.Visits(walked(), nil)) },
		"apprentice.Returns": func() error {
			return second(apprentice.Returns(walked(), nil, mat.NewDense(1, 3, nil)))
		},
		"apprentice.Returns, rewards": func() error {
			return second(apprentice.Returns(walked(), walked().MDP.Uniform(), nil))
		},
		"apprentice.CVaRPolicy":        func() error { return second(apprentice.CVaRPolicy(walked(), nil, 0.1)) },
		"apprentice.OptimalPolicy":     func() error { return second(apprentice.OptimalPolicy(nil, nil)) },
		"metric.NewTruth":              func() error { return second(metric.NewTruth(nil, nil)) },
		"metric.NewReference":          func() error { return second(metric.NewReference(nil, nil)) },
		"metric.NewReference, samples": func() error { return second(metric.NewReference(walked(), nil)) },
	}
	for name, post := range map[string]irl.Posterior{"nil": nil, "nil of a type": none} {
		for of, f := range map[string]func() error{
			"Summarise":     func() error { return second(qvirl.Summarise(post)) },
			"Save":          func() error { return qvirl.Save(path, post) },
			"summary.Of":    func() error { return second(summary.Of(post, 10, 1)) },
			"summary.Table": func() error { return second(summary.Table(post, 10, 1)) },
			"metric.Evaluate": func() error {
				return second(metric.Evaluate(post, nil, nil, metric.References{}))
			},
			"apprentice.MeanPolicy": func() error { return second(apprentice.MeanPolicy(post)) },
			"predictive.Check":      func() error { _, err := predictive.Check(post, 10, 1); return err },
			"loo.Of":                func() error { return second(loo.Of(method.QVIRL, post, 10, 1)) },
			"portrait.Of": func() error {
				return second(portrait.Of(method.QVIRL, post, portrait.Options{}))
			},
			"inferencedata.New": func() error {
				return second(inferencedata.New(post, inferencedata.Options{Draws: 10}))
			},
			"verdict.Diagnose": func() error {
				_, _, err := verdict.Diagnose(t.Context(), post, verdict.Default(1), nil)
				return err
			},
		} {
			cases[of+", posterior "+name] = f
		}
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if r := recover(); r != nil {
					t.Errorf("panics: %v", r)
				}
			}()
			if err := f(); err == nil || !strings.Contains(err.Error(), "want") {
				t.Errorf("error %v", err)
			}
		})
	}
}
