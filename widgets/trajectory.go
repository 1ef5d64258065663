package widgets

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"math"

	scaling "golang.org/x/image/draw"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/progress"
)

// Trajectory shows an episode picture by picture, and in step with it what a posterior says: the values of all actions,
// and the reward, both with credible intervals. The reader slides the step, or clicks it on the curve of rewards.
type Trajectory struct {
	Title    string
	Pictures []image.Image // of every Stride-th step, from the first
	Stride   int           // 0 means 1
	First    int           // the number of the first step, where the episode is shown from there
	Actions  []string      // their names
	Taken    []int         // the action of each step
	Values   [][]Interval  // of each step and action
	Value    string        // what the labels call them; "" means "value"
	Rewards  []Interval    // of each step
	Level    float64       // probability of the intervals, for the legend
	Width    int           // of a picture in pixels; 0 means 360
}

// Interval is a mean with a credible interval.
type Interval struct{ Mean, Low, High float64 } // Low ≤ High, in the unit of the axis

// Gaussian returns the mean and the central 90 % of a normal distribution.
func Gaussian(mean, std float64) Interval {
	return Interval{mean, mean - 1.6449*std, mean + 1.6449*std}
}

func (m Trajectory) stride() int { return max(m.Stride, 1) }

func (m Trajectory) value() string { return cmp.Or(m.Value, "value") }

func (m Trajectory) validate() error {
	steps := len(m.Taken)
	if err := check.First(
		refuse(steps == 0 || len(m.Pictures) == 0 || len(m.Actions) == 0, "Trajectory has %d steps, %d "+
			"pictures and %d actions, want some of each", steps, len(m.Pictures), len(m.Actions)),
		refuse(m.Stride < 0 || m.First < 0 || m.Width < 0, "Trajectory: Stride = %d, First = %d, Width = %d, want "+
			"none or positive numbers", m.Stride, m.First, m.Width), refuse((len(m.Pictures)-1)*m.stride() >= steps,
			"Trajectory has %d pictures of every %d. step, but %d steps", len(m.Pictures), m.stride(), steps),
		refuse(!(m.Level > 0 && m.Level < 1), "Trajectory.Level = %g is outside (0, 1)", m.Level),
		forEach("Trajectory.Pictures", m.Pictures, func(field string, p image.Image) error {
			return refuse(p == nil || p.Bounds().Empty() || p.Bounds().Size() != m.Pictures[0].Bounds().Size(),
				"%s is empty, or of another size than the first", field)
		}), checkLength("Trajectory.Values", len(m.Values), steps, "one set for each step"),
		checkLength("Trajectory.Rewards", len(m.Rewards), steps, "one for each step")); err != nil {
		return err
	}
	for i, a := range m.Taken {
		if err := check.First(checkState(fmt.Sprintf("Trajectory.Taken[%d]", i), a, len(m.Actions)), checkLength(
			fmt.Sprintf("Trajectory.Values[%d]", i), len(m.Values[i]), len(m.Actions),
			"one for each action")); err != nil {
			return err
		}
		for k, v := range append(m.Values[i][:len(m.Actions):len(m.Actions)], m.Rewards[i]) {
			if !finite(v.Mean, v.Low, v.High) || v.Low > v.High {
				return fmt.Errorf("widgets: Trajectory: interval %d of step %d is %v, want finite numbers in order",
					k, i, v)
			}
		}
	}
	return nil
}

// stripMost is how many pictures stand side by side in the figure.
const stripMost = 5

// Figure implements Drawing: a strip of pictures, the values of the actions that were taken, and the rewards.
func (m Trajectory) Figure() (*Figure, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	var s strip
	n := min(stripMost, len(m.Pictures))
	var marks []Mark
	for k := range n {
		i := 0
		if n > 1 {
			i = k * (len(m.Pictures) - 1) / (n - 1)
		}
		step := i * m.stride()
		s.pictures = append(s.pictures, m.scaled(i))
		s.captions = append(s.captions, fmt.Sprintf("step %d: %s", m.First+step, m.Actions[m.Taken[step]]))
		marks = append(marks, Mark{X: float64(m.First + step)})
	}
	band := fmt.Sprintf("%g %% credible", 100*m.Level)
	value, reward := Curve{Name: m.value() + " of the action taken", Band: band}, Curve{Name: "its reward", Band: band}
	for i, a := range m.Taken {
		for c, v := range map[*Curve]Interval{&value: m.Values[i][a], &reward: m.Rewards[i]} {
			c.X, c.Y = append(c.X, float64(m.First+i)), append(c.Y, v.Mean)
			c.Low, c.High = append(c.Low, v.Low), append(c.High, v.High)
		}
	}
	return Stack{Title: m.Title, Rows: [][]Drawing{{s}, {Curves{Columns: 2, Panels: []CurvePanel{
		{XLabel: "step", YLabel: m.value(), Curves: []Curve{value}, Marks: marks},
		{XLabel: "step", YLabel: "reward", Curves: []Curve{reward}, Marks: marks}}}}}}.Figure()
}

