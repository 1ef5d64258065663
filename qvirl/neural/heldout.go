package neural

import (
	"fmt"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
)

// heldOutLimit is the most transitions that the held-out log-likelihood is computed on while training: evenly spaced
// ones, where there are more.
const heldOutLimit = 2048

// heldOut are transitions that several runs are watched on.
type heldOut struct {
	actions []int
	states  *tensors.Tensor // [runs, n, observation], in units of each run's scale
}

func newHeldOut(trajectories []demo.Trajectory, runs []*Data) *heldOut {
	h := &heldOut{}
	total := 0
	for i := range trajectories {
		total += trajectories[i].Len()
	}
	n := min(total, heldOutLimit)
	var states []float32
	at, size := 0, runs[0].size()
	for i := range trajectories {
		t := &trajectories[i]
		for k, a := range t.Actions {
			if at*n/total != (at+1)*n/total {
				h.actions = append(h.actions, a)
				states = append(states, t.Observations[k*size:(k+1)*size]...)
			}
			at++
		}
	}
	var all []float32
	for _, d := range runs {
		all = append(all, d.Scale.Apply(states)...)
	}
	h.states = tensors.FromFlatDataAndDimensions(all, len(runs), n, size)
	return h
}

// logLikelihood returns the mean log-likelihood of the actions, by run.
func (h *heldOut) logLikelihood(p *program, v *vectors) ([]float64, error) {
	out, err := call("the held-out log-likelihood", p.predict, v.trained, v.fixed, h.states)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, t := range out {
			t.MustFinalizeAll()
		}
	}()
	logProbs, err := tensors.CopyFlatData[float32](out[0])
	if err != nil {
		return nil, fmt.Errorf("neural: reading the held-out log-likelihood: %w", err)
	}
	n, actions := len(h.actions), p.encoder.actions
	means := make([]float64, len(logProbs)/(n*actions))
	for r := range means {
		for i, a := range h.actions {
			means[r] += float64(logProbs[(r*n+i)*actions+a]) / float64(n)
		}
	}
	return means, nil
}
