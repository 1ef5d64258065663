package exact

import (
	"context"
	"fmt"

	"github.com/go-birl/birl/qvirl/zoo"
)

// Update brings the zoo in a folder up to date: it writes the problems that are not there as zoo.Generate makes them,
// and computes the answers that are missing. report is told of each. Answers that cannot be established are left out.
func Update(ctx context.Context, folder string, report func(string)) error {
	cases, err := zoo.Generate()
	if err != nil {
		return err
	}
	return zoo.Update(ctx, folder, cases, func(ctx context.Context, c zoo.Case) (*zoo.Answer, error) {
		a, err := Answer(ctx, c.Problem)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			report(fmt.Sprintf("%s: NO ANSWER: %v", c.Name, err))
			return nil, nil
		}
		report(fmt.Sprintf("%s: %s; effective size %.0f, %.0f s", c.Name, a.Recipe, a.EffectiveSize, a.Seconds))
		return a, nil
	})
}