// scaled returns a picture as large as it is shown.
func (m Trajectory) scaled(i int) image.Image {
	size := m.Pictures[i].Bounds().Size()
	width := min(cmp.Or(m.Width, 360), size.X)
	out := image.NewRGBA(image.Rect(0, 0, width, max(1, width*size.Y/size.X)))
	scaling.ApproxBiLinear.Scale(out, out.Bounds(), m.Pictures[i], m.Pictures[i].Bounds(), scaling.Src, nil)
	return out
}

// strip is pictures, each under its caption: side by side, or two in a row if they are wide.
type strip struct {
	pictures []image.Image
	captions []string
}

// Figure implements Drawing.
func (m strip) Figure() (*Figure, error) {
	const width, caption = maxWidth - 2*cardPad, vg.Length(14)
	size, columns := m.pictures[0].Bounds().Size(), len(m.pictures)
	if size.X > 3*size.Y {
		columns = min(columns, 2)
	}
	each := (width-2*cardPad)/vg.Length(columns) - 6
	height := each * vg.Length(size.Y) / vg.Length(size.X)
	tall := height + caption + 6
	return card{description: progress.Count(len(m.pictures), "picture", "pictures") + " of an episode.", width: width,
		bodyHeight: panelRows(len(m.pictures), columns, tall) - 6, records: m.records,
		body: func(c draw.Canvas) {
			for i, p := range m.pictures {
				left, top := c.Min.X+vg.Length(i%columns)*(each+6), c.Max.Y-vg.Length(i/columns)*tall
				writeText(c, textStyle(smallSize, ink, draw.XLeft, draw.YCenter), left, top-5, m.captions[i])
				c.DrawImage(rect(left, top-caption-height, left+each, top-caption), p)
			}
		}}.figure(), nil
}

func (m strip) records() [][]string {
	out := [][]string{{"picture"}}
	for _, c := range m.captions {
		out = append(out, []string{c})
	}
	return out
}

// Vega returns the Vega 5 specification of the interactive view, whose slider is called step.
func (m Trajectory) Vega() (map[string]any, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	var pictures []string
	for i := range m.Pictures {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, m.scaled(i), &jpeg.Options{Quality: 72}); err != nil {
			return nil, fmt.Errorf("widgets: Trajectory.Pictures[%d]: %w", i, err)
		}
		pictures = append(pictures, "data:image/jpeg;base64,"+base64.StdEncoding.EncodeToString(b.Bytes()))
	}
	size := m.scaled(0).Bounds().Size()
	values := csvLines{{"t", "a", "mean", "low", "high"}}
	steps := csvLines{{"t", "taken", "mean", "low", "high", "value"}}
	for t, a := range m.Taken {
		for k, u := range m.Values[t] {
			if t%m.stride() == 0 {
				values.add(m.First+t, k, short(u.Mean), short(u.Low), short(u.High))
			}
		}
		r := m.Rewards[t]
		steps.add(m.First+t, a, short(r.Mean), short(r.Low), short(r.High), short(m.Values[t][a].Mean))
	}
	xs := emptySpan()
	for t := 0; t < len(m.Taken); t += m.stride() {
		for _, u := range m.Values[t] {
			xs.include(u.Low, u.High)
		}
	}
	xs = xs.padded(0.03)
	return newVega("Trajectory", object{"pictures": pictures, "stride": m.stride(), "first": m.First,
		"pictureWidth": size.X, "pictureHeight": size.Y, "actions": m.Actions, "title": m.Title, "value": m.value(),
		"level": math.Round(100 * m.Level), "extent": xs.ends(), "last": m.First + len(m.Taken) - 1,
		"lastStep": m.First + (len(m.Pictures)-1)*m.stride(), "values": values, "steps": steps})
}

// ShowTrajectory displays the interactive view of m. JupyterLab draws it, also in a saved notebook, one that it does
// not trust, and without a kernel; elsewhere stands a strip of pictures over the curves.
func ShowTrajectory(m Trajectory) error { return showSpec(vega, m, m.Vega) }
