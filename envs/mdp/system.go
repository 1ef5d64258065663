package mdp

// system is the matrix I − γ P_π of a policy in band storage, and after factorize its LU factors in the same place.
// Elimination needs no pivoting: for γ < 1 every row is strictly diagonally dominant (Golub & Van Loan, Sec. 4.1),
// which also bounds the growth of rounding errors by 2. In a gridworld numbered row by row the band is as wide as the
// grid.
type system struct {
	states       int
	lower, upper int       // number of diagonals below and above the main one
	band         []float64 // [states, lower+1+upper]; column c of row r is at c − r + lower
}

// newSystem returns a system wide enough for any policy of m; clear prepares it for one.
func (m *MDP) newSystem() *system {
	return &system{
		states: m.states, lower: m.lower, upper: m.upper,
		band: make([]float64, m.states*(m.lower+1+m.upper)),
	}
}

// row returns row r of the band; column c of the matrix is at c − r + lower.
func (y *system) row(r int) []float64 {
	width := y.lower + 1 + y.upper
	return y.band[r*width : (r+1)*width]
}

// clear sets the system to the identity.
func (y *system) clear() {
	clear(y.band)
	for r := 0; r < y.states; r++ {
		y.row(r)[y.lower] = 1
	}
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
func (y *system) factorize() {
	for pivot := 0; pivot < y.states; pivot++ {
		above := y.row(pivot)[y.lower:] // columns pivot, pivot+1, …
		above = above[:min(y.upper+1, y.states-pivot)]
		for r := pivot + 1; r <= min(pivot+y.lower, y.states-1); r++ {
			row := y.row(r)[pivot-r+y.lower:]
			if row[0] == 0 {
				continue
			}
			factor := row[0] / above[0]
			row[0] = factor
			row = row[:len(above)]
			for c := 1; c < len(above); c++ {
				row[c] -= factor * above[c]
			}
		}
	}
}

// solve replaces x by the solution of A x = b, given as x; factorize must have been called.
func (y *system) solve(x []float64) {
	for r := range x {
		first := max(0, r-y.lower)
		row := y.row(r)[first-r+y.lower : y.lower]
		for k, l := range row {
			x[r] -= l * x[first+k]
		}
	}
	for r := len(x) - 1; r >= 0; r-- {
		row := y.row(r)[y.lower:]
		for k := min(y.upper, len(x)-1-r); k > 0; k-- {
			x[r] -= row[k] * x[r+k]
		}
		x[r] /= row[0]
	}
}

// solveTransposed replaces x by the solution of Aᵀ x = b, given as x; factorize must have been called.
func (y *system) solveTransposed(x []float64) {
	for r := range x {
		row := y.row(r)[y.lower:]
		x[r] /= row[0]
		for k := min(y.upper, len(x)-1-r); k > 0; k-- {
			x[r+k] -= row[k] * x[r]
		}
	}
	for r := len(x) - 1; r >= 0; r-- {
		first := max(0, r-y.lower)
		row := y.row(r)[first-r+y.lower : y.lower]
		for k, l := range row {
			x[first+k] -= l * x[r]
		}
	}
}
