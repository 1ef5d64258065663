package neural

import (
	"slices"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/go-birl/birl/envs/demo"
)

// heldOutLimit is the most transitions that the held-out log-likelihood is computed on while training: evenly spaced
// ones, where there are more.
const heldOutLimit = 2048

// heldOut are transitions that several runs are watched on.
type heldOut struct {
	actions []int
	states  []*tensors.Tensor // blocks [runs, n, observation], in units of each run's scale
}

func newHeldOut(trajectories []demo.Trajectory, runs []*Data) *heldOut {
	h := &heldOut{}
	all := make([]*Data, len(runs))
	for r, d := range runs {
		all[r] = newData(trajectories, nil, d.Image, d.Scale, d.Actions, 0)
	}
	total := all[0].Len()
	n, block := min(total, heldOutLimit), slices.Max(blocks(all[0].Image))
	if n > block { // whole blocks, as each size of one is compiled for
		n -= n % block
	}
	var chosen []int
	for i, a := range all[0].Action {
		if i*n/total != (i+1)*n/total {
			chosen, h.actions = append(chosen, i), append(h.actions, int(a))
		}
	}
	for part := range slices.Chunk(chosen, block) {
		var block states
		for _, d := range all {
			for _, i := range part {
				block.add(d, i, 0)
			}
		}
		h.states = append(h.states, block.tensor(len(runs), len(part), all[0].size()))
	}
	return h
}

// logLikelihood returns the mean log-likelihood of the actions, by run.
func (h *heldOut) logLikelihood(p *program, v *vectors) ([]float64, error) {
	predictors, err := p.predictors(v)
	if err != nil {
		return nil, err
	}
	var means []float64
	actions := h.actions
	for _, states := range h.states {
		runs, n := states.Shape().Dim(0), states.Shape().Dim(1)
		figures, err := p.of(v.trained, v.fixed, states)
		if err != nil {
			return nil, err
		}
		out := figures[0]
		if means == nil {
			means = make([]float64, runs)
		}
		size, each := len(out)/runs, p.encoder.actions
		logProbs, values := make([]float32, n*each), make([]float32, n*each)
		for r := range means {
			predictors[r](out[r*size:][:size], logProbs, values)
			for i, a := range actions[:n] {
				means[r] += float64(logProbs[i*each+a]) / float64(len(h.actions))
			}
		}
		actions = actions[n:]
	}
	return means, nil
}
