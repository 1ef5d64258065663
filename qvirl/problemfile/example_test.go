package problemfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-birl/birl/envs/mdp"
	"github.com/go-birl/birl/qvirl/irl"
	"github.com/go-birl/birl/qvirl/problemfile"
)

// A corridor of three cells: action 0 stays, action 1 moves right, and the last cell ends the episode.
func Example() {
	rows := [][]mdp.Transition{
		{{Next: 0, Prob: 1}}, {{Next: 1, Prob: 1}},
		{{Next: 1, Prob: 1}}, {{Next: 2, Prob: 1}},
		nil, nil,
	}
	m, err := mdp.New(3, 2, rows, nil)
	if err != nil {
		panic(err)
	}
	problem := &irl.Problem{MDP: m, Prior: irl.IndependentPrior(3, -1, 3), Discount: 0.9, Beta: 2,
		Demos: []mdp.Step{{State: 0, Action: 1}, {State: 1, Action: 1}}}
	path := filepath.Join(os.TempDir(), "corridor.npz")
	defer os.Remove(path)
	if err := problemfile.Write(path, problem); err != nil {
		panic(err)
	}
	again, err := problemfile.Read(path)
	fmt.Println(again.MDP.States(), again.MDP.Actions(), again.Demos, err)
	// Output: 3 2 [{0 1} {1 1}] <nil>
}
