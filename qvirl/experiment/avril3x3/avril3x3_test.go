package avril3x3

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/experiment/experimenttest"
	"github.com/go-birl/birl/qvirl/experiment/worlds/obstacle"
)

// The demonstrations are possible in the world, and optimal but for the slip.
func TestDemonstrationsAreOptimal(t *testing.T) {
	c := Paper()
	w, err := c.World()
	if err != nil {
		t.Fatal(err)
	}
	sol, err := w.MDP.Solve(w.Reward, c.Discount)
	if err != nil {
		t.Fatal(err)
	}
	demos := c.Demos()
	if n := len(mdp.Flatten(demos)); n != 4*4+6 {
		t.Errorf("%d steps, want 22", n)
	}
	slips := 0
	for i, d := range demos {
		for k, step := range d {
			if sol.Greedy[step.State] != step.Action {
				t.Errorf("trajectory %d, step %d: action %d in state %d is not optimal", i, k, step.Action, step.State)
			}
			if k == len(d)-1 {
				continue
			}
			next, prob := w.MDP.Row(step.State, step.Action)
			p := 0.0
			for j, to := range next {
				if int(to) == d[k+1].State {
					p = prob[j]
				}
			}
			if p == 0 {
				t.Errorf("trajectory %d, step %d: no way from %d to %d", i, k, step.State, d[k+1].State)
			}
			if p < 0.5 {
				slips++
			}
		}
	}
	if slips != 1 {
		t.Errorf("%d slips, want 1", slips)
	}
}

