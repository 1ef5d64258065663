package inferencedata

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/cloning"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// lineTrajectory is of a walk on a line, towards 0.
func lineTrajectory(seed uint64, steps int) demo.Trajectory {
	rng := rand.New(rand.NewPCG(seed, 0))
	x := 3 * rng.NormFloat64()
	t := demo.Trajectory{Observations: []float32{float32(x)}, Terminated: true}
	for range steps {
		a := 1
		if x > 0 {
			a = 0
		}
		x += []float64{-0.5, 0.5}[a] + 0.1*rng.NormFloat64()
		t.Actions, t.Observations = append(t.Actions, a), append(t.Observations, float32(x))
		t.Rewards = append(t.Rewards, -math.Abs(x))
	}
	return t
}

// trainLine returns a model that a method has learnt from walks on the line.
func trainLine(t testing.TB, build func(neural.Config) (neural.Method, error)) *neural.Fitted {
	t.Helper()
	c := neural.Default()
	c.Hidden, c.Batch, c.AuxBatch, c.Steps, c.ReportEvery, c.Folds, c.Backend = []int{8}, 12, 12, 50, 50, 0, "go"
	task := &neural.Task{Observation: 1, Actions: 2, Discount: 0.9, Beta: 2,
		Runs: []neural.Run{{Demos: []demo.Trajectory{lineTrajectory(1, 20), lineTrajectory(2, 20)}}}}
	return neuraltest.Fit(t, task)(build(c))[0]
}

func trainQVIRL(t testing.TB) *neural.Fitted {
	return trainLine(t, func(c neural.Config) (neural.Method, error) {
		return variational.New(c, variational.DefaultObjective(1))
	})
}

