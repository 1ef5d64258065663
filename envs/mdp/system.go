package mdp

import "gonum.org/v1/gonum/floats"

// system is the matrix I − γ P_π of a policy in band storage, and after factorize its LU factors in the same place.
// Elimination needs no pivoting: for γ < 1 every row is strictly diagonally dominant (Golub & Van Loan, Sec. 4.1),
// which also bounds the growth of rounding errors by 2. In a gridworld numbered row by row the band is as wide as the
// grid.
type system struct {
	states       int
	lower, upper int       // number of diagonals below and above the main one
	band         []float64 // [states, lower+1+upper]; column c of row r is at c − r + lower
	inverse      []float64 // of the factors' diagonal, [states]
	ends         []bool    // whether a state's row is that of the identity whatever the policy, [states]
}

// newSystem returns a system wide enough for any policy of m; clear prepares it for one.
func (m *MDP) newSystem() *system {
	ends := make([]bool, m.states)
	for s := range ends {
		ends[s] = m.rowStart[s*m.actions] == m.rowStart[(s+1)*m.actions]
	}
	return &system{
		states: m.states, lower: m.lower, upper: m.upper,
		band: make([]float64, m.states*(m.lower+1+m.upper)), inverse: make([]float64, m.states), ends: ends,
	}
}

// row returns row r of the band; column c of the matrix is at c − r + lower.
func (y *system) row(r int) []float64 {
	width := y.lower + 1 + y.upper
	return y.band[r*width : (r+1)*width]
}

// clear sets the system to the identity.
func (y *system) clear() {
	for r := range y.states {
		y.clearRow(r)
	}
}

// clearRow sets a row to that of the identity.
func (y *system) clearRow(r int) {
	clear(y.row(r))
	y.row(r)[y.lower] = 1
}

// subtract subtracts weight · p(·|s,a) from row s.
func (y *system) subtract(m *MDP, s, a int, weight float64) {
	row := y.row(s)
	next, prob := m.Row(s, a)
	for k, to := range next {
		row[int(to)-s+y.lower] -= weight * prob[k]
	}
}

// factorize replaces the matrix by its factors: U on and above the diagonal, L without its unit diagonal below.
func (y *system) factorize() { y.factorizeFrom(0) }

// factorizeFrom is factorize where the rows before first hold their factors already: a row's depend on no row below.
func (y *system) factorizeFrom(first int) {
	for r := first; r < y.states; r++ {
		row := y.row(r)
		for pivot := max(0, r-y.lower); pivot < r; pivot++ {
			at := pivot - r + y.lower
			if row[at] == 0 || y.ends[pivot] {
				continue
			}
			above := y.row(pivot)[y.lower:] // columns pivot, pivot+1, …
			above = above[:min(y.upper+1, y.states-pivot)]
			row[at] *= y.inverse[pivot]
			floats.AddScaled(row[at+1:at+len(above)], -row[at], above[1:])
		}
		y.inverse[r] = 1 / row[y.lower]
	}
}

// factorWork returns the number of multiplications that factorizeFrom makes at most, and solveWork that of a solution.
func (y *system) factorWork(first int) float64 {
	return float64(y.states-first) * float64(y.lower*(1+y.upper))
}

func (y *system) solveWork() float64 { return float64(y.states * (y.lower + y.upper + 1)) }

// solve replaces x by the solution of A x = b, given as x; factorize must have been called.
func (y *system) solve(x []float64) {
	for r := range x {
		if y.ends[r] {
			continue
		}
		first := max(0, r-y.lower)
		x[r] -= floats.Dot(y.row(r)[first-r+y.lower:y.lower], x[first:r])
	}
	for r := len(x) - 1; r >= 0; r-- {
		if y.ends[r] {
			continue
		}
		row := y.row(r)[y.lower:]
		after := min(y.upper, len(x)-1-r)
		x[r] = (x[r] - floats.Dot(row[1:1+after], x[r+1:r+1+after])) * y.inverse[r]
	}
}

// solveTransposed replaces x by the solution of Aᵀ x = b, given as x; factorize must have been called.
func (y *system) solveTransposed(x []float64) {
	for r := range x {
		if y.ends[r] {
			continue
		}
		row := y.row(r)[y.lower:]
		x[r] *= y.inverse[r]
		after := min(y.upper, len(x)-1-r)
		floats.AddScaled(x[r+1:r+1+after], -x[r], row[1:1+after])
	}
	for r := len(x) - 1; r >= 0; r-- {
		if y.ends[r] {
			continue
		}
		first := max(0, r-y.lower)
		floats.AddScaled(x[first:r], -x[r], y.row(r)[first-r+y.lower:y.lower])
	}
}