func TestExperiment(t *testing.T) {
	c := Quick()
	c.ValueWalk.Samples, c.ValueWalk.MinESS, c.ValueWalk.MaxIterations = 1000, 200, 4000
	c.PolicyWalk.Samples, c.PolicyWalk.MinESS, c.PolicyWalk.MaxIterations = 1000, 200, 10_000
	c.QVIRL.Steps, c.QVIRL.Rounds = 500, 2
	c.AVRIL.LearningRate, c.AVRIL.Steps = 1e-3, 20_000
	c.Sweep, c.Rates = []float64{0.05, 0.1}, []float64{0.01, 1e-3} // some of which are there already
	c.KLWeights = []float64{0.5, 2}
	rows, _, _ := experimenttest.Run(t, Name, c)
	value := func(method, metric string) float64 {
		e := experiment.Average(rows, method, metric)
		if e == nil {
			t.Fatalf("no %s of %s", metric, method)
		}
		return e.Mean
	}
	if value(obstacle.ValueWalk, W1) != 0 {
		t.Error("the reference is not at distance 0 of itself")
	}
	// two samplers of one posterior: of rewards spread by 20 to 65, 200 effective samples or more give means within
	// about 5
	if w := value(obstacle.PolicyWalk, W1); !(w > 0 && w < 5) {
		t.Errorf("W1 of PolicyWalk %g, want Monte Carlo error", w)
	}
	if q, a := value(obstacle.QVIRL, W1), value(obstacle.AVRIL(0.2), W1); !(q > 0.5 && q < a/2) {
		t.Errorf("W1 of QVIRL %g, of AVRIL %g: want QVIRL's less than half", q, a)
	}
	for s := range obstacle.States {
		for _, method := range []string{obstacle.ValueWalk, obstacle.PolicyWalk, obstacle.QVIRL} {
			if std := value(method, experiment.OfState(RewardStd, s)); std < 10 || std > 72 { // 21 to 65 in a long run
				t.Errorf("%s: standard deviation of reward %d is %g", method, s, std)
			}
		}
		// s² = 66²·(1 − 5λ), up to the demonstrations' influence
		std := value(obstacle.AVRIL(0.1), experiment.OfState(RewardStd, s))
		if !scalar.EqualWithinAbs(std, 66*math.Sqrt(0.5), 3) {
			t.Errorf("AVRIL at 0.1: standard deviation of reward %d is %g, want about 46.7", s, std)
		}
	}
	// where a point is the best answer, the posterior is as narrow as the optimiser's steps are short
	if long, short := value(obstacle.AtRate(0.5, 0.01), StdMin), value(obstacle.AVRIL(0.5), StdMin); !(short > 0 &&
		long > 3*short) {
		t.Errorf("AVRIL at 0.5: smallest standard deviations %g and %g at learning rates of 0.01 and 0.001", long,
			short)
	}
	if n := value(obstacle.AVRIL(0.5), Below02); n < 7 {
		t.Errorf("AVRIL at 0.5: %g states collapsed", n)
	}
	for i := range rows {
		rows[i].Experiment = Name
	}
	report, err := Report(rows, nil)
	if err != nil || len(report.Tables) != 8 || len(report.Charts) != 1 {
		t.Fatalf("%+v, error %v", report, err)
	}
	if rows := report.Tables[0].Rows; len(rows) != 6 || rows[0].Method != obstacle.ValueWalk ||
		rows[5].Method != obstacle.AVRIL(0.5) {
		t.Errorf("methods in the order %+v", rows)
	}
	var weighted []string
	for _, row := range report.Tables[6].Rows {
		weighted = append(weighted, row.Method)
	}
	if want := []string{"qvirl-kl-0.5", "qvirl", "qvirl-kl-2"}; !slices.Equal(weighted, want) {
		t.Errorf("weights of the KL divergence %q, want %q", weighted, want)
	}
	// the more it weighs, the wider the posterior
	if half, one, twice := value("qvirl-kl-0.5", StdMin), value(obstacle.QVIRL, StdMin),
		value("qvirl-kl-2", StdMin); !(half < one-0.5 && one < twice-0.5) {
		t.Errorf("smallest standard deviations by weight %g, %g, %g", half, one, twice)
	}
	var rates []string
	for _, row := range report.Tables[5].Rows {
		rates = append(rates, row.Method)
	}
	if want := []string{"avril-0.2-rate-0.01", "avril-0.2", "avril-0.5-rate-0.01", "avril-0.5"}; !slices.Equal(rates,
		want) {
		t.Errorf("learning rates %q, want %q", rates, want)
	}
	curves := report.Charts[0].Panels[0].Curves
	if low := curves[0]; !slices.Equal(low.X, []float64{0.05, 0.1, 0.2, 0.5}) ||
		low.Y[0] != value(obstacle.AVRIL(0.05), StdMin) ||
		!scalar.EqualWithinAbs(low.Y[0], 66*math.Sqrt(0.75), 3) {
		t.Errorf("curve %+v", low)
	}
	if free := curves[2]; free.Y[0] != 66 || !(free.Y[len(free.Y)-1] < 3) {
		t.Errorf("the formula's curve goes from %g to %g", free.Y[0], free.Y[len(free.Y)-1])
	}
	record := &experiment.Record{Seconds: map[string]float64{obstacle.ValueWalk: 2, obstacle.PolicyWalk: 0.5}}
	for i, row := range obstacle.SamplerTable(rows, record, obstacle.ValueWalk, obstacle.PolicyWalk).Rows {
		ess, speed := row.Cells[1].Estimate.Mean, row.Cells[6].Estimate.Mean
		if want := ess / []float64{2, 0.5}[i]; !(ess > 100) || speed != want {
			t.Errorf("%s: %g effective samples, %g a second, want %g", row.Method, ess, speed, want)
		}
	}
	if table := obstacle.SamplerTable(nil, record, obstacle.ValueWalk, obstacle.PolicyWalk); table != nil {
		t.Errorf("a table from no rows: %+v", table)
	}
}

func TestBadConfigs(t *testing.T) {
	experimenttest.Refuses(t, Quick, map[string]func(*Config){
		"4 cells":         func(c *Config) { c.Drawing = "0 0\n0 0" },
		"slip":            func(c *Config) { c.Slip = 2 },
		"Trajectories[0]": func(c *Config) { c.Trajectories = []obstacle.Path{{States: []int{1}}} },
		"demos[0]: state 12": func(c *Config) {
			c.Trajectories = []obstacle.Path{{States: []int{12},
				Actions: []int{0}}}
		},
		"Lambda":       func(c *Config) { c.Lambdas = []float64{-1} },
		"KLWeights":    func(c *Config) { c.KLWeights = []float64{0} },
		"LearningRate": func(c *Config) { c.Rates = []float64{0} },
		"prior std":    func(c *Config) { c.PriorStd = 0 },
	})
}
