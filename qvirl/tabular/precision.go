package tabular

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/irl"
)

// Where the numbers of a problem exceed these, single precision loses its covariances or means (measured in the
// problem's whitened coordinates; on 8×8 gridworlds of the paper they are about 3, 10³ and 2), and from beyondFloats
// on double precision does.
const (
	// singleReach bounds how many of its own prior standard deviations a reward moves by when the expert changes its
	// mind in one state: the covariance of rewards has eigenvalues that many times apart, squared.
	singleReach = 100
	// singleInformation bounds by how much demonstrations may raise the precision of a value over the prior's.
	singleInformation = 1e5
	// singleOffset bounds how many prior standard deviations, or units of 1/β, the prior mean is from being ruled out.
	singleOffset = 1e3
	beyondFloats = 1e100
)

// conditions are what makes a problem hard to compute with. They do not depend on the unit of reward.
type conditions struct {
	reach       float64 // max over states s, actions a and rewards i of |U(i,s)|·|D_a(s)|
	information float64 // max over states of n(s)·max_ab β²q²|D_a(s) − D_b(s)|², n(s) the demonstrations there
	offset      float64 // max |L⁻¹(R − m)| at the origin, or β q |d|
	sharpness   float64 // max over all states of β q |D_a(s) − D_b(s)|
}

// conditions measures the problem of a batch of one.
func (b *batch) conditions() conditions {
	var c conditions
	n := b.dim
	row := func(s, a int) []float64 { return b.contrast[(s*b.actions+a)*n : (s*b.actions+a+1)*n] }
	beta := b.beta[0]
	u := b.densePull()
	for s := range b.states {
		longest, widest, demos := 0.0, 0.0, 0.0
		for a := range b.actions {
			longest = math.Max(longest, floats.Norm(row(s, a), 2))
			demos += b.counts[a*b.states+s]
			for other := range a {
				widest = math.Max(widest, beta*floats.Distance(row(s, a), row(s, other), 2))
			}
		}
		c.reach = math.Max(c.reach, longest*mat.Norm(u.ColView(s), math.Inf(1)))
		c.sharpness, c.information = math.Max(c.sharpness, widest), math.Max(c.information, demos*widest*widest)
	}
	for i := 0; i < len(b.map0); i += n {
		c.reach = math.Max(c.reach, floats.Norm(b.map0[i:i+n], 2))
	}
	c.offset = maxAbs(b.reward0)
	for i, d := range b.contrastOrigin {
		c.offset = math.Max(c.offset, beta*math.Abs(d))
		if b.diagonal {
			c.offset = math.Max(c.offset, math.Abs(b.pull[i%b.states]*d))
		}
	}
	return c
}

// needsDouble says why single precision would lose what training computes; empty if it does not.
func (c conditions) needsDouble() string {
	switch {
	case !(c.reach <= singleReach):
		return fmt.Sprintf("one choice of the expert moves a reward by up to %.3g of its prior standard deviations",
			c.reach)
	case !(c.information <= singleInformation):
		return fmt.Sprintf("demonstrations raise the precision of values up to %.3g times over the prior's",
			c.information)
	case !(c.offset <= singleOffset):
		return fmt.Sprintf("the prior mean sets values up to %.3g prior standard deviations or units of 1/β apart",
			c.offset)
	}
	return ""
}

// blame names what in the problem makes its objective leave the range of numbers in double precision, in the user's
// terms; empty if nothing stands out.
func (c conditions) blame(p *irl.Problem, from float64) string {
	if !(c.sharpness <= from) || !(c.information <= from*from) {
		return fmt.Sprintf("Beta = %g is too large for rewards of prior standard deviations up to %.3g: it makes "+
			"differences of values that the prior expects %.3g times as large as what the expert tells apart",
			p.Beta, floats.Max(deviations(p.Prior)), c.sharpness)
	}
	if !(c.reach <= from) {
		std := deviations(p.Prior)
		if !p.Prior.Independent() {
			return fmt.Sprintf("the prior covariance is too close to singular (standard deviations from %.3g to "+
				"%.3g): a choice of the expert moves rewards by %.3g of the smallest deviations that it leaves",
				floats.Min(std), floats.Max(std), c.reach)
		}
		i := floats.MinIdx(std)
		return fmt.Sprintf("prior std[%d] = %g is too small beside the others, which reach %g: a choice of the expert "+
			"moves that reward by %.3g deviations", i, std[i], floats.Max(std), c.reach)
	}
	if !(c.offset <= from) {
		return fmt.Sprintf("the prior mean, up to %.3g in size, is too far from zero for prior standard deviations "+
			"from %.3g on (or for Beta = %g)", maxAbs(p.Prior.Mean), floats.Min(deviations(p.Prior)), p.Beta)
	}
	return ""
}

// deviations returns the standard deviations of rewards, [n].
func deviations(p irl.Prior) []float64 {
	std := p.Variances()
	for i, v := range std {
		std[i] = math.Sqrt(v)
	}
	return std
}
