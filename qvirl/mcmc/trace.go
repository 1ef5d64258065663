package mcmc

// Trace keeps the positions of a chain at equal distances, and ever fewer of them as the chain grows, so that it needs
// bounded memory however long the chain runs.
type Trace struct {
	n, limit     int
	stride, seen int
	draws        []float64 // [kept, n]
}

// NewTrace returns a trace of positions of n numbers that keeps at most limit of them.
func NewTrace(n, limit int) *Trace { return &Trace{n: n, limit: limit, stride: 1} }

// Len returns the number of positions that were added, kept or not.
func (t *Trace) Len() int { return t.seen }

// Add adds a position, which is copied. It halves the number of positions that are kept, by doubling the distance
// between them, when that exceeds the limit.
func (t *Trace) Add(x []float64) {
	t.seen++
	if t.seen%t.stride != 0 {
		return
	}
	t.draws = append(t.draws, x...)
	if kept := len(t.draws) / t.n; kept > t.limit {
		half := kept / 2
		for i := 0; i < half; i++ {
			copy(t.draws[i*t.n:(i+1)*t.n], t.draws[(2*i+1)*t.n:(2*i+2)*t.n])
		}
		t.draws = t.draws[:half*t.n]
		t.stride *= 2
	}
}

// Thinned returns count positions that stand at equal distances among those that are kept.
func (t *Trace) Thinned(count int) [][]float64 {
	kept := len(t.draws) / t.n
	out := make([][]float64, count)
	for i := range out {
		at := (2*i + 1) * kept / (2 * count)
		out[i] = t.draws[at*t.n : (at+1)*t.n]
	}
	return out
}
