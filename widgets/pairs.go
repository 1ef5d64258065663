package widgets

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/progress"
)

// Pairs shows how quantities go together under posteriors: below the diagonal the smallest regions that hold 50 % and
// 90 % of the draws of each pair, on it the densities, above it the correlations.
type Pairs struct {
	Title   string
	Names   []string      // of the quantities, such as “reward of state 3”; 2 to 6
	Methods []string      // of the posteriors
	Draws   [][][]float64 // [methods][draws][quantities]
	Truth   []float64     // [quantities] or nil
}

const (
	pairsMost = 6    // quantities
	pairsGrid = 48   // points of a density to a side
	pairsUsed = 2000 // draws that a density is estimated from at most
)

// pairsMass are the probabilities that regions hold.
var pairsMass = []float64{0.9, 0.5}

func (m Pairs) validate() error {
	k := len(m.Names)
	return check.First(refuse(k < 2 || k > pairsMost || len(m.Methods) == 0,
		"Pairs has %d names and %d methods, want 2 to %d "+
			"and at least 1", k, len(m.Methods), pairsMost), checkMethods(m.Methods...),
		checkLength("Pairs.Draws", len(m.Draws), len(m.Methods), "one set for each method"),
		checkEach("Pairs.Truth", m.Truth, k, "one for each quantity"), checkFinite("Pairs.Truth", m.Truth),
		forEach("Pairs.Draws", m.Draws, func(field string, draws [][]float64) error {
			err := checkDraws(field, draws, k)
			if err != nil {
				return err
			}
			for i, x := range transposed(draws, k) {
				err = check.First(err, refuse(slices.Max(x) == slices.Min(x), "%s: all draws of %s are %g, one point",
					field, m.Names[i], x[0]))
			}
			return err
		}))
}

// checkDraws refuses draws that are too few, are of another number of quantities, or are not finite.
func checkDraws(field string, draws [][]float64, quantities int) error {
	return check.First(refuse(len(draws) < 10, "%s has %d draws, want at least 10", field, len(draws)),
		forEach(field, draws, func(field string, row []float64) error {
			return check.First(
				checkLength(field, len(row), quantities, "one for each quantity"), checkFinite(field, row))
		}))
}

// transposed returns draws of so many quantities by quantity, [quantities][draws].
func transposed(draws [][]float64, quantities int) [][]float64 {
	out := make([][]float64, quantities)
	for i := range out {
		for _, row := range draws {
			out[i] = append(out[i], row[i])
		}
	}
	return out
}

// Figure implements Drawing.
func (m Pairs) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	k, looks := len(m.Names), appearances(m.Methods)
	var columns [][][]float64 // [methods][quantities][draws]
	for _, draws := range m.Draws {
		columns = append(columns, transposed(draws, k))
	}
	spans := make([]span, k)
	for i := range spans {
		spans[i] = emptySpan()
		for _, of := range columns {
			spans[i].includeMost(of[i])
		}
		if m.Truth != nil {
			spans[i].include(m.Truth[i])
		}
		spans[i] = spans[i].padded(0.06)
	}
	var plots []*plot.Plot
	for row := range k {
		for col := range k {
			p := newPanel("", "", "")
			switch {
			case row < col:
				m.correlations(p, columns, looks, row, col)
			case row == col:
				m.density(p, columns, looks, row, spans[row])
			default:
				m.contours(p, columns, looks, row, col, spans)
			}
			if row == k-1 {
				p.X.Label.Text = m.Names[col]
			}
			if col == 0 && row > 0 {
				p.Y.Label.Text = m.Names[row]
			}
			p.X.Tick.Marker, p.Y.Tick.Marker = niceTicks{3}, niceTicks{3}
			if row <= col {
				p.Y.Tick.Marker = plot.ConstantTicks{}
			}
			if row < col {
				p.X.Tick.Marker = plot.ConstantTicks{}
			}
			plots = append(plots, p)
		}
	}
	var legend []legendEntry
	for _, a := range looks {
		legend = append(legend, lineEntry(a.label+": 50 % and 90 % regions", a.line(lineWidth)))
	}
	if m.Truth != nil {
		legend = append(legend, legendEntry{"true value", func(c draw.Canvas) { cross(c, black, c.Center(), 4, 1.6) }})
	}
	side := min(vg.Length(640)/vg.Length(k), 230)
	return card{title: m.Title, legend: legend, width: side*vg.Length(k) + 2*cardPad + 30,
		description: fmt.Sprintf("Regions of %s in pairs: %s.", progress.Count(k, "variable", "variables"),
			labels(m.Methods)),
		bodyHeight: side*0.88*vg.Length(k) + 20, records: m.records,
		body: func(c draw.Canvas) { drawPanels(c, plots, k) }}.figure(), nil
}

