package check_test

import (
	"math"
	"testing"

	"github.com/go-birl/birl/envs/check"
)

func TestEachRuleNamesTheFirstFieldThatBreaksIt(t *testing.T) {
	type kind string
	var positiveOf func(int) bool
	positive := func(n int) bool { return n > 0 }
	for want, err := range map[string]error{
		"p: B = 0, want a finite positive number":             check.All("p", nil, check.Positive("A B C", 1, 0, -1)),
		"A = +Inf, want a finite positive number":             check.Positive("A", math.Inf(1)),
		"A = NaN, want a finite number that is not negative":  check.NotNegative("Z A", 0, math.NaN()),
		"A = +Inf, want a finite number that is not negative": check.NotNegative("A", math.Inf(1)),
		"A = 0 is outside (0, 1)":                             check.Between("A", 0),
		"A[1] = NaN is not finite":                            check.Finite("A", []float64{0, math.NaN(), 1}),
		"A[0] = -Inf is not finite":                           check.Finite("A", []float64{math.Inf(-1)}),
		"A = 1.1 is outside [0, 1]":                           check.Fraction("Y Z A", 0, 1, 1.1),
		"A = 1 is outside (0, 1)":                             check.Between("Z A", 0.5, 1),
		"B = 2, want at least 3":                              check.AtLeast(3, "A B", 3, 2),
		`A = "x", want "y", "z" or "w"`:                       check.OneOf[kind]("A", "x", "y", "z", "w"),
		"A is nil, want a number":                             check.NotNil("A", nil, "a number"),
		"A is nil, want a function":                           check.NotNil("A", positiveOf, "a function"),
		"A is nil, want a pointer":                            check.NotNil("A", (*int)(nil), "a pointer"),
		"A[2] = 1 stands twice":                               check.Distinct("A", []int{1, 2, 1}),
		"A[1] = -2, want positive numbers": check.Each("A", []int{1, -2}, positive,
			"positive numbers"),
		"what 3 is wrong": check.That(false, "what %d is wrong", 3),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for i, err := range []error{check.All("p"), check.All("p", nil, nil), check.Positive("A B", 1, 1e300),
		check.NotNegative("A", 0), check.Finite("A", []float64{-1e308, 0, 1}), check.Fraction("A B", 0, 1),
		check.Between("A", 0.5), check.AtLeast(0, "A B", 0, 5),
		check.OneOf[kind]("A", "z", "y", "z"), check.Distinct("A", []string{"a", "b"}), check.That(true, "%d", 1)} {
		if err != nil {
			t.Errorf("rule %d: error %v, want none", i, err)
		}
	}
}