// Draws along a trajectory have the moments that the model states in closed form, within 5 standard errors; the
// rewards' mean is Clark's to within his error for two actions; and what is derived from them follows from its
// definition.
func TestTrajectory(t *testing.T) {
	const draws = 4000
	m, walk := trainQVIRL(t), lineTrajectory(3, 12)
	root, err := NewTrajectory(m, &walk, Options{Draws: draws, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	matrix := func(group, name string, columns int) *mat.Dense {
		return mat.NewDense(draws, columns, find(t, root, group, name).Data.([]float64))
	}
	n := walk.Len()
	q, value := matrix("posterior", "q", 2*n), matrix("posterior", "value", n)
	reward, prior := matrix("posterior", "reward", n), matrix("prior", "reward", n)
	logs := matrix("log_likelihood", demonstrated, n)
	post, err := variational.NewPosterior(m)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := post.Values(walk.Observations)
	if err != nil {
		t.Fatal(err)
	}
	rewards, err := post.Rewards(variational.TransitionsOf(&walk))
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, i int, x mat.Vector, mean, std, within float64) {
		t.Helper()
		column := mat.Col(nil, 0, x)
		gotMean, gotStd := stat.MeanStdDev(column, nil)
		if !(math.Abs(gotMean-mean) <= (5/math.Sqrt(draws)+within)*std) ||
			!(math.Abs(gotStd-std) <= (5/math.Sqrt(2*draws)+within)*std) || !(gotStd > 0) {
			t.Errorf("%s %d is %g ± %g, want %g ± %g", what, i, gotMean, gotStd, mean, std)
		}
	}
	for i := range 2 * n {
		near("value of pair", i, q.ColView(i), exact.Mean[i], exact.Std(i), 0)
	}
	for i := range n {
		near("reward", i, reward.ColView(i), rewards.Mean[i], rewards.Std(i), 0.03)
		near("prior reward", i, prior.ColView(i), post.Prior().Mean, post.Prior().Std, 0)
	}
	// Two steps' rewards correlate by the kernel over observation and one-hot action, within 5 standard errors.
	lengths := post.Prior().Lengthscales
	for i, a := range walk.Actions {
		for k, b := range walk.Actions[:i] {
			square := math.Pow(float64(walk.Observations[i]-walk.Observations[k])/lengths[0], 2)
			if a != b {
				square += 1/(lengths[1]*lengths[1]) + 1/(lengths[2]*lengths[2])
			}
			want := math.Exp(-square / 2)
			got := stat.Correlation(mat.Col(nil, i, prior), mat.Col(nil, k, prior), nil)
			if !(math.Abs(got-want) <= 5*(1-want*want)/math.Sqrt(draws)+1e-6) {
				t.Errorf("prior rewards %d and %d correlate by %g, want %g", k, i, got, want)
			}
		}
	}
	for d := range draws {
		for i, a := range walk.Actions {
			left, right := q.At(d, 2*i), q.At(d, 2*i+1)
			if value.At(d, i) != math.Max(left, right) {
				t.Fatalf("draw %d, step %d: the value is %g of %g and %g", d, i, value.At(d, i), left, right)
			}
			if want := -math.Log1p(math.Exp(2 * (q.At(d, 2*i+1-a) - q.At(d, 2*i+a)))); math.Abs(logs.At(d, i)-
				want) > 1e-9*(1-want) {
				t.Fatalf("draw %d, step %d: log-likelihood %g, want %g", d, i, logs.At(d, i), want)
			}
			want := q.At(d, 2*i+a)
			if i < n-1 { // the last step ends the episode
				want -= 0.9 * value.At(d, i+1)
			}
			if math.Abs(reward.At(d, i)-want) > 1e-12*(1+math.Abs(want)) {
				t.Fatalf("draw %d, step %d: reward %g, want %g", d, i, reward.At(d, i), want)
			}
		}
	}
	if got := find(t, root, "constant_data", "environment_reward").Data.([]float64); got[3] != walk.Rewards[3] {
		t.Errorf("the environment's rewards are %v, want %v", got, walk.Rewards)
	}
	if err := WriteTrajectory(filepath.Join(t.TempDir(), "x.nc"), m, &walk, Options{Draws: 10}); err != nil {
		t.Error(err)
	}
}

func TestTrajectorySaysWhatIsWrong(t *testing.T) {
	m := trainQVIRL(t)
	good, long, wide, other := lineTrajectory(3, 5), lineTrajectory(3, 2100), lineTrajectory(3, 5), lineTrajectory(3, 5)
	wide.Observations = append(wide.Observations, wide.Observations...)
	other.Actions[2] = 2
	clone := trainLine(t, func(c neural.Config) (neural.Method, error) { return cloning.New(c) })
	for want, err := range map[string]error{
		"1 draws":                              second(NewTrajectory(m, &good, Options{Draws: 1})),
		"at most 2047 steps":                   second(NewTrajectory(m, &long, Options{Draws: 2})),
		"12 numbers":                           second(NewTrajectory(m, &wide, Options{Draws: 2})),
		"action[2] is 2":                       second(NewTrajectory(m, &other, Options{Draws: 2})),
		"want a model of qvirl, got one of bc": second(NewTrajectory(clone, &good, Options{Draws: 2})),
		"0 actions with 0 number":              second(NewTrajectory(m, &demo.Trajectory{}, Options{Draws: 2})),
		"one of pictures":                      second(NewTrajectory(ofPictures(t), &good, Options{Draws: 2})),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// ofPictures returns a model that has hardly learnt from one episode of pictures of 4 × 4.
func ofPictures(t *testing.T) *neural.Fitted {
	t.Helper()
	c := neural.Default()
	c.Hidden, c.Batch, c.Steps, c.ReportEvery, c.Folds, c.Backend = []int{2}, 2, 1, 1, 0, "go"
	c.Convolutions, c.Features = []neural.Convolution{{Filters: 1, Size: 3, Stride: 1}}, 2
	return neuraltest.Fit(t, &neural.Task{Observation: 16, Image: neural.Image{Frames: 1, Height: 4,
		Width: 4}, Actions: 2, Discount: 0.9, Beta: 1, Runs: []neural.Run{{Demos: []demo.Trajectory{{
		Frames: &demo.Frames{Pixels: make([]uint8, 48), Size: 16, Stack: 1}, Actions: []int{0, 1}}}}},
	})(cloning.New(c))[0]
}

func second[T any](_ T, err error) error { return err }
