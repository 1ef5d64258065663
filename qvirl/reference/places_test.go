package reference

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
	"github.com/go-birl/birl/qvirl/summary"
)

// TestPlaces: of explanations in three places, of which one has three, the places are found, and not what two of them
// have together.
func TestPlaces(t *testing.T) {
	of := func(at ...int) set {
		out := make(set, 8)
		for _, j := range at {
			out[j] = true
		}
		return out
	}
	got := places([]set{of(0, 1, 4), of(0, 1), of(4, 5), of(2, 4), of(2, 4, 5), of(2, 5), of(7), of(0, 1, 7)})
	var members [][]int
	for _, place := range got {
		members = append(members, place.members())
	}
	slices.SortFunc(members, slices.Compare)
	if want := [][]int{{0, 1}, {2, 4, 5}, {7}}; !slices.EqualFunc(members, want, slices.Equal) {
		t.Errorf("places %v, want %v", members, want)
	}
}

// TestGoals: what one of three places has, another has in other modes; the last coordinate differs on its own.
func TestGoals(t *testing.T) {
	got := modes{{u: []float64{0.1, 5, 0.3, 0, 2}}, {u: []float64{4.8, 0, 0.5, 0.2, 2}},
		{u: []float64{0, 0, 0.2, 5, 2}}, {u: []float64{0.1, 5, 0.3, 0, -2}}}.goals()
	if want := []int{0, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("goals %v, want %v", got, want)
	}
	if got := (modes{}).goals(); got != nil {
		t.Errorf("goals %v of no modes", got)
	}
}

// TestShifts: of modes at the corners of a box in any position, the most frequent differences are its sides.
func TestShifts(t *testing.T) {
	const dim = 5
	rng := rand.New(rand.NewPCG(1, 1))
	random := mat.NewDense(dim, dim, nil)
	random.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, random)
	var qr mat.QR
	qr.Factorize(random)
	var axes mat.Dense
	qr.QTo(&axes)
	var corners modes
	for corner := range 1 << dim {
		u := make([]float64, dim)
		for j := range dim {
			side := (2 + float64(j)/3) * float64(corner>>j&1)
			floats.AddScaled(u, side, mat.Col(nil, j, &axes))
		}
		for j := range u {
			u[j] += 1e-3 * rng.NormFloat64() // as climbs end
		}
		corners = append(corners, &mode{u: u})
	}
	shifts := corners.shifts()
	if len(shifts) != mostShifts {
		t.Errorf("%d shifts, want %d", len(shifts), mostShifts)
	}
	for j := range dim {
		side := mat.Col(nil, j, &axes)
		floats.Scale(2+float64(j)/3, side)
		if !slices.ContainsFunc(shifts[:dim], func(d []float64) bool { return collinear(d, side, 0.01) }) {
			t.Errorf("side %d is none of the most frequent differences", j)
		}
	}
}

// TestShiftsLeadBack: a shift and its opposite are one, and lead from either mode to the other.
func TestShiftsLeadBack(t *testing.T) {
	a, b, c := &mode{u: []float64{0, 0}}, &mode{u: []float64{3, 1}}, &mode{u: []float64{-3, -1}}
	got := modes{a, b, c}.shifts()
	if len(got) != 2 || !got.lead(a, b) || !got.lead(b, a) || !got.lead(c, a) ||
		got.lead(a, &mode{u: []float64{3, -1}}) {
		t.Errorf("shifts %v of three modes in a row, want a step and two", got)
	}
}

