package active

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/demo"
	"github.com/go-birl/birl/envs/expert"
	"github.com/go-birl/birl/envs/gym"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/envs/npz"
	"github.com/go-birl/birl/qvirl/active"
	"github.com/go-birl/birl/qvirl/neural"
	"github.com/go-birl/birl/qvirl/neural/variational"
)

// plane is a world without chance: a point, whose first coordinate actions 0 and 1 change by ∓½, and whose second one
// action 2 changes by ½. An episode ends where the second one exceeds 3.
type plane struct{}

func move(at [2]float32, action int) (next [2]float32, ended bool) {
	next = at
	switch action {
	case 0:
		next[0] -= 0.5
	case 1:
		next[0] += 0.5
	default:
		next[1] += 0.5
	}
	return next, next[1] > 3
}

func snapshot(t *testing.T, at [2]float32) gym.Snapshot {
	t.Helper()
	text, err := json.Marshal(at)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func array(states [][2]float32) gym.Array {
	out := gym.Array{DType: "float32", Shape: []int{len(states), 2}}
	for _, s := range states {
		for _, x := range s {
			out.Bytes = binary.LittleEndian.AppendUint32(out.Bytes, math.Float32bits(x))
		}
	}
	return out
}

// Continue takes the episodes step by step, those that are under way side by side, as gym.Pool does.
func (plane) Continue(_ context.Context, snapshots []gym.Snapshot, steps int, choose gym.Chooser) ([]demo.Trajectory,
	error) {
	out, at := make([]demo.Trajectory, len(snapshots)), make([][2]float32, len(snapshots))
	for i, s := range snapshots {
		if err := json.Unmarshal(s, &at[i]); err != nil {
			return nil, err
		}
		out[i].Observations = slices.Clone(at[i][:])
	}
	for range steps {
		var which []int
		var now [][2]float32
		for i := range out {
			if !out[i].Terminated {
				which, now = append(which, i), append(now, at[i])
			}
		}
		actions, err := choose(which, array(now))
		if err != nil {
			return nil, err
		}
		for k, i := range which {
			at[i], out[i].Terminated = move(at[i], actions[k])
			out[i].Actions = append(out[i].Actions, actions[k])
			out[i].Observations = append(out[i].Observations, at[i][:]...)
		}
	}
	return out, nil
}

// demonstrate returns trajectories towards the line on which the first coordinate is 0, of one who errs sometimes.
func demonstrate(seed uint64, count int) []demo.Trajectory {
	rng := rand.New(rand.NewPCG(seed, 0))
	out := make([]demo.Trajectory, count)
	for i := range out {
		at := [2]float32{float32(2 * rng.NormFloat64()), -2}
		out[i] = demo.Trajectory{Observations: slices.Clone(at[:]), Seed: int64(i)}
		for range 15 {
			a := rng.IntN(3)
			if rng.IntN(10) > 0 {
				a = 1
				if at[0] > 0 {
					a = 0
				}
			}
			at, _ = move(at, a)
			out[i].Actions = append(out[i].Actions, a)
			out[i].Observations = append(out[i].Observations, at[:]...)
		}
	}
	return out
}

const beta, discount = 2, 0.9

func learner(t *testing.T, steps int) *neural.Learner {
	t.Helper()
	c := neural.Default()
	c.Hidden, c.Batch, c.Steps, c.ReportEvery, c.LearningRate, c.Folds, c.Backend = []int{16, 16}, 12, steps, steps,
		0.01, 0, "go"
	c.Unit, c.Range = 0, 2
	l, err := variational.New(c, variational.DefaultObjective(1))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func task() neural.Task {
	return neural.Task{Observation: 2, Actions: 3, Discount: discount, Beta: beta,
		Runs: []neural.Run{{Demos: demonstrate(1, 2), Seed: 3}}}
}

// question is about a posterior that has learnt a little.
func question(t *testing.T, candidates ...[2]float32) *Question {
	t.Helper()
	problem := task()
	m, err := fit(t.Context(), learner(t, 8), &problem)
	if err != nil {
		t.Fatal(err)
	}
	q := &Question{Beta: beta, Discount: discount, Simulator: plane{}}
	if q.Posterior, err = variational.NewPosterior(m); err != nil {
		t.Fatal(err)
	}
	for _, at := range candidates {
		q.Candidates = append(q.Candidates, Candidate{Observation: at[:], Moment: expert.Moment{
			Snapshot: snapshot(t, at)}})
	}
	return q
}

// draw returns n joint draws of the values in states [n][state][action], by the eigenvectors of their covariance.
func draw(t *testing.T, q *Question, n int, states [][2]float32) [][][]float64 {
	t.Helper()
	joint, err := q.Posterior.Values(array(states).Float32())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := joint.Sample(rand.New(rand.NewPCG(11, 12)), n)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][][]float64, n)
	for j := range out {
		for s := range states {
			out[j] = append(out[j], rows.RawRowView(j)[3*s:3*s+3])
		}
	}
	return out
}

