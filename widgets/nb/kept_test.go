package nb

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestKeptComputesOnce(t *testing.T) {
	t.Setenv("GONB_TMP_DIR", t.TempDir())
	load := func(path string) (int, error) {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(string(text))
	}
	save := func(path string, n int) error { return os.WriteFile(path, []byte(strconv.Itoa(n)), 0o600) }
	type config struct {
		Rate float64
		Next *int
	}
	one, other := new(int), new(int)
	computed := 0
	number := func(inputs ...any) int {
		return Kept("number", load, save, func(progress func(int, int, string)) (int, error) {
			progress(1, 1, "")
			computed++
			return computed, nil
		}, inputs...)
	}
	for _, c := range []struct {
		inputs []any
		want   int
	}{
		{nil, 1}, {nil, 1},
		{[]any{config{Rate: 0.5}}, 2}, {[]any{&config{Rate: 0.5}}, 3}, {[]any{&config{Rate: 0.5}}, 3},
		{[]any{config{Rate: 0.25}}, 4}, {[]any{config{Rate: 0.5}}, 2},
		{[]any{[]int{1, 2}, 3}, 5}, {[]any{[]int{1}, 2, 3}, 6},
		{[]any{config{Next: one}}, 7}, {[]any{config{Next: other}}, 8},
	} {
		if got := number(c.inputs...); got != c.want {
			t.Errorf("with inputs %v: number %d, want %d", c.inputs, got, c.want)
		}
	}
	broken := errors.New("broken")
	fail := func(func(int, int, string)) (int, error) { return 0, broken }
	for range 2 { // a failure is not kept
		if got := ended(func() { Kept("failure", load, save, fail) }); got != broken {
			t.Errorf("a computation that fails ended the cell with %v", got)
		}
	}
}

func TestPath(t *testing.T) {
	t.Setenv("GONB_DIR", filepath.Join("clone", "notebooks"))
	if got, want := Path("results", "rows.csv"), filepath.Join("clone", "results", "rows.csv"); got != want {
		t.Errorf("a file of the project is at %s, want %s", got, want)
	}
	// A notebook elsewhere finds the files of the clone that it is compiled from.
	if _, err := os.Stat(Path("results", "maxmean", "rows.csv")); err != nil {
		t.Error(err)
	}
}
