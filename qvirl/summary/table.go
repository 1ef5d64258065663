package summary

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"gonum.org/v1/gonum/mat"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/mcmc"
)

// Line is a quantity of a posterior as its samples have it.
type Line struct {
	Name      string  // such as reward[3], reward[start, left], value[3] or beta
	Mean, Std float64 // in the reward's own unit
	Low, High float64 // the shortest interval that holds Probability of the samples
	// MeanError and StdError are the Monte Carlo standard errors of Mean and Std; BulkESS, TailESS and RHat those of
	// Vehtari et al. (2021), NaN where they do not exist.
	MeanError, StdError, BulkESS, TailESS, RHat float64
}

// Probability is that of a line's interval.
const Probability = 0.94

// Table returns the lines of a posterior: rewards, optimal state values, and β where it is inferred. A posterior that
// does not consist of samples is drawn from so many times, at least 4.
func Table(post irl.Posterior, draws int, seed uint64) ([]Line, error) {
	if err := irl.CheckPosterior("summary", post); err != nil {
		return nil, err
	}
	p := post.Problem()
	samples, chains, err := draw(post, draws, 4, seed)
	if err != nil {
		return nil, err
	}
	if chains == nil { // independent draws are one chain
		chains = func(column []float64) [][]float64 { return [][]float64{column} }
	}
	actions := p.MDP.Actions()
	var lines []Line
	for i := range p.RewardDim() {
		place := ""
		if p.StateOnly() {
			place = p.StateName(i)
		} else {
			place = p.StateName(i/actions) + ", " + p.ActionName(i%actions)
		}
		lines = append(lines, newLine("reward["+place+"]", mat.Col(nil, i, samples.Reward), chains))
	}
	values := samples.Values(actions)
	for s := range p.MDP.States() {
		lines = append(lines, newLine("value["+p.StateName(s)+"]", mat.Col(nil, s, values), chains))
	}
	if samples.Beta != nil {
		lines = append(lines, newLine("beta", samples.Beta, chains))
	}
	return lines, nil
}

// newLine describes a quantity by its samples, which chains cuts into those of each chain.
func newLine(name string, x []float64, chains func([]float64) [][]float64) Line {
	l := Line{Name: name}
	l.RHat, l.BulkESS, l.TailESS = mcmc.Diagnose(chains(x))
	l.Mean, l.Std, l.MeanError, l.StdError = moments(x, chains)
	l.Low, l.High = shortest(slices.Sorted(slices.Values(x)), Probability)
	return l
}

// shortest returns the shortest interval that holds the share p of sorted samples.
func shortest(sorted []float64, p float64) (low, high float64) {
	inside := int(math.Floor(p * float64(len(sorted))))
	best := 0
	for i := range len(sorted) - inside {
		if sorted[i+inside]-sorted[i] < sorted[best+inside]-sorted[best] {
			best = i
		}
	}
	return sorted[best], sorted[min(best+inside, len(sorted)-1)]
}

// Print writes lines as a table, aligned by spaces.
func Print(w io.Writer, lines []Line) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "\tmean\tsd\thdi_%g%%\thdi_%g%%\tmcse_mean\tmcse_sd\tess_bulk\tess_tail\tr_hat\t\n",
		50*(1-Probability), 50*(1+Probability))
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%.4g\t%.4g\t%.4g\t%.4g\t%.2g\t%.2g\t%s\t%s\t%s\t\n", l.Name, l.Mean, l.Std, l.Low, l.High,
			l.MeanError, l.StdError, orDash("%.0f", l.BulkESS), orDash("%.0f", l.TailESS), orDash("%.3f", l.RHat))
	}
	return t.Flush()
}

// orDash formats a number, or returns a dash where there is none.
func orDash(format string, v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf(format, v)
}
