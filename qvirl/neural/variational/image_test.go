package variational

import (
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/command"
	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/backend"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/neuraltest"
)

// realFrames are n frame stacks of random play with random actions, the lengthscales, and the kernel that NumPy makes
// of them in double precision (testdata/images.py).
type realFrames struct {
	states       []uint8   // [n, 4, 84, 84]
	actions      []float32 // [n, |A|], one-hot
	names        string    // of the actions
	lengthscales []float32
	prior        *mat.SymDense // of the first compared
}

// compared is the number of states whose kernel NumPy computes, which takes time.
const compared = 40

func newRealFrames(t testing.TB, environment string, n int, m ImagePrior) realFrames {
	t.Helper()
	command.UseInstallation()
	path := filepath.Join(t.TempDir(), "frames.npz")
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	cmd := exec.Command(os.Getenv(command.PythonVariable), "testdata/images.py", environment, strconv.Itoa(n),
		strconv.Itoa(compared), strconv.Itoa(m.Levels), number(m.Patches), number(m.Motion), number(m.Pyramid),
		number(m.Pixels), path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the installed Python, with ale-py: %v", err)
	}
	a, err := npz.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	r := a.Under("")
	f := realFrames{names: strings.TrimSpace(string(out))}
	count := len(strings.Fields(f.names))
	for _, x := range r.Numbers("states", n, 4, 84, 84) {
		f.states = append(f.states, uint8(x))
	}
	f.actions = make([]float32, n*count)
	for i, a := range r.Numbers("actions", n) {
		f.actions[i*count+int(a)] = 1
	}
	for _, x := range r.Numbers("lengthscales", 3) {
		f.lengthscales = append(f.lengthscales, float32(x))
	}
	f.prior = mat.NewSymDense(compared, r.Numbers("prior", compared, compared))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestImageKernelIsThatOfNumPy on real frames, and it is positive definite on 500 of them with random actions.
func TestImageKernelIsThatOfNumPy(t *testing.T) {
	for environment, m := range map[string]ImagePrior{"ALE/Pong-v5": PongPrior(""),
		"ALE/SpaceInvaders-v5": SpaceInvadersPrior("")} {
		t.Run(filepath.Base(environment), func(t *testing.T) {
			const n = 500
			f := newRealFrames(t, environment, n, m)
			m.Actions = f.names
			if err := m.validate(); err != nil {
				t.Fatal(err)
			}
			choice, err := backend.Get("")
			if err != nil {
				t.Fatal(err)
			}
			exec := MustNewExec(choice.Backend, func(states, actions, scales *Node) *Node {
				return m.correlation(neural.Image{Frames: 4, Height: 84, Width: 84}, states, actions, scales)
			})
			out := exec.MustCall(tensors.FromFlatDataAndDimensions(f.states, 1, n, 4*84*84),
				tensors.FromFlatDataAndDimensions(f.actions, 1, n, len(f.actions)/n),
				tensors.FromFlatDataAndDimensions(f.lengthscales, 1, 3))[0]
			got, err := tensors.CopyFlatData[float32](out)
			if err != nil {
				t.Fatal(err)
			}
			worst, sum := 0.0, 0.0
			symmetric := mat.NewSymDense(n, nil)
			for i := range n {
				for k := range n {
					x := float64(got[i*n+k])
					if i < compared && k < compared {
						worst, sum = math.Max(worst, math.Abs(x-f.prior.At(i, k))), sum+x/compared/compared
					}
					symmetric.SetSym(min(i, k), max(i, k), x)
				}
			}
			if !(worst <= 1e-5) { // of a kernel of at most 1, in single precision
				t.Errorf("differs by up to %g from NumPy, want at most 1e-5", worst)
			}
			t.Logf("worst difference %.2g, mean correlation %.3f", worst, sum)
			var e mat.EigenSym
			if !e.Factorize(symmetric, false) {
				t.Fatal("no eigenvalues")
			}
			values := e.Values(nil)
			t.Logf("smallest eigenvalue %.3g, largest %.3g", values[0], values[n-1])
			if !(values[0] > 0) {
				t.Errorf("the smallest eigenvalue is %g, want a positive one", values[0])
			}
		})
	}
}

// ofImages returns the posterior of a small model of images after two steps.
func ofImages(t *testing.T, m neural.Image, d demo.Trajectory) *Posterior {
	c := neural.Default()
	c.Convolutions, c.Features, c.Hidden = []neural.Convolution{{Filters: 2, Size: 4, Stride: 4}}, 8, []int{8}
	c.Batch, c.Steps, c.ReportEvery, c.Folds, c.Backend = 8, 2, 1, 0, "go"
	models := neuraltest.Fit(t, &neural.Task{Observation: m.Size(), Image: m, Actions: 3, Discount: 0.9, Beta: 2,
		Runs: []neural.Run{{Demos: []demo.Trajectory{d}}}})(New(c, DefaultObjective(0.5)))
	p, err := NewPosterior(models[0])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestImageScalesOfAStillPicture: of pictures of which most are equal, lengthscales are distances of those that differ.
func TestImageScalesOfAStillPicture(t *testing.T) {
	m := neural.Image{Frames: 2, Height: 12, Width: 16}
	const n, size, white = 150, 12 * 16, 140
	d := demo.Trajectory{Actions: make([]int, n), Frames: &demo.Frames{Size: size, Stack: 2,
		Pixels: make([]uint8, size*(n+1))}}
	for i := white * size; i < len(d.Frames.Pixels); i++ {
		d.Frames.Pixels[i] = math.MaxUint8
	}
	scales := ofImages(t, m, d).parameter(paramImageScales)
	for i, want := range []float64{math.Sqrt2 * patchSize, patchSize, math.Sqrt(2 * size)} {
		if math.Abs(scales[i]-want) > 1e-5 {
			t.Errorf("lengthscale %d is %g, want %g", i, scales[i], want)
		}
	}
}

// TestRewardsOfImages: the posterior answers of a trajectory of pictures, and where an episode ends the reward is the
// value of the last action.
func TestRewardsOfImages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	m := neural.Image{Frames: 2, Height: 12, Width: 16}
	const n = 150 // more than the network is asked about at once
	d := demo.Trajectory{Terminated: true, Frames: &demo.Frames{Size: 12 * 16, Stack: 2,
		Pixels: make([]uint8, 12*16*(n+1))}}
	for i := range d.Frames.Pixels {
		d.Frames.Pixels[i] = uint8(random.Uint32())
	}
	for range n {
		d.Actions = append(d.Actions, random.IntN(3))
	}
	p := ofImages(t, m, d)
	of := TransitionsOf(&d)
	rewards, err := p.Rewards(of)
	if err != nil {
		t.Fatal(err)
	}
	values, err := p.Values(of.Observations[(n-1)*m.Size():])
	if err != nil {
		t.Fatal(err)
	}
	last := d.Actions[n-1]
	if len(rewards.Mean) != n || len(values.Mean) != 3 ||
		math.Abs(rewards.Mean[n-1]-values.Mean[last]) > 1e-6 || values.Mean[last] == 0 ||
		math.Abs(rewards.Std(n-1)-values.Std(last)) > 1e-6 || !(rewards.Std(0) > 0) {
		t.Errorf("%d rewards; the last is %g ± %g, its value %g ± %g", len(rewards.Mean), rewards.Mean[n-1],
			rewards.Std(n-1), values.Mean[last], values.Std(last))
	}
	pieces, err := p.ImageCorrelations(of.Observations[:2*m.Size()])
	if err != nil {
		t.Fatal(err)
	}
	distance2 := 0.0
	for i, x := range of.Observations[:m.Size()] {
		distance2 += float64(x-of.Observations[m.Size()+i]) * float64(x-of.Observations[m.Size()+i]) / 255 / 255
	}
	length := p.parameter(paramImageScales)[2]
	for j, k := range pieces {
		if math.Abs(k.At(0, 0)-1) > 1e-5 || math.Abs(k.At(1, 1)-1) > 1e-5 || !(k.At(0, 1) > 0 && k.At(0, 1) < 1) {
			t.Errorf("%s: the correlations are %v", ImagePieces[j], k.RawSymmetric().Data)
		}
	}
	if want := math.Exp(-distance2 / 2 / length / length); math.Abs(pieces[3].At(0, 1)-want) > 1e-5 {
		t.Errorf("the pixels' correlation is %g, want %g", pieces[3].At(0, 1), want)
	}
	if prior := p.Prior(); prior.Mean != -1 || math.Abs(prior.Std-0.5) > 1e-6 || prior.Lengthscales != nil {
		t.Errorf("the prior is %+v, want what it was", prior)
	}
}

func TestImagePriorsThatCannotBeAreRefused(t *testing.T) {
	for want, change := range map[string]func(*Objective){
		"weights of image sum to": func(o *Objective) { o.Image.Patches = 0.5 },
		"image.motion = -1":       func(o *Objective) { o.Image.Patches, o.Image.Motion = 1.9, -1 },
		"image.levels = 9":        func(o *Objective) { o.Image.Levels = 9 },
		"image.actions: word 1":   func(o *Objective) { o.Image.Actions = "NOOP JUMP" },
	} {
		o := DefaultObjective(0.5)
		o.Image = PongPrior("")
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
	image := neural.Image{Frames: 4, Height: 84, Width: 84}
	err := PongPrior("NOOP").check(image, 6)
	if err == nil || !strings.Contains(err.Error(), "1 actions do") {
		t.Errorf("error %v for a kernel of 1 action and 6 actions", err)
	}
	image.Frames = 1
	if err := PongPrior("").check(image, 6); err == nil || !strings.Contains(err.Error(), "at least 2 of 8 × 8") {
		t.Errorf("error %v for single pictures", err)
	}
}
