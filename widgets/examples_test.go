package widgets

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// samples is a Sampled of normal draws.
type samples struct {
	distuv.Normal
	sorted []float64
}

func (s samples) Sorted() []float64 { return s.sorted }

func normalSamples(rng *rand.Rand, mean, std float64, n int) samples {
	x := make([]float64, n)
	for i := range x {
		x[i] = mean + std*rng.NormFloat64()
	}
	sort.Float64s(x)
	m, s := stat.MeanStdDev(x, nil)
	return samples{distuv.Normal{Mu: m, Sigma: s}, x}
}

func testRNG() *rand.Rand { return rand.New(rand.NewPCG(7, 7)) }

func exampleMarginals() Marginals {
	rng := testRNG()
	m := Marginals{Title: "Marginal posteriors of three states", XLabel: "reward",
		Methods: []string{"valuewalk", "valuewalk-nodet", "qvirl", "avril-0.02", "avril-0.17", "avril-0.5"}}
	for i, mean := range []float64{-1.5, 0.8, 4.6} {
		std := 2.6 - 0.5*float64(i)
		m.Panels = append(m.Panels, MarginalPanel{Title: fmt.Sprintf("state %d", 7+20*i), Truth: new(mean + 0.7),
			Distributions: []Distribution{
				normalSamples(rng, mean, std, 5000), normalSamples(rng, mean+0.4, std, 5000),
				distuv.Normal{Mu: mean + 0.1, Sigma: std * 0.95}, distuv.Normal{Mu: -1, Sigma: 2.9},
				distuv.Normal{Mu: -0.5, Sigma: 1.1}, distuv.Normal{Mu: -0.3, Sigma: 0.01},
			}})
	}
	return m
}

func exampleWorld(t testing.TB) (*gridworld.World, Map) {
	w, err := gridworld.Random(gridworld.Paper(), 1001)
	if err != nil {
		t.Fatal(err)
	}
	demos, err := w.Demonstrate(5, 5, 2, 0.9, 1001)
	if err != nil {
		t.Fatal(err)
	}
	return w, WorldMap("An 8×8 gridworld and its demonstrations", w, demos)
}

func exampleHeatMaps(w *gridworld.World) HeatMaps {
	rng := testRNG()
	noisy := func(scale float64) []float64 {
		out := make([]float64, len(w.Reward))
		for i, r := range w.Reward {
			out[i] = scale*r + 0.8*rng.NormFloat64()
		}
		return out
	}
	spread := func(low, high float64) []float64 {
		out := make([]float64, len(w.Reward))
		for i := range out {
			out[i] = low + (high-low)*rng.Float64()
		}
		return out
	}
	return HeatMaps{Title: "Posterior of one world, by method", Width: 8, Height: 8,
		Columns: []string{"true reward", "valuewalk", "qvirl", "avril-0.17"}, Terminal: w.Terminal,
		Rows: []HeatRow{
			{Label: "posterior mean", Diverges: true, Decimals: 1, Values: [][]float64{w.Reward, noisy(0.5),
				noisy(0.45), noisy(0.1)}},
			{Label: "posterior std", Decimals: 1, Values: [][]float64{nil, spread(1.5, 3), spread(1.6, 3),
				spread(0, 3)}},
		}}
}

func exampleCalibration() Calibration {
	curve := func(name string, power float64) Curve {
		k := Curve{Name: name}
		for i := 1; i < 20; i++ {
			p := float64(i) / 20
			k.X, k.Y = append(k.X, p), append(k.Y, math.Pow(p, power))
			k.StdErr = append(k.StdErr, 0.02)
		}
		return k
	}
	return Calibration{Title: "Calibration of credible intervals over 100 worlds", Panels: []CalibrationPanel{
		{Title: "rewards", Curves: []Curve{curve("valuewalk", 1.02), curve("qvirl", 0.95), curve("avril-0.17", 2.4)}},
		{Title: "expert's action probabilities", Curves: []Curve{curve("valuewalk", 0.97), curve("qvirl", 0.9),
			curve("avril-0.17", 1.7)}},
	}}
}

