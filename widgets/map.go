package widgets

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/progress"
)

// Map shows a gridworld: a number for each state as colour and figure, terminal states, demonstrations as arrows with
// the number of visits, and a policy. States are numbered row by row from the top left; actions are those of package
// gridworld.
type Map struct {
	Title          string
	Width, Height  int              // in cells
	Values         []float64        // of the states, [Width·Height]; nil leaves the cells white
	ValueLabel     string           // what the values are, for the colour bar
	Decimals       int              // of the figures in the cells
	Terminal       []bool           // states that get a thick frame, [Width·Height] or nil
	Demonstrations []mdp.Trajectory // one arrow a step; visits are counted
	// action probabilities, [Width·Height·actions] or nil, in each state 0 or with the sum 1; arrows are as long as
	// they are probable
	Policy []float64
	Moves  [][2]int       // by how many columns and rows each action moves, down being positive; nil: gridworld.Moves
	Marked map[int]string // short labels of single states, such as the start

	side vg.Length // of the map at most; 0 for as large as fits
}

// WorldMap returns the map of a gridworld's true rewards and of demonstrations in it, which may be nil; it
// panics if the world is nil.
func WorldMap(title string, w *gridworld.World, demos []mdp.Trajectory) Map {
	if err := check.NotNil("widgets: WorldMap: the world", w, "one, as gridworld.New makes"); err != nil {
		panic(err)
	}
	return Map{
		Title: title, Width: w.Width, Height: w.Height, Values: w.Reward, ValueLabel: "true reward", Decimals: 1,
		Terminal: w.Terminal, Demonstrations: demos,
	}
}

// Figure implements Drawing.
func (m Map) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	scale := newScale(true, m.Values)
	actions := len(m.moves())
	counts := make([]int, m.Width*m.Height*actions)
	visits := make([]int, m.Width*m.Height)
	for _, step := range mdp.Flatten(m.Demonstrations) {
		counts[step.State*actions+step.Action]++
		visits[step.State]++
	}
	bar := vg.Length(0)
	if m.Values != nil {
		bar = barWidth + panelGap
	}
	size := min(max(58, 240/vg.Length(m.Width)), (maxWidth-2*cardPad-bar)/vg.Length(m.Width), 560/vg.Length(m.Height))
	if m.side > 0 {
		size = min(size, m.side/vg.Length(max(m.Width, m.Height)))
	}
	mapHeight := vg.Length(m.Height) * size
	tall := barHeight(min(mapHeight, 240), m.ValueLabel)
	return card{
		title: m.Title, legend: m.legend(),
		description: m.description(),
		width:       max(vg.Length(m.Width)*size+bar+2*cardPad, 330),
		bodyHeight:  max(mapHeight, tall) + 2, records: m.records,
		body: func(c draw.Canvas) {
			g := cells{m.Width, m.Height, vg.Point{X: c.Min.X + 1, Y: c.Max.Y}, size}
			g.fill(c, m.Values, scale)
			g.frames(c, m.Terminal)
			for s := range visits {
				m.paintCell(c, g, s, scale, counts[s*actions:(s+1)*actions], visits[s])
			}
			if m.Values != nil {
				side := draw.Crop(c, vg.Length(m.Width)*size+panelGap, 0, 0, 0)
				side.Min.Y = side.Max.Y - tall
				scale.paint(side, m.ValueLabel)
			}
		},
	}.figure(), nil
}

// moves are those that the actions intend.
func (m Map) moves() [][2]int {
	if m.Moves == nil {
		return gridworld.Moves[:]
	}
	return m.Moves
}

func (m Map) validate() error {
	n, actions := m.Width*m.Height, len(m.moves())
	err := check.First(checkGrid("Map", m.Width, m.Height), checkEach("Map.Values", m.Values, n, "one for each state"),
		checkFinite("Map.Values", m.Values), checkEach("Map.Terminal", m.Terminal, n, "one for each state"),
		checkMarked("Map", m.Marked, n), checkEach("Map.Policy", m.Policy, n*actions,
			"one for each state and action"))
	for i, t := range m.Demonstrations {
		for j, step := range t {
			err = check.First(err, refuse(step.State < 0 || step.State >= n || step.Action < 0 ||
				step.Action >= actions, "Map.Demonstrations[%d][%d]: state %d, action %d: want 0..%d and 0..%d", i, j,
				step.State, step.Action, n-1, actions-1))
		}
	}
	return check.First(err, forEach("Map.Policy", m.Policy, checkProbability),
		checkSums("Map.Policy", m.Policy, actions, true))
}

// description says in words what the map shows.
func (m Map) description() string {
	parts := []string{fmt.Sprintf("Map of %d × %d states", m.Width, m.Height)}
	if m.ValueLabel != "" {
		parts = append(parts, m.ValueLabel)
	}
	if n := len(mdp.Flatten(m.Demonstrations)); n > 0 {
		parts = append(parts, progress.Count(n, "demonstrated step", "demonstrated steps"))
	}
	if m.Policy != nil {
		parts = append(parts, "a policy")
	}
	return strings.Join(parts, ", ") + "."
}

func (m Map) legend() []legendEntry {
	legend := framesLegend(m.Terminal)
	add := func(label, stay string, col color.NRGBA) {
		if legend = append(legend, arrowEntry(label, col)); slices.Contains(m.moves(), [2]int{}) {
			legend = append(legend, dotEntry(stay, col))
		}
	}
	if len(m.Demonstrations) > 0 {
		add("demonstrated action", "demonstrated “stay”", demoColor)
		legend = append(legend, legendEntry{"visits, if more than one", func(c draw.Canvas) {
			writeText(c, bold(textStyle(smallSize, ink, draw.XCenter, draw.YCenter)), c.Center().X, c.Center().Y, "×2")
		}})
	}
	if m.Policy != nil {
		add("action, as long as probable", "“stay”", policyColor)
	}
	return legend
}

