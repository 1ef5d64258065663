package main

import (
	"fmt"

	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/valuewalk"
)

// noRefinement is the default of --refine.
const noRefinement = -1

// refined returns a method with the refinement that --refine asks for.
func (o *fitOptions) refined(m irl.Method) (irl.Method, error) {
	if o.refine == noRefinement {
		return m, nil
	}
	r := valuewalk.DefaultRefine()
	r.Transitions, r.Seed = o.refine, o.seed
	if r.Transitions == 0 {
		r.Kept = 1 // a walker's later samples would be refined ones
	}
	refined, err := valuewalk.NewRefined(m.Name(), m, r)
	if err != nil {
		return nil, fmt.Errorf("--refine: %w", err)
	}
	return refined, nil
}
