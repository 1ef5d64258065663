package zoostudy

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/go-birl/birl/qvirl/zoo"
)

func cpu() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
}

func TestProbe(t *testing.T) {
	c := Full()
	all, err := zoo.All()
	if err != nil {
		t.Fatal(err)
	}
	f, _ := c.fitter(os.Getenv("METHOD"), "")
	for _, z := range all {
		if z.Exact == nil || os.Getenv("ONLY") != "" && !strings.Contains(","+os.Getenv("ONLY")+",", ","+z.Name+",") {
			continue
		}
		start := cpu()
		a, claims, reason, err := f(context.Background(), z.Problem, nil)
		took := cpu() - start
		if err != nil {
			fmt.Printf("%-30s FAILED %v\n", z.Name, err)
			continue
		}
		e, err := zoo.Judge(&z, a)
		if err != nil {
			t.Fatal(err)
		}
		state := map[bool]string{true: "right", false: "WRONG"}[e.Right()] + map[bool]string{true: " claims", false: " doubts"}[claims]
		fmt.Printf("%-30s S=%3d n=%3d %6.1fs %s mean %.3f std %.3f vmean %.3f vstd %.3f tv %.3f %s | %s\n", z.Name, z.Problem.MDP.States(), z.Problem.RewardDim(), took, state, e.Mean, e.Std, e.ValueMean, e.ValueStd, e.PolicyTV, e.Wrong, reason)
	}
}
