package main

import (
	"context"
	"strings"

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
	return valuewalk.NewRefined(m.Name(), m, r)
}

// diagnose returns the diagnosis of the posterior that was refined, in lines; none if it was not.
func diagnose(ctx context.Context, post irl.Posterior, seed uint64) ([]string, error) {
	p, ok := post.(*valuewalk.Refined)
	if !ok {
		return nil, nil
	}
	if p.Diagnostics().StepSize == 0 { // without a transition there is nothing to judge by
		c := valuewalk.DefaultRefine()
		c.Seed = seed
		refined, err := valuewalk.Refine(ctx, c, []valuewalk.Approximation{p.Start()}, nil)
		if err != nil {
			return nil, err
		}
		p = refined[0]
	}
	d, err := valuewalk.Diagnose(p, seed)
	if err != nil {
		return nil, err
	}
	return strings.Split(d.String(), "\n"), nil
}
