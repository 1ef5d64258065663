package imitation

import (
	"encoding/json"
	"fmt"

	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural/avril"
	"github.com/go-birl/birl/qvirl/neural/cloning"
	"github.com/go-birl/birl/qvirl/neural/iqlearn"
)

// The names of the experiments that compare the baselines with their published results.
const (
	RivalsCartPole    = "rivals-cartpole"
	RivalsAcrobot     = "rivals-acrobot"
	RivalsLunarLander = "rivals-lunarlander"
)

// rivals returns the config of such an experiment: demonstrations of an expert that hardly ever errs, and the rivals
// with the objectives, networks and training of their authors' code. IQ-Learn's sees one transition in every so many,
// at the given temperature, and behaviour cloning the same with the same training; AVRIL's sees whole trajectories, and
// has β = 1.
func rivals(environment, demos string, every int, temperature float64) Config {
	c := paper()
	c.Environment, c.Demos, c.Discount, c.Beta = environment, demos, 0.99, 1
	c.Train, c.Validation, c.Test, c.Subsets, c.Runs = 75, 0, 25, 5, c.Runs[:5]
	c.Sizes = []int{1, 3, 15}
	c.Training.Hidden, c.Training.Unit, c.Training.Range, c.Training.WeightDecay = []int{64, 64}, 0, 0, 0
	c.Training.LearningRate, c.Training.Cosine, c.Training.Steps, c.Training.Folds = 1e-4, false, 5000, 0
	objective := fmt.Sprintf(`{"Training": {"Batch": 32}, "Objective": {"temperature": %g}}`, temperature)
	c.Learners = []Learner{
		{Name: cloning.Name, Method: cloning.Name, Every: every,
			Config: json.RawMessage(`{"Training": {"Batch": 32}}`)},
		{Name: iqlearn.Name, Method: iqlearn.Name, Every: every, Config: json.RawMessage(objective)},
		{Name: avril.Name, Method: avril.Name},
	}
	return c
}

// references are what the authors of rivals published: the mean returns in Fig. 2 of Garg et al. (2021), "Offline IL
// results", to a tenth: the coordinates of the curves in the paper's vector graphics. IQ-Learn's is the curve with χ².
// Those of AVRIL are multiples of five: they look as if they were read off the figure of Chan and van der Schaar
// (2021), whose setting that figure follows.
var references = map[string]figures{
	RivalsCartPole: {Return: {
		cloning.Name: {1: 170, 3: 300, 7: 400, 10: 450, 15: 500},
		iqlearn.Name: {1: 458.8, 3: 484.5, 7: 500, 10: 500, 15: 500},
		avril.Name:   {1: 380, 3: 430, 7: 410, 10: 425, 15: 500},
	}},
	RivalsAcrobot: {Return: {
		cloning.Name: {1: -160, 3: -90, 7: -74.9, 10: -74.9, 15: -74.9},
		iqlearn.Name: {1: -82.3, 3: -74.9, 7: -74.9, 10: -74.9, 15: -74.9},
		avril.Name:   {1: -300, 3: -150, 7: -95, 10: -74.9, 15: -74.9},
	}},
	RivalsLunarLander: {Return: {
		cloning.Name: {1: -49.9, 3: 69.3, 7: 243.2, 10: 252, 15: 260.2},
		iqlearn.Name: {1: 127.1, 3: 239.4, 7: 285, 10: 285, 15: 285},
		avril.Name:   {1: -120, 3: 105, 7: 200, 10: 220, 15: 230},
	}},
}

// rivalsDefinitions are the experiments as the command lists them.
func rivalsDefinitions() []experiment.Definition {
	var out []experiment.Definition
	for _, e := range []struct {
		name, environment, demos string
		every                    int
		temperature              float64
	}{
		{RivalsCartPole, "CartPole-v1", "results/expert-cartpole/demos.npz", 20, 0.001},
		{RivalsAcrobot, "Acrobot-v1", "results/expert-acrobot/demos.npz", 5, 0.01},
		// of the expert of the experiment LunarLander
		{RivalsLunarLander, "LunarLander-v3", "results/expert-lunarlander/demos-greedy.npz", 5, 0.001},
	} {
		paper := func() Config { return rivals(e.environment, e.demos, e.every, e.temperature) }
		out = append(out, define(e.name, titles[e.name]+", beside their published results: return and held-out "+
			"likelihood", func() Config { return quick(paper()) }, paper))
	}
	return out
}
