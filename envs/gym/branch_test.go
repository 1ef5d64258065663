//go:build installed

package gym

import (
	"bytes"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/stat"
)

// Lunar Lander's main engine pushes with a dispersion, which every branch draws anew; without an engine nothing is
// random. The environment itself goes on as if there had been no branches.
func TestBranchesDrawWhatAnActionLeadsTo(t *testing.T) {
	c := lunar
	c.EnvsPerWorker = 2
	p, alone := open(t, c), open(t, c)
	reset(t, p)
	reset(t, alone)
	for k := range 20 {
		step(t, p, []int{k % 4, 2})
		step(t, alone, []int{k % 4, 2})
	}
	const n = 40
	seeds := seedsFrom(0, n)
	still, err := p.Branch(t.Context(), 1, 0, seeds[:5])
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := p.Branch(t.Context(), 1, 2, seeds)
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Branch(t.Context(), 1, 2, seeds[n-1:])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Obs.Bytes, pushed.Obs.Row(n-1).Bytes) || again.Rewards[0] != pushed.Rewards[n-1] {
		t.Error("the same seed leads elsewhere")
	}
	for i := range 5 {
		if !bytes.Equal(still.Obs.Row(i).Bytes, still.Obs.Row(0).Bytes) {
			t.Error("branches without an engine differ")
		}
	}
	var vy []float64
	for i := range n {
		vy = append(vy, pushed.Obs.Row(i).Float64()[3])
		if pushed.Terminated[i] || pushed.Truncated[i] || pushed.Rewards[i] == 0 {
			t.Errorf("branch %d ends with reward %g", i, pushed.Rewards[i])
		}
	}
	mean, std := stat.MeanStdDev(vy, nil)
	if std < 1e-3 { // it is 1e-2
		t.Errorf("the vertical velocities have the deviation %g", std)
	}
	for k := range 10 {
		row := []int{2, (k + 2) % 4}
		a, b := step(t, p, row), step(t, alone, row)
		if !bytes.Equal(a.Obs.Bytes, b.Obs.Bytes) {
			t.Fatalf("step %d after the branches differs from one without", k)
		}
		if k == 0 { // what really came is one of what could have come
			if v := a.Obs.Row(1).Float64()[3]; !scalar.EqualWithinAbs(v, mean, 4*std) {
				t.Errorf("the vertical velocity became %g, branches have %g ± %g", v, mean, std)
			}
		}
	}
}

func TestBranchesSayWhereTheyEnd(t *testing.T) {
	c := faulty(t, "raise")
	c.Workers, c.EnvsPerWorker = 1, 1
	c.Options["start"] = 4
	p := open(t, c)
	if _, err := p.Branch(t.Context(), 0, 1, []int64{1}); err == nil ||
		!strings.Contains(err.Error(), "reset it first") {
		t.Errorf("before the first episode: error %v", err)
	}
	reset(t, p)
	for _, bad := range []func() error{
		func() error { _, err := p.Branch(t.Context(), 0, 3, []int64{1}); return err },
		func() error { _, err := p.Branch(t.Context(), 0, 0, nil); return err },
		func() error { _, err := p.Branch(t.Context(), 0, 0, []int64{-1}); return err },
		func() error { _, err := p.Branch(t.Context(), 1, 0, []int64{1}); return err },
	} {
		if bad() == nil {
			t.Error("no error")
		}
	}
	b, err := p.Branch(t.Context(), 0, 2, []int64{1, 2})
	if err != nil || b.Rewards[1] != 6 || b.Obs.Row(1).Float64()[0] != 1 { // the action 4 + 2, the first step
		t.Fatalf("branches %+v, error %v", b, err)
	}
	step(t, p, []int{0})
	step(t, p, []int{0})
	_, err = p.Branch(t.Context(), 0, 0, []int64{1, 2}) // the third step raises
	if err == nil || !strings.Contains(err.Error(), "the wheel came off") ||
		!strings.Contains(err.Error(), "environment 0 (seed 100)") {
		t.Errorf("error %v, want one that says what went wrong and where", err)
	}

	c = faulty(t, "")
	c.Workers, c.EnvsPerWorker = 1, 1
	c.Options["length"] = 1
	p = open(t, c)
	reset(t, p)
	if b, err := p.Branch(t.Context(), 0, 0, []int64{1}); err != nil || !b.Terminated[0] {
		t.Errorf("branches %+v, error %v, want an end", b, err)
	}
}
