package qvirl

// MemoryNeed estimates how many bytes a fit of a problem takes, before it takes any; method is a name of "qvirl fit",
// and one that is not known needs as much as the largest. For S states, n rewards and at most K successors of a state
// over all its actions:
//
//	variational       350 MB + 2.5 MB · n + 300 B · n² + 20 B · K² S: programs, and covariances of values and of successors' values
//	reference         30 MB + 1.2 MB · n + 160 B · n² + 100 B · S²: samples, mass matrices, inverses of I − γ P
//	other samplers    30 MB + 0.5 MB · n + 160 B · n²
//	and the transitions, as read and as kept
//
// The constants are those of peaks of processes on problems with dense transitions and four actions, of 25 to 1,000
// states.
func MemoryNeed(problem *Problem, method string) float64 {
	m := problem.MDP
	s, n := float64(m.States()), float64(problem.RewardDim())
	entries, widest := 0, 0
	seen := make([]int, m.States()) // 1 + the last state that has it as a successor
	for state := range m.States() {
		width := 0
		for a := range m.Actions() {
			next, _ := m.Row(state, a)
			entries += len(next)
			for _, to := range next {
				if seen[to] != state+1 {
					seen[to] = state + 1
					width++
				}
			}
		}
		widest = max(widest, width)
	}
	transitions := 3 * 8 * float64(entries)
	switch method {
	case "reference":
		return 30e6 + transitions + 1.2e6*n + 160*n*n + 100*s*s
	case "valuewalk", "policywalk", "avril":
		return 30e6 + transitions + 0.5e6*n + 160*n*n
	}
	k := float64(widest)
	if !problem.StateOnly() {
		k = float64(m.Actions())
	}
	return 350e6 + transitions + 2.5e6*n + 300*n*n + 20*k*k*s
}
