package reference

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

const (
	alike    = 1e-3   // share of the squared distance of two modes up to which a coordinate is the same in both
	mostSets = 10_000 // that are counted, of pairs of
	mostTold = 64     // modes, and
	mostWays = 16     // that are kept beside the places

	sameShift  = 0.01 // of its length, by which two shifts may differ that count as one
	mostShifts = 64
)

// set says of each coordinate of u whether it belongs.
type set []bool

// members returns the coordinates that belong.
func (s set) members() (out []int) {
	for j, in := range s {
		if in {
			out = append(out, j)
		}
	}
	return out
}

// size returns how many coordinates belong.
func (s set) size() (n int) {
	for _, in := range s {
		if in {
			n++
		}
	}
	return n
}

// holds reports whether all of another set belongs.
func (s set) holds(o set) bool {
	for j, in := range o {
		if in && !s[j] {
			return false
		}
	}
	return true
}

// takes adds another set if they have something in common, and reports whether they have.
func (s set) takes(o set) bool {
	common := false
	for j, in := range o {
		common = common || in && s[j]
	}
	for j, in := range o {
		s[j] = s[j] || common && in
	}
	return common
}

// key is the set as a text.
func (s set) key() string {
	out := make([]byte, len(s))
	for j, in := range s {
		if in {
			out[j] = 1
		}
	}
	return string(out)
}

// differs reports in which coordinates two modes are not the same.
func (m *mode) differs(o *mode) set {
	least, out := math.Sqrt(alike)*floats.Distance(m.u, o.u, 2), make(set, len(m.u))
	for j := range out {
		out[j] = math.Abs(m.u[j]-o.u[j]) > least
	}
	return out
}

// differences returns the places in which there are several explanations (see places), and then the sets of
// coordinates in which a pair of modes differs and that one demonstrated state tells something of, the most frequent
// first.
func (m modes) differences() (out [][]int) {
	var pairs, ways []set
	times := map[string]int{}
	for i, a := range m {
		for _, b := range m[:i] {
			differs := a.differs(b)
			pairs = append(pairs, differs)
			for d := range a.told {
				if i >= mostTold {
					break
				}
				way := slices.Clone(differs)
				for j, in := range differs {
					way[j] = in && (a.told[d][j] || b.told[d][j])
				}
				key := way.key()
				if times[key] == 0 && len(ways) < mostSets {
					ways = append(ways, way)
				}
				times[key]++
			}
		}
	}
	slices.SortStableFunc(ways, func(a, b set) int { return times[b.key()] - times[a.key()] })
	for _, place := range places(pairs) {
		out = append(out, place.members())
	}
	most := len(out) + mostWays
	for _, way := range ways {
		at := way.members()
		known := slices.ContainsFunc(out, func(o []int) bool { return slices.Equal(o, at) })
		if len(at) > 0 && !known && len(out) < most {
			out = append(out, at)
		}
	}
	return out
}

// places returns the coordinates of each place that has several explanations: differences of two modes that hold no
// difference of two others, joined where they have something in common.
func places(differences []set) (out []set) {
	slices.SortStableFunc(differences, func(a, b set) int { return a.size() - b.size() })
	var least []set
	for _, d := range differences {
		if slices.ContainsFunc(out, func(o set) bool { return o.holds(d) }) || slices.ContainsFunc(least, d.holds) {
			continue
		}
		least = append(least, d)
		place := slices.Clone(d)
		out = append(slices.DeleteFunc(out, place.takes), place)
	}
	return out
}

// shifts are differences of modes.
type shifts [][]float64

// lead reports whether one of the shifts, or the opposite of one, leads from a mode to another.
func (s shifts) lead(from, to *mode) bool {
	d := make([]float64, len(from.u))
	floats.SubTo(d, to.u, from.u)
	length := floats.Norm(d, 2)
	return slices.ContainsFunc(s, func(shift []float64) bool { return collinear(d, shift, sameShift*length) })
}

// shifts returns the differences of pairs of modes, of two that are the same or opposite one, the most frequent first.
// Where several places have explanations of their own, in whatever directions, the differences in one of them are the
// most frequent, and all combinations can be reached by them.
func (m modes) shifts() (out shifts) {
	type difference struct {
		d      []float64
		length float64
		times  int
	}
	var all, distinct []*difference
	for i, a := range m[:min(len(m), mostTold)] {
		for _, b := range m[:i] {
			d := make([]float64, len(a.u))
			floats.SubTo(d, a.u, b.u)
			all = append(all, &difference{d, floats.Norm(d, 2), 1})
		}
	}
	slices.SortStableFunc(all, func(a, b *difference) int { return cmp.Compare(a.length, b.length) })
	for _, a := range all {
		last, least := len(distinct)-1, a.length*(1-sameShift)
		for last >= 0 && distinct[last].length >= least && !collinear(a.d, distinct[last].d, sameShift*a.length) {
			last--
		}
		if last >= 0 && distinct[last].length >= least {
			distinct[last].times++
		} else {
			distinct = append(distinct, a)
		}
	}
	slices.SortStableFunc(distinct, func(a, b *difference) int { return b.times - a.times })
	for _, d := range distinct[:min(len(distinct), mostShifts)] {
		out = append(out, d.d)
	}
	return out
}

// goals returns the coordinates of which two exchange their values, or nearly so, from one mode to another: at least
// half of the way, by its square, is such an exchange. What else differs may be small, or free to differ.
func (m modes) goals() []int {
	if len(m) == 0 {
		return nil
	}
	goals, d := make(set, len(m[0].u)), make([]float64, len(m[0].u))
	for i, a := range m {
		for _, b := range m[:i] {
			floats.SubTo(d, b.u, a.u)
			up, down := floats.MaxIdx(d), floats.MinIdx(d)
			left := math.Pow(b.u[up]-a.u[down], 2) + math.Pow(b.u[down]-a.u[up], 2)
			if d[up]*d[up]+d[down]*d[down]-left >= floats.Dot(d, d)/2 {
				goals[up], goals[down] = true, true
			}
		}
	}
	return goals.members()
}

// collinear reports whether two vectors, or one and the opposite of the other, are at most so far from each other.
func collinear(a, b []float64, distance float64) bool {
	same, opposite := 0.0, 0.0
	for j, x := range a {
		same += (x - b[j]) * (x - b[j])
		opposite += (x + b[j]) * (x + b[j])
	}
	return math.Min(same, opposite) <= distance*distance
}
