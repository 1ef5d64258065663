package tabular

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
)

func TestExplore(t *testing.T) {
	width, _ := strconv.Atoi(os.Getenv("WIDTH"))
	if width == 0 {
		t.Skip()
	}
	c := gridworld.Paper()
	c.Width, c.Height = width, width
	seed := uint64(1000)
	w, _ := gridworld.Random(c, seed)
	demos, _ := w.Demonstrate(5, 5, 2, 0.9, seed)
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(width*width, c.RewardMean, c.RewardStd), Discount: 0.9,
		Beta: 2, Demos: mdp.Flatten(demos)}
	cfg := DefaultConfig()
	cfg.Covariance = LowRankCovariance
	cfg.Rank, _ = strconv.Atoi(os.Getenv("RANK"))
	m, _ := New(cfg)
	began := time.Now()
	post, err := m.Fit(context.Background(), []*irl.Problem{p}, func(d, t int, s string) {
		if d%10 == 0 {
			fmt.Println(d, s, time.Since(began))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	g := post[0].(*Gaussian)
	fmt.Println("low rank", time.Since(began), "ELBO", g.elbo, g.converged, g.info.Evaluations)
	if os.Getenv("DENSE") == "" {
		return
	}
	began = time.Now()
	d := fit(t, DefaultConfig(), p)[0]
	fmt.Println("dense", time.Since(began), "ELBO", d.elbo, d.converged, d.info.Evaluations)
	w1, tv, w1Max, tvMax := 0., 0., 0., 0.
	for s := range width * width {
		a, b := g.meanR[s]-d.meanR[s], g.Reward(s).StdDev()-d.Reward(s).StdDev()
		v := gaussianW1(a, b)
		w1 += v / float64(width*width)
		w1Max = max(w1Max, v)
		l := 0.
		for i := range 5 {
			l += math.Abs(g.probs[5*s+i]-d.probs[5*s+i]) / 2
		}
		tv += l / float64(width*width)
		tvMax = max(tvMax, l)
	}
	fmt.Printf("W1 mean %.4f max %.4f  TV mean %.4f max %.4f\n", w1, w1Max, tv, tvMax)
}

// E|a + b ε|
func gaussianW1(a, b float64) float64 {
	b = math.Abs(b)
	if b == 0 {
		return math.Abs(a)
	}
	return b*math.Sqrt(2/math.Pi)*math.Exp(-a*a/(2*b*b)) + a*math.Erf(a/(b*math.Sqrt2))
}

func BenchmarkSparse(b *testing.B) {
	c := gridworld.Paper()
	c.Width, c.Height = 100, 100
	w, _ := gridworld.Random(c, 1000)
	demos, _ := w.Demonstrate(5, 5, 2, 0.9, 1000)
	p := &irl.Problem{MDP: w.MDP, Prior: irl.IndependentPrior(10000, c.RewardMean, c.RewardStd), Discount: 0.9,
		Beta: 2, Demos: mdp.Flatten(demos)}
	f, _ := newSparseForm(p, "clark", 32)
	x := make([]float64, 34*10000)
	for i := range x {
		x[i] = 0.01 * float64(i%7)
	}
	g := make([]float64, len(x))
	for b.Loop() {
		f.at(x, g)
	}
}
