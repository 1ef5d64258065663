package mdp

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// The banded solves agree with dense ones by pivoted LU, in both directions.
func TestPolicySystemAgainstDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		discount := rapid.SampledFrom([]float64{0, 0.5, 0.99}).Draw(t, "discount")
		policy := Boltzmann(nil, drawVector(t, m.States()*m.Actions(), -3, 3, "q"), m.Actions(), 1)
		reward := drawVector(t, m.States()*m.Actions(), -1, 1, "reward")
		dense := mat.NewDense(m.States(), m.States(), nil)
		rhs := mat.NewVecDense(m.States(), nil)
		p := m.Dense()
		for s := 0; s < m.States(); s++ {
			dense.Set(s, s, 1)
			for a := 0; a < m.Actions(); a++ {
				i := s*m.Actions() + a
				rhs.SetVec(s, rhs.AtVec(s)+policy[i]*reward[i])
				for next := 0; next < m.States(); next++ {
					dense.Set(s, next, dense.At(s, next)-discount*policy[i]*p[i*m.States()+next])
				}
			}
		}
		var want mat.VecDense
		if err := want.SolveVec(dense, rhs); err != nil {
			t.Fatal(err)
		}
		got, err := m.PolicyValue(policy, reward, discount)
		if err != nil {
			t.Fatal(err)
		}
		if gap := largestGap(got, want.RawVector().Data); gap > 1e-10 {
			t.Fatalf("policy values differ by %g", gap)
		}
		if err := want.SolveVec(dense.T(), mat.NewVecDense(m.States(), m.Initial())); err != nil {
			t.Fatal(err)
		}
		occupancy, err := m.Occupancy(policy, discount)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range occupancy {
			if !scalar.EqualWithinAbs(o, policy[i]*want.AtVec(i/m.Actions()), 1e-10) {
				t.Fatalf("occupancy[%d] = %g, want %g", i, o, policy[i]*want.AtVec(i/m.Actions()))
			}
		}
		value, err := m.Return(policy, reward, discount)
		if err != nil {
			t.Fatal(err)
		}
		if inner := floats.Dot(occupancy, reward); !scalar.EqualWithinAbs(inner, value, 1e-10) {
			t.Fatalf("occupancy · reward = %g, but the return is %g", inner, value)
		}
	})
}

// One policy after another, whose factors are made anew in part, has the determinant of a dense matrix.
func TestLogDetAgainstDense(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := randomMDP(t)
		discount := rapid.SampledFrom([]float64{0, 0.5, 0.99}).Draw(t, "discount")
		system, p := m.NewSystem(), m.Dense()
		for range 4 {
			action := rapid.SliceOfN(rapid.IntRange(0, m.Actions()-1), m.States(), m.States()).Draw(t, "action")
			dense := mat.NewDense(m.States(), m.States(), nil)
			for s, a := range action {
				row := p[(s*m.Actions()+a)*m.States():][:m.States()]
				floats.AddScaled(dense.RawRowView(s), -discount, row)
				dense.Set(s, s, dense.At(s, s)+1)
			}
			want, sign := mat.LogDet(dense)
			system.FactorizePolicy(action, discount)
			if got := system.LogDet(); sign != 1 || !scalar.EqualWithinAbs(got, want, 1e-10) {
				t.Fatalf("log det = %g, want %g", got, want)
			}
		}
	})
}

