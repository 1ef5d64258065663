package expert

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/npz"
)

// toyConfig is that of a learner of the two-state world below.
func toyConfig() Config {
	c := Default("toy")
	c.Hidden, c.Quantiles, c.Huber = []int{16}, 4, 0.01
	c.Batch, c.LearningRate, c.TargetRate = 64, 0.01, 0.05
	c.RewardScale = 0.5
	return c
}

// toyReplay holds each outcome of a world of two states in proportion to its probability. In state 0, action 0 ends the
// episode and pays 2 with probability ¾, else 0; action 1 leads to state 1 for nothing. In state 1 every action ends
// the episode: action 0 pays 0, 1, 2 or 3, action 1 takes 1. At γ = ½ the returns are known.
func toyReplay(scale float64) *replay {
	r := newReplay(2, 16)
	first, second := []float32{1, 0}, []float32{0, 1}
	for i := range 4 {
		r.add(transition{first, second, 0, scale * 2 * float64(min(i, 1)), 0})
		r.add(transition{first, second, 1, 0, 0.5})
		r.add(transition{second, first, 0, scale * float64(i), 0})
		r.add(transition{second, first, 1, -scale, 0})
	}
	return r
}

// toyQuantiles are the returns' quantiles at the levels ⅛, ⅜, ⅝, ⅞, by state and action.
var toyQuantiles = []float64{
	0, 2, 2, 2 /**/, 0, 0.5, 1, 1.5,
	0, 1, 2, 3 /**/, -1, -1, -1, -1,
}

func TestLearnsTheQuantilesOfAKnownWorld(t *testing.T) {
	c := toyConfig()
	l, err := newLearner(pureGo(t), c, 2, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	memory, random := toyReplay(c.RewardScale), rand.New(rand.NewPCG(1, 2))
	const steps = 4000
	for k := range steps {
		rate := c.LearningRate * (1 - float64(k)/steps)
		if _, err := l.learn(rate, memory.sample(batch{}, c.Batch, random)); err != nil {
			t.Fatal(err)
		}
	}
	n, err := l.network()
	if err != nil {
		t.Fatal(err)
	}
	e := &Expert{Description: Description{Config: c, Actions: 2, ObservationShape: []int{2}}, network: n}
	states := []float32{1, 0, 0, 1}
	got, err := e.Quantiles(states)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range toyQuantiles {
		if !scalar.EqualWithinAbs(got[i], want, 0.1) { // the step size and κ leave about half of that
			t.Errorf("state %d, action %d, quantile %d: %.3f, want %.3f", i/8, i/4%2, i%4, got[i], want)
		}
	}
	values, err := e.Values(states)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1.5, 0.75, 1.5, -1} {
		if !scalar.EqualWithinAbs(values[i], want, 0.07) {
			t.Errorf("value[%d] = %.3f, want %.3f", i, values[i], want)
		}
	}
	// The trained network on the backend and the target network in plain Go are the same but for the target's lag.
	online, err := l.values(states)
	if err != nil {
		t.Fatal(err)
	}
	for i := range online {
		if !scalar.EqualWithinAbs(online[i], values[i], 0.01) {
			t.Errorf("value[%d] = %.4f on the backend, %.4f in plain Go", i, online[i], values[i])
		}
	}
}

func TestBackendAndPlainGoAgree(t *testing.T) {
	for _, norm := range []bool{false, true} {
		backendAndPlainGoAgree(t, norm)
	}
}

