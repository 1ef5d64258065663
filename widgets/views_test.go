package widgets

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/qvirl/exhibit"
)

// sixStates is a gridworld of three columns and two rows.
func sixStates() exhibit.World {
	return exhibit.World{Width: 3, Height: 2, Actions: gridworld.ActionNames[:], Moves: gridworld.Moves[:],
		Terminal: []bool{false, true, false, false, false, false}, Truth: []float64{1, 2, 3, 4, 5, 6}}
}

// examplePosterior has the means s + shift; of ValueWalk it consists of samples, of others of normals.
// The probability of action a is in proportion to 1 + (a + s) mod 5.
func examplePosterior(method string, shift, std float64) *exhibit.Posterior {
	rng := testRNG()
	p := &exhibit.Posterior{Method: method}
	for s := range 6 {
		mean := float64(s) + shift
		if method == "valuewalk" {
			p.Marginals = append(p.Marginals, normalSamples(rng, mean, std, 1000))
			p.RHat, p.ESS = append(p.RHat, 1+float64(s)/1000), append(p.ESS, 100*float64(s+1))
		} else {
			p.Marginals = append(p.Marginals, distuv.Normal{Mu: mean, Sigma: std})
		}
		for a := range 5 {
			p.Policy = append(p.Policy, float64(1+(a+s)%5)/15)
		}
	}
	for range 400 {
		common, row := rng.NormFloat64(), make([]float64, 6)
		for s := range row {
			row[s] = float64(s) + shift + std*(math.Sqrt(0.5)*common+math.Sqrt(0.5)*rng.NormFloat64())
		}
		p.Draws = append(p.Draws, row)
	}
	return p
}

func exampleExplorer() Explorer {
	return Explore(sixStates(), examplePosterior("valuewalk", -2, 2), examplePosterior("qvirl", -1, 1))
}

func exampleRisk() Risk {
	m := Risk{Title: "Caution", XLabel: "return", World: sixStates(), Values: []float64{0, 1, 2, -1, -2, 0},
		Label: "mean"}
	rng := testRNG()
	for i, level := range []float64{0.25, 0.5, 0.75, 1} {
		returns := make([]float64, 200)
		for k := range returns {
			returns[k] = float64(i) + float64(1+i)*rng.NormFloat64()
		}
		m.Levels = append(m.Levels, RiskLevel{level, examplePosterior("qvirl", 0, 1).Policy, returns})
	}
	return m
}

func exampleQueries() Queries {
	m := Queries{Title: "Questions", Label: "nats", World: sixStates()}
	for i := range 4 {
		s := QueryStep{Query: i, Std: []float64{3, 3, 3, 3, 3, 3}, Visits: []int{i, 0, 0, 0, 0, 0},
			Return: float64(10 * i)}
		for k := range 6 {
			s.Scores, s.Std[k] = append(s.Scores, float64(k)/10), 3-float64(i)/2
		}
		m.Steps = append(m.Steps, s)
	}
	m.Steps[3].Query, m.Steps[3].Scores = -1, nil
	return m
}

func exampleTrajectory() Trajectory {
	m := Trajectory{Title: "An episode", Stride: 2, Actions: []string{"left", "right"}, Level: 0.9, Width: 60}
	for i := range 9 {
		m.Taken = append(m.Taken, i%2)
		m.Values = append(m.Values, []Interval{Gaussian(float64(i), 1), Gaussian(-float64(i), 2)})
		m.Rewards = append(m.Rewards, Gaussian(float64(i%3), 0.5))
		if i%2 == 0 {
			picture := image.NewRGBA(image.Rect(0, 0, 120, 80))
			for y := range 80 {
				picture.Set(10*i, y, color.RGBA{R: 255, A: 255})
			}
			m.Pictures = append(m.Pictures, picture)
		}
	}
	return m
}

func exampleCorrelations() Correlations {
	return Correlations{Title: "Together", World: sixStates(), Draws: examplePosterior("qvirl", 0, 1).Draws,
		States: []int{2, 5}}
}

func examplePairs() Pairs {
	m := Pairs{Title: "Pairs", Names: []string{"one", "two", "three"}, Methods: []string{"valuewalk", "qvirl"},
		Truth: []float64{0, 1, 2}}
	for _, name := range m.Methods {
		var draws [][]float64
		for _, row := range examplePosterior(name, 0, 1).Draws {
			draws = append(draws, row[:3])
		}
		m.Draws = append(m.Draws, draws)
	}
	return m
}

