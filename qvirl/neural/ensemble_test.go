package neural

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

func TestMeansOfProbabilitiesTooSmallForANumber(t *testing.T) {
	got := logMean([][]float32{{float32(math.Log(0.25)), -2000}, {float32(math.Log(0.75)), -2001}})
	for i, want := range []float64{math.Log(0.5), -2000 + math.Log((1+math.Exp(-1))/2)} {
		if !scalar.EqualWithinAbs(float64(got[i]), want, 1e-6*math.Abs(want)) { // float32
			t.Errorf("the logarithm of mean probability %d is %g, want %g", i, got[i], want)
		}
	}
}

// TestMembersOfAnotherEnsembleAreRefused, as an interruption leaves them that comes while one ensemble is stored in the
// place of another.
func TestMembersOfAnotherEnsembleAreRefused(t *testing.T) {
	models := fit(t, testConfig(), classifier{}, testTask(3))
	dir := t.TempDir()
	if err := (&Ensemble{name: "test-ensemble", members: []Model{models[0], models[1]}}).Save(dir); err != nil {
		t.Fatal(err)
	}
	load := func() error {
		_, err := LoadEnsemble(dir, func(dir string) (Model, error) { return Load[classifier](dir, "go") })
		return err
	}
	if err := load(); err != nil {
		t.Fatal(err)
	}
	if err := models[2].Save(memberDir(dir, 1)); err != nil {
		t.Fatal(err)
	}
	if err := load(); err == nil || !strings.Contains(err.Error(), "member-1") ||
		!strings.Contains(err.Error(), "another model") {
		t.Errorf("error %v, want one that names member 1", err)
	}
}