// correlations writes the correlation of each method.
func (m Pairs) correlations(p *plot.Plot, columns [][][]float64, looks []appearance, row, col int) {
	p.HideAxes()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
		for j, a := range looks {
			style := textStyle(textSize, a.color, draw.XCenter, draw.YCenter)
			at := c.Center().Y + (vg.Length(len(looks)-1)/2-vg.Length(j))*13
			writeText(c, bold(style), c.Center().X, at, correlationText(stat.Correlation(columns[j][row],
				columns[j][col], nil)))
		}
	}))
}

// correlationText writes a correlation; quantities without spread have none.
func correlationText(r float64) string {
	if math.IsNaN(r) {
		return "–"
	}
	return number(r, 2)
}

// density draws the density of a quantity under each method, all to one height.
func (m Pairs) density(p *plot.Plot, columns [][][]float64, looks []appearance, i int, xs span) {
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = xs.low, xs.high, 0, 1.1
	grid := uniform(xs, 100)
	p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
		for j, a := range looks {
			at := kernels(grid, columns[j][i], xs, -1./5)
			heights := make([]float64, len(grid))
			for k := range heights {
				heights[k] = floats.Sum(at.RawRowView(k))
			}
			top := floats.Max(heights)
			part := func(h float64) vg.Length { return y(h / top) }
			c.StrokeLines(a.line(lineWidth), pointsAt(x, part, grid, heights))
		}
		if m.Truth != nil {
			c.StrokeLine2(truthLine, x(m.Truth[i]), c.Min.Y, x(m.Truth[i]), c.Max.Y)
		}
	}))
}

// thin takes every so many draws, so that few enough are left.
func thin(x []float64) []float64 {
	step := (len(x) + pairsUsed - 1) / pairsUsed
	var out []float64
	for i := 0; i < len(x); i += step {
		out = append(out, x[i])
	}
	return out
}

// kernels returns exp(−½ ((g − x)/h)²) for each point g of a grid and each of the draws x that are used, [grid, x].
// The bandwidth h is Scott's (1992), σ n^power, and no less than the grid of a region resolves.
func kernels(grid, x []float64, xs span, power float64) *mat.Dense {
	h := math.Max(stat.StdDev(x, nil)*math.Pow(float64(min(len(x), pairsUsed)), power), (xs.high-xs.low)/pairsGrid)
	used := thin(x)
	out := mat.NewDense(len(grid), len(used), nil)
	out.Apply(func(i, j int, _ float64) float64 {
		z := (grid[i] - used[j]) / h
		return math.Exp(-0.5 * z * z)
	}, out)
	return out
}

// contours draws the regions of a pair.
func (m Pairs) contours(p *plot.Plot, columns [][][]float64, looks []appearance, row, col int, spans []span) {
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = spans[col].low, spans[col].high, spans[row].low, spans[row].high
	for j, a := range looks {
		g := newDensityGrid(columns[j][col], columns[j][row], spans[col], spans[row])
		var levels []float64
		for _, mass := range pairsMass {
			levels = append(levels, g.level(mass))
		}
		p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
			for i, width := range []vg.Length{1, 1.8} {
				for _, line := range g.contour(levels[i]) {
					points := make([]vg.Point, len(line))
					for k, at := range line {
						points[k] = vg.Point{X: x(at[0]), Y: y(at[1])}
					}
					c.StrokeLines(a.line(width), points)
				}
			}
		}))
	}
	if m.Truth != nil {
		p.Add(painter(func(c draw.Canvas, x, y func(float64) vg.Length) {
			cross(c, black, vg.Point{X: x(m.Truth[col]), Y: y(m.Truth[row])}, 4, 1.6)
		}))
	}
}