func exampleComparison() Comparison {
	return Comparison{Title: "Models", Models: []exhibit.LOO{
		{Method: "valuewalk", Pointwise: []float64{-1, -2, -0.5}, KHat: []float64{0.1, math.Inf(-1), 0.3},
			Threshold: 0.7},
		{Method: "qvirl", Pointwise: []float64{-1.5, -2.5, -1.5}, KHat: []float64{0.4, 0.8, 0.2}, Threshold: 0.7}}}
}

func examplePredictive() Predictive {
	return Predictive{Title: "Check", Decisions: []exhibit.Decision{
		{State: "hall", Action: "left", Times: 3, Of: 4, Mean: 0.6, Low: 0.3, High: 0.9},
		{State: "hall", Action: "right", Times: 1, Of: 4, Mean: 0.2, Low: 0.1, High: 0.4}}}
}

func TestCorrelations(t *testing.T) {
	m := exampleCorrelations()
	spec, err := m.Vega()
	if err != nil {
		t.Fatal(err)
	}
	rows := tableOf(t, spec, "correlations")
	columns := transposed(m.Draws, 6)
	for s, row := range rows {
		for i, text := range strings.Fields(row["r"]) {
			want := stat.Correlation(columns[s], columns[i], nil)
			if got := numberOf(t, text) / 100; math.Abs(got-want) > 0.005+1e-9 { // whole hundredths
				t.Errorf("states %d and %d: %g, want %g", s, i, got, want)
			}
		}
	}
	if len(rows) != 6 || !parse(t, m).hasText("with state 5") {
		t.Errorf("%d rows, or the figure lacks a title", len(rows))
	}
}

// A region that holds a share of the mass holds that share of the draws, but for what the kernels smooth away.
func TestPairsRegions(t *testing.T) {
	draws := examplePosterior("qvirl", 0, 1).Draws
	columns := transposed(draws, 2)
	x, y := columns[0], columns[1]
	g := newDensityGrid(x, y, span{-4, 4}, span{-3, 5})
	at := func(v float64, grid []float64) int { return int(math.Round((v - grid[0]) / (grid[1] - grid[0]))) }
	for _, mass := range pairsMass {
		inside, level := 0, g.level(mass)
		for k := range x {
			if i, j := at(x[k], g.x), at(y[k], g.y); i >= 0 && j >= 0 && i < pairsGrid && j < pairsGrid && g.z.At(j,
				i) >= level {
				inside++
			}
		}
		// The lines enclose what lies above the level, in a closed line.
		if lines := g.contour(level); len(lines) == 0 || lines[0][0] != lines[0][len(lines[0])-1] {
			t.Errorf("the region of %g has %d lines, or its first is not closed", mass, len(lines))
		}
		got := float64(inside) / float64(len(x))
		if math.Abs(got-mass) > 4*math.Sqrt(mass*(1-mass)/float64(len(x))) {
			t.Errorf("%g of the draws lie in the region of %g", got, mass)
		}
	}
	p := parse(t, examplePairs())
	columns = transposed(examplePairs().Draws[0], 2)
	if want := correlationText(stat.Correlation(columns[0], columns[1], nil)); !p.hasText(want) || !p.hasText("three") {
		t.Errorf("the figure lacks the correlation %s or a name", want)
	}
}

// The contour of a cone is a circle.
func TestContour(t *testing.T) {
	g := densityGrid{x: uniform(span{-2, 2}, pairsGrid-1), y: uniform(span{-2, 2}, pairsGrid-1)}
	g.z = mat.NewDense(pairsGrid, pairsGrid, nil)
	g.z.Apply(func(j, i int, _ float64) float64 { return -math.Hypot(g.x[i], g.y[j]) }, g.z)
	lines := g.contour(-1.3)
	if len(lines) != 1 {
		t.Fatalf("%d lines, want one", len(lines))
	}
	length := 0.0
	for i, p := range lines[0] {
		if r := math.Hypot(p[0], p[1]); math.Abs(r-1.3) > 0.002 { // the cone is not quite linear along an edge of 0.085
			t.Errorf("point %v lies at the distance %g", p, r)
		}
		if i > 0 {
			length += math.Hypot(p[0]-lines[0][i-1][0], p[1]-lines[0][i-1][1])
		}
	}
	if math.Abs(length-2*math.Pi*1.3) > 0.02 {
		t.Errorf("the line is %g long, want %g", length, 2*math.Pi*1.3)
	}
	if lines := g.contour(-2.3); len(lines) != 4 { // the corners
		t.Errorf("%d lines, want 4 that end at the border", len(lines))
	}
	g.z.Zero()
	if lines := g.contour(0); len(lines) != 0 { // a plain
		t.Errorf("%d lines of a plain", len(lines))
	}
}

