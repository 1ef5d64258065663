package reference

import (
	"context"
	"flag"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/summary"
	"github.com/go-birl/birl/qvirl/zoo/zootest"
)

var (
	densities = flag.Int("densities", 500, "random problems whose density is tested")
	answers   = flag.Int("answers", 20, "random problems that are sampled")
)

// density is a target as zootest takes it.
type density struct{ *Target }

func (d density) LogDensity(z, grad []float64) float64 {
	logp := d.LogLikelihood(z, grad) - 0.5*floats.Dot(z, z)
	if grad != nil {
		floats.Sub(grad, z)
	}
	return logp
}

func (d density) Reward(z []float64) []float64 {
	d.rewardAt(z)
	return slices.Clone(d.reward)
}

func TestPropertiesOfTheDensity(t *testing.T) {
	zootest.Density(t, *densities, 1, func(p *irl.Problem) (zootest.LogDensity, error) {
		target, err := NewTarget(p)
		return density{target}, err
	})
}

func TestPropertiesOfTheSamples(t *testing.T) {
	zootest.Answers(t, *answers, 2, func(p *irl.Problem) (*summary.Summary, error) {
		c := Default()
		c.Samples, c.Warmup = 4000, 200
		m, err := New(c)
		if err != nil {
			return nil, err
		}
		posts, err := m.Fit(context.Background(), []*irl.Problem{p}, nil)
		if err != nil {
			return nil, err
		}
		if ok, _ := posts[0].(*Posterior).Convergence(); !ok {
			return nil, nil // it says so
		}
		return summary.Of(posts[0], 0, 0)
	})
}
