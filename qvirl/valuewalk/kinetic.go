package valuewalk

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// kinetic is the kinetic energy ½ pᵀ M⁻¹ p of the Hamiltonian dynamics. Its mass matrix M approximates the posterior's
// precision, so that the dynamics see a density that is about equally wide in every direction. Where the rewards'
// precision is diagonal, M joins few coordinates: those of the successors of one state.
type kinetic struct{ mass *skyline }

// newKinetic returns the kinetic energy whose mass matrix is h/count.
func newKinetic(t *target, h []float64, count int) (*kinetic, error) {
	mass, err := newSkyline(t.dim, t.near(), func(i, j int) float64 {
		return (h[i*t.dim+j] + h[j*t.dim+i]) / (2 * float64(count))
	})
	if err != nil {
		return nil, fmt.Errorf("valuewalk: the mass matrix is %w: the prior or the discount is too extreme", err)
	}
	return &kinetic{mass}, nil
}

// velocity writes M⁻¹ p to dst. scratch, as long as they, is overwritten.
func (m *kinetic) velocity(dst, scratch, p []float64) { m.mass.solve(dst, scratch, p) }

// momentum draws p ~ N(0, M) and returns its kinetic energy. scratch is overwritten.
func (m *kinetic) momentum(p, scratch []float64, rng *rand.Rand) float64 {
	for i := range scratch {
		scratch[i] = rng.NormFloat64()
	}
	m.mass.multiply(p, scratch)
	return 0.5 * floats.Dot(scratch, scratch)
}

// near returns the coordinates of x in an order in which those of states that transitions join are near each other.
func (t *target) near() []int {
	each := t.n / t.mdp.States()
	place, _ := t.mdp.Numbering()
	order := make([]int, t.dim)
	for s, at := range place {
		for a := range each {
			order[int(at)*each+a] = s*each + a
		}
	}
	if t.dim > t.n {
		order[t.n] = t.n // log β
	}
	return order
}

// addCurvature adds to h, [dim·dim], the Gauss–Newton approximation of minus the Hessian of the log density at the last
// eval: Jᵀ Λ J with the Jacobian J = ∂R/∂x and the prior's precision Λ, and the Fisher information of the
// demonstrations.
func (t *target) addCurvature(h []float64) {
	n := t.dim // of h; the rewards depend on the values alone
	jacobian := make([]sparse, t.n)
	for i := range jacobian {
		jacobian[i].add(i, 1)
		if t.stateOnly {
			next, prob := t.mdp.Row(i, t.greedy[i])
			for k, to := range next {
				jacobian[i].add(int(to), -t.discount*prob[k])
			}
			continue
		}
		next, prob := t.mdp.Row(i/t.actions, i%t.actions)
		for k, to := range next {
			jacobian[i].add(int(to)*t.actions+t.greedy[to], -t.discount*prob[k])
		}
	}
	if t.dense == nil {
		for i, row := range jacobian {
			addOuter(h, n, t.precision[i], row, row)
		}
	} else {
		weighted := make([]float64, n) // a row of Λ J
		for i, row := range jacobian {
			clear(weighted)
			for j, other := range jacobian {
				other.addTo(weighted, t.dense.At(i, j))
			}
			for k, at := range row.index {
				floats.AddScaled(h[at*n:(at+1)*n], row.value[k], weighted)
			}
		}
	}
	if t.betaStd > 0 {
		h[n*n-1] += 1 / (t.betaStd * t.betaStd)
	}
	t.addInformation(h)
}

// addInformation adds the Fisher information of the demonstrations: in each state, scale² times the covariance of the
// actions' score gradients under the Boltzmann policy, for each demonstration. The gradient of β · score in log β is
// β · score.
func (t *target) addInformation(h []float64) {
	scale := t.scoreScale()
	score := make([]sparse, t.actions)
	for d, s := range t.demoed {
		for a := range score {
			score[a] = sparse{}
			if t.betaStd > 0 {
				score[a].add(t.n, t.relative[d*t.actions+a])
			}
			if !t.stateOnly {
				score[a].add(s*t.actions+a, 1)
				continue
			}
			next, prob := t.mdp.Row(s, a)
			for k, to := range next {
				score[a].add(int(to), prob[k])
			}
		}
		counts, g := t.counts[d*t.actions:(d+1)*t.actions], t.scoreG[d*t.actions:(d+1)*t.actions]
		policy := make([]float64, t.actions) // scoreG = scale · (counts − total · policy), unless the scale is zero
		for a := range policy {
			if scale > 0 {
				policy[a] = (counts[a] - g[a]/scale) / t.total[d]
			}
		}
		var mean sparse
		for a, p := range policy {
			addOuter(h, t.dim, scale*scale*t.total[d]*p, score[a], score[a])
			for k, at := range score[a].index {
				mean.add(at, p*score[a].value[k])
			}
		}
		addOuter(h, t.dim, -scale*scale*t.total[d], mean, mean)
	}
}

// sparse is a vector with few entries, each index once.
type sparse struct {
	index []int
	value []float64
}

func (v *sparse) add(i int, x float64) {
	for k, at := range v.index {
		if at == i {
			v.value[k] += x
			return
		}
	}
	v.index, v.value = append(v.index, i), append(v.value, x)
}

func (v *sparse) addTo(dst []float64, scale float64) {
	if scale == 0 {
		return
	}
	for k, i := range v.index {
		dst[i] += scale * v.value[k]
	}
}

// addOuter adds c · a bᵀ to the row-major n×n matrix h.
func addOuter(h []float64, n int, c float64, a, b sparse) {
	for k, i := range a.index {
		b.addTo(h[i*n:(i+1)*n], c*a.value[k])
	}
}