// TestChainsShift: chains that jump by differences of modes alone have the posterior's shares of all rooms paying.
func TestChainsShift(t *testing.T) {
	const rooms, few, perChain = 4, 2, 8000
	var samples *mcmc.Posterior
	_, err := mcmc.Fit(t.Context(), []*irl.Problem{row(t, rooms, few)}, nil, func(ctx context.Context, p *irl.Problem,
		job *mcmc.Job) (irl.Posterior, error) {
		j, err := newJoint(Default(), p, job, nil)
		if err != nil {
			return nil, err
		}
		s := j.subs[0]
		for _, prepare := range []func(context.Context) error{s.prepare, s.warmUp, s.findBlocks} {
			if err := prepare(ctx); err != nil {
				return nil, err
			}
		}
		moved := 0.0 // in the mean
		for _, k := range s.chains {
			k.trace = s.newTrace(len(k.draw))
			for range 4 * perChain {
				k.move(hamiltonianKernel)
				moved += k.jumpIn(&k.blocks[1])
				k.trace.Add(k.draw, k.last)
			}
		}
		if moved < 1000 {
			t.Errorf("%.0f shifts were accepted, too few to tell anything", moved)
		}
		samples = s.collect(perChain)
		return samples, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mean, std := rowMarginals(rooms, few)
	for i := range rooms {
		// at least 1,000 effective draws: a standard error of 0.03 std, and of the deviation as much
		if r := samples.Reward(i); math.Abs(r.Mean()-mean[i]) > 0.12*std[i] || math.Abs(r.StdDev()/std[i]-1) > 0.12 {
			t.Errorf("room %d: %g ± %g, want %g ± %g", i, r.Mean(), r.StdDev(), mean[i], std[i])
		}
	}
}

// sideBySide returns a problem of independent copies of one whose rewards are independent a priori.
func sideBySide(t *testing.T, p *irl.Problem, copies int) *irl.Problem {
	t.Helper()
	states, actions := p.MDP.States(), p.MDP.Actions()
	var rows [][]mdp.Transition
	var mean, std []float64
	out := &irl.Problem{Discount: p.Discount, Beta: p.Beta}
	for c := range copies {
		for i := range states * actions {
			var row []mdp.Transition
			next, prob := p.MDP.Row(i/actions, i%actions)
			for k, s := range next {
				row = append(row, mdp.Transition{Next: c*states + int(s), Prob: prob[k]})
			}
			rows = append(rows, row)
		}
		mean = append(mean, p.Prior.Mean...)
		for _, v := range p.Prior.Variances() {
			std = append(std, math.Sqrt(v))
		}
		for _, d := range p.Demos {
			out.Demos = append(out.Demos, mdp.Step{State: c*states + d.State, Action: d.Action})
		}
	}
	out.Prior = irl.DiagonalPrior(mean, std)
	var err error
	if out.MDP, err = mdp.New(copies*states, actions, rows, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestChainsJumpInWholePlaces: where eight places have two explanations each, which differ in two rewards that only pay
// together, chains must change both at once, and in one place at a time.
func TestChainsJumpInWholePlaces(t *testing.T) {
	const places, rooms, threshold, demos = 8, 2, 3.5, 20
	c := Default()
	c.MaxIterations = 50_000 // with jumps in all places, or in one reward, at a time, 200,000 did not suffice
	p := sideBySide(t, needle(t, rooms, threshold, demos), places)
	post := fit(t, c, p)[0]
	if ok, reason := post.Convergence(); !ok {
		t.Errorf("not converged: %s", reason)
	}
	mean, std := needleMarginal(rooms, threshold, demos)
	if mean < 0.2*threshold || mean > 0.8*threshold {
		t.Errorf("mean %g: the fixture has one explanation only", mean)
	}
	for place := range places {
		for i := range rooms {
			// 1,000 effective draws: a standard error of 0.03 std of the mean, and at most that of the deviation
			r := post.Reward(place*(5+2*rooms) + 5 + i)
			if math.Abs(r.Mean()-mean) > 0.12*std || math.Abs(r.StdDev()/std-1) > 0.12 {
				t.Errorf("place %d, room %d: %g ± %g, want %g ± %g", place, i, r.Mean(), r.StdDev(), mean, std)
			}
		}
	}
}

// TestModesThatAreClose: three rewards x, y, z ~ N(0, 1) are as good as each other to within 0.002, and |x| is as good
// as 1/4. By symmetry, all three are 1/4 or −1/4 with the probability ½, at a distance of less than one standard
// deviation of the prior.
func TestModesThatAreClose(t *testing.T) {
	const (
		x, y, z, zero, known = 0, 1, 2, 3, 4
		toX, better          = 5, 6 // x, and the better of x and zero
		modulus, same, tied  = 7, 8, 9
		demos, distance      = 100, 0.25
		discount             = 0.95
	)
	rows := make([][]mdp.Transition, 2*(tied+1))
	sure := func(s, first, second int) {
		rows[2*s], rows[2*s+1] = []mdp.Transition{{Next: first, Prob: 1}}, []mdp.Transition{{Next: second, Prob: 1}}
	}
	sure(toX, x, x)
	sure(better, x, zero)
	// γ/4 (2 γ max(x, 0) − γ x − known)
	rows[2*modulus] = []mdp.Transition{{Next: better, Prob: 0.5}, {Next: zero, Prob: 0.5}}
	rows[2*modulus+1] = []mdp.Transition{{Next: toX, Prob: 0.25}, {Next: known, Prob: 0.25}, {Next: zero, Prob: 0.5}}
	sure(same, x, y)
	sure(tied, y, z)
	means, std := make([]float64, tied+1), make([]float64, tied+1)
	means[known] = discount * distance
	std[x], std[y], std[z] = 1, 1, 1
	p := &irl.Problem{Discount: discount, Beta: 400, Prior: irl.DiagonalPrior(means, std)}
	for range demos {
		for _, s := range []int{modulus, same, tied} {
			p.Demos = append(p.Demos, mdp.Step{State: s}, mdp.Step{State: s, Action: 1})
		}
	}
	var err error
	if p.MDP, err = mdp.New(tied+1, 2, rows, nil); err != nil {
		t.Fatal(err)
	}
	post := fit(t, Default(), p)[0]
	if ok, reason := post.Convergence(); !ok {
		t.Errorf("not converged: %s", reason)
	}
	for s := x; s <= z; s++ {
		// 1,000 effective draws: a standard error of 0.03 std of the mean
		if r := post.Reward(s); math.Abs(r.Mean()) > 0.12*distance || math.Abs(r.StdDev()/distance-1) > 0.03 {
			t.Errorf("reward %d: %g ± %g, want 0 ± %g", s, r.Mean(), r.StdDev(), distance)
		}
	}
}

// TestImprobableModesCountByTheirDistance: one of a share of e⁻¹² adds to a variance what its distance makes of it.
func TestImprobableModesCountByTheirDistance(t *testing.T) {
	for far, kept := range map[float64]int{5: 1, 100: 2} { // log 5² = 3.2, log 100² = 9.2
		var found modes
		for i, evidence := range []float64{0, -12.5} {
			o := newMode([]float64{far * float64(i)}, mat.NewDense(1, 1, nil))
			o.evidence = evidence
			found, _ = found.with(o)
		}
		if len(found) != kept {
			t.Errorf("at a distance of %g standard deviations: %d modes count, want %d", far, len(found), kept)
		}
	}
}

// TestRareExplanationsAreSaid: an explanation that is of no sample adds share · distance² to a variance.
func TestRareExplanationsAreSaid(t *testing.T) {
	p := needle(t, 1, 3, 1)
	target, err := NewTarget(p)
	if err != nil {
		t.Fatal(err)
	}
	const deviation, far, share, room = 0.01, 5., 3e-5, 5
	samples := mcmc.NewPosterior(p, 1, 2)
	for i, x := range []float64{-deviation, deviation} { // of the sample variance 2 deviation²
		reward := slices.Clone(p.Prior.Mean)
		reward[room] = x
		samples.Set(i, reward, make([]float64, p.MDP.States()))
	}
	at := func(reward, evidence float64) *mode {
		o := newMode([]float64{reward}, mat.NewDense(1, 1, nil))
		o.evidence = evidence
		return o
	}
	evidence := math.Log(share / (1 - 2*share)) // of two that are of no sample, of which the farther adds more
	got := target.rare(modes{at(0, 0), at(far, evidence), at(far/2, evidence)}, samples)
	if want := math.Sqrt(1+share*far*far/(2*deviation*deviation)) - 1; math.Abs(got-want) > 1e-6 {
		t.Errorf("a rare explanation adds %g to a deviation, want %g", got, want)
	}
	for _, m := range []modes{nil, {at(0, 0)}} {
		if got := target.rare(m, samples); got != 0 {
			t.Errorf("%d explanations add %g", len(m), got)
		}
	}
	post := &Posterior{Posterior: samples}
	post.diagnostics.Rare = got
	post.diagnostics.MinESS, post.diagnostics.MaxRHat = 1, 2
	if ok, reason := post.Convergence(); ok {
		t.Errorf("converged: %s", reason)
	}
}

// TestConvergenceIsThatOfTheSearch: chains that agree are not enough where explanations may be missing, which a stored
// posterior says too.
func TestConvergenceIsThatOfTheSearch(t *testing.T) {
	c := Default()
	c.Samples, c.MaxIterations = 16, 200
	fitted := fit(t, c, detours(t, 1, 3))[0]
	for want, c := range map[string]struct {
		set func(*Diagnostics)
		ok  bool
	}{
		"more explanations of the demonstrations": {func(d *Diagnostics) { d.Crowded, d.Modes = true, 2 }, false},
		"too improbable for the samples":          {func(d *Diagnostics) { d.Rare = 1.1 * mostRare }, false},
		"rounding":                                {func(d *Diagnostics) { d.Rounding = 1.1 * mostRounding }, false},
		"were not looked for":                     {func(d *Diagnostics) { d.Unsearched = true }, true},
		"jump between 2":                          {func(d *Diagnostics) { d.Modes = 2 }, true},
	} {
		post := &Posterior{Posterior: fitted.Posterior, diagnostics: fitted.diagnostics}
		d := &post.diagnostics
		d.MinESS, d.MaxRHat, d.MaxStdError, d.MaxPolicyError, d.Modes, d.Rare = 0, 100, 100, 100, 1, 0
		c.set(d)
		for _, post := range []*Posterior{post, stored(t, post)} {
			if ok, reason := post.Convergence(); ok != c.ok || !strings.Contains(reason, want) {
				t.Errorf("%v: %s, want %v: %s", ok, reason, c.ok, want)
			}
		}
	}
}

// TestClimbsComeToRest: what demonstrations say nothing of is where the prior has it, and what explains them together
// stays.
func TestClimbsComeToRest(t *testing.T) {
	target, err := NewTarget(sideBySide(t, needle(t, 2, 3, 20), 2))
	if err != nil {
		t.Fatal(err)
	}
	u := []float64{0.7, -0.4, 4, 4}
	if got, want := target.relax(u), []float64{0, 0, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("at rest %.2f, want %.2f", got, want)
	}
}

// TestGoalsMove: in a tree of known transitions an expert goes left at the root, where one of four leaves must be five
// standard deviations high, and which one nobody knows. The chains pass what it carries on: as fast as this they agree
// with the posterior of the two values to choose from, whose prior is that of maxima of independent sums.
func TestGoalsMove(t *testing.T) {
	const states, inner, discount, beta, own = 15, 7, 0.99, 50.0, 0.15
	rows, prior := make([][]mdp.Transition, 2*states), irl.IndependentPrior(states, 0, 1)
	for s := range inner {
		rows[2*s], rows[2*s+1] = []mdp.Transition{{Next: 2*s + 1, Prob: 1}}, []mdp.Transition{{Next: 2*s + 2, Prob: 1}}
		prior.Std[s] = own
	}
	prior.Mean[2] = 5
	m, err := mdp.New(states, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.MaxIterations = 6000
	post := fit(t, c, &irl.Problem{MDP: m, Prior: prior, Discount: discount, Beta: beta,
		Demos: []mdp.Step{{State: 0, Action: 0}}})[0]
	if ok, why := irl.Converged(post); !ok {
		t.Error(why)
	}
	got, err := summary.Of(post, 0, 0)
	if err != nil {
		t.Fatal(err)
	}

	const low, step, cells = -4.0, 0.01, 1800
	at := func(i int) float64 { return low + (float64(i)+0.5)*step }
	// above returns the probabilities of the cells for r + γ max(x, y), r ~ N(mean, own²), of which x and y have some.
	above := func(p []float64, mean float64) []float64 {
		var below float64
		maximum, out := make([]float64, cells), make([]float64, cells)
		for i, x := range p {
			maximum[i] = x * (2*below + x)
			below += x
		}
		for i, x := range maximum {
			for k := range out {
				if z := (at(k) - mean - discount*at(i)) / own; x > 0 && math.Abs(z) < 8 {
					out[k] += x * step * math.Exp(-z*z/2) / (own * math.Sqrt(2*math.Pi))
				}
			}
		}
		return out
	}
	leaf := make([]float64, cells)
	for i := range leaf {
		leaf[i] = step * math.Exp(-at(i)*at(i)/2) / math.Sqrt(2*math.Pi)
	}
	left, right := above(above(leaf, 0), 0), above(above(leaf, 0), 5)
	var weight, first, second [2]float64
	for i, p := range left {
		for k, q := range right {
			w := p * q / (1 + math.Exp(-beta*discount*(at(i)-at(k))))
			for side, v := range []float64{at(i), at(k)} {
				weight[side], first[side], second[side] = weight[side]+w, first[side]+w*v, second[side]+w*v*v
			}
		}
	}
	for side := range 2 {
		mean := first[side] / weight[side]
		std := math.Sqrt(second[side]/weight[side] - mean*mean)
		if s := side + 1; !(math.Abs(got.ValueMean[s]-mean) <= 4*got.Error.ValueMean[s]+0.003*std) ||
			!(math.Abs(got.ValueStd[s]-std) <= 4*got.Error.ValueStd[s]+0.003*std) {
			t.Errorf("value of state %d: %.4f ± %.4f, sd %.4f ± %.4f; by quadrature %.4f, sd %.4f", s, got.ValueMean[s],
				got.Error.ValueMean[s], got.ValueStd[s], got.Error.ValueStd[s], mean, std)
		}
	}
}