// TestInformationOfSegmentsByEnumeration lists all segments of two steps, and one that the episode's end cuts short.
func TestInformationOfSegmentsByEnumeration(t *testing.T) {
	starts := [][2]float32{{-1.5, 0}, {0.25, -1}, {2, 2.75}}
	q := question(t, starts...)
	e := RewardEIG{Segments{Length: 2, Draws: 4000, Replicates: 30}}
	got, err := e.Score(t.Context(), q, rand.New(rand.NewPCG(5, 5)))
	if err != nil {
		t.Fatal(err)
	}
	const n = 40_000
	for i, start := range starts {
		states, ended := [][2]float32{start}, make([]bool, 3)
		for a := range 3 {
			next, over := move(start, a)
			states, ended[a] = append(states, next), over
		}
		// π_j(a₀) π_j(a₁|s₁) of all segments, one row for each draw
		probs := make([][]float64, n)
		mean := make([]float64, 9)
		for j, values := range draw(t, q, n, states) {
			policy := make([][]float64, len(states))
			for s := range policy {
				for _, v := range values[s] {
					policy[s] = append(policy[s], beta*v)
				}
				floats.AddConst(-floats.LogSumExp(policy[s]), policy[s])
			}
			probs[j] = make([]float64, 9)
			for a := range 3 {
				for b := range 3 {
					probs[j][3*a+b] = math.Exp(policy[0][a] + policy[1+a][b])
				}
				if ended[a] {
					copy(probs[j][3*a:3*a+3], []float64{math.Exp(policy[0][a]), 0, 0})
				}
			}
			floats.AddScaled(mean, 1./n, probs[j])
		}
		information := make([]float64, n) // KL of a draw's segments from the expected ones
		for j := range information {
			for k, p := range probs[j] {
				if p > 0 {
					information[j] += p * math.Log(p/mean[k])
				}
			}
		}
		want, std := stat.MeanStdDev(information, nil)
		const bias = 8. / 2 / 4000 // of 4000 draws in place of the posterior: at most (segments − 1)/2N
		if tolerance := 4*math.Hypot(std/math.Sqrt(n), got[i].StdErr) + bias; !(want > 0.05) ||
			math.Abs(got[i].Value-want) > tolerance || !(got[i].StdErr < 0.1*want) {
			t.Errorf("candidate %d: %g ± %g nats, want %g within %g", i, got[i].Value, got[i].StdErr, want, tolerance)
		}
	}
}

// TestInformationGoesByWhatWasSeen: what an action says is counted given those before it, by hand for three draws.
func TestInformationGoesByWhatWasSeen(t *testing.T) {
	values := [][][]float64{{{1, 0}, {0, 2}, {0.5, 0.5}}, {{0, 1}, {2, 0}, {0, 3}}} // by step, draw and action
	s := &informative{beta: beta, belief: active.NewBelief(3), entropy: make([]float64, 3)}
	weights, want := []float64{1. / 3, 1. / 3, 1. / 3}, 0.0
	for step, draws := range values {
		predictive, policies := make([]float64, 2), make([][]float64, 3)
		at := variational.ValuesAt{Mean: make([]float64, 2), Draws: [][]float64{nil, nil}}
		for j, q := range draws {
			policies[j] = mdp.Boltzmann(nil, q, 2, beta)
			floats.AddScaled(predictive, weights[j], policies[j])
			want -= weights[j] * stat.Entropy(policies[j])
			for a := range q {
				at.Draws[a] = append(at.Draws[a], q[a])
			}
		}
		want += stat.Entropy(predictive)
		action := 1 - step // and the number just short of what would be the other one, or just that
		if got := s.next(at, predictive[0]-1e-9*float64(step)); got != action {
			t.Fatalf("step %d: action %d, want %d", step, got, action)
		}
		for j := range weights {
			weights[j] *= policies[j][action] / predictive[action]
		}
	}
	if math.Abs(s.value()-want) > 1e-12 {
		t.Errorf("%g nats, want %g", s.value(), want)
	}
}

