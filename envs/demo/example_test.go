package demo_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/go-birl/birl/envs/demo"
)

// Demonstrations from a file, in parts to learn from and to test with.
func ExampleOpen() {
	path := filepath.Join(os.TempDir(), "recorded.csv")
	defer os.Remove(path)
	text := "episode,action,obs_0,next_obs_0\n"
	for i := range 10 { // of one step
		text += fmt.Sprintf("%d,%d,%d,%d\n", i, i%2, i, i+1)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	set, err := demo.Open(path) // .npz or CSV; what convert reads through Python it has to write as .npz first
	if err != nil {
		log.Fatal(err)
	}
	parts, err := demo.Split(set.Trajectories, 1, 8, 1, 1) // by the seed 1: 8, 1 and 1 trajectories
	if err != nil {
		log.Fatal(err)
	}
	few, err := demo.Sample(parts[0], 3, 1) // a prefix of any larger sample
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(few), "of", len(parts[0]))
	// Output: 3 of 8
}
