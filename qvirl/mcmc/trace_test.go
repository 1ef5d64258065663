package mcmc

import "testing"

// A trace stands in for a chain: what it keeps is spread evenly over all that was added, and is bounded.
func TestTrace(t *testing.T) {
	for _, added := range []int{10, 40, 41, 1000} {
		trace := NewTrace(2, 40)
		for i := 1; i <= added; i++ {
			trace.Add([]float64{float64(i), -float64(i)}, Transition{Acceptance: 1 / float64(i), Divergent: i%3 == 0})
		}
		if trace.Len() != added || len(trace.draws) > 2*40 {
			t.Errorf("%d positions added: Len is %d, %d kept", added, trace.Len(), len(trace.draws)/2)
		}
		thinned, by := trace.Thinned(10)
		for k, x := range thinned {
			// the middle of the k-th tenth, up to the distance of kept positions (at most added/20) and one
			if want := (float64(k) + 0.5) / 10 * float64(added); x[0] != -x[1] || x[0] < want-float64(added)/20-1 ||
				x[0] > want+float64(added)/20+1 {
				t.Errorf("%d positions added: draw %d is %v, want about %g", added, k, x, want)
			}
			if by[k] != (Transition{1 / x[0], int(x[0])%3 == 0}) {
				t.Errorf("%d positions added: draw %d, %v, has the transition %+v", added, k, x, by[k])
			}
		}
	}
}
