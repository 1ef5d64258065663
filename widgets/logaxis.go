package widgets

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// logAxis says what a logarithmic axis is of: 1 of positive numbers, −1 of negative ones by their size, and 0 where the
// axis is linear.
type logAxis int

// logY is what the panel's vertical axis is of: of negative numbers if the first number is.
func (p curvePanel) logY() logAxis {
	for _, c := range p.Curves {
		for _, y := range c.Y {
			switch {
			case !p.LogY:
				return 0
			case y < 0:
				return -1
			case y > 0:
				return 1
			}
		}
	}
	return logOf(p.LogY)
}

func logOf(logarithmic bool) logAxis {
	if logarithmic {
		return 1
	}
	return 0
}

// lacks reports whether one of the numbers is not on the axis, or too close to zero to be drawn there.
func (l logAxis) lacks(values ...float64) bool {
	return l != 0 && slices.ContainsFunc(values, func(v float64) bool { return float64(l)*v < 1/largest })
}

// decadesAtMost is how far a logarithmic axis reaches in either direction, where padding takes it beyond largest.
const decadesAtMost = 305

// setRange fits an axis to the data.
func setRange(axis *plot.Axis, s span, log logAxis, pad float64) {
	if log == 0 || s.low > s.high {
		s = s.padded(pad)
		axis.Min, axis.Max = s.low, s.high
		return
	}
	if log < 0 {
		s = span{-s.high, -s.low}
	}
	s = (span{math.Log10(s.low), math.Log10(s.high)}).padded(pad)
	axis.Min, axis.Max = math.Pow(10, max(s.low, -decadesAtMost)), math.Pow(10, min(s.high, decadesAtMost))
	axis.Scale = plot.LogScale{}
	axis.Tick.Marker = logTicks{}
	if log < 0 {
		axis.Min, axis.Max = -axis.Max, -axis.Min
		axis.Scale, axis.Tick.Marker = negativeScale{}, negativeTicks{}
	}
}

// negativeScale is the logarithmic scale of negative numbers: the smaller in size, the higher.
type negativeScale struct{}

func (negativeScale) Normalize(low, high, v float64) float64 {
	return 1 - plot.LogScale{}.Normalize(-high, -low, -v)
}

// negativeTicks are the ticks of a negativeScale.
type negativeTicks struct{}

func (negativeTicks) Ticks(low, high float64) []plot.Tick {
	ticks := logTicks{}.Ticks(-high, -low)
	for i := range ticks {
		ticks[i].Value *= -1
		if ticks[i].Label != "" {
			ticks[i].Label = "−" + ticks[i].Label
		}
	}
	return ticks
}
