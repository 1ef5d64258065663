package matmul

import "golang.org/x/sys/cpu"

// fused reports whether the processor has the instructions that multiply needs.
var fused = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// multiply adds Σ_p a[4p + i] b[12p + j], p < deep, to c[stride·i + j], i < 4 and j < 12. deep must be positive.
//
//go:noescape
func multiply(deep int, a, b, c *float64, stride int)
