package mdp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// System is the matrix I − γ P_π of a policy, and after FactorizePolicy its LU factors. Absorbing states come first and
// are eliminated by hand; most others are in band storage, in an order that keeps the band narrow: in a gridworld,
// whatever its numbering, it is as wide as the grid. The last are hubs, whose rows and columns are dense. Elimination
// needs no pivoting: for γ < 1 every row is strictly diagonally dominant (Golub & Van Loan, Sec. 4.1), which also
// bounds the growth of rounding errors by 2. A System is not for concurrent use.
type System struct {
	m         *MDP
	band      []float64      // [banded states, lower+1+upper]; column c of row r is at c − r + lower
	from, to  []int          // the columns of each row there that are not all zero, [banded states]; to is the last
	into      [][]float64    // the columns of hubs, [hubs, banded states],
	out       [][]float64    // and their rows, [hubs, numbered states]
	inverse   []float64      // of the factors' diagonal, [numbered states]
	absorbed  [][]Transition // what absorbing states subtract from each row, [numbered states]
	absorbing []float64      // the diagonal in absorbing states, [S]
	held      []int          // policy of the last FactorizePolicy, [S]; nil without one
	discount  float64        // and its discount
}

// NewSystem returns the identity.
func (m *MDP) NewSystem() *System {
	count := len(m.order.state)
	banded := count - m.order.hubs
	y := &System{
		m: m, band: make([]float64, banded*(m.order.lower+1+m.order.upper)),
		from: make([]int, banded), to: make([]int, banded), inverse: make([]float64, count),
		absorbed: make([][]Transition, count), absorbing: make([]float64, m.states),
	}
	for r := range banded {
		y.from[r], y.to[r] = r, r
	}
	for range m.order.hubs {
		y.into, y.out = append(y.into, make([]float64, banded)), append(y.out, make([]float64, count))
	}
	for s := range m.states {
		y.clearRow(s)
	}
	return y
}

// row returns row r of the band; column c of the matrix is at c − r + lower.
func (y *System) row(r int) []float64 {
	width := y.m.order.lower + 1 + y.m.order.upper
	return y.band[r*width : (r+1)*width]
}

// clearRow sets a state's row to that of the identity.
func (y *System) clearRow(s int) {
	r := int(y.m.order.place[s])
	if r < 0 {
		y.absorbing[s] = 1
		return
	}
	y.absorbed[r] = y.absorbed[r][:0]
	if banded := len(y.from); r >= banded {
		row := y.out[r-banded]
		clear(row)
		row[r] = 1
		return
	}
	row, lower := y.row(r), y.m.order.lower
	clear(row[y.from[r]-r+lower : y.to[r]-r+lower+1])
	y.from[r], y.to[r], row[lower] = r, r, 1
	for _, column := range y.into {
		column[r] = 0
	}
}

// subtract subtracts weight · p(·|s,a) from row s, before factorizeFrom.
func (y *System) subtract(s, a int, weight float64) {
	next, prob := y.m.Row(s, a)
	r := int(y.m.order.place[s])
	if r < 0 {
		for _, p := range prob { // of the state itself
			y.absorbing[s] -= weight * p
		}
		return
	}
	banded := len(y.from)
	for k, to := range next {
		switch c := int(y.m.order.place[to]); {
		case c < 0:
			y.absorbed[r] = append(y.absorbed[r], Transition{int(to), weight * prob[k]})
		case r >= banded:
			y.out[r-banded][c] -= weight * prob[k]
		case c >= banded:
			y.into[c-banded][r] -= weight * prob[k]
		default:
			y.row(r)[c-r+y.m.order.lower] -= weight * prob[k]
			y.from[r], y.to[r] = min(y.from[r], c), max(y.to[r], c)
		}
	}
}

// setPolicy makes the system I − γ P_π for a stochastic policy, [S·A], before factorizeFrom.
func (y *System) setPolicy(policy []float64, discount float64) {
	y.held = nil
	for s := range y.m.states {
		y.clearRow(s)
	}
	for i, p := range policy {
		if p > 0 {
			y.subtract(i/y.m.actions, i%y.m.actions, discount*p)
		}
	}
}

// factorizeFrom replaces the matrix by its factors, U on and above the diagonal, L without its unit diagonal below,
// where the rows before first hold theirs already: a row's depend on no row below. It returns the number of
// multiplications.
func (y *System) factorizeFrom(first int) (work int) {
	lower, banded := y.m.order.lower, len(y.from)
	for r := first; r < banded; r++ {
		row := y.row(r)
		for pivot := y.from[r]; pivot < r; pivot++ {
			at := pivot - r + lower
			if row[at] == 0 {
				continue
			}
			row[at] *= y.inverse[pivot]
			if above := y.row(pivot)[lower+1 : lower+1+y.to[pivot]-pivot]; len(above) > 0 { // columns pivot+1, …
				floats.AddScaled(row[at+1:at+1+len(above)], -row[at], above)
				y.to[r] = max(y.to[r], y.to[pivot])
				work += len(above)
			}
			work++
		}
		y.inverse[r] = 1 / row[lower]
		if from := y.from[r]; from < r {
			for _, column := range y.into {
				column[r] -= floats.Dot(row[from-r+lower:lower], column[from:r])
				work += r - from
			}
		}
	}
	for r := max(first, banded); r < len(y.inverse); r++ {
		row := y.out[r-banded]
		for pivot := range r {
			if row[pivot] == 0 {
				continue
			}
			row[pivot] *= y.inverse[pivot]
			work++
			if pivot >= banded {
				floats.AddScaled(row[pivot+1:], -row[pivot], y.out[pivot-banded][pivot+1:])
				work += len(row) - pivot - 1
				continue
			}
			if above := y.row(pivot)[lower+1 : lower+1+y.to[pivot]-pivot]; len(above) > 0 {
				floats.AddScaled(row[pivot+1:pivot+1+len(above)], -row[pivot], above)
				work += len(above)
			}
			for k, column := range y.into {
				row[banded+k] -= row[pivot] * column[pivot]
			}
			work += len(y.into)
		}
		y.inverse[r] = 1 / row[r]
	}
	return work
}

