package exact

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// cloud returns points that are about distributed as the posterior, by a sequential Monte Carlo sampler (Del Moral,
// Doucet and Jasra, 2006): particles start at draws of the prior N(0, I) and follow N(0, I) · likelihood^t as t goes
// from 0 to 1, each step as long as keeps half of the effective size; after each they are resampled and moved by
// elliptical slice sampling.
func (p *problem) cloud(ctx context.Context, particles, moves int) ([][]float64, error) {
	points, logs := make([][]float64, particles), make([]float64, particles)
	streams := make([]*rand.Rand, particles)
	err := p.parallel(ctx, particles, func(l *likelihood, i int) {
		streams[i] = p.rng(streamParticles + uint64(i))
		points[i] = make([]float64, l.dim)
		priorProposal{}.draw(streams[i], points[i])
		logs[i] = l.log(points[i])
	})
	if err != nil {
		return nil, err
	}
	rng := p.rng(streamResample)
	for t := 0.0; t < 1; {
		step := temperatureStep(logs, 1-t)
		weights := powers(logs, step)
		if t += step; 1-t < 1e-12 {
			t = 1
		}
		around, _, ok := fitGaussian(points, weights, 1.2, nil, 0)
		if !ok {
			return nil, fmt.Errorf("exact: the particles' covariance is singular at temperature %g", t)
		}
		index := resample(rng, weights)
		old, oldLogs := points, logs
		points, logs = make([][]float64, particles), make([]float64, particles)
		for i, j := range index {
			points[i], logs[i] = append([]float64(nil), old[j]...), oldLogs[j]
		}
		err := p.parallel(ctx, particles, func(l *likelihood, i int) {
			w := newWalker(l, points[i], logs[i], t, streams[i])
			for range moves {
				w.step(around)
				w.step(nil)
			}
			logs[i] = w.logLik
		})
		if err != nil {
			return nil, err
		}
	}
	return points, nil
}

// temperatureStep returns the step, at most limit, at which the effective size of weights likelihood^step is half of
// their number.
func temperatureStep(logs []float64, limit float64) float64 {
	enough := func(step float64) bool {
		w := powers(logs, step)
		sum := floats.Sum(w)
		return sum*sum >= 0.5*float64(len(w))*floats.Dot(w, w)
	}
	if enough(limit) {
		return limit
	}
	low, high := 0.0, limit
	for range 60 {
		if mid := (low + high) / 2; enough(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return max(low, 1e-12)
}

// powers returns likelihood^step, the largest of which is 1.
func powers(logs []float64, step float64) []float64 {
	top, out := floats.Max(logs), make([]float64, len(logs))
	for i, l := range logs {
		out[i] = math.Exp(step * (l - top))
	}
	return out
}

// resample returns indices in proportion to the weights, systematically.
func resample(rng *rand.Rand, weights []float64) []int {
	out := make([]int, len(weights))
	step := floats.Sum(weights) / float64(len(weights))
	at, i, sum := rng.Float64()*step, 0, weights[0]
	for k := range out {
		for sum < at && i < len(weights)-1 {
			i++
			sum += weights[i]
		}
		out[k], at = i, at+step
	}
	return out
}

// walker is a chain that leaves N(0, I) · likelihood^t invariant.
type walker struct {
	l       *likelihood
	z       []float64
	logLik  float64
	t       float64
	rng     *rand.Rand
	nu, try []float64
	scratch []float64
}

func newWalker(l *likelihood, z []float64, logLik, t float64, rng *rand.Rand) *walker {
	return &walker{l: l, z: z, logLik: logLik, t: t, rng: rng, nu: make([]float64, len(z)),
		try: make([]float64, len(z)), scratch: make([]float64, len(z))}
}

// step makes one transition of elliptical slice sampling (Murray, Adams and MacKay, 2010) along an ellipse of the
// prior, or where around is given, along one of that Gaussian g, for which the target is g · (N(0, I) likelihood^t / g)
// (Nishihara, Murray and Adams, 2014).
func (w *walker) step(around *gaussian) {
	rest := func(z []float64, logLik float64) float64 { // log of the target over the ellipse's Gaussian
		if around == nil {
			return w.t * logLik
		}
		return w.t*logLik - floats.Dot(z, z)/2 - around.log(z, w.scratch)
	}
	height := rest(w.z, w.logLik) - w.rng.ExpFloat64()
	if around == nil {
		priorProposal{}.draw(w.rng, w.nu)
	} else {
		around.draw(w.rng, w.nu)
	}
	angle := 2 * math.Pi * w.rng.Float64()
	low, high := angle-2*math.Pi, angle
	for {
		sin, cos := math.Sincos(angle)
		for i, z := range w.z {
			mean := 0.0
			if around != nil {
				mean = around.mean[i]
			}
			w.try[i] = mean + (z-mean)*cos + (w.nu[i]-mean)*sin
		}
		if logLik := w.l.log(w.try); rest(w.try, logLik) > height {
			copy(w.z, w.try)
			w.logLik = logLik
			return
		}
		if angle < 0 {
			low = angle
		} else {
			high = angle
		}
		if high-low < 1e-14 { // rounding: stay
			return
		}
		angle = low + (high-low)*w.rng.Float64()
	}
}

// jump makes n Metropolis–Hastings transitions with draws of a proposal that does not depend on where the walker is
// (Tierney, 1994). It takes the walker between parts of the posterior that slices do not connect.
func (w *walker) jump(n int, q proposal) {
	weight := w.t*w.logLik + q.logRatio(w.z)
	for range n {
		q.draw(w.rng, w.try)
		logLik := w.l.log(w.try)
		if next := w.t*logLik + q.logRatio(w.try); next-weight > -w.rng.ExpFloat64() {
			copy(w.z, w.try)
			w.logLik, weight = logLik, next
		}
	}
}
