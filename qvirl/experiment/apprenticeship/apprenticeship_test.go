package apprenticeship

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/qvirl/exhibit"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/tabular"
)

// tiny is the experiment on three 3×3 worlds, in two units, with short computations.
func tiny() Config {
	c := Quick()
	p := &c.Posteriors
	p.World.Width, p.World.Height = 3, 3
	p.Seeds, p.Chunk, p.Draws = []uint64{2000, 2001, 2002}, 2, 400
	p.ValueWalk.Samples = 1000
	for _, q := range []*tabular.Config{&p.QVIRL, &p.QVIRLMaxMean, &p.QVIRLSVI} {
		q.Steps, q.Rounds = 300, 1
	}
	p.AVRIL.Steps, p.Match.Samples, p.Refine.Samples = 4000, 1500, 1000
	return c
}

func TestWholeExperimentOnTinyWorlds(t *testing.T) {
	rows, text, record := experimenttest.Run(t, Name, tiny())
	if _, again, _ := experimenttest.Run(t, Name, tiny(), experiment.Shard{Index: 2, Count: 2},
		experiment.Shard{Index: 1,
			Count: 2}); again != text {
		t.Error("two shards gave other rows than one run")
	}
	rows = worlds.NameLambda(rows)
	value := func(method, metric string, seed uint64) float64 {
		v, ok := experiment.Series(rows, method, metric)[seed]
		if !ok {
			t.Fatalf("no %s of %s for seed %d", metric, method, seed)
		}
		return v
	}
	if got := experiment.Methods(rows); len(got) != len(tableMethods) {
		t.Errorf("policies %q, want %q", got, tableMethods)
	}
	for _, seed := range tiny().Posteriors.Seeds {
		if v := value(Optimal, ReturnTrue, seed); v != 100 {
			t.Errorf("seed %d: the optimal policy's return is %g", seed, v)
		}
		if v := value(Random, ReturnTrue, seed); v != 0 {
			t.Errorf("seed %d: the random policy's return is %g", seed, v)
		}
		for _, method := range tableMethods {
			if v := value(method, ReturnTrue, seed); v > 100+1e-9 {
				t.Errorf("seed %d: %s has the return %g under the true reward", seed, method, v)
			}
			// nothing beats the policies that were fitted to the reference, up to the certified gap
			if v, best := value(method, ReturnMean, seed), value("valuewalk-mean", ReturnMean, seed); v > best+1e-9 {
				t.Errorf("seed %d: %s has the posterior mean return %g > %g", seed, method, v, best)
			}
			best, gap := value("valuewalk-cvar", ReturnCVaR, seed), value("valuewalk-cvar", Gap, seed)
			if v := value(method, ReturnCVaR, seed); v > best+gap+1e-9 {
				t.Errorf("seed %d: %s has the posterior CVaR %g > %g", seed, method, v, best)
			}
			if mean, cvar := value(method, ReturnMeanHeldOut, seed), value(method, ReturnCVaRHeldOut,
				seed); cvar >= mean || mean == value(method, ReturnMean, seed) {
				t.Errorf("seed %d: %s: held-out mean %g, CVaR %g", seed, method, mean, cvar)
			}
		}
		for _, name := range append([]string{"valuewalk"}, tiny().Posteriors.Methods...) {
			if name == worlds.AVRIL {
				name = "avril-0.02"
			}
			mean, cvar, gap := value(name+MeanSuffix, OwnCVaR, seed), value(name+CVaRSuffix, OwnCVaR, seed),
				value(name+CVaRSuffix, Gap, seed)
			if cvar < mean-gap-1e-9 || gap < -1e-9 || gap > 0.1 {
				t.Errorf("seed %d, %s: own CVaR %g of the mean policy, %g of the CVaR policy, gap %g", seed, name, mean,
					cvar, gap)
			}
		}
		for _, name := range tableMethods {
			if gap := experiment.Series(rows, name, Gap)[seed]; gap < -1e-9 || gap > 0.1 ||
				strings.HasSuffix(name, CVaRSuffix) != (len(experiment.Series(rows, name, Gap)) > 0) {
				t.Errorf("seed %d, %s: gap %g", seed, name, gap)
			}
		}
		if own := value("valuewalk-cvar", OwnCVaR, seed); own != value("valuewalk-cvar", ReturnCVaR, seed) {
			t.Errorf("seed %d: ValueWalk's own CVaR %g is not that under ValueWalk", seed, own)
		}
	}
	if experiment.Average(rows, "valuewalk-mean", ReturnTrue).Mean < 20 {
		t.Error("ValueWalk's apprentice has learnt nothing")
	}

	report, err := Report(rows, record)
	if err != nil {
		t.Fatal(err)
	}
	table := report.Tables[0]
	cell := table.Rows[slices.IndexFunc(table.Rows,
		func(r exhibit.Row) bool { return r.Method == "qvirl-cvar" })].Cells[2]
	if *cell.Estimate != *experiment.Average(rows, "qvirl-cvar", ReturnCVaR) ||
		cell.References[0].Mean != 49.7 {
		t.Errorf("CVaR of qvirl-cvar in the table: %+v", cell)
	}
	without := slices.DeleteFunc(slices.Clone(rows), func(r experiment.Row) bool {
		return strings.HasSuffix(r.Metric,
			"_heldout")
	})
	tables, err := Tables(without)
	if err != nil || len(tables[1].Columns) != 4 || len(report.Tables[1].Columns) != 7 {
		t.Errorf("without held-out samples: %d columns (error %v); with them %d", len(tables[1].Columns), err,
			len(report.Tables[1].Columns))
	}
	if len(report.Tables) != 2 || len(table.Rows) != len(tableMethods) ||
		!strings.Contains(strings.Join(report.Text, " "), "3 worlds") {
		t.Errorf("report %+v", report)
	}
}

