package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/spf13/cobra"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/peerbench"
	"github.com/go-birl/birl/envs/training"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/cost"
	"github.com/go-birl/birl/qvirl/experiment"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/cloning"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// observedAtOnce is the number of observations of a great prediction.
const observedAtOnce = 10_000

// stepsOptions say what bench steps measures.
type stepsOptions struct {
	python, backend, out string
	images               bool
	turns, steps         int // turns of each, and steps of a turn
}

// few returns the steps of a turn of what takes much longer than a step.
func (o stepsOptions) few() int { return (o.steps + 9) / 10 }

// The network's input and output at the paper's size in Lunar Lander.
const paperObservation, paperActions = 8, 4

//go:embed peers/turns.py peers/step.py peers/images.py
var stepPeers embed.FS

// newBenchSteps is the command that measures what a training step and a prediction of networks cost.
func newBenchSteps() *cobra.Command {
	var o stepsOptions
	c := &cobra.Command{
		Use:   "steps",
		Short: "Measure what a training step and a prediction of networks cost, beside PyTorch and JAX",
		Long: `steps measures networks of the paper's size (8 features, 4 actions, two layers of 128 units): a training
step of QVIRL, of 64 demonstrated and 64 auxiliary transitions, for one run and for ten (on a CPU in two
programs, side by side); a prediction for one observation, and for ten thousand, beside a product of
matrices of the same shape as the network's widest layer. All take turns, so that other load on the
machine slows all alike, and medians are shown.

--images adds a training step of a classifier of images: 128 stacks of four of 84 × 84, and the network of
Mnih et al. (2015).

--python names a Python with torch and jax, in which the same steps, in eager PyTorch and in jitted JAX, also take
turns, on as many threads.

--out names a folder, in which the table is kept as ` + "`steps.csv`" + `, with a description of the machine.`,
		Example: `  qvirl bench steps
  qvirl bench steps --python /path/of/python --out results/bench`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.turns < 1 || o.steps < 1 {
				return fmt.Errorf("--turns %d, --steps %d: want at least 1", o.turns, o.steps)
			}
			return benchSteps(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.python, "python", "", "the Python that has torch and jax")
	f.StringVar(&o.out, "out", "", "folder for steps.csv")
	f.BoolVar(&o.images, "images", false, "a step from images, too")
	f.StringVar(&o.backend, "backend", "", "xla or go (default: GOMLX_BACKEND, else the best there is)")
	f.IntVar(&o.turns, "turns", 9, "turns of each")
	f.IntVar(&o.steps, "steps", 100, "training steps of a turn")
	return c
}

// contestant is what takes turns.
type contestant struct {
	name string
	// turn returns how long one of what is counted took.
	turn func() (time.Duration, error)
	// work is the number of multiplications in one; 0 where they are not counted.
	work float64
	// beside is the name of the one that it is shown in relation to.
	beside string
	// against is the name of the one as a share of whose rate its own is shown.
	against string
}

// The names of the training step of one run, and of one from images.
const (
	oneRun     = "step, one run"
	fromImages = "step from images"
)

// benchSteps lets all take turns, and prints the medians.
func benchSteps(ctx context.Context, o stepsOptions, out io.Writer) error {
	choice, err := backend.Get(o.backend)
	if err != nil {
		return err
	}
	var r race
	defer r.close()
	if err := r.enter(ctx, o, choice.Backend); err != nil {
		return err
	}
	median, err := r.medians(ctx, o.turns)
	if err != nil {
		return err
	}
	rows := r.table(median)
	fmt.Fprintf(out, "%s, %d threads, medians of %d turns\n", choice.Backend.Name(), runtime.GOMAXPROCS(0), o.turns)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil || o.out == "" {
		return err
	}
	return cost.WriteSteps(o.out, rows, experiment.ThisMachine(o.backend))
}

// race is all that takes turns.
type race struct {
	contestants []contestant
	peers       []*peerbench.Peer // the processes of some of them
}

// close ends the processes.
func (r *race) close() {
	for _, peer := range r.peers {
		peer.Close()
	}
}

// enter adds all contestants, compiled: the steps and predictions of QVIRL's networks, then the step from images and
// the peers.
func (r *race) enter(ctx context.Context, o stepsOptions, on compute.Backend) error {
	if err := r.enterPeers(ctx, o, "step.py", "step", oneRun, o.steps); err != nil {
		return err
	}
	if o.images {
		c, err := imagesStepping(ctx, o)
		if err != nil {
			return err
		}
		r.contestants = append(r.contestants, c)
		if err := r.enterPeers(ctx, o, "images.py", fromImages, fromImages, o.few()); err != nil {
			return err
		}
	}
	one, model, err := stepping(ctx, o, 1)
	if err != nil {
		return err
	}
	ten, _, err := stepping(ctx, o, 10)
	if err != nil {
		return err
	}
	predictions, err := predicting(model, on, o)
	if err != nil {
		return err
	}
	r.contestants = slices.Concat([]contestant{one, ten}, predictions, r.contestants)
	return nil
}

// enterPeers adds a script's training step of each library, if there is a Python.
func (r *race) enterPeers(ctx context.Context, o stepsOptions, script, name, beside string, steps int) error {
	if o.python == "" {
		return nil
	}
	for _, library := range []string{"torch", "jax"} {
		peer, err := startStepPeer(ctx, o, script, library, steps)
		if err != nil {
			return err
		}
		r.peers = append(r.peers, peer)
		r.contestants = append(r.contestants, contestant{name: name + ", " + library, turn: peer.Turn, beside: beside})
	}
	return nil
}

// medians lets all take turns, and returns by name how many seconds one of what is counted took.
func (r *race) medians(ctx context.Context, turns int) (map[string]float64, error) {
	took := map[string][]float64{}
	for range turns {
		for _, c := range r.contestants {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			t, err := c.turn()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			took[c.name] = append(took[c.name], t.Seconds())
		}
	}
	median := map[string]float64{}
	for name, seconds := range took {
		slices.Sort(seconds)
		median[name] = seconds[turns/2]
	}
	return median, nil
}

// table shows the medians, with a header.
func (r *race) table(median map[string]float64) [][]string {
	rates := map[string]float64{}
	for _, c := range r.contestants {
		rates[c.name] = c.work / median[c.name]
	}
	rows := [][]string{{"what", "ms", "GMAC/s", "in relation to"}}
	for _, c := range r.contestants {
		rate, relation := "–", "–"
		if c.work > 0 {
			rate = fmt.Sprintf("%.1f", rates[c.name]/1e9)
		}
		switch {
		case c.beside != "":
			relation = fmt.Sprintf("%.2f × %s", median[c.name]/median[c.beside], c.beside)
		case c.against != "":
			relation = fmt.Sprintf("%.1f %% of the rate of %s", 100*rates[c.name]/rates[c.against], c.against)
		}
		rows = append(rows, []string{c.name, fmt.Sprintf("%.3f", 1e3*median[c.name]), rate, relation})
	}
	return rows
}

// stepping returns what trains so many runs, compiled, and the first of its models.
func stepping(ctx context.Context, o stepsOptions, runs int) (contestant, neural.Model, error) {
	c := neural.Default()
	c.Steps, c.ReportEvery, c.Folds, c.Backend = 2*o.steps, o.steps, 0, o.backend
	method, err := variational.New(c, variational.DefaultObjective(1))
	if err != nil {
		return contestant{}, nil, err
	}
	task := &neural.Task{Observation: paperObservation, Actions: paperActions, Discount: 0.99, Beta: 3}
	for r := range uint64(runs) {
		task.Runs = append(task.Runs, neural.Run{Demos: noise(2*r, 3), Aux: noise(2*r+1, 5), Seed: r})
	}
	out, model, err := trains(ctx, oneRun, method, task)
	if err != nil {
		return contestant{}, nil, err
	}
	// Both ends of all transitions go forwards, and backwards for the gradients of inputs and of weights.
	weights, _ := weightsOf(model)
	rows := 2 * (c.Batch + c.AuxBatch) * runs
	out.work = 3 * float64(rows) * weights
	if runs > 1 {
		out.name, out.beside = fmt.Sprintf("step, %d runs", runs), oneRun
	}
	return out, model, nil
}

// imagesStepping returns what trains a classifier of images, compiled.
func imagesStepping(ctx context.Context, o stepsOptions) (contestant, error) {
	const frames, side, actions, length = 4, 84, 6, 300
	c := neural.Default()
	c.Steps, c.ReportEvery, c.Folds, c.Backend, c.Batch = 2*o.few(), o.few(), 0, o.backend, 128
	method, err := cloning.New(c)
	if err != nil {
		return contestant{}, err
	}
	random := rand.New(rand.NewPCG(1, 3))
	t := demo.Trajectory{Frames: &demo.Frames{Size: side * side, Stack: frames,
		Pixels: make([]uint8, (length+1)*side*side)}}
	for i := range t.Frames.Pixels {
		t.Frames.Pixels[i] = uint8(random.Uint32())
	}
	for range length {
		t.Actions = append(t.Actions, random.IntN(actions))
	}
	out, _, err := trains(ctx, fromImages, method, &neural.Task{Observation: frames * side * side, Actions: actions,
		Image: neural.Image{Frames: frames, Height: side, Width: side}, Discount: 0.99, Beta: 3,
		Runs: []neural.Run{{Demos: []demo.Trajectory{t}}}})
	return out, err
}

// trains returns what trains by a method, compiled, and the first of its models.
func trains(ctx context.Context, name string, method neural.Method, task *neural.Task) (contestant, neural.Model,
	error) {
	var latest time.Duration
	task.Watch = func(p neural.Point) { // the last point's steps were compiled long since
		latest = time.Duration(float64(time.Second) / p.StepsPerSecond)
	}
	models, err := method.Fit(ctx, task, nil)
	if err != nil {
		return contestant{}, nil, err
	}
	return contestant{name: name, turn: func() (time.Duration, error) {
		_, err := method.Fit(ctx, task, nil)
		return latest, err
	}}, models[0], nil
}

// noise returns trajectories without meaning.
func noise(seed uint64, count int) []demo.Trajectory {
	const length = 300
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]demo.Trajectory, count)
	for i := range out {
		out[i].Observations = standardNormals(random, paperObservation*(length+1))
		for range length {
			out[i].Actions = append(out[i].Actions, random.IntN(paperActions))
		}
	}
	return out
}

