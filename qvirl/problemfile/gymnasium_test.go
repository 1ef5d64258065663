//go:build installed

package problemfile

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-birl/birl/envs/command"
)

// conversion returns the lines of the notebook about one's own problem that turn Gymnasium's table of transitions into
// an array.
func conversion(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../notebooks/your-own-problem.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	var notebook struct{ Cells []struct{ Source []string } }
	if err := json.Unmarshal(text, &notebook); err != nil {
		t.Fatal(err)
	}
	for _, c := range notebook.Cells {
		_, after, ok := strings.Cut(strings.Join(c.Source, ""), "T, ends = ")
		if lines, _, ended := strings.Cut(after, "\n\n"); ok && ended {
			return "T, ends = " + lines
		}
	}
	t.Fatal("the notebook has no such lines")
	return ""
}

// The lines on the page turn the real environments into problems, whose optimal values for the environment's own reward
// are those that plain value iteration over Gymnasium's table finds.
func TestProblemsOfGymnasium(t *testing.T) {
	if err := command.UseInstallation(); err != nil {
		t.Fatal(err)
	}
	lines := conversion(t)
	for _, id := range []string{"FrozenLake-v1", "Taxi-v3", "CliffWalking-v1"} {
		t.Run(id, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "p.npz")
			out, err := exec.Command(os.Getenv(command.PythonVariable), "-c", `
import gymnasium, json, numpy as np
env = gymnasium.make("`+id+`").unwrapped
`+lines+`
np.savez("`+path+`", transitions=T, prior_mean=np.zeros(T.shape[:2]), prior_std=1.0, demos=[], discount=0.9, beta=1.0)
R = [[sum(p * r for p, _, r, _ in env.P[s][a]) for a in range(T.shape[1])] for s in range(T.shape[0])]
V = np.zeros(len(T))
for _ in range(400):
    V = np.array([0 if s in ends else max(sum(p * (r + 0.9 * V[n] * (not d)) for p, n, r, d in env.P[s][a])
                                          for a in env.P[s]) for s in env.P])
print(json.dumps({"R": R, "V": V.tolist(), "ends": len(ends)}))`).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
			}
			var want struct {
				R    [][]float64
				V    []float64
				Ends int
			}
			if err := json.Unmarshal(out, &want); err != nil {
				t.Fatal(err)
			}
			p, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			var reward []float64
			ends := 0
			for s, row := range want.R {
				for _, r := range row {
					if p.MDP.Terminal(s) {
						r = 0
					}
					reward = append(reward, r)
				}
				if p.MDP.Terminal(s) {
					ends++
				}
			}
			got, err := p.MDP.Solve(reward, p.Discount)
			if err != nil {
				t.Fatal(err)
			}
			if ends != want.Ends || ends == 0 {
				t.Errorf("%d states end, want %d", ends, want.Ends)
			}
			for s, v := range want.V { // 0.9^400 of what was left at the start
				if math.Abs(got.V[s]-v) > 1e-9 {
					t.Fatalf("state %d has the value %g, want %g", s, got.V[s], v)
				}
			}
		})
	}
}
