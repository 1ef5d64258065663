package valuewalk

import "math"

// smoothing is the temperature at which addLoopForce softens the greedy policy, as a fraction of the prior's standard
// deviation. Smaller follows the determinant more closely and needs smaller steps; on 8×8 worlds of the paper
// (σ = 3, seeds from 1000) temperatures between 0.35 and 0.5 gave most effective samples a second.
const smoothing = 0.13

// findLoops fills selfProb and looped.
func (t *target) findLoops() {
	t.selfProb = make([]float64, t.states*t.actions)
	for s := 0; s < t.states; s++ {
		differ := false
		for a := 0; a < t.actions; a++ {
			i := s*t.actions + a
			t.selfProb[i] = t.mdp.Stay(s, a)
			differ = differ || t.selfProb[i] != t.selfProb[s*t.actions]
		}
		if differ {
			t.looped = append(t.looped, s)
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
//
// The softmax weights of the actions are (1 + u/16)¹⁶ with the score u ≤ 0 relative to the best action's, in units of
// the temperature: within 0.5 % of exp(u) where it matters, without the cost of an exponential.
func (t *target) addLoopForce(x, grad []float64) float64 {
	score := t.backup
	if !t.stateOnly {
		score = x
	}
	inverse := 1 / (16 * t.temperature)
	product, sum := 1.0, 0.0
	for _, s := range t.looped {
		base := s * t.actions
		row, self := score[base:base+t.actions], t.selfProb[base:base+t.actions]
		w, slope := t.weights[:t.actions], t.weights[t.actions:]
		best := t.greedy[s]
		top := row[best]
		z, stay := 0.0, 0.0
		for a, q := range row {
			d := 1 + (q-top)*inverse
			if d <= 0 {
				w[a], slope[a] = 0, 0
				continue
			}
			d2 := d * d
			d4 := d2 * d2
			d8 := d4 * d4
			w[a], slope[a] = d8*d8, d8*d4*d2*d // (1 + u/16)¹⁶ and its derivative
			z += w[a]
			stay += w[a] * self[a]
		}
		stay /= z
		leave := 1 - t.discount*stay
		if product *= leave; product < 1e-200 {
			sum += math.Log(product)
			product = 1
		}
		scale := -t.discount / (leave * t.temperature * z)
		rest := 0.0 // the best action's part: only differences of scores matter
		for a := range row {
			c := scale * slope[a] * (self[a] - stay)
			if c == 0 || a == best {
				continue
			}
			rest -= c
			if t.stateOnly {
				t.mdp.AddRow(grad, s, a, c)
			} else {
				grad[base+a] += c
			}
		}
		if t.stateOnly {
			t.mdp.AddRow(grad, s, best, rest)
		} else {
			grad[base+best] += rest
		}
	}
	return sum + math.Log(product)
}