func exampleCurves() Curves {
	lambda := []float64{0.02, 0.05, 0.1, 0.13, 0.15, 0.17, 0.2, 0.25, 0.3, 0.5, 1}
	curve := func(f func(float64) float64, se float64) []Curve {
		k := Curve{Name: "avril", X: lambda, Points: true}
		for _, l := range lambda {
			k.Y, k.StdErr = append(k.Y, f(l)), append(k.StdErr, se)
		}
		return []Curve{k}
	}
	marks := []Mark{{Note: "λ = 0.17", X: 0.17}}
	return Curves{Title: "AVRIL's constraint weight on 10 held-out worlds", Panels: []CurvePanel{
		{Title: "distance to the reference", XLabel: "λ", YLabel: "W₁", LogX: true, Marks: marks,
			Curves: curve(func(l float64) float64 { return 0.77 + 1.4*l/(l+0.2) }, 0.09),
			Levels: []Level{{Name: "qvirl", Y: 0.37}, {Name: "prior", Y: 0.77}}},
		{Title: "density of the true reward", XLabel: "λ", YLabel: "log density", LogX: true, Marks: marks,
			Curves: curve(func(l float64) float64 { return -2.5 - 9*l*l }, 0.2),
			Levels: []Level{{Name: "qvirl", Y: -2.43}, {Name: "prior", Y: -2.51}}},
		{Title: "coverage of 90 % intervals", XLabel: "λ", YLabel: "fraction", LogX: true, Marks: marks,
			Curves: curve(func(l float64) float64 { return 0.9 / (1 + l*l*20) }, 0.03),
			Levels: []Level{{Name: "qvirl", Y: 0.909}, {Name: "prior", Y: 0.897}}},
	}}
}

func exampleELBO() Curves {
	rng := testRNG()
	panel := CurvePanel{XLabel: "Adam step", YLabel: "ELBO (nats)"}
	mean := Curve{Name: "qvirl"}
	for step := 0; step <= 20000; step += 200 {
		mean.X = append(mean.X, float64(step))
		mean.Y = append(mean.Y, -20-60*math.Exp(-float64(step)/2500)+0.1*rng.NormFloat64())
	}
	panel.Curves = []Curve{mean}
	return Curves{Title: "QVIRL's objective: mean of 30 worlds", Panels: []CurvePanel{panel}}
}

func exampleChains() [][]float64 {
	rng := testRNG()
	chains := make([][]float64, 4)
	for k := range chains {
		x := 0.0
		for range 1250 {
			x = 0.5*x + rng.NormFloat64()
			chains[k] = append(chains[k], x)
		}
	}
	return chains
}

func exampleConvergence() Convergence {
	rng := testRNG()
	m := Convergence{Title: "Convergence of ValueWalk", XLabel: "state", MinESS: 1000}
	for i := range 64 {
		m.RHat = append(m.RHat, 1+0.004*rng.Float64())
		m.BulkESS = append(m.BulkESS, 3000+1000*rng.Float64())
		m.TailESS = append(m.TailESS, 2500+1000*rng.Float64())
		if i == 20 {
			m.RHat[i], m.BulkESS[i] = 1.013, 820
		}
	}
	return m
}

func exampleSBC() Ranks {
	rng := testRNG()
	m := Ranks{Title: "Simulation-based calibration, 200 prior draws"}
	for i, method := range []string{"valuewalk", "qvirl", "avril"} {
		panel := RankPanel{Title: Label(method), Method: method, Max: 99}
		for range 1800 {
			u := rng.Float64()
			if i == 2 {
				u = 0.5 + 0.5*math.Copysign(math.Pow(math.Abs(2*u-1), 0.5), u-0.5)
			}
			panel.Ranks = append(panel.Ranks, min(int(u*100), 99))
		}
		m.Panels = append(m.Panels, panel)
	}
	return m
}