// The marginals that changed most are shown: those of state 4, then 2 and 0.
func TestChange(t *testing.T) {
	before, after := examplePosterior("qvirl", 0, 1), examplePosterior("qvirl", 0, 1)
	for i, s := range []int{4, 2, 0} {
		after.Marginals[s] = distuv.Normal{Mu: float64(s) + float64(5-i), Sigma: 0.5}
	}
	p := parse(t, Change{Title: "Before and after", World: sixStates(), Before: before, After: after,
		Demonstrated: map[int]string{4: "right"}})
	p.says(t, "state 4", "state 2", "state 0", "right", "0.50")
	if p.hasText("state 1") {
		t.Error("a reward that did not change is shown")
	}
	p = parse(t, Change{Title: "Two priors", World: sixStates(), Before: before, After: after,
		Names: []string{"wide prior", "narrow prior"}})
	p.says(t, "wide prior", "narrow prior", "σ, narrow prior over wide prior")
}

func TestMixing(t *testing.T) {
	chains := [][]float64{{1, 2, 3, 4}, {4, 3, 2, 1}}
	m, err := Mixing("Chains", "reward", chains)
	if err != nil {
		t.Fatal(err)
	}
	parse(t, m).says(t, "chain 2", "rank", "draw")
	if _, err := Mixing("Chains", "reward", nil); err == nil {
		t.Error("no chains gave no error")
	}
}

// The probability that a walk stays in the band is computed exactly; simulation agrees, and the band is the narrowest
// of its kind: with γ a tenth larger it holds less than the level.
func TestSimultaneousBand(t *testing.T) {
	const level, runs = 0.95, 20_000
	rng := testRNG()
	for _, c := range []struct{ n, most int }{{20, 99}, {200, 99}, {500, 19}} {
		at := ecdfAt(c.most)
		z := make([]float64, len(at))
		for k, r := range at {
			z[k] = float64(r+1) / float64(c.most+1)
		}
		low, high := simultaneousBand(c.n, z, level)
		inside := 0
		for range runs {
			counts := make([]int, c.most+1)
			for range c.n {
				counts[rng.IntN(c.most+1)]++
			}
			ok, below, next := true, 0, 0
			for r, n := range counts {
				if below += n; r == at[next] {
					ok = ok && low[next] <= below && below <= high[next]
					next++
				}
			}
			if ok {
				inside++
			}
		}
		logs := make([]float64, c.n+1)
		for i := 1; i <= c.n; i++ {
			logs[i] = logs[i-1] + math.Log(float64(i))
		}
		exact, got := insideBand(c.n, z, low, high, logs), float64(inside)/runs
		if math.Abs(got-exact) > 4*math.Sqrt(exact*(1-exact)/runs) || exact < level {
			t.Errorf("n = %d: %g of the walks lie in the band, computed %g", c.n, got, exact)
		}
		for k := range low[:len(low)-1] { // few and many are as improbable
			if mirrored := len(low) - 2 - k; low[k]+high[mirrored] != c.n {
				t.Errorf("n = %d: the band is %d to %d at %g, and %d to %d at %g", c.n, low[k], high[k], z[k],
					low[mirrored], high[mirrored], z[mirrored])
			}
		}
		narrower := make([]int, len(high)) // one less at every point but the last
		copy(narrower, high)
		for k := range narrower[:len(narrower)-1] {
			narrower[k]--
		}
		if insideBand(c.n, z, low, narrower, logs) >= level {
			t.Errorf("n = %d: the band is wider than need be", c.n)
		}
	}
}

