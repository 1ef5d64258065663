package atari

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural/avril"
	"github.com/go-birl/birl/qvirl/neural/cloning"
	"github.com/go-birl/birl/qvirl/neural/iqlearn"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// methods are those of the tables, in their order.
var methods = []string{cloning.Name, iqlearn.Name, avril.Name, variational.Name, QVIRLAux, demonstrator, random}

// measured are the metrics of the paper's table; its held-out log-likelihoods are those at the end of training.
var measured = []string{Return, HeldOut}

// paper holds the values of the paper's Table 3, by environment.
var paper = map[string]exhibit.Reference{
	"ALE/Pong-v5": exhibit.Published("paper", measured, map[string][]float64{
		cloning.Name: {19.1, 0.8, -14.81, 0.49}, iqlearn.Name: {20.0, 0.2, -12.43, 2.27},
		avril.Name: {-5.2, 9.7, -8.79, 3.80}, variational.Name: {19.7, 0.6, -2.09, 0.12},
	}),
	"ALE/SpaceInvaders-v5": exhibit.Published("paper", measured, map[string][]float64{
		cloning.Name: {597, 48, -18.67, 0.05}, iqlearn.Name: {740, 31, -8.99, 1.79},
		avril.Name: {658, 34, -18.62, 0.07}, variational.Name: {701, 42, -5.19, 1.04},
	}),
}

// Report makes the tables and the curves.
func Report(rows []experiment.Row, record *experiment.Record) (*exhibit.Report, error) {
	r := &exhibit.Report{Title: "Apprentices from raw pixels"}
	byGame := map[string][]experiment.Row{}
	for _, row := range rows {
		byGame[row.Environment] = append(byGame[row.Environment], row)
	}
	r.Text = append(r.Text, "Means over runs ± standard error; each run learns from a subset of its own of the "+
		"demonstrations. The return is the mean score of full episodes, the same for all. The log-likelihood is "+
		"that of the actions of demonstrations that no run has seen: at the end of training, and at the best point of "+
		"the curve, which nobody could choose without looking at them.")
	for _, environment := range slices.Sorted(maps.Keys(byGame)) {
		of, game := byGame[environment], strings.TrimPrefix(environment, "ALE/")
		t, err := experiment.Tabulate(of, methods, exhibit.Table{Name: game, Title: game, Columns: []exhibit.Column{
			{Metric: Return, Name: "return", Decimals: 1},
			{Metric: HeldOut, Name: "held-out log-likelihood", Decimals: 2},
			{Metric: HeldOutBest, Name: "at its best", Decimals: 2}}}, paper[environment])
		if err != nil {
			return nil, err
		}
		if e := experiment.Average(of, demonstrator, Frequencies); e != nil {
			t.Notes = append(t.Notes, fmt.Sprintf("The frequencies of the demonstrated actions alone predict "+
				"held-out actions with a log-likelihood of %.2f.", e.Mean))
		}
		r.Tables = append(r.Tables, *t)
		if panel := curves(of); len(panel.Curves) > 0 {
			panel.Title = game
			r.Charts = append(r.Charts, exhibit.Chart{Name: game + "-curves", Title: "Held-out log-likelihood",
				Panels: []exhibit.Panel{panel}})
		}
	}
	r.Text = append(r.Text, record.SecondsText()...)
	return r, nil
}

// curves returns the held-out log-likelihoods of a game against the steps of training.
func curves(rows []experiment.Row) exhibit.Panel {
	p := exhibit.Panel{XLabel: "steps of training", YLabel: "held-out log-likelihood (nats per action)"}
	metrics := map[int]string{} // by step
	for _, r := range rows {
		if text, ok := strings.CutPrefix(r.Metric, HeldOut+At); ok {
			if step, err := strconv.Atoi(text); err == nil {
				metrics[step] = r.Metric
			}
		}
	}
	for _, method := range methods {
		c := exhibit.Curve{Name: method}
		for _, step := range slices.Sorted(maps.Keys(metrics)) {
			c.Add(float64(step), experiment.Average(rows, method, metrics[step]))
		}
		if len(c.X) > 0 {
			p.Curves = append(p.Curves, c)
		}
	}
	if e := experiment.Average(rows, demonstrator, HeldOut); e != nil {
		p.Levels = append(p.Levels, exhibit.Level{Name: demonstrator, Y: e.Mean})
	}
	if e := experiment.Average(rows, demonstrator, Frequencies); e != nil {
		p.Levels = append(p.Levels, exhibit.Level{Name: "frequencies of actions", Y: e.Mean})
	}
	return p
}