func standardNormals(random *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(random.NormFloat64())
	}
	return out
}

// weightsOf returns the number of a network's weights, which is that of the multiplications for an observation, and the
// inputs of its widest layer.
func weightsOf(m neural.Model) (count float64, width int) {
	for _, p := range m.(*neural.Fitted).Parameters() {
		if dims := p.Dims; len(dims) == 2 {
			count += float64(dims[0] * dims[1])
			width = max(width, dims[0])
		}
	}
	return count, width
}

// predicting returns predictions of a model, and a product of matrices as that of its widest layer.
func predicting(m neural.Model, on compute.Backend, o stepsOptions) ([]contestant, error) {
	weights, width := weightsOf(m)
	random := rand.New(rand.NewPCG(1, 2))
	observations := standardNormals(random, paperObservation*observedAtOnce)
	predict := func(n, times int) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			began := time.Now()
			for range times {
				if _, err := m.Predict(observations[:n*paperObservation]); err != nil {
					return 0, err
				}
			}
			return time.Since(began) / time.Duration(times), nil
		}
	}
	product := graph.MustNewExec(on, func(x, y *graph.Node) *graph.Node { return graph.Dot(x, y).Product() })
	matrix := func(rows int) *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(standardNormals(random, rows*width), rows, width)
	}
	x, y := matrix(observedAtOnce), matrix(width)
	multiply := func() (time.Duration, error) {
		began := time.Now()
		for range o.few() {
			out, err := training.Call("bench", "a product of matrices", product, x, y)
			if err != nil {
				return 0, err
			}
			training.Finalize(out...)
		}
		return time.Since(began) / time.Duration(o.few()), nil
	}
	many := fmt.Sprintf("prediction, %d observations", observedAtOnce)
	layer := fmt.Sprintf("product, %d × %d by %d × %d", observedAtOnce, width, width, width)
	all := []contestant{
		{name: "prediction, 1 observation", turn: predict(1, 10*o.steps)},
		{name: many, turn: predict(observedAtOnce, o.few()), work: weights * observedAtOnce, against: layer},
		{name: layer, turn: multiply, work: float64(observedAtOnce * width * width)},
	}
	for _, c := range all { // compiles
		if _, err := c.turn(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// startStepPeer starts a script's training step of a library in Python, and waits until it is compiled.
func startStepPeer(ctx context.Context, o stepsOptions, script, library string, steps int) (*peerbench.Peer, error) {
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, stepPeers); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, o.python, filepath.Join(dir, "peers", script), "time", library,
		strconv.Itoa(steps), strconv.Itoa(runtime.GOMAXPROCS(0)))
	cmd.Stderr = os.Stderr
	peer, err := peerbench.Start(cmd)
	if err != nil {
		return nil, err
	}
	if _, err := peer.Turn(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: does %s import it?", library, o.python), err, peer.Close())
	}
	return peer, nil
}