func TestRankECDF(t *testing.T) {
	m := RankECDF{Title: "ECDF"}
	for _, name := range []string{"valuewalk", "qvirl"} {
		p := RankPanel{Title: name, Method: name, Max: 9}
		for i := range 100 {
			p.Ranks = append(p.Ranks, i%10)
		}
		m.Panels = append(m.Panels, p)
	}
	p := parse(t, m)
	if p.filled("#dddddd") < 2 || p.stroked(hex(colorOf("qvirl"))) != 1 {
		t.Errorf("%d bands, %d curves of QVIRL", p.filled("#dddddd"), p.stroked(hex(colorOf("qvirl"))))
	}
}

func TestPredictive(t *testing.T) {
	p := parse(t, examplePredictive())
	mean := math.Exp((3*math.Log(0.6) + math.Log(0.2)) / 4)
	for _, text := range []string{"hall: right (1 of 4)", fmt.Sprintf("%.2f (geometric mean of 4)", mean)} {
		if p.count(func(e element) bool { return strings.Contains(e.text, text) }) == 0 {
			t.Errorf("the figure lacks %q", text)
		}
	}
}

func TestComparison(t *testing.T) {
	m := exampleComparison()
	sum, stdErr := difference(m.Models[1].Pointwise, m.Models[0].Pointwise)
	// −0.5, −0.5, −1: their sum, and √3 times their standard deviation
	if want := math.Sqrt(3) * stat.StdDev([]float64{-0.5, -0.5, -1}, nil); sum != -2 || math.Abs(stdErr-want) > 1e-12 {
		t.Errorf("behind by %g ± %g, want −2 ± %g", sum, stdErr, want)
	}
	parse(t, m).says(t, "behind the best, ValueWalk (nats)")
}

func TestRisk(t *testing.T) {
	m := exampleRisk()
	spec, err := m.Vega()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range tableOf(t, spec, "levels") {
		l := m.Levels[i]
		returns := append([]float64(nil), l.Returns...)
		// the mean of the worst, by selection
		worst, sum := int(math.Round(l.Level*200)), 0.0
		for range worst {
			k := 0
			for j, v := range returns {
				if v < returns[k] {
					k = j
				}
			}
			sum, returns[k] = sum+returns[k], math.Inf(1)
		}
		if !scalar.EqualWithinAbsOrRel(numberOf(t, row["tail"]), sum/float64(worst), 1e-9, 1e-3) ||
			!scalar.EqualWithinAbsOrRel(numberOf(t, row["mean"]), stat.Mean(l.Returns, nil), 1e-9, 1e-3) {
			t.Errorf("level %g: %v, want the tail %g", l.Level, row, sum/float64(worst))
		}
	}
	bind := named(spec, "signals", "level")["bind"].(map[string]any)
	if bind["input"] != "range" || bind["max"] != 1.0 || bind["step"] != 0.25 {
		t.Errorf("the level is chosen by %v", bind)
	}
	parse(t, m).says(t, "α = 0.25", "α = 1")
}

func TestQueries(t *testing.T) {
	m := exampleQueries()
	spec, err := m.Vega()
	if err != nil {
		t.Fatal(err)
	}
	rows := tableOf(t, spec, "cells")
	if len(rows) != 18 || rows[7]["score"] != "0.1" || rows[7]["before"] != "2.5" || rows[7]["after"] != "2" {
		t.Errorf("%d cells, the eighth %v", len(rows), rows[7])
	}
	p := parse(t, m)
	p.says(t, "after 1 query: return 10, asks in state 1")
	if got := p.count(func(e element) bool { return strings.TrimSpace(e.text) == "?" }); got != 6 {
		t.Errorf("%d marks of a query, want one in each of three columns and two rows", got)
	}
}

