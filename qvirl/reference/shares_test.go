package reference

import (
	"math"
	"testing"
)

// A dear kernel moves every quantity twice as far for its work as a cheap one.
func TestBestShares(t *testing.T) {
	var moved [kernels][]float64
	moved[hamiltonianKernel], moved[walkKernel] = []float64{2e-8, 2e-8}, []float64{1e-8, 1e-8}
	cost := [kernels]float64{hamiltonianKernel: 1e6, walkKernel: 1e5}
	for _, c := range []struct {
		name              string
		iterations, draws float64
		hamiltonian       float64
	}{
		{"draws alone count", 1, 1e4, 0.9},
		{"iterations alone count", 1e6, 1, 0.1},
		// with the share f, an iteration takes 1e6/(f + 10(1−f)) and a draw 4/(1e-8 (1+f)); 2000 of one and 1.2 of the
		// other take as long, 3.3e8 to 3.4e8, where f = 0.45
		{"both count", 2000, 1.2, 0.4},
	} {
		best := bestShares(moved, cost, c.iterations, c.draws, 2e8)
		if math.Abs(best[hamiltonianKernel]-c.hamiltonian) > 1e-9 ||
			math.Abs(best[hamiltonianKernel]+best[walkKernel]-1) > 1e-9 {
			t.Errorf("%s: shares %v, want %g of the dear kernel", c.name, best, c.hamiltonian)
		}
	}
	// A quantity that the dear kernel hardly moves takes the cheap one.
	moved[hamiltonianKernel][1] = 1e-12
	if best := bestShares(moved, cost, 1, 1e4, 2e8); !(best[walkKernel] > 0.5) {
		t.Errorf("shares %v, want most of the work in the kernel that moves the slowest quantity", best)
	}
	// Where little work is done anyway, draws decide.
	moved[hamiltonianKernel][1] = 2e-8
	cost[hamiltonianKernel], cost[walkKernel] = 1e4, 1e3
	if best := bestShares(moved, cost, 2000, 0.1, 2e8); math.Abs(best[hamiltonianKernel]-0.9) > 1e-9 {
		t.Errorf("shares %v, want 0.9 of the kernel that moves most", best)
	}
}