// A row of a tridiagonal matrix is eliminated by one pivot, with a division and one more multiplication, and what the
// last policy shares with a new one is not eliminated again.
func TestWorkOfAFactorisationIsCounted(t *testing.T) {
	const states = 10
	rows := make([][]Transition, 2*states)
	for s := range states {
		for a, p := range []float64{0.3, 0.6} {
			rows[2*s+a] = []Transition{{max(s-1, 0), p}, {min(s+1, states-1), 1 - p}}
		}
	}
	m, err := New(states, 2, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	system, action := m.NewSystem(), make([]int, states)
	if work := system.FactorizePolicy(action, 0.9); work != 2*(states-1) {
		t.Errorf("%g multiplications, want %d", work, 2*(states-1))
	}
	if work := system.FactorizePolicy(action, 0.9); work != 0 {
		t.Errorf("%g multiplications for the same policy", work)
	}
	want := m.NewSystem()
	want.FactorizePolicy(action, 0.5)
	if system.FactorizePolicy(action, 0.5); system.LogDet() != want.LogDet() {
		t.Errorf("with another discount, log det = %g, want %g", system.LogDet(), want.LogDet())
	}
	system.FactorizePolicy(action, 0.9)
	action[m.order.state[states-1]] = 1
	if work := system.FactorizePolicy(action, 0.9); work != 2 {
		t.Errorf("%g multiplications for one row, want 2", work)
	}
}

// A grid whose states are numbered at random, with one that every other state may end in, is solved in a band about as
// narrow as that of the grid numbered row by row.
func TestNumberingDoesNotMatter(t *testing.T) {
	const width, actions = 12, 4
	states := width*width + 1
	rng := rand.New(rand.NewPCG(5, 6))
	name := rng.Perm(states) // of each cell; the last is where episodes end
	rows := make([][]Transition, states*actions)
	reward := make([]float64, states)
	for cell := range states - 1 {
		for a, step := range [][2]int{{0, 1}, {1, 0}, {0, -1}, {-1, 0}} {
			x, y := cell%width+step[0], cell/width+step[1]
			to := cell
			if min(x, y) >= 0 && max(x, y) < width {
				to = y*width + x
			}
			rows[name[cell]*actions+a] = []Transition{{name[to], 0.9}, {name[states-1], 0.1}}
		}
		reward[name[cell]] = rng.NormFloat64()
	}
	m, err := New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.order.lower > 3*width/2 || m.order.upper > 3*width/2 {
		t.Errorf("the band reaches %d below and %d above the diagonal of a grid of width %d", m.order.lower,
			m.order.upper, width)
	}
	solution, err := m.Solve(reward, 0.95)
	if err != nil {
		t.Fatal(err)
	}
	checkValues(t, m, reward, solution)
}

// TestHubsComeLast: rooms that a hall leads to, and from which episodes begin anew there, are solved one by one.
func TestHubsComeLast(t *testing.T) {
	const rooms, width, actions = 30, 3, 2
	size := width * width
	states := rooms*size + 1
	rng := rand.New(rand.NewPCG(7, 8))
	name := rng.Perm(states) // the last is the hall's
	rows, reward := make([][]Transition, states*actions), make([]float64, states)
	hall := name[states-1]
	for cell := range states - 1 {
		room, x, y := cell/size, cell%size%width, cell%size/width
		to := []int{name[room*size+y*width+(x+1)%width], name[room*size+(y+1)%width*width+x]}
		for a := range actions {
			rows[name[cell]*actions+a] = []Transition{{to[a], 0.9}, {hall, 0.1}}
		}
		reward[name[cell]] = rng.NormFloat64()
	}
	for room := range rooms {
		for a := range actions {
			rows[hall*actions+a] = append(rows[hall*actions+a], Transition{name[room*size+a], 1. / rooms})
		}
	}
	m, err := New(states, actions, rows, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.order.hubs != 1 || int(m.order.state[states-1]) != hall || m.order.lower+m.order.upper > 2*size {
		t.Errorf("%d hubs, a band of %d + %d", m.order.hubs, m.order.lower, m.order.upper)
	}
	solver, err := m.NewSolver(0.95)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		solution, err := solver.SolveNear(reward)
		if err != nil {
			t.Fatal(err)
		}
		checkValues(t, m, reward, solution)
		for range 5 {
			reward[rng.IntN(states)] += rng.NormFloat64()
		}
	}
}

// TestWorkOfMillions: the work of a band as wide as there are states is none of 64 bits, and more than that of hubs.
func TestWorkOfMillions(t *testing.T) {
	const states = 2_500_000
	wide := order{state: make([]int32, states), lower: states - 1, upper: states - 1}
	hub := order{state: wide.state, hubs: 1}
	if !(worthHub*hub.work() < wide.work()) {
		t.Errorf("%g multiplications with a hub, %g without", float64(hub.work()), float64(wide.work()))
	}
}
