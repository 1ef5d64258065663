package zoostudy

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/qvirl/exhibit"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/zoo"
)

// Report makes the picture of problems and methods, and the table of counts.
func Report(rows []experiment.Row, _ *experiment.Record) (*exhibit.Report, error) {
	answers := byProblem(rows)
	methods := experiment.Ordered(rows, methodNames)
	if len(methods) == 0 {
		return nil, fmt.Errorf("zoostudy: no rows to report")
	}
	cases, err := zoo.All()
	if err != nil {
		return nil, err
	}
	chart := exhibit.VerdictChart{Name: "zoo", Title: "Right, and does it know? Problems of the zoo by method",
		Methods: methods}
	for _, z := range cases {
		var verdicts []*exhibit.Verdict
		any := false
		for _, m := range methods {
			v := answers[z.Name][m]
			verdicts, any = append(verdicts, v), any || v != nil
		}
		if !any {
			continue
		}
		if n := len(chart.Families); n == 0 || chart.Families[n-1].Title != z.Family {
			chart.Families = append(chart.Families, exhibit.VerdictFamily{Title: z.Family})
		}
		f := &chart.Families[len(chart.Families)-1]
		f.Problems, f.Verdicts = append(f.Problems, z.Name), append(f.Verdicts, verdicts)
	}
	return &exhibit.Report{
		Title: "The zoo: right, or does it say that it is not?",
		Text: []string{"Each answer is compared with the exact one. The colour is the largest error of a mean or a " +
			"standard deviation of a reward, a value or β, in posterior standard deviations, or five times the total " +
			"variation of the policy in the worst state, whichever is larger: so all tolerances are at 0.1, to which " +
			"come four Monte Carlo errors."},
		Tables:   []exhibit.Table{counts(chart, rows)},
		Verdicts: []exhibit.VerdictChart{chart},
	}, nil
}

// policyWeight brings the policy's tolerance to that of means and standard deviations.
const policyWeight = zoo.MeanTolerance / zoo.PolicyTolerance

// byProblem returns what rows say about each answer, by problem and method.
func byProblem(rows []experiment.Row) map[string]map[string]*exhibit.Verdict {
	out := map[string]map[string]*exhibit.Verdict{}
	for _, r := range rows {
		if out[r.Environment] == nil {
			out[r.Environment] = map[string]*exhibit.Verdict{}
		}
		v := out[r.Environment][r.Method]
		if v == nil {
			v = &exhibit.Verdict{}
			out[r.Environment][r.Method] = v
		}
		switch r.Metric {
		case Right:
			v.Right = r.Value == 1
		case Claims:
			v.Claims = r.Value == 1
		case Failed:
			v.Failed = r.Value == 1
		case MeanError, StdError, ValueMeanError, ValueStdError, BetaMeanError, BetaStdError:
			v.Error = math.Max(v.Error, r.Value)
		case PolicyTV:
			v.Error = math.Max(v.Error, policyWeight*r.Value)
		}
	}
	return out
}

// counts returns the table of how many answers of each method are of each kind.
func counts(chart exhibit.VerdictChart, rows []experiment.Row) exhibit.Table {
	t := exhibit.Table{Name: "counts", Title: "Answers of each kind", Columns: []exhibit.Column{
		{Metric: "right_claimed", Name: "right, says so"}, {Metric: "wrong_doubted", Name: "wrong, says so"},
		{Metric: "wrong_trusted", Name: "wrong, trusted"}, {Metric: "right_doubted", Name: "right, doubted"},
		{Metric: "none", Name: "no answer"},
		{Metric: "median_seconds", Name: "median time in s", Decimals: 1, Better: exhibit.Lower},
	}}
	for i, of := range chart.Counts() {
		m, answers := chart.Methods[i], 0
		for _, n := range of {
			answers += n
		}
		var estimates []*exhibit.Estimate
		for _, n := range of {
			estimates = append(estimates, &exhibit.Estimate{Mean: float64(n), StdErr: math.NaN(), N: answers})
		}
		seconds := experiment.Values(rows, m, Seconds)
		slices.Sort(seconds)
		var median *exhibit.Estimate
		if len(seconds) > 0 {
			median = &exhibit.Estimate{Mean: stat.Quantile(0.5, stat.Empirical, seconds, nil), StdErr: math.NaN(),
				N: len(seconds)}
		}
		t.AddRow(m, append(estimates, median)...)
	}
	return t
}
