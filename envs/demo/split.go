package demo

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// The paper's sizes: 1000 trajectories are 800 to train with, in ten disjoint subsets, 100 to validate and 100 to test.
const (
	PaperTrain, PaperValidation, PaperTest = 800, 100, 100
	PaperSubsets                           = 10
)

// Split deals the trajectories into disjoint parts of the given sizes, at random by the seed. The trajectories
// themselves are shared, not copied. The first part of size n is the beginning of the first part of any larger size at
// the same seed, so that a study of more and more demonstrations adds to what it had.
func Split(trajectories []Trajectory, seed uint64, sizes ...int) ([][]Trajectory, error) {
	total := 0
	for i, n := range sizes {
		if n < 0 || n > len(trajectories)-total {
			return nil, fmt.Errorf("demo: part %d of a split is of %d trajectories; %d of %d are left", i, n,
				len(trajectories)-total, len(trajectories))
		}
		total += n
	}
	order := rand.New(rand.NewPCG(seed, splitStream)).Perm(len(trajectories))
	parts := make([][]Trajectory, len(sizes))
	for i, n := range sizes {
		parts[i] = make([]Trajectory, n)
		for k := range n {
			parts[i][k] = trajectories[order[k]]
		}
		order = order[n:]
	}
	return parts, nil
}

// splitStream keeps the random numbers of splits apart from others of the same seed.
const splitStream = 0x64656d6f

// Deal deals the trajectories at random by the seed: k disjoint subsets of train/k trajectories each to learn from,
// where what does not divide is left out, and disjoint parts of the given sizes that are held out.
func Deal(trajectories []Trajectory, seed uint64, train, k int, heldOut ...int) (subsets, parts [][]Trajectory,
	err error) {
	if k < 1 || k > train {
		return nil, nil, fmt.Errorf("demo: %d subsets of %d trajectories, want 1 to %d", k, train, train)
	}
	if parts, err = Split(trajectories, seed, append([]int{train}, heldOut...)...); err != nil {
		return nil, nil, err
	}
	subsets, err = Split(parts[0], seed, slices.Repeat([]int{train / k}, k)...)
	return subsets, parts[1:], err
}

// Sample returns n of the trajectories, without repetition, at random by the seed. It is the beginning of any
// larger sample by the same seed.
func Sample(trajectories []Trajectory, n int, seed uint64) ([]Trajectory, error) {
	parts, err := Split(trajectories, seed, n)
	if err != nil {
		return nil, err
	}
	return parts[0], nil
}
