package worlds

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-birl/birl/envs/gridworld"
)

// expertPart is what the names of environments have before the expert's β, where experts differ.
const expertPart = "-expert-"

// WithExpert returns the name of an environment: worlds in which an expert of the given β demonstrates.
func WithExpert(world gridworld.Config, beta float64) string {
	return fmt.Sprintf("%s%s%g", world.Name(), expertPart, beta)
}

// ExpertOf returns the β in an environment's name, and false for one without it.
func ExpertOf(environment string) (beta float64, ok bool) {
	_, digits, ok := strings.Cut(environment, expertPart)
	beta, err := strconv.ParseFloat(digits, 64)
	return beta, ok && err == nil
}
