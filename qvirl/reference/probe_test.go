package reference

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/envs/gridworld"
	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/experiment/worlds"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

func corridor(change func(p *irl.Problem)) *irl.Problem {
	rows := [][]mdp.Transition{
		{{Next: 0, Prob: 1}}, {{Next: 0, Prob: 0.1}, {Next: 1, Prob: 0.9}},
		{{Next: 0, Prob: 0.9}, {Next: 1, Prob: 0.1}}, {{Next: 1, Prob: 0.1}, {Next: 2, Prob: 0.9}},
		nil, nil,
	}
	m, _ := mdp.New(3, 2, rows, nil)
	p := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, 0, 2), Discount: 0.9, Beta: 2, Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}}}
	change(p)
	return p
}

func TestProbe(t *testing.T) {
	only := os.Getenv("PROBE")
	problems := map[string]*irl.Problem{}
	add := func(name string, p *irl.Problem) { problems[name] = p }
	add("plain", corridor(func(p *irl.Problem) {}))
	add("scales", corridor(func(p *irl.Problem) { p.Prior.Std = []float64{1e-3, 1, 1e3} }))
	add("ones", corridor(func(p *irl.Problem) {
		c := mat.NewSymDense(3, []float64{1, 1, 1, 1, 1, 1, 1, 1, 1})
		for i := range 3 {
			c.SetSym(i, i, 1+1e-8)
		}
		p.Prior.Std, p.Prior.Cov = nil, c
	}))
	add("gamma.999", corridor(func(p *irl.Problem) { p.Discount = 0.999 }))
	add("gamma.9999", corridor(func(p *irl.Problem) { p.Discount = 0.9999 }))
	add("mean1000", corridor(func(p *irl.Problem) { p.Prior.Mean = []float64{1000, 1000, 1000} }))
	for _, b := range []float64{20, 1e4, 1e6} {
		add(fmt.Sprintf("beta%g", b), corridor(func(p *irl.Problem) { p.Beta = b }))
	}
	add("betainf", corridor(func(p *irl.Problem) { p.BetaLogStd = 1 }))
	config := worlds.Paper()
	for _, seed := range []uint64{1001, 1002} {
		w, err := config.NewWorld(seed)
		if err != nil {
			t.Fatal(err)
		}
		add(fmt.Sprintf("paper%d", seed), w.Problem)
		p := *w.Problem
		p.BetaLogStd = 0.7
		add(fmt.Sprintf("paperbeta%d", seed), &p)
		q := *w.Problem
		q.Beta = 100
		add(fmt.Sprintf("paperhard%d", seed), &q)
	}
	g, err := gridworld.Random(func() gridworld.Config { c := config.World; c.Width, c.Height = 5, 5; return c }(), 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []float64{1, 3} {
		c := mat.NewSymDense(25, nil)
		for i := range 25 {
			for j := i; j < 25; j++ {
				d2 := math.Pow(float64(i/5-j/5), 2) + math.Pow(float64(i%5-j%5), 2)
				c.SetSym(i, j, 9*math.Exp(-d2/2/l/l))
			}
			c.SetSym(i, i, 9*(1+1e-8))
		}
		d, _ := g.Demonstrate(3, 10, 2, 0.9, 3)
		pr := irl.Prior{Mean: make([]float64, 25), Cov: c}
		for i := range 25 {
			pr.Mean[i] = -1
		}
		add(fmt.Sprintf("rbf%g", l), &irl.Problem{MDP: g.MDP, Prior: pr, Discount: 0.9, Beta: 2, Demos: mdp.Flatten(d)})
	}
	for name, p := range problems {
		if only != "" && !strings.Contains(","+only+",", ","+name+",") {
			continue
		}
		c := Default()
		c.Seed = 1
		m, _ := New(c)
		start := time.Now()
		posts, err := m.Fit(context.Background(), []*irl.Problem{p}, nil)
		if err != nil {
			fmt.Println(name, err)
			continue
		}
		took := time.Since(start)
		post := posts[0].(*Posterior)
		d := post.Diagnostics()
		rhat, ess := d.Worst()
		fmt.Printf("%-14s %6.2fs work %6.2f its %6d rhat %.3f ess %5.0f acc %.2f shares %.2f r: ", name, took.Seconds(), d.Seconds, d.Iterations, rhat, ess, d.Acceptance, d.Shares)
		for i := range min(3, p.RewardDim()) {
			fmt.Printf("%.3f±%.3f ", post.Reward(i).Mean(), post.Reward(i).StdDev())
		}
		fmt.Println()
		if os.Getenv("VW") != "" {
			vc := valuewalk.Default()
			v, _ := valuewalk.New(vc)
			start := time.Now()
			posts, err := v.Fit(context.Background(), []*irl.Problem{p}, nil)
			if err != nil {
				fmt.Println(name, err)
				continue
			}
			post := posts[0].(*valuewalk.Posterior)
			d := post.Diagnostics()
			rhat, ess := d.Worst()
			fmt.Printf("  valuewalk    %6.2fs work %6.2f its %6d rhat %.3f ess %5.0f acc %.2f r: ", time.Since(start).Seconds(), d.Seconds, d.Iterations, rhat, ess, d.Acceptance)
			for i := range min(3, p.RewardDim()) {
				fmt.Printf("%.3f±%.3f ", post.Reward(i).Mean(), post.Reward(i).StdDev())
			}
			fmt.Println()
		}
	}
}
