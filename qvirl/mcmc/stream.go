package mcmc

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/irl"
)

// Stream returns one of the independent random streams, by number, of a problem with the given Fingerprint.
func Stream(seed, fingerprint, number uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, fingerprint+number*0x9E3779B97F4A7C15)) // golden-ratio steps: distinct streams
}

// Fingerprint returns a hash of everything that the posterior density depends on. Random streams are drawn from it, so
// that a problem's samples do not depend on the batch that it is solved in.
func Fingerprint(p *irl.Problem) uint64 {
	h := fnv.New64a()
	var word [8]byte
	put := func(x uint64) {
		binary.LittleEndian.PutUint64(word[:], x)
		h.Write(word[:]) // does not fail
	}
	putFloats := func(x []float64) {
		for _, v := range x {
			put(math.Float64bits(v))
		}
	}
	m := p.MDP
	for _, n := range []int{m.States(), m.Actions(), p.RewardDim()} {
		put(uint64(n))
	}
	putFloats([]float64{p.Discount, p.Beta})
	if p.InfersBeta() { // nothing otherwise, which keeps the streams of problems with a known β
		put(math.Float64bits(p.BetaLogStd))
	}
	eachRow := func(visit func(next []int32, prob []float64)) {
		for s := 0; s < m.States(); s++ {
			for a := 0; a < m.Actions(); a++ {
				visit(m.Row(s, a))
			}
		}
	}
	end := 0
	put(0)
	eachRow(func(next []int32, _ []float64) {
		end += len(next)
		put(uint64(end))
	})
	eachRow(func(next []int32, _ []float64) {
		for _, s := range next {
			put(uint64(s))
		}
	})
	eachRow(func(_ []int32, prob []float64) { putFloats(prob) })
	demoed, counts, _ := p.Demonstrated()
	for _, s := range demoed {
		put(uint64(s))
	}
	putFloats(counts)
	putFloats(p.Prior.Mean)
	switch {
	case p.Prior.Cov != nil:
		putFloats(mat.DenseCopyOf(p.Prior.Cov).RawMatrix().Data)
	case p.Prior.LowRank != nil:
		putFloats(p.Prior.Std)
		putFloats(mat.DenseCopyOf(p.Prior.LowRank).RawMatrix().Data)
	default:
		for _, s := range p.Prior.Std {
			put(math.Float64bits(1 / (s * s)))
		}
	}
	return h.Sum64()
}
