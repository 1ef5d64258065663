// Package check says what is wrong with a configuration: each function returns an error that names a field, its value
// and what is wanted, or nil. Names of several fields are separated by blanks.
package check

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// All returns the first of the errors, if there is one, as that of a package.
func All(of string, errs ...error) error {
	if err := First(errs...); err != nil {
		return fmt.Errorf("%s: %w", of, err)
	}
	return nil
}

// First returns the first of the errors that is one.
func First(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// That returns an error of the given text unless something holds.
func That(holds bool, text string, args ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(text, args...)
}

// NotNil wants something: neither nil nor, of a type that has it, a nil of that type. The text says what would do.
func NotNil(name string, x any, want string) error {
	there := x != nil
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan:
		there = !v.IsNil()
	}
	return That(there, "%s is nil, want %s", name, want)
}

// Context wants a context that is there, on behalf of a package.
func Context(of string, ctx context.Context) error {
	return NotNil(of+": the context", ctx, "one, such as context.Background()")
}

// Positive wants finite positive numbers.
func Positive(names string, values ...float64) error {
	return each(names, values, func(x float64) bool { return x > 0 && !math.IsInf(x, 0) },
		"%s = %g, want a finite positive number")
}

// NotNegative wants finite numbers that are not negative.
func NotNegative(names string, values ...float64) error {
	return each(names, values, func(x float64) bool { return x >= 0 && !math.IsInf(x, 0) },
		"%s = %g, want a finite number that is not negative")
}

// Finite wants a list of finite numbers.
func Finite(name string, list []float64) error {
	for i, x := range list {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Errorf("%s[%d] = %g is not finite", name, i, x)
		}
	}
	return nil
}

// Fraction wants numbers in [0, 1].
func Fraction(names string, values ...float64) error {
	return each(names, values, func(x float64) bool { return x >= 0 && x <= 1 }, "%s = %g is outside [0, 1]")
}

// Between wants numbers strictly between 0 and 1.
func Between(names string, values ...float64) error {
	return each(names, values, func(x float64) bool { return x > 0 && x < 1 }, "%s = %g is outside (0, 1)")
}

// AtLeast wants integers of at least so much.
func AtLeast(least int, names string, values ...int) error {
	return each(names, values, func(n int) bool { return n >= least }, "%s = %d, want at least "+fmt.Sprint(least))
}

// OneOf wants one of several texts.
func OneOf[T ~string](name string, value T, among ...T) error {
	quoted := make([]string, len(among))
	for i, a := range among {
		quoted[i] = fmt.Sprintf("%q", a)
	}
	last := len(quoted) - 1
	return That(slices.Contains(among, value), "%s = %q, want %s or %s", name, value,
		strings.Join(quoted[:last], ", "), quoted[last])
}

// Distinct wants a list in which nothing stands twice.
func Distinct[T comparable](name string, list []T) error {
	for i, x := range list {
		if slices.Contains(list[:i], x) {
			return fmt.Errorf("%s[%d] = %v stands twice", name, i, x)
		}
	}
	return nil
}

// Each wants a list of different entries, each of which holds; want says what in words.
func Each[T comparable](name string, list []T, holds func(T) bool, want string) error {
	for i, x := range list {
		if !holds(x) || slices.Contains(list[:i], x) {
			return fmt.Errorf("%s[%d] = %v, want %s", name, i, x, want)
		}
	}
	return nil
}

// each wants values that hold.
func each[T any](names string, values []T, holds func(T) bool, text string) error {
	for i, name := range strings.Fields(names) {
		if !holds(values[i]) {
			return fmt.Errorf(text, name, values[i])
		}
	}
	return nil
}
