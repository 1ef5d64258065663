package expert

import (
	"fmt"
	"os"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/check"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
)

// Expert is a trained network with what made it. Its methods may be called from several goroutines.
type Expert struct {
	Description
	network network
}

// Description says what an expert is and how it came about.
type Description struct {
	Config Config `json:"config"`
	// ObservationShape is the shape of one observation, and Actions the number of actions.
	ObservationShape []int `json:"observation_shape"`
	Actions          int   `json:"actions"`
	// Versions are those of the packages that the environment came from, and Backend what computed.
	Versions map[string]string `json:"versions,omitempty"`
	Backend  string            `json:"backend,omitempty"`
	// Seconds is how long training took.
	Seconds float64 `json:"seconds"`
	// Evaluations are made at the end, with seeds that training did not see.
	Evaluations []Evaluation `json:"evaluations,omitempty"`
	// Curve is the course of training.
	Curve []Point `json:"curve"`
}

// Point is a point of the learning curve.
type Point struct {
	// Steps of the environments, and the episodes that ended, since training began.
	Steps    int `json:"steps"`
	Episodes int `json:"episodes"`
	// Return is the mean return of the expert as it is then, played greedily (but see Config.Best).
	Return float64 `json:"return"`
	// Ended is the share of these episodes that reached an end, and were not cut off.
	Ended float64 `json:"ended,omitempty"`
	// Loss is the mean quantile Huber loss since the point before.
	Loss float64 `json:"loss"`
	// Objective is the mean discounted return of the same episodes by Options.Rewards, and Played the number of steps
	// of all episodes of the curve so far; both are 0 without such rewards.
	Objective float64 `json:"objective,omitempty"`
	Played    int     `json:"played,omitempty"`
}

const (
	expertFormat = "birl-expert-1"
	maxNumbers   = 1 << 24 // bounds an array
)

// fileDescription is a description as it is stored.
type fileDescription struct {
	Format string `json:"format"`
	Description
	SHA256 string `json:"sha256"` // of the .npz file
}

// Values returns the mean quantile values [k, actions] of observations [k, …], on the scale of the environment's
// rewards.
func (e *Expert) Values(observations []float32) ([]float64, error) {
	quantiles, err := e.Quantiles(observations)
	if err != nil {
		return nil, err
	}
	n := e.Config.Quantiles
	out := make([]float64, len(quantiles)/n)
	for i := range out {
		out[i] = stat.Mean(quantiles[i*n:(i+1)*n], nil)
	}
	return out, nil
}

// ObservationSize returns how many numbers an observation has.
func (d *Description) ObservationSize() int {
	return (&demo.Description{ObservationShape: d.ObservationShape}).ObservationSize()
}

// Quantiles returns the quantiles [k, actions, N] of the return at the levels (2i − 1)/2N, for observations [k, …], on
// the scale of the environment's rewards.
func (e *Expert) Quantiles(observations []float32) ([]float64, error) {
	size := e.ObservationSize()
	if len(observations)%size != 0 {
		return nil, fmt.Errorf("expert: %d numbers are no observations of %d numbers each", len(observations), size)
	}
	return unscaled(e.network.forward(e.Config.features(observations), e.Config.Norm), e.Config.RewardScale), nil
}

// Write stores the network at path, which has to end in .npz, and the description in JSON beside it, see
// demo.WriteDescribed.
func (e *Expert) Write(path string) error {
	if err := demo.WriteDescribed(path, e.network.arrays(), func(sum string) any {
		return fileDescription{expertFormat, e.Description, sum}
	}); err != nil {
		return fmt.Errorf("expert: %w", err)
	}
	return nil
}

// Open reads what Write has stored, and checks all of it.
func Open(path string) (*Expert, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("expert: %w", err)
	}
	beside := demo.DescriptionPath(path)
	var d fileDescription
	if err := demo.ReadDescription(beside, expertFormat, &d); err != nil {
		return nil, fmt.Errorf("expert: %s is no expert's file with its description beside it, as \"qvirl expert "+
			"train\" writes them: %w", path, err)
	}
	if err := d.Config.Validate(); err != nil {
		return nil, fmt.Errorf("%w, in %s", err, beside)
	}
	size, err := demo.CheckShape(d.ObservationShape, maxNumbers)
	if err != nil {
		return nil, fmt.Errorf("expert: %s: %w", beside, err)
	}
	if d.Actions < 1 || d.Actions > maxNumbers/d.Config.Quantiles {
		return nil, fmt.Errorf("expert: %s gives %d actions", beside, d.Actions)
	}
	if err := check.First(d.Config.checkAlike(d.Actions), d.Config.checkUnits(size)); err != nil {
		return nil, fmt.Errorf("%w, in %s", err, beside)
	}
	a, err := npz.OpenSummed(path, d.SHA256, beside)
	if err != nil {
		return nil, fmt.Errorf("expert: %w", err)
	}
	defer a.Close()
	a.Limit = maxNumbers
	e := &Expert{Description: d.Description}
	if e.network, err = networkOf(d.Config.widths(size, d.Actions), a.Array); err != nil {
		return nil, fmt.Errorf("expert: %s: %w", path, err)
	}
	return e, nil
}
