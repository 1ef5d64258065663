package neural

import (
	"fmt"
	"math"

	"github.com/go-birl/birl/envs/demo"
)

// Data are the n transitions of one run, with states in units of the run's scale.
type Data struct {
	Scale       *Scale
	Actions     int       // |A|
	State, Next []float32 // [n, observation]
	Action      []int32   // [n]
	NextAction  []int32   // [n]; −1 where the trajectory ends with the transition
	Discount    []float32 // [n]: γ, and 0 where the transition terminated the episode
	Starts      []int     // index of each trajectory's first transition

	// Image is the shape of states that are images, in bytes. Scale, State and Next are nil then; see Pixels.
	Image  Image
	frames []frame // [n]

	// Successors is the number m of successors of each transition, of which Next is one; 0 without further ones. Of all
	// of them, Successor [n, m, observation] are the states, the first one as in Next, and Weight [n, m] the weights
	// that their values have in a reward: γ by m, and 0 where the successor ended the episode; of equal ones the first
	// has the weight of all.
	Successors        int
	Successor, Weight []float32
}

// Len returns the number n of transitions.
func (d *Data) Len() int { return len(d.Action) }

// frame is the place of a transition of images: step of a trajectory.
type frame struct {
	of   *demo.Frames
	step int
}

// Pixels writes the image [frames, height, width] that transition i starts from, or with ahead 1 the one that it led
// to.
func (d *Data) Pixels(into []uint8, i, ahead int) {
	at := d.frames[i]
	at.of.Observation(into, at.step+ahead)
}

// newData takes trajectories, and the further successors of their transitions if there are any, apart.
func newData(trajectories []demo.Trajectory, successors []Successors, image Image, scale *Scale, actions int,
	discount float64) *Data {
	d := &Data{Image: image, Scale: scale, Actions: actions}
	size := d.size()
	for i := range trajectories {
		t := &trajectories[i]
		n := t.Len()
		d.Starts = append(d.Starts, d.Len())
		if image == (Image{}) {
			states := scale.Apply(t.Observations)
			d.State = append(d.State, states[:n*size]...)
			d.Next = append(d.Next, states[size:]...)
		} else {
			for k := range n {
				d.frames = append(d.frames, frame{t.Frames, k})
			}
		}
		for k, a := range t.Actions {
			next, factor := int32(-1), float32(discount)
			if k+1 < n {
				next = int32(t.Actions[k+1])
			} else if t.Terminated {
				factor = 0
			}
			d.Action, d.NextAction = append(d.Action, int32(a)), append(d.NextAction, next)
			d.Discount = append(d.Discount, factor)
		}
	}
	d.addSuccessors(trajectories, successors, discount)
	return d
}

// Scale is what the networks see observations in units of, feature by feature.
type Scale struct {
	Mean []float32 `json:"mean"` // what becomes 0
	Std  []float32 `json:"std"`  // the unit: a standard deviation, or Config.Unit
}

// validate refuses what is not the scale of observations of so many numbers. Images have none.
func (s *Scale) validate(observation int, image Image) error {
	if image != (Image{}) && s == nil {
		return nil
	}
	if s == nil || image != (Image{}) || len(s.Mean) != observation || len(s.Std) != observation {
		return fmt.Errorf("neural: the scale is not that of observations of %d numbers", observation)
	}
	for f := range s.Mean {
		if mean, std := float64(s.Mean[f]), float64(s.Std[f]); mean-mean != 0 || !(std > 0) || math.IsInf(std, 0) {
			return fmt.Errorf("neural: the scale of feature %d has mean %g and std %g, want finite numbers, the "+
				"second positive", f, mean, std)
		}
	}
	return nil
}

// constantFeature is the standard deviation, in relation to the feature's largest magnitude, below which it counts as
// constant: about the rounding errors of float32.
const constantFeature = 1e-6

// Features are standardised, before they are seen in multiples of Config.Unit, whose root mean square in the
// demonstrations is beyond largeFeature, or whose standard deviation is below offsetFeature of their mean: networks
// would see little of them beside the offset.
const (
	largeFeature  = 1
	offsetFeature = 0.02
)

// standardised tells whether a feature of these moments is standardised whatever Config.Unit.
func standardised(mean, std float64) bool {
	return math.Hypot(mean, std) > largeFeature || std > 0 && std < offsetFeature*math.Abs(mean)
}

// Standardised returns which features of demonstrations networks see standardised whatever Config.Unit.
func Standardised(demos []demo.Trajectory, observation int) []bool {
	mean, std := moments(demos, observation)
	out := make([]bool, observation)
	for f := range out {
		out[f] = standardised(mean[f], std[f])
	}
	return out
}

// standard returns the scale that standardises features of the given moments. One that does not vary, such as a leg
// that never touches the ground, is centred and otherwise left in its own unit.
func standard(mean, std []float64) *Scale {
	s := &Scale{Mean: make([]float32, len(mean)), Std: make([]float32, len(mean))}
	for f := range mean {
		s.Mean[f], s.Std[f] = float32(mean[f]), 1
		if std[f] > 0 {
			s.Std[f] = float32(std[f])
		}
	}
	return s
}

// scale returns the scale that networks see a run by; nil for images, which they see in multiples of the largest byte.
func (c Config) scale(demos []demo.Trajectory, observation int, image Image) *Scale {
	if image != (Image{}) {
		return nil
	}
	mean, std := moments(demos, observation)
	s := standard(mean, std)
	if c.Unit == 0 {
		return s
	}
	for f := range mean {
		if standardised(mean[f], std[f]) {
			s.Std[f] *= 2 * float32(c.Unit)
		} else {
			s.Mean[f], s.Std[f] = 0, float32(c.Unit)
		}
	}
	return s
}

// moments returns the mean and the standard deviation of each feature of the states in which an action was taken; 0 for
// the deviation of one that does not vary.
func moments(trajectories []demo.Trajectory, observation int) (mean, std []float64) {
	mean, square, largest := make([]float64, observation), make([]float64, observation), make([]float64, observation)
	n := demo.Transitions(trajectories)
	each := func(visit func(feature int, x float64)) {
		for i := range trajectories {
			t := &trajectories[i]
			for k, x := range t.Observations[:t.Len()*observation] {
				visit(k%observation, float64(x))
			}
		}
	}
	each(func(f int, x float64) {
		mean[f] += x / float64(n)
		largest[f] = max(largest[f], math.Abs(x))
	})
	each(func(f int, x float64) { square[f] += (x - mean[f]) * (x - mean[f]) / float64(n) })
	std = make([]float64, observation)
	for f := range std {
		if deviation := math.Sqrt(square[f]); deviation > constantFeature*largest[f] {
			std[f] = deviation
		}
	}
	return mean, std
}

// Apply returns the observations in units of the scale [n, observation].
func (s *Scale) Apply(observations []float32) []float32 {
	out := make([]float32, len(observations))
	for i, x := range observations {
		f := i % len(s.Mean)
		out[i] = (x - s.Mean[f]) / s.Std[f]
	}
	return out
}