func TestTrajectory(t *testing.T) {
	m := exampleTrajectory()
	spec, err := m.Vega()
	if err != nil {
		t.Fatal(err)
	}
	pictures := named(spec, "signals", "pictures")["value"].([]any)
	if len(pictures) != 5 || !strings.HasPrefix(pictures[4].(string), "data:image/jpeg;base64,") {
		t.Errorf("%d pictures", len(pictures))
	}
	if rows := tableOf(t, spec, "values"); len(rows) != 10 || rows[3]["mean"] != "-2" || rows[3]["t"] != "2" {
		t.Errorf("%d values, the fourth %v", len(rows), rows[3])
	}
	if rows := tableOf(t, spec, "steps"); len(rows) != 9 || rows[5]["mean"] != "2" || rows[5]["taken"] != "1" {
		t.Errorf("%d steps, the sixth %v", len(rows), rows[5])
	}
	p := parse(t, m)
	if p.count(func(e element) bool { return e.name == "image" }) != 5 || !p.hasText("step 8: left") {
		t.Error("the figure lacks pictures")
	}
	m.First = 60
	if spec, err = m.Vega(); err != nil {
		t.Fatal(err)
	}
	if p := parse(t, m); !p.hasText("step 60: left") || !p.hasText("step 68: left") || p.hasText("step 0") {
		t.Error("the figure does not count its steps from the first one")
	}
	if rows := tableOf(t, spec, "values"); rows[3]["t"] != "62" || tableOf(t, spec, "steps")[5]["t"] != "65" {
		t.Errorf("the view does not count its steps from the first one: %v", rows[3])
	}
	if v := named(spec, "signals", "step")["value"]; v != 60. {
		t.Errorf("the view begins with step %v", v)
	}
	m.First, m.Value = 0, "advantage"
	if spec, err = m.Vega(); err != nil || named(spec, "signals", "value")["value"] != "advantage" {
		t.Errorf("the view does not call values advantages (error %v)", err)
	}
	if p := parse(t, m); !p.hasText("advantage") || p.hasText("value") {
		t.Error("the figure does not call values advantages")
	}
	m.Width = 0
	left := map[string]bool{}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range m.Pictures { // wide ones stand two in a row; the bytes of noise spell whatever one looks for
		noise := image.NewRGBA(image.Rect(0, 0, 300, 90))
		for k := range noise.Pix {
			noise.Pix[k] = uint8(rng.UintN(256))
		}
		m.Pictures[i] = noise
	}
	parse(t, m).count(func(e element) bool {
		if e.name == "image" {
			left[e.attr["x"]] = true
		}
		return true
	})
	if len(left) != 2 {
		t.Errorf("wide pictures stand at %d places, want 2", len(left))
	}
}

// No view is wider than a notebook's column.
func TestViewsFitTheColumn(t *testing.T) {
	change := Change{Title: "c", World: sixStates(), Before: examplePosterior("qvirl", 0, 1),
		After: examplePosterior("qvirl", 1, 1)}
	mixing, err := Mixing("Chains", "reward", [][]float64{{1, 2, 3, 4}, {4, 3, 2, 1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Drawing{exampleExplorer(), exampleRisk(), exampleQueries(), exampleTrajectory(),
		exampleCorrelations(),
		examplePairs(), exampleComparison(), examplePredictive(), change, mixing} {
		f, err := d.Figure()
		if err != nil {
			t.Fatal(err)
		}
		if w, _ := f.Size(); w > 960 {
			t.Errorf("%T is %d pixels wide", d, w)
		}
	}
}

func TestStack(t *testing.T) {
	m := Stack{Title: "both", Rows: [][]Drawing{{exampleELBO()}, {examplePredictive()}}}
	f, err := m.Figure()
	if err != nil {
		t.Fatal(err)
	}
	one, err := exampleELBO().Figure()
	if err != nil {
		t.Fatal(err)
	}
	two, err := examplePredictive().Figure()
	if err != nil {
		t.Fatal(err)
	}
	_, h := f.Size()
	_, h1 := one.Size()
	_, h2 := two.Size()
	if h < h1+h2-2*16 || h > h1+h2+48 || !parse(t, m).hasText("hall: right (1 of 4)") {
		t.Errorf("%d pixels high, of %d and %d", h, h1, h2)
	}
	if text, err := f.CSV(); err != nil || !strings.Contains(string(text), "Check,1,mean,0.2") {
		t.Errorf("numbers: %v\n%s", err, text)
	}
}

// A picture in an SVG document is called what its bytes are: viewers that believe its name show nothing otherwise.
func TestPicturesAreCalledPNG(t *testing.T) {
	f, err := exampleTrajectory().Figure()
	if err != nil {
		t.Fatal(err)
	}
	svg, err := f.SVG()
	if err != nil {
		t.Fatal(err)
	}
	_, named, found := strings.Cut(string(svg), "data:image/png;base64,")
	if !found || !strings.HasPrefix(named, "iVBORw0KGgo") || strings.Contains(string(svg), "image/jpg") {
		t.Error("no picture that is called a PNG and is one")
	}
}
