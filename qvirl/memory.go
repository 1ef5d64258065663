package qvirl

// MemoryNeed estimates how many bytes a fit takes of a problem with so many states and actions, before it takes any: the larger part of what was
// measured on problems with dense transitions and four actions, of 25 to 1,000 states. method is a name of "qvirl fit"; one that is not
// known needs as much as the largest.
//
// Samplers and AVRIL keep vectors of values by sample. Variational methods keep matrices of n = S·A values, in double precision and for
// gradients: about 190 of them.
func MemoryNeed(states, actions int, method string) float64 {
	s, n := float64(states), float64(states)*float64(actions)
	dense := 3 * 8 * s * n // transitions, as read and as kept
	switch method {
	case "valuewalk", "policywalk", "avril":
		return 30e6 + dense + 180e3*n + 500*s*s
	}
	return 350e6 + dense + 1500*n*n
}