func arrowEntry(label string, col color.NRGBA) legendEntry {
	return legendEntry{label, func(c draw.Canvas) {
		arrow(c, col, vg.Point{X: c.Min.X + 2, Y: c.Center().Y}, vg.Point{X: c.Max.X - 2, Y: c.Center().Y}, arrowWidth)
	}}
}

func dotEntry(label string, col color.NRGBA) legendEntry {
	return legendEntry{label, func(c draw.Canvas) { dot(c, col, c.Center(), dotRadius) }}
}

var (
	demoColor   = black
	policyColor = rgb(0x3A3A3A)
)

const (
	arrowWidth = vg.Length(1.4)
	dotRadius  = vg.Length(2.6)
	fanned     = 4 // parallel arrows drawn for one action of one state; more get their number written beside them
)

// paintCell writes a state's value at its top left, its visits at its bottom right, and the arrows in between.
func (m Map) paintCell(c draw.Canvas, g cells, s int, scale colorScale, counts []int, visits int) {
	box, centre := g.box(s), g.centre(s)
	textColor := ink
	if m.Values != nil {
		textColor = contrast(scale.color(m.Values[s]))
	}
	figure := textStyle(smallSize, textColor, draw.XLeft, draw.YCenter)
	if m.Values != nil && g.size >= 26 && (m.Policy == nil || g.size >= 36) {
		text := number(m.Values[s], m.Decimals)
		if len(m.Demonstrations) == 0 && m.Policy == nil { // nothing else in the cells
			figure.XAlign = draw.XCenter
			writeText(c, figure, centre.X, centre.Y, text)
		} else {
			writeText(c, figure, box.Min.X+4, box.Max.Y-9, text)
		}
	}
	if visits > 1 && (visits <= fanned || slices.Max(counts) < visits) { // else the number stands beside the arrows
		figure.XAlign = draw.XRight
		writeText(c, bold(figure), box.Max.X-4, box.Min.Y+8.5, fmt.Sprintf("×%d", visits))
	}
	if label, ok := m.Marked[s]; ok {
		figure.XAlign = draw.XLeft
		writeText(c, bold(figure), box.Min.X+4, box.Min.Y+8.5, shortened(bold(figure), label, g.size-6))
	}
	if m.Policy != nil && (m.Terminal == nil || !m.Terminal[s]) {
		for a, p := range m.Policy[s*len(counts) : (s+1)*len(counts)] {
			paintPolicy(c, g, centre, m.moves()[a], p)
		}
	}
	for a, n := range counts {
		paintDemonstrated(c, g, centre, m.moves()[a], n)
	}
}

// direction is the unit vector of a move on the canvas, whose y axis points up; zero for that of no move.
func direction(move [2]int) (x, y vg.Length) {
	length := max(1, math.Hypot(float64(move[0]), float64(move[1])))
	return vg.Length(float64(move[0]) / length), -vg.Length(float64(move[1]) / length)
}

func paintPolicy(c draw.Canvas, g cells, centre vg.Point, move [2]int, p float64) {
	if p < 0.03 {
		return
	}
	if move == [2]int{} {
		dot(c, policyColor, centre, dotRadius*1.4*vg.Length(math.Sqrt(p)))
		return
	}
	dx, dy := direction(move)
	reach := g.size * (0.1 + 0.36*vg.Length(p))
	arrow(c, policyColor, vg.Point{X: centre.X + 0.07*g.size*dx, Y: centre.Y + 0.07*g.size*dy},
		vg.Point{X: centre.X + reach*dx, Y: centre.Y + reach*dy}, arrowWidth)
}

// paintDemonstrated fans out n marks of one action, so that each stays visible.
func paintDemonstrated(c draw.Canvas, g cells, centre vg.Point, move [2]int, n int) {
	dx, dy := direction(move)
	gap := g.size / 9
	shown := n
	if n > fanned {
		shown = fanned - 1
	}
	for i := range shown {
		across := (vg.Length(i) - vg.Length(shown-1)/2) * gap
		if move == [2]int{} {
			dot(c, demoColor, vg.Point{X: centre.X + across, Y: centre.Y}, dotRadius)
			continue
		}
		at := func(along vg.Length) vg.Point {
			return vg.Point{X: centre.X + along*g.size*dx - across*dy, Y: centre.Y + along*g.size*dy + across*dx}
		}
		arrow(c, demoColor, at(0.13), at(0.44), arrowWidth)
	}
	if n > shown {
		style := bold(textStyle(smallSize, ink, draw.XCenter, draw.YCenter))
		// to the right of vertical arrows, away from the state's value
		x, y := centre.X+0.28*g.size*dx+2.2*gap*dy*dy, centre.Y+0.28*g.size*dy-2.2*gap*dx
		if move == [2]int{} {
			y = centre.Y - 10
		}
		fillPath(c, white, disc(vg.Point{X: x, Y: y}, 5.5))
		writeText(c, style, x, y, fmt.Sprint(n))
	}
}

func (m Map) records() [][]string {
	out := csvLines{{"state", "action", "quantity", "value"}}
	for s, v := range m.Values {
		out.add(s, "", m.ValueLabel, v)
	}
	actions := len(m.moves())
	for i, p := range m.Policy {
		out.add(i/actions, i%actions, "probability", p)
	}
	for _, step := range mdp.Flatten(m.Demonstrations) {
		out.add(step.State, step.Action, "demonstrated", 1)
	}
	return out
}
