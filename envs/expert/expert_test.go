package expert

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/npz"
)

// someExpert returns an untrained one.
func someExpert() *Expert {
	c := Default("toy")
	c.Hidden, c.Quantiles = []int{6}, 5
	return &Expert{network: newNetwork(c.widths(3, 2), 7), Description: Description{
		Config: c, ObservationShape: []int{3}, Actions: 2, Curve: []Point{{Steps: 10, Episodes: 1, Return: 2.5,
			Loss: 0.5}},
		Evaluations: []Evaluation{{Policy: "greedy", Episodes: 3, Returns: demo.Returns{Mean: 1, Min: -1, Max: 2},
			Length: 4}},
	}}
}

func TestWriteAndOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "expert.npz")
	e := someExpert()
	if err := e.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	observations := npz.Narrow[float32](normals(4, 3*5, 1))
	want, err := e.Values(observations)
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Values(observations)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if want[i] == 0 || got[i] != want[i] {
			t.Errorf("value[%d] = %g, want %g", i, got[i], want[i])
		}
	}
	if back.Curve[0] != e.Curve[0] || back.Evaluations[0] != e.Evaluations[0] ||
		difference(back.Config, e.Config) != "" {
		t.Errorf("the description came back as %+v", back.Description)
	}
	if _, err := back.Values(observations[:4]); err == nil {
		t.Error("4 numbers were taken for observations of 3")
	}
}

func TestDamagedExpertsAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "expert.npz")
	if err := someExpert().Write(path); err != nil {
		t.Fatal(err)
	}
	beside := demo.DescriptionPath(path)
	whole := map[string][]byte{}
	for _, file := range []string{path, beside} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole[file] = text
	}
	for file, text := range whole {
		for _, n := range []int{0, 1, len(text) / 3, len(text) / 2, len(text) - 3} {
			if err := os.WriteFile(file, text[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "expert.") {
				t.Errorf("%s cut off after %d of %d bytes: error %v, want one that names the file", filepath.Base(file),
					n, len(text), err)
			}
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for old, changed := range map[string]string{
		`"actions": 2`: `"actions": 3`, `"quantiles": 5`: `"quantiles": 0`, `birl-expert-1`: `birl-expert-9`,
		"3\n  ],": "0\n  ],", `"sha256": "`: `"sha256": "0`,
		`"quantiles": 5,`: `"quantiles": 5, "scale": [1, 1, 1],`,
	} {
		text := strings.Replace(string(whole[beside]), old, changed, 1)
		if text == string(whole[beside]) {
			t.Fatalf("the description has no %q", old)
		}
		if err := os.WriteFile(beside, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%s in place of %s was accepted", changed, old)
		}
	}
}

func TestBoltzmannPolicyDrawsWhatItSays(t *testing.T) {
	e := someExpert()
	const beta, draws = 30, 4000
	observation := []float32{0.3, -1, 2}
	logProbs, err := e.LogProbs(observation, beta)
	if err != nil {
		t.Fatal(err)
	}
	values, err := e.Values(observation)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := logProbs[1]-logProbs[0], beta*(values[1]-values[0]); !scalar.EqualWithinAbs(got, want, 1e-9) ||
		want == 0 {
		t.Errorf("the log-probabilities differ by %g, want β × the difference of values, %g", got, want)
	}
	p := math.Exp(logProbs[0])
	if sum := p + math.Exp(logProbs[1]); !scalar.EqualWithinAbs(sum, 1, 1e-12) || p < 0.02 || p > 0.98 {
		t.Fatalf("the probability of action 0 is %g, the sum %g", p, sum)
	}
	var rows []float32
	for range draws {
		rows = append(rows, observation...)
	}
	actions, err := e.Boltzmann(beta)(array(rows, draws, 3), generators(draws))
	if err != nil {
		t.Fatal(err)
	}
	zeros := 0
	for _, a := range actions {
		zeros += 1 - a
	}
	if d := math.Abs(float64(zeros)/draws - p); d > 4*math.Sqrt(p*(1-p)/draws) { // 4 standard errors
		t.Errorf("action 0 in %d of %d draws, its probability is %.3f", zeros, draws, p)
	}
	greedy, err := e.Greedy()(array(observation, 1, 3), generators(1))
	if err != nil {
		t.Fatal(err)
	}
	if values[greedy[0]] < max(values[0], values[1]) {
		t.Errorf("the greedy action is %d, the values are %v", greedy[0], values)
	}
}

// array returns observations as an environment makes them.
func array(values []float32, shape ...int) gym.Array {
	a := gym.Array{DType: "float32", Shape: shape}
	for _, v := range values {
		bits := math.Float32bits(v)
		a.Bytes = append(a.Bytes, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	return a
}

func generators(n int) []*rand.Rand {
	out := make([]*rand.Rand, n)
	for i := range out {
		out[i] = rand.New(rand.NewPCG(5, uint64(i)))
	}
	return out
}

// TestGreedyShares: of two trajectories, one of the best actions and one of the others, half is greedy; all of it does
// what the best action does once both are held for alike.
func TestGreedyShares(t *testing.T) {
	e := someExpert()
	observations := npz.Narrow[float32](normals(8, 3*41, 1))
	values, err := e.Values(observations)
	if err != nil {
		t.Fatal(err)
	}
	best, others := demo.Trajectory{Observations: observations}, demo.Trajectory{Observations: observations}
	for i := 0; i < 80; i += 2 {
		a := floats.MaxIdx(values[i : i+2])
		best.Actions, others.Actions = append(best.Actions, a), append(others.Actions, 1-a)
	}
	best.Rewards, others.Rewards = make([]float64, 40), make([]float64, 40)
	set := &demo.Set{Trajectories: []demo.Trajectory{best, others}}
	set.ObservationShape, set.Actions = e.ObservationShape, 2
	for _, alike := range [][]int{nil, {0, 1}, {0, 0}} {
		e.Config.Alike = alike
		if err := e.annotate(set, 1); err != nil {
			t.Fatal(err)
		}
		share, counted := set.Statistics[GreedyAlike]
		if set.Statistics[GreedyActions] != 0.5 || counted != (alike != nil) ||
			counted && share != map[int]float64{1: 0.5, 0: 1}[alike[1]] {
			t.Errorf("alike %v: the shares are %v", alike, set.Statistics)
		}
	}
	path := filepath.Join(t.TempDir(), "expert.npz")
	e.Config.Alike = []int{0}
	if err := e.Write(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "alike =") {
		t.Errorf("error %v for one action's Alike of two", err)
	}
}

// TestProgressLeavesOutWhatIsNotThereYet: before the first episode has ended, and the first step of learning.
func TestProgressLeavesOutWhatIsNotThereYet(t *testing.T) {
	p := Progress{Steps: 16, Total: 160, Return: math.NaN(), Loss: math.NaN(), Epsilon: 1, StepsPerSecond: 700}
	if got, want := p.String(), "16 of 160 steps, 0 episodes, ε 1.00, 700 steps/s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	p.Episodes, p.Return, p.Loss = 2, 7.5, 0.25
	const want = "16 of 160 steps, 2 episodes, return 7.50, loss 0.2500, ε 1.00, 700 steps/s"
	if got := p.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
