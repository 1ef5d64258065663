package worlds

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// drawnAs are the names that random streams are seeded with where they are not the names that result rows have: names
// that methods and experiments had when rows were first drawn, so that the rows can be drawn again.
var drawnAs = []struct {
	experiment string // empty for all
	name, as   string
	more       string // what names of variants go on with, which keep it
}{
	{"", QVIRLMatched, "qvirl-best", ""},
	{"refinement", QVIRL, "paper", "-k"}, // refined by so many transitions; another name is another method
	{"refinement", "qvirl-start", "start", "-k"},
	{"rationality", "rationality", "betas", "-k"}, // the draws of the true β
}

// DrawnAs returns the name that Stream is to be given for a name in the rows of an experiment.
func DrawnAs(experiment, name string) string {
	for _, d := range drawnAs {
		rest, ok := strings.CutPrefix(name, d.name)
		if ok && d.experiment == experiment && (rest == "" || strings.HasPrefix(rest, d.more)) {
			return d.as + rest
		}
	}
	return name
}

// Stream returns the random stream that samples of a method's posterior are drawn with in the world of a seed.
func Stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(DrawnAs("", name))) // does not fail
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