func exampleDots() Dots {
	return Dots{Title: "Apprenticeship on 100 gridworlds (normalised return)",
		Methods: []string{"valuewalk-mean", "valuewalk-cvar", "qvirl-mean", "qvirl-cvar", "avril-mean", "avril-cvar"},
		Panels: []DotPanel{
			{Title: "true return", Target: new(100.0), Estimates: []*Estimate{Value(78.7, 2), Value(79.2, 2),
				Value(74.5, 2.2),
				Value(61, 3), Value(41.5, 4), nil},
				Published: []*Estimate{Value(75.4, 2), Value(75.8, 2), Value(70.8, 2.2), Value(66.9, 3),
					Value(-22.2, 8), Value(36.7, 3)}},
			{Title: "posterior mean", Estimates: []*Estimate{Value(131.7, 2), Value(130, 2),
				Value(127, 2.2), Value(91, 3), Value(37, 4), Value(25.8, 3)}},
			{Title: "posterior CVaR, worst 10 %", Estimates: []*Estimate{Value(79, 2),
				Value(80.8, 2), Value(74.6, 2.2), Value(57.2, 3), Value(22.6, 4), Value(14, math.NaN())}},
		}}
}

func exampleSurface() Surface {
	m := Surface{Title: "Error of the likelihood approximation", XLabel: "difference of means", YLabel: "correlation",
		ZLabel: "approximation − Monte Carlo", Diverges: true}
	for i := -20; i <= 20; i++ {
		m.X = append(m.X, float64(i)/5)
	}
	for j := -9; j <= 9; j++ {
		m.Y = append(m.Y, float64(j)/10)
	}
	for k := 1; k <= 3; k++ {
		panel := SurfacePanel{Title: fmt.Sprintf("σ = %d", k)}
		for _, y := range m.Y {
			for _, x := range m.X {
				panel.Z = append(panel.Z, 0.02*float64(k)*math.Sin(x)*(1-y))
			}
		}
		m.Panels = append(m.Panels, panel)
	}
	m.Panels[0].Z[5] = math.NaN()
	return m
}

func exampleScatter() Scatter {
	m := Scatter{Title: "Candidates and what is expected of them", XLabel: "position", YLabel: "height", ZLabel: "nats"}
	for k := range 2 {
		panel := ScatterPanel{Title: fmt.Sprintf("after %d queries", 10*k), Marked: map[int]string{3: "1", 17: "2"}}
		for i := range 60 {
			x := math.Sin(float64(7 * i))
			y := math.Abs(math.Cos(float64(3*i))) * 1.5
			panel.X, panel.Y, panel.Z = append(panel.X, x), append(panel.Y, y), append(panel.Z, y/float64(1+k)+x*x)
		}
		m.Panels = append(m.Panels, panel)
	}
	return m
}

func exampleTable() Table {
	cell := func(e *Estimate, references ...*Estimate) Cell {
		if references != nil {
			references = append(references, nil)[:2]
		}
		return Cell{Estimate: e, References: references}
	}
	return Table{Title: "Posterior quality on 100 random 8×8 gridworlds", References: []string{"paper", "other"},
		Columns: []Column{{Name: "W₁", Decimals: 3, Better: Lower}, {Name: "log density", Decimals: 3, Better: Higher},
			{Name: "reward 90 % CI", Decimals: 3}},
		Rows: []Row{
			{Method: "valuewalk", Cells: []Cell{cell(Value(0, 0)), cell(Value(-2.412, 0.012), Value(-2.432, 0.016)),
				cell(Value(0.881, 0.005), Value(0.888, 0.004), Value(0.881, math.NaN()))}},
			{Method: "qvirl", Cells: []Cell{cell(Value(0.374, 0.013), Value(0.486, 0.011)),
				cell(Value(-2.428, 0.015), Value(-2.437, 0.014)), cell(Value(0.909, 0.005), Value(0.901, 0.004))}},
			{Method: "avril-0.17", Cells: []Cell{cell(Value(1.48, 0.05), Value(1.704, 0.06)), cell(nil),
				cell(Value(0.515, 0.01))}},
		},
		Notes: []string{"W₁ is the distance to the exact ValueWalk posterior."}}
}

func exampleTails() Tails {
	rng := testRNG()
	m := Tails{Title: "Returns under the posterior", XLabel: "normalised return", Level: 0.1,
		Methods: []string{"valuewalk-mean", "valuewalk-cvar", "avril-0.17-cvar"}}
	for i := range 4 {
		panel := TailPanel{Title: fmt.Sprintf("world %d", i), Truth: []float64{100, 90, math.NaN()}}
		for j := range m.Methods {
			panel.Samples = append(panel.Samples, normalSamples(rng, float64(120-15*j), float64(40-15*j), 2000).sorted)
		}
		m.Panels = append(m.Panels, panel)
	}
	m.Panels[3].Samples[1] = nil
	return m
}

