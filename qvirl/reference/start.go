package reference

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

const (
	farStream   = 1 << 32       // of random numbers, which is no chain's,
	scanStream  = farStream + 1 // of a scan,
	againStream = farStream + 2 // of choosing among samples,
	restStream  = farStream + 3 // and of rewards that no demonstration tells of, as many as there are chains

	farTries = 2000 // positions that starts from afar are drawn from, but no more than
	farWork  = 2e8  // multiplications take: a fraction of a second
	farScale = 4    // greatest multiple of the prior's standard deviation
)

// try is a position from which a climb may start.
type try struct {
	u        []float64
	merit    float64 // of two, the greater one is tried first: the log-likelihood, or the density
	steepest int     // coordinate in which the log-likelihood is steepest
	turn     int     // number of tries with the same one and more merit
}

// farStarts returns so many positions to start chains from, drawn from the posterior as far as few tries tell: most of
// it may be in a place that hardly any draw of the prior comes near, and that chains from there never find. A try is a
// draw of the prior with some informed coordinates, one alone as likely as all, c times as wide, c uniform in [1,
// farScale]. It counts by its importance, the posterior's density over the try's given c and these m coordinates,
//
//	log w = log p(D | u) + m log c − ½ Σ_j (1 − 1/c²) u_j².
//
// Positions are drawn at equal steps of the tries' weights, in the order of ‖u‖: of two, one is far out if half of the
// posterior is. The modes that the tries lead to are returned, too; if there are several, positions are on them, and if
// there is one, the first is.
func (t *Target) farStarts(ctx context.Context, rng *rand.Rand, count int) ([][]float64, search) {
	dim, informed, end := t.Dim(), t.informed, t.work()+farWork
	var tries []try
	var logWeights, norms []float64
	grad := make([]float64, dim)
	for len(tries) < count || len(tries) < farTries && t.work() < end {
		u := make([]float64, dim)
		for j := range u {
			u[j] = rng.NormFloat64()
		}
		c := 1 + (farScale-1)*rng.Float64()
		m := int(math.Exp2(math.Log2(float64(len(informed)+1)) * rng.Float64()))
		logWeight := float64(m) * math.Log(c)
		for _, i := range rng.Perm(len(informed))[:min(m, len(informed))] {
			j := informed[i]
			u[j] *= c
			logWeight -= 0.5 * (1 - 1/(c*c)) * u[j] * u[j]
		}
		l := t.LogLikelihood(u, grad)
		if math.IsNaN(l) {
			l = math.Inf(-1)
		}
		logWeight += l
		for j, g := range grad {
			grad[j] = math.Abs(g)
		}
		tries = append(tries, try{u: u, merit: l, steepest: floats.MaxIdx(grad)})
		logWeights, norms = append(logWeights, logWeight), append(norms, floats.Norm(u, 2))
	}
	order := make([]int, len(tries))
	floats.Argsort(norms, order)
	total, sum, next := floats.LogSumExp(logWeights), 0.0, rng.Float64()
	var starts [][]float64
	for _, i := range order {
		sum += float64(count) * math.Exp(logWeights[i]-total)
		if len(starts) < count && sum > next {
			starts = append(starts, tries[i].u)
			next++
		}
	}
	for i := 0; len(starts) < count; i++ { // a single try has all the weight, or no try has any
		starts = append(starts, tries[order[i]].u)
	}
	found := t.explore(ctx, rng, tries)
	for i := range starts {
		if n := len(found.modes); n > 1 || i < n {
			starts[i] = found.modes[i%n].u
		}
	}
	return starts, found
}