// recorder is a segment that keeps the numbers that it is told to choose by.
type recorder struct{ uniform []float64 }

func (r *recorder) next(_ variational.ValuesAt, uniform float64) int {
	r.uniform = append(r.uniform, uniform)
	return 0
}

func (r *recorder) value() float64 { return 0 }

// TestSegmentsShareTheirNumbers: those of a replicate do, step by step, and no others.
func TestSegmentsShareTheirNumbers(t *testing.T) {
	q := question(t, [2]float32{-1.5, 0}, [2]float32{0.25, -1})
	var all []*recorder
	if _, err := (Segments{Length: 3, Draws: 2, Replicates: 2}).score(t.Context(), q, rand.New(rand.NewPCG(7, 7)),
		func() segment {
			all = append(all, &recorder{})
			return all[len(all)-1]
		}); err != nil {
		t.Fatal(err)
	}
	seen := map[float64]int{}
	for _, r := range all {
		for _, u := range r.uniform {
			seen[u]++
		}
	}
	if len(all) != 4 || len(seen) != 6 || !slices.Equal(all[0].uniform, all[1].uniform) ||
		!slices.Equal(all[2].uniform, all[3].uniform) {
		t.Errorf("two replicates of two segments of three steps: %v, %v, %v, %v", *all[0], *all[1], *all[2], *all[3])
	}
}

// TestInformationOfOneActionIsExactGivenDraws: without anything to simulate, replicates differ by their draws alone.
func TestInformationOfOneActionIsExactGivenDraws(t *testing.T) {
	start := [2]float32{-1.5, 0}
	q := question(t, start, start)
	e := RewardEIG{Segments{Length: 1, Draws: 1000, Replicates: 20}}
	got, err := e.Score(t.Context(), q, rand.New(rand.NewPCG(6, 6)))
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != got[1] {
		t.Errorf("the same state has the scores %v and %v", got[0], got[1])
	}
	mean, entropy := make([]float64, 3), 0.0
	const n = 40_000
	for _, values := range draw(t, q, n, [][2]float32{start}) {
		policy := slices.Clone(values[0])
		floats.Scale(beta, policy)
		floats.AddConst(-floats.LogSumExp(policy), policy)
		for a, l := range policy {
			policy[a] = math.Exp(l)
		}
		entropy += stat.Entropy(policy) / n
		floats.AddScaled(mean, 1./n, policy)
	}
	// The reference has about 1/√2 of a replicate's 20 · 1000 draws' error; (actions − 1)/2N bounds the bias.
	if want := stat.Entropy(mean) - entropy; math.Abs(got[0].Value-want) > 6*got[0].StdErr+1e-3 {
		t.Errorf("%g ± %g nats, want %g", got[0].Value, got[0].StdErr, want)
	}
}

// TestRiskIsThatOfTheRewardsOfTheDraws evaluates the apprentice under the reward R = Q − γ max Q' of each draw, which
// makes it optimal: its loss is V*(s₀) − Σ_t γ^t R_t − γ^L V*(s_L).
func TestRiskIsThatOfTheRewardsOfTheDraws(t *testing.T) {
	start := [2]float32{1.75, 0}
	q := question(t, [2]float32{0, 0}, start)
	const length, level, n = 3, 0.9, 40_000
	got, err := ActiveVaR{Segments{Length: length, Draws: 4000, Replicates: 20}, level}.Score(t.Context(), q,
		rand.New(rand.NewPCG(7, 7)))
	if err != nil {
		t.Fatal(err)
	}
	states, actions := [][2]float32{start}, []int{}
	for range length {
		joint, err := q.Posterior.Values(array(states[len(states)-1:]).Float32())
		if err != nil {
			t.Fatal(err)
		}
		actions = append(actions, floats.MaxIdx(joint.Mean))
		next, _ := move(states[len(states)-1], actions[len(actions)-1])
		states = append(states, next)
	}
	losses := make([]float64, n)
	for j, values := range draw(t, q, n, states) {
		losses[j] = floats.Max(values[0])
		for k, a := range actions {
			reward := values[k][a] - discount*floats.Max(values[k+1])
			losses[j] -= math.Pow(discount, float64(k)) * reward
		}
		losses[j] -= math.Pow(discount, length) * floats.Max(values[length])
	}
	slices.Sort(losses)
	at := func(p float64) float64 { return losses[int(p*n)] }
	spread := 4 * math.Sqrt(level*(1-level)/n) // of ranks
	low, high := at(level-spread)-4*got[1].StdErr, at(level+spread)+4*got[1].StdErr
	if v := got[1].Value; !(low > 0.1) || v < low || v > high || got[1] == got[0] {
		t.Errorf("%g ± %g, want one from %g to %g", v, got[1].StdErr, low, high)
	}
}