func backendAndPlainGoAgree(t *testing.T, norm bool) {
	c := Default("any")
	c.Hidden, c.Magnify, c.Norm = []int{24, 16}, 1000, norm
	l, err := newLearner(pureGo(t), c, 8, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := l.network()
	if err != nil {
		t.Fatal(err)
	}
	e := &Expert{Description: Description{Config: c, Actions: 4, ObservationShape: []int{8}}, network: n}
	observations := npz.Narrow[float32](normals(3, 8*8, 1))
	onBackend, err := l.values(observations)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := e.Values(observations)
	if err != nil {
		t.Fatal(err)
	}
	spread := 0.0
	for i := range plain {
		spread = max(spread, math.Abs(plain[i]))
		if !scalar.EqualWithinAbs(plain[i], onBackend[i], 1e-5) {
			t.Errorf("value %d: %g on the backend, %g in plain Go", i, onBackend[i], plain[i])
		}
	}
	if spread < 1e-3 {
		t.Errorf("the values of a new network are all 0")
	}
}

func TestFreedLearnersHoldNothing(t *testing.T) {
	l, err := newLearner(pureGo(t), toyConfig(), 2, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	var held []*tensors.Tensor
	for v := range l.store.IterVariables() {
		value, err := v.Value()
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, value)
	}
	if len(held) == 0 || !held[0].Ok() {
		t.Fatalf("the learner has %d variables", len(held))
	}
	l.free()
	for i, value := range held {
		if value.Ok() {
			t.Errorf("variable %d is still held", i)
		}
	}
	if _, err := l.values([]float32{0, 0}); err == nil {
		t.Error("the program is still there")
	}
}

func TestFirstStateHasLearntNothing(t *testing.T) {
	c := toyConfig()
	l, err := newLearner(pureGo(t), c, 2, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	state, err := l.state()
	if err != nil {
		t.Fatal(err)
	}
	first := newNetwork(l.widths, c.Seed).arrays()
	seen := 0
	for name, a := range state {
		for _, scope := range []string{onlineScope, targetScope} {
			for layer, want := range first {
				if name == scope+"."+layer {
					seen++
					for i := range want.Data {
						if a.Data[i] != want.Data[i] {
							t.Fatalf("%s[%d] = %g, was drawn as %g", name, i, a.Data[i], want.Data[i])
						}
					}
				}
			}
		}
	}
	if want := 2 * len(first); seen != want || len(state) < 2*want {
		t.Errorf("the state has %d arrays of the networks, want %d, and %d in total", seen, want, len(state))
	}
}

func TestFeaturesTellSmallNumbersApart(t *testing.T) {
	c := Default("any")
	observation := []float32{0, 1e-3, -1, 0.5}
	if got := c.features(observation); &got[0] != &observation[0] || c.widths(4, 1)[0] != 4 {
		t.Error("the features are others than the observation, without Magnify")
	}
	c.Magnify = 1000
	got := c.features(observation)
	// asinh 1 = log(1 + √2), and asinh is odd.
	want := []float64{0, 0, 1e-3, math.Log(1+math.Sqrt2) / math.Asinh(1000), -1, -1, 0.5,
		math.Asinh(500) / math.Asinh(1000)}
	if len(got) != c.widths(4, 1)[0] {
		t.Fatalf("%d features, the network wants %d", len(got), c.widths(4, 1)[0])
	}
	for i := range want {
		if !scalar.EqualWithinAbs(float64(got[i]), want[i], 1e-6) {
			t.Errorf("feature %d is %g, want %g", i, got[i], want[i])
		}
	}
}

// Observations in kelvins and in ten-thousandths of a euro are, to the network, of the size of one.
func TestFeaturesSuitAnyUnits(t *testing.T) {
	c := Default("any")
	c.Center, c.Scale = []float64{294, 2e-4}, []float64{5, 1e-4}
	observations := []float32{294, 3e-4, 304, 2e-4}
	got := c.features(observations)
	for i, want := range []float64{0, 1, 2, 0} {
		if !scalar.EqualWithinAbs(float64(got[i]), want, 1e-4) {
			t.Errorf("feature %d is %g, want %g", i, got[i], want)
		}
	}
	if observations[0] != 294 {
		t.Error("the observations changed")
	}
	if err := c.checkUnits(2); err != nil {
		t.Error(err)
	}
	if err := c.checkUnits(3); err == nil {
		t.Error("two units suit three numbers")
	}
	c.Scale[1] = 0
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "scale =") {
		t.Errorf("a scale of 0 gives %v, want an error about Scale", err)
	}
}
