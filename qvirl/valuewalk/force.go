package valuewalk

import "math"

// smoothing is the temperature at which addLoopForce softens the greedy policy, as a fraction of the prior's standard
// deviation. Smaller follows the determinant more closely and needs smaller steps; on 8×8 worlds of the paper
// (σ = 3, seeds from 1000) temperatures between 0.35 and 0.5 gave most effective samples a second.
const smoothing = 0.13

// negligible is the number of temperatures below the best action's score at which an action's weight is dropped.
const negligible = 8

// findLoops fills selfProb and looped.
func (t *target) findLoops() {
	t.selfProb = make([]float64, t.states*t.actions)
	for s := 0; s < t.states; s++ {
		differ := false
		for a := 0; a < t.actions; a++ {
			i := s*t.actions + a
			for k := t.rowStart[i]; k < t.rowStart[i+1]; k++ {
				if int(t.next[k]) == s {
					t.selfProb[i] = t.prob[k]
				}
			}
			differ = differ || t.selfProb[i] != t.selfProb[s*t.actions]
		}
		if differ {
			t.looped = append(t.looped, int32(s))
		}
	}
	variance := 0.0
	for _, p := range t.priorVariance {
		variance += p / float64(t.n)
	}
	t.temperature = smoothing * math.Sqrt(variance)
}

// addLoopForce adds to grad the gradient of a smooth stand-in for log det(I − γ P_π) at the position of the last eval,
// and returns its value up to a constant: the product of the diagonal of I − γ P under a policy that is softmax instead
// of greedy. The determinant is a sum over cycles of the greedy policy, and greedy policies seldom cycle other than by
// staying in place; in the paper's gridworlds, log det has a standard deviation of 2.2 in the posterior, and what the
// hard diagonal leaves of it one of 0.25.
func (t *target) addLoopForce(x, grad []float64) float64 {
	score := t.backup
	if !t.stateOnly {
		score = x
	}
	product, sum := 1.0, 0.0
	for _, s := range t.looped {
		base := int(s) * t.actions
		row, self, w := score[base:base+t.actions], t.selfProb[base:base+t.actions], t.weights
		top := math.Inf(-1)
		for _, q := range row {
			top = max(top, q)
		}
		z, stay := 0.0, 0.0
		for a, q := range row {
			w[a] = 0
			if d := (q - top) / t.temperature; d > -negligible {
				w[a] = math.Exp(d)
				z += w[a]
				stay += w[a] * self[a]
			}
		}
		stay /= z
		leave := 1 - t.discount*stay
		if product *= leave; product < 1e-200 {
			sum += math.Log(product)
			product = 1
		}
		scale := -t.discount / (leave * t.temperature * z)
		for a := range row {
			c := scale * w[a] * (self[a] - stay)
			switch {
			case c == 0:
			case t.stateOnly:
				t.scatter(grad, base+a, c)
			default:
				grad[base+a] += c
			}
		}
	}
	return sum + math.Log(product)
}