// densityGrid is a density of two quantities on a grid.
type densityGrid struct {
	x, y []float64
	z    *mat.Dense // [y, x]
}

// newDensityGrid estimates a density, up to a factor, with a product of Gaussian kernels.
func newDensityGrid(x, y []float64, xs, ys span) densityGrid {
	g := densityGrid{x: uniform(xs, pairsGrid-1), y: uniform(ys, pairsGrid-1), z: new(mat.Dense)}
	g.z.Mul(kernels(g.y, y, ys, -1./6), kernels(g.x, x, xs, -1./6).T())
	return g
}

// level is the density whose region, where it is exceeded, holds the given mass.
func (g densityGrid) level(mass float64) float64 {
	z := slices.Sorted(slices.Values(g.z.RawMatrix().Data))
	total, sum := floats.Sum(z), 0.0
	for i := len(z) - 1; i >= 0; i-- {
		if sum += z[i]; sum >= mass*total {
			return z[i]
		}
	}
	return z[0]
}

// contour returns the lines along which the density is the level, each through points (x, y), by marching squares: a
// line crosses an edge of the grid where one end is below the level and the other is not, in proportion to how far they
// are.
func (g densityGrid) contour(level float64) (lines [][][2]float64) {
	type edge struct{ i, j, along int } // from grid point (i, j) to the next along x (0) or y (1)
	at := func(e edge) [2]float64 {
		i, j := e.i+1-e.along, e.j+e.along
		a, b := g.z.At(e.j, e.i), g.z.At(j, i)
		t := (level - a) / (b - a)
		return [2]float64{g.x[e.i] + t*(g.x[i]-g.x[e.i]), g.y[e.j] + t*(g.y[j]-g.y[e.j])}
	}
	next := map[edge][]edge{} // the edges that a line reaches from an edge
	for j := range len(g.y) - 1 {
		for i := range len(g.x) - 1 {
			above := func(i, j int) bool { return g.z.At(j, i) >= level }
			var crossed []edge
			for _, e := range []edge{{i, j, 0}, {i + 1, j, 1}, {i, j + 1, 0}, {i, j, 1}} { // around the cell
				if above(e.i, e.j) != above(e.i+1-e.along, e.j+e.along) {
					crossed = append(crossed, e)
				}
			}
			for k := 0; k+1 < len(crossed); k += 2 {
				next[crossed[k]] = append(next[crossed[k]], crossed[k+1])
				next[crossed[k+1]] = append(next[crossed[k+1]], crossed[k])
			}
		}
	}
	walk := func(e edge) {
		line := [][2]float64{at(e)}
		for len(next[e]) > 0 {
			to := next[e][0]
			next[e] = next[e][1:]
			next[to] = slices.Delete(next[to], slices.Index(next[to], e), slices.Index(next[to], e)+1)
			e = to
			line = append(line, at(e))
		}
		lines = append(lines, line)
	}
	for _, ends := range []bool{true, false} { // lines that end at the border of the grid first, then closed ones
		for j := range g.y {
			for i := range g.x {
				for along := range 2 {
					if e := (edge{i, j, along}); len(next[e]) == 1 && ends || len(next[e]) > 0 && !ends {
						walk(e)
					}
				}
			}
		}
	}
	return lines
}

func (m Pairs) records() [][]string {
	out := csvLines{append([]string{"method"}, m.Names...)}
	for j, draws := range m.Draws {
		for _, row := range draws {
			line := []any{m.Methods[j]}
			for _, v := range row {
				line = append(line, v)
			}
			out.add(line...)
		}
	}
	return out
}
