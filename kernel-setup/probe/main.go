// Probe computes one line on a GoMLX backend and prints the result as JSON. It is a program of its own because a
// broken plugin can end the whole process.
//
//	go run ./kernel-setup/probe xla
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/go-birl/birl/qvirl/backend"
)

// answer is what the probe found.
type answer struct {
	Value        float64 `json:"value"` // 3² + 4²
	Milliseconds int64   `json:"milliseconds"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: probe BACKEND, for instance go, xla, or xla:/path/of/plugin.so")
		os.Exit(2)
	}
	got, err := compute(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(got)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func compute(name string) (answer, error) {
	start := time.Now()
	choice, err := backend.Get(name)
	if err != nil {
		return answer{}, err
	}
	sum, err := graph.CallOnce(choice.Backend, func(x *graph.Node) *graph.Node {
		return graph.ReduceAllSum(graph.Square(x))
	}, []float64{3, 4})
	if err != nil {
		return answer{}, err
	}
	value, ok := sum.Value().(float64)
	if !ok {
		return answer{}, fmt.Errorf("the sum is a %T instead of a float64", sum.Value())
	}
	return answer{value, time.Since(start).Milliseconds()}, nil
}
