package active

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/zoo"
)

// BenchmarkScore8x8 scores all 64 candidates of a paper world from 500 prior samples.
func BenchmarkScore8x8(b *testing.B) {
	p, err := zoo.Gridworld(8, 1000, 0)
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rewards := mat.NewDense(500, 64, nil)
	for i := range rewards.RawMatrix().Data {
		rewards.RawMatrix().Data[i] = -1 + 3*rng.NormFloat64()
	}
	samples, err := p.SolveSamples(rewards)
	if err != nil {
		b.Fatal(err)
	}
	for _, a := range []Acquisition{RewardEIG{Length: 5, Trajectories: 50}, ActiveVaR{Level: 0.95}} {
		b.Run(a.Name(), func(b *testing.B) {
			for b.Loop() {
				if _, err := a.Score(p, samples, States(p.MDP), rng); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
