package reference

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// TestRescale: of many demonstrations β R(0,0) − β R(0,1) is known within 1 %, and neither β nor the rewards are. Along
// the ray from R = 0 the likelihood is constant, whatever the prior's mean, and scale moves sample log c from
//
//	c^k exp(−‖o + c (z − o)‖²/2 − (u − log c / σ)²/2),
//
// compared with the trapezoidal rule; nearly every move is an independent one. Where no episode ends, the origin is the
// constant nearest to the prior's mean.
func TestRescale(t *testing.T) {
	const moves = 4000
	for name, c := range map[string]struct {
		row  []mdp.Transition
		want []float64 // the origin's rewards
	}{
		"ends":    {nil, []float64{0, 0}},
		"endless": {[]mdp.Transition{{Next: 0, Prob: 1}}, []float64{2.6, 2.6}}, // weighted by 1/4 and 1
	} {
		m, err := mdp.New(1, 2, [][]mdp.Transition{c.row, c.row}, nil)
		if err != nil {
			t.Fatal(err)
		}
		p := &irl.Problem{MDP: m, Prior: irl.Prior{Mean: []float64{1, 3}, Std: []float64{2, 1}}, Discount: 0.9,
			Beta: 0.5, BetaLogStd: 0.7}
		for i := range 100000 {
			p.Demos = append(p.Demos, mdp.Step{Action: i % 4 / 3}) // one of four is the second action
		}
		s := prepared(t, Default(), p)
		k := s.chains[1] // it starts near the mode
		for i, want := range c.want {
			if got := p.Prior.Mean[i] + p.Prior.Std[i]*k.origin[i]; math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: the origin has reward %g, want %g", name, got, want)
			}
		}
		start := append([]float64(nil), k.at.u...)
		var weights, logs []float64
		for log := -12.; log <= 12; log += 1e-3 {
			square, z := 0., start[2]-log/p.BetaLogStd
			for i, o := range k.origin {
				square += math.Pow(o+math.Exp(log)*(start[i]-o), 2)
			}
			logs, weights = append(logs, log), append(weights, math.Exp(2*log-square/2-z*z/2))
		}
		mean, std := stat.PopMeanStdDev(logs, weights)
		drawn := make([]float64, moves)
		for i := range drawn {
			k.rescale()
			drawn[i] = p.BetaLogStd * (start[2] - k.at.u[2])
		}
		size := mcmc.ESS([][]float64{drawn})
		gotMean, gotStd := stat.MeanStdDev(drawn, nil)
		if math.Abs(gotMean-mean) > 4*std/math.Sqrt(size) || math.Abs(gotStd-std) > 4*std/math.Sqrt(2*size) {
			t.Errorf("%s: log c is %.3f ± %.3f, want %.3f ± %.3f", name, gotMean, gotStd, mean, std)
		}
		if size < moves/4 {
			t.Errorf("%s: %d scale moves are worth %.0f independent ones", name, moves, size)
		}
	}
}