func TestFitGivesTheWorldOfThePictures(t *testing.T) {
	c := tiny()
	c.HeldOut, c.Posteriors.Methods = false, []string{"avril-0.17"}
	worlds, err := c.Fit(context.Background(), []uint64{2001}, "go", nil)
	if err != nil {
		t.Fatal(err)
	}
	w := worlds[0]
	if len(worlds) != 1 || len(w.Policies) != 6 || w.Policy("qvirl-mean") != nil {
		t.Fatalf("%d worlds, policies %+v", len(worlds), w.Policies)
	}
	p := w.Policy("valuewalk-cvar")
	if len(p.Returns) != 1000 || p.Certificate == nil || !scalar.EqualWithinAbs(floats.Sum(p.Returns)/1000,
		p.Metrics[ReturnMean], 1e-9) {
		t.Errorf("%d returns with the mean %g, want %g", len(p.Returns), floats.Sum(p.Returns)/1000,
			p.Metrics[ReturnMean])
	}
	if _, held := p.Metrics[ReturnCVaRHeldOut]; held {
		t.Error("a held-out metric without held-out samples")
	}
	if v := w.Normalise(floats.Dot(p.Visits, w.Reward)); !scalar.EqualWithinAbs(v, p.Metrics[ReturnTrue], 1e-9) {
		t.Errorf("visits give the true return %g, want %g", v, p.Metrics[ReturnTrue])
	}
	if mean, std := w.RewardMean["valuewalk"], w.RewardStd["valuewalk"]; len(mean) != 9 || len(std) != 9 ||
		std[0] <= 0 {
		t.Errorf("reward means %v, standard deviations %v", mean, std)
	}
	var stored bytes.Buffer
	var read World
	if err := errors.Join(gob.NewEncoder(&stored).Encode(w), gob.NewDecoder(&stored).Decode(&read)); err != nil ||
		len(read.Policies) != 6 {
		t.Errorf("the world cannot be stored: %v", err)
	}
	found, err := c.Posteriors.NewWorld(2001)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Evaluate(found, nil); err == nil || !strings.Contains(err.Error(), "no posterior of valuewalk") {
		t.Errorf("without a reference: error %v", err)
	}
}

func TestConfigs(t *testing.T) {
	if c := Paper(); len(c.Posteriors.Seeds) != 100 || c.Posteriors.Seeds[99] != 99 || c.Level != 0.1 ||
		c.Validate() != nil {
		t.Errorf("%+v", c)
	}
	c := tiny()
	c.Level = 1.5
	if _, err := experiment.NewPlan(Name, "tiny", "go", c); err == nil || !strings.Contains(err.Error(), "Level") {
		t.Errorf("level 1.5: error %v", err)
	}
	plan, err := Definition().Plan(experiment.Settings{Scale: "quick", Override: []byte(`{"Level": 0.2, "Posteriors": {"Chunk": 3}}`)})
	if err != nil || plan.Config.(Config).Level != 0.2 || plan.Groups() != 2 {
		t.Errorf("error %v, config %+v", err, plan.Config)
	}
}