func exampleVerdicts() Verdicts {
	m := Verdicts{Title: "Right, and does it know?", Methods: []string{"qvirl", "valuewalk"}}
	for i, family := range []string{"scales", "kernel", "data"} {
		f := exhibit.VerdictFamily{Title: family}
		for j := range 3 {
			f.Problems = append(f.Problems, fmt.Sprintf("%s-%d", family, j))
			f.Verdicts = append(f.Verdicts, []*exhibit.Verdict{{Error: 0.02 * math.Pow(10, float64(i+j)),
				Right: (i+j)%3 == 0, Claims: i+j == 0 || i+j == 2, Failed: i+j == 4},
				{Error: 0.05, Right: true, Claims: true}})
		}
		m.Families = append(m.Families, f)
	}
	m.Families[1].Verdicts[0][1] = nil
	m.Families[2].Verdicts[0][1].Error = math.Inf(1)
	return m
}

// examples are one drawing of each kind.
func examples(t testing.TB) map[string]Drawing {
	w, worldMap := exampleWorld(t)
	policy := make([]float64, 9*gridworld.Actions)
	for s := range 9 {
		copy(policy[s*gridworld.Actions:], []float64{0.1, 0.05, 0.6, 0.2, 0.05})
	}
	small := HeatMaps{Title: "Value and reward of a 3×3 world", Width: 3, Height: 3, Columns: []string{"valuewalk",
		"qvirl-maxmean"},
		Rows: []HeatRow{{Label: "value", Decimals: 0, Values: [][]float64{{1, 2, 3, 4, 5, 6, 7, 8, 90},
			{2, 3, 4, 5, 6, 7, 8, 9, 100}}}}}
	returns := Marginals{Title: "Return of the apprentice under the posterior", XLabel: "normalised return",
		Methods: []string{"qvirl-mean", "qvirl-cvar"},
		Panels: []MarginalPanel{{Distributions: []Distribution{
			normalSamples(testRNG(), 120, 40, 5000), normalSamples(testRNG(), 100, 20, 5000)}}}}
	tails := exampleTails()
	chains := exampleChains()
	ranks, err := ChainRanks("Rank plots of four chains", chains)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Drawing{
		"marginals": exampleMarginals(), "map": worldMap, "heatmaps": exampleHeatMaps(w),
		"calibration": exampleCalibration(),
		"curves":      exampleCurves(), "elbo": exampleELBO(), "convergence": exampleConvergence(), "sbc": exampleSBC(),
		"traces": Traces{Title: "Four chains", Panels: []TracePanel{{"reward 3", chains}, {"reward 9", chains[:2]}}},
		"ranks":  ranks, "dots": exampleDots(), "surface": exampleSurface(), "heatmaps-small": small,
		"scatter": exampleScatter(),
		"returns": returns, "tails": tails, "verdicts": exampleVerdicts(),
		"verdict-counts": VerdictCounts(exampleVerdicts()),
		"policy": Map{Title: "A stochastic policy", Width: 3, Height: 3, Policy: policy, Values: []float64{0, -30, 100,
			0, 0, 0, 0, 0, 0},
			Terminal: []bool{false, false, true, false, false, false, false, false, false}, ValueLabel: "reward",
			Marked: map[int]string{0: "start"}},
	}
}

// TestExamples draws every example. With the environment variable BIRL_GALLERY set to a folder, it leaves them there to
// be looked at.
func TestExamples(t *testing.T) {
	dir := os.Getenv("BIRL_GALLERY")
	if dir == "" {
		dir = t.TempDir()
	}
	for name, d := range examples(t) {
		path := filepath.Join(dir, name+".svg")
		if err := Save(d, path); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		info, err := os.Stat(path)
		if err != nil || info.Size() < 3000 {
			t.Errorf("%s: a picture of %v bytes, %v", name, info.Size(), err)
		}
	}
}