// FactorizePolicy sets the system to the factors of I − γ P_π for a deterministic policy, [S], and returns how many
// multiplications that took: only the rows from the first on in which the last such policy was another are made anew.
func (y *System) FactorizePolicy(action []int, discount float64) (work float64) {
	order, first := &y.m.order, 0
	if y.held == nil || y.discount != discount {
		y.held, y.discount = slices.Repeat([]int{-1}, len(action)), discount
	}
	for first < len(order.state) && y.held[order.state[first]] == action[order.state[first]] {
		first++
	}
	for s, a := range action {
		if r := int(order.place[s]); r >= first || r < 0 && y.held[s] != a {
			y.clearRow(s)
			y.subtract(s, a, discount)
		}
	}
	copy(y.held, action)
	return float64(y.factorizeFrom(first))
}

// scratch returns scratch space for a solution.
func (y *System) scratch() []float64 { return make([]float64, len(y.inverse)) }

// solveWork returns the number of multiplications of a solution.
func (y *System) solveWork() (work float64) {
	for r, to := range y.to {
		work += float64(to - y.from[r] + 1)
	}
	return work + float64(2*len(y.into)*len(y.inverse))
}

// LogDet returns the log of the determinant, which is positive, after a call of FactorizePolicy.
func (y *System) LogDet() float64 {
	product, sum := 1.0, 0.0
	// One logarithm for many pivots: they lie in [1 − γ, 1 + γ], so the product stays far from the limits of float64
	// between the renewals.
	for r, v := range y.inverse {
		if product *= v; r%16 == 15 {
			sum -= math.Log(product)
			product = 1
		}
	}
	sum -= math.Log(product)
	for s, v := range y.absorbing {
		if y.m.order.place[s] < 0 {
			sum += math.Log(v)
		}
	}
	return sum
}

// solve replaces x [S] by the solution of A x = b, given as x; factorizeFrom must have been called. z is scratch space,
// [numbered states].
func (y *System) solve(x, z []float64) {
	lower, state, banded := y.m.order.lower, y.m.order.state, len(y.from)
	for s, r := range y.m.order.place {
		if r < 0 {
			x[s] /= y.absorbing[s]
		}
	}
	for r, s := range state {
		sum := x[s]
		for _, t := range y.absorbed[r] {
			sum += t.Prob * x[t.Next]
		}
		if r >= banded {
			sum -= floats.Dot(y.out[r-banded][:r], z[:r])
		} else if from := y.from[r]; from < r {
			sum -= floats.Dot(y.row(r)[from-r+lower:lower], z[from:r])
		}
		z[r] = sum
	}
	for r := len(z) - 1; r >= 0; r-- {
		if r >= banded {
			z[r] -= floats.Dot(y.out[r-banded][r+1:], z[r+1:])
		} else {
			for k, column := range y.into {
				z[r] -= column[r] * z[banded+k]
			}
			if to := y.to[r]; to > r {
				z[r] -= floats.Dot(y.row(r)[lower+1:lower+1+to-r], z[r+1:to+1])
			}
		}
		z[r] *= y.inverse[r]
		x[state[r]] = z[r]
	}
}

// solveTransposed replaces x [S] by the solution of Aᵀ x = b in the same way.
func (y *System) solveTransposed(x, z []float64) {
	lower, state, banded := y.m.order.lower, y.m.order.state, len(y.from)
	for r, s := range state {
		z[r] = x[s]
	}
	for r := range z {
		z[r] *= y.inverse[r]
		if r >= banded {
			floats.AddScaled(z[r+1:], -z[r], y.out[r-banded][r+1:])
			continue
		}
		if to := y.to[r]; to > r {
			floats.AddScaled(z[r+1:to+1], -z[r], y.row(r)[lower+1:lower+1+to-r])
		}
		for k, column := range y.into {
			z[banded+k] -= z[r] * column[r]
		}
	}
	for r := len(z) - 1; r >= 0; r-- {
		if r >= banded {
			floats.AddScaled(z[:r], -z[r], y.out[r-banded][:r])
		} else if from := y.from[r]; from < r {
			floats.AddScaled(z[from:r], -z[r], y.row(r)[from-r+lower:lower])
		}
		x[state[r]] = z[r]
		for _, t := range y.absorbed[r] {
			x[t.Next] += t.Prob * z[r]
		}
	}
	for s, r := range y.m.order.place {
		if r < 0 {
			x[s] /= y.absorbing[s]
		}
	}
}