// TestLossesAreDiscounted: of two draws, the first loses 1 where the apprentice acts by the mean, step after step.
func TestLossesAreDiscounted(t *testing.T) {
	s := &risky{level: 0.9, discount: 0.5, weight: 1, loss: make([]float64, 2)}
	for range 3 {
		if a := s.next(variational.ValuesAt{Mean: []float64{2, 1}, Draws: [][]float64{{0, 3}, {1, 2}}}, 0); a != 0 {
			t.Fatalf("the apprentice takes action %d, want 0", a)
		}
	}
	if !slices.Equal(s.loss, []float64{1.75, 0}) || s.value() != 1.75 {
		t.Errorf("losses %v, of which the quantile is %g, want 1.75 and 0", s.loss, s.value())
	}
}

func TestBadAcquisitionsAreRefused(t *testing.T) {
	q := question(t, [2]float32{})
	good := Segments{Length: 1, Draws: 2, Replicates: 2}
	for want, a := range map[string]Acquisition{
		"Length = 0":     RewardEIG{Segments{Draws: 2, Replicates: 2}},
		"Replicates = 1": RewardEIG{Segments{Length: 1, Draws: 2, Replicates: 1}},
		"Level is 1":     ActiveVaR{good, 1},
	} {
		if _, err := a.Score(t.Context(), q, rand.New(rand.NewPCG(1, 1))); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	q.Candidates[0].Snapshot = gym.Snapshot("{")
	if _, err := (RewardEIG{good}).Score(t.Context(), q, rand.New(rand.NewPCG(1, 1))); err == nil ||
		!strings.Contains(err.Error(), "predicting segments") {
		t.Errorf("error %v for a snapshot that is none", err)
	}
}

func TestCourse(t *testing.T) {
	q := question(t, [2]float32{-1, 0}, [2]float32{1, 0}, [2]float32{-1, 1})
	asked := 0
	c := &Course{Task: task(), First: learner(t, 40), More: learner(t, 5), Candidates: q.Candidates,
		Acquisition: RewardEIG{Segments{Length: 2, Draws: 50, Replicates: 2}}, Simulator: plane{}, Seed: 4,
		Ask: func(ctx context.Context, c Candidate) (*demo.Trajectory, error) {
			asked++
			out, err := plane{}.Continue(ctx, []gym.Snapshot{c.Snapshot}, 2, func([]int, gym.Array) ([]int, error) {
				return []int{1}, nil
			})
			if err != nil {
				return nil, err
			}
			return &out[0], nil
		}}
	first, err := c.Begin(t.Context())
	if err != nil || len(first.Demos) != 2 {
		t.Fatalf("%+v, error %v", first, err)
	}
	s := first
	states := []*State{s}
	for k := range 3 {
		choice, err := c.Choose(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(choice.Left) != 3-k || slices.Contains(s.Asked, choice.Candidate) ||
			choice.Score().Value != slices.MaxFunc(choice.Scores, func(a, b active.Score) int {
				return int(math.Copysign(1, a.Value-b.Value))
			}).Value {
			t.Errorf("after %d answers: %+v", k, choice)
		}
		if s, err = c.Learn(t.Context(), s, choice.Candidate); err != nil {
			t.Fatal(err)
		}
		last := s.Demos[len(s.Demos)-1]
		if len(s.Demos) != 3+k || !slices.Equal(last.Actions, []int{1, 1}) ||
			!slices.Equal(last.Observation(0), q.Candidates[choice.Candidate].Observation) {
			t.Errorf("after %d answers the last demonstration is %+v", k+1, last)
		}
		if spec := s.Model.Spec(); spec.Transitions != 30+2*(k+1) || spec.Demos != 3+k {
			t.Errorf("after %d answers the model is of %+v", k+1, spec)
		}
		states = append(states, s)
	}
	if len(first.Demos) != 2 || len(first.Asked) != 0 {
		t.Error("the first state was changed")
	}
	if _, err := c.Choose(t.Context(), s); err == nil || !strings.Contains(err.Error(), "all 3 candidates") {
		t.Errorf("error %v where nothing is left to ask", err)
	}
	if _, err := c.Resume(t.Context(), []int{0, 3}, first.Model); err == nil {
		t.Error("a course resumes after a question about candidate 3 of 3")
	}
	if _, err := c.Learn(t.Context(), first, 3); err == nil {
		t.Error("no error for a candidate that is none")
	}
	again, err := c.Resume(t.Context(), states[1].Asked, states[1].Model)
	if err != nil {
		t.Fatal(err)
	}
	choice, err := c.Choose(t.Context(), again)
	if err != nil || choice.Candidate != states[2].Asked[1] {
		t.Errorf("resumed: %+v, error %v, want a question about %d", choice, err, states[2].Asked[1])
	}
	if again, err = c.Learn(t.Context(), again, choice.Candidate); err != nil {
		t.Fatal(err)
	}
	for i, p := range again.Model.Parameters() {
		if !slices.Equal(p.Value, states[2].Model.Parameters()[i].Value) {
			t.Errorf("resumed, the parameter %q is another", p.Name)
		}
	}
	for k, s := range states[1:] {
		before := states[k].Model
		if s.Model.Spec().Seed == before.Spec().Seed {
			t.Errorf("training %d has the seed of the one before", k+1)
		}
		for i, p := range s.Model.Parameters() { // five steps of at most about 0.01
			if moved := floats.Distance(npz.Widen(p.Value), npz.Widen(before.Parameters()[i].Value),
				math.Inf(1)); !p.Fixed && moved > 0.06 {
				t.Errorf("training %d begins elsewhere: the parameter %q moves by %g", k+1, p.Name, moved)
			}
		}
	}
	c.Acquisition = Random{}
	one, err := c.Choose(t.Context(), states[0])
	if err != nil {
		t.Fatal(err)
	}
	if two, err := c.Choose(t.Context(), states[1]); err != nil || one.Scores[0] == two.Scores[0] {
		t.Errorf("the numbers of a question are those of the one before: %v, error %v", two, err)
	}
	c.Ask = nil
	if _, err := c.Begin(t.Context()); err == nil {
		t.Error("no error without a demonstrator")
	}
}

func TestRandomChoosesAnything(t *testing.T) {
	q := &Question{Candidates: make([]Candidate, 4)}
	chosen := map[int]int{}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 400 {
		scores, err := Random{}.Score(t.Context(), q, rng)
		if err != nil || len(scores) != 4 {
			t.Fatal(scores, err)
		}
		chosen[active.Best(scores)]++
	}
	for i := range 4 {
		if n := chosen[i]; math.Abs(float64(n)-100) > 4*math.Sqrt(75) { // binomial
			t.Errorf("candidate %d was chosen %d times of 400", i, n)
		}
	}
}

// TestBranchesTakeEveryActionFromEveryCandidate, one step each.
func TestBranchesTakeEveryActionFromEveryCandidate(t *testing.T) {
	q := question(t, [2]float32{0.1, 0.2}, [2]float32{-0.3, 0.4}, [2]float32{0.9, 0})
	got, err := Branches(t.Context(), plane{}, q.Candidates, 3)
	if err != nil || len(got) != 3*len(q.Candidates) {
		t.Fatalf("%d branches, error %v; want 9", len(got), err)
	}
	for k, b := range got {
		action, from := k/len(q.Candidates), q.Candidates[k%len(q.Candidates)].Observation
		to, ended := move([2]float32(from), action)
		if b.Len() != 1 || b.Actions[0] != action || b.Terminated != ended ||
			!slices.Equal(b.Observations, append(slices.Clone(from), to[:]...)) {
			t.Errorf("branch %d is %+v, want action %d from %v to %v", k, b, action, from, to)
		}
	}
}
