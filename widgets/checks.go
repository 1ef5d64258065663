package widgets

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-birl/birl/envs/check"
)

// refuse returns an error of the given text if something is wrong.
func refuse(wrong bool, text string, args ...any) error {
	if !wrong {
		return nil
	}
	return fmt.Errorf("widgets: "+text, args...)
}

// checkBoth refuses a widget that has none of the one or of the other.
func checkBoth(of, one string, n int, other string, m int) error {
	return refuse(n == 0 || m == 0, "%s needs %s and %s, got %d and %d", of, one, other, n, m)
}

// largest bounds the sizes of numbers in pictures, so that the ranges of axes and scales are finite, and 1/largest
// those on logarithmic axes.
const largest = 1e300

// checkFinite refuses NaN, infinite numbers and those too large to draw, naming the field and the index.
func checkFinite(field string, x []float64) error {
	err := check.All("widgets", check.Finite(field, x))
	for i := 0; err == nil && i < len(x); i++ {
		if tooLarge(x[i]) {
			err = fmt.Errorf("widgets: %s[%d] = %g%s", field, i, x[i], cannotDraw)
		}
	}
	return err
}

// cannotDraw is what is wrong with what is tooLarge.
const cannotDraw = " cannot be drawn: want finite numbers from −1e300 to 1e300"

// tooLarge reports whether a number is infinite or beyond largest; one that is absent, NaN, is not.
func tooLarge(v float64) bool { return math.Abs(v) > largest }

func checkLength(field string, got, want int, of string) error {
	return refuse(got != want, "%s has %d entries, want %d, %s", field, got, want, of)
}

// checkEach is checkLength of a list that may be nil.
func checkEach[T any](field string, list []T, want int, of string) error {
	if list == nil {
		return nil
	}
	return checkLength(field, len(list), want, of)
}

// forEach is what each says of the entries of a list, with their names: the first error.
func forEach[T any](field string, list []T, each func(field string, entry T) error) error {
	for i, entry := range list {
		if err := each(fmt.Sprintf("%s[%d]", field, i), entry); err != nil {
			return err
		}
	}
	return nil
}

// checkState refuses what is no state, or no other place, below n.
func checkState(field string, s, n int) error {
	return refuse(s < 0 || s >= n, "%s = %d is outside 0..%d", field, s, n-1)
}

// checkNotInfinite refuses a number that is tooLarge.
func checkNotInfinite(field string, v float64) error {
	return refuse(tooLarge(v), "%s = %g"+cannotDraw, field, v)
}

// checkColumns refuses a negative number of panels to a row.
func checkColumns(of string, columns int) error {
	return refuse(columns < 0, "%s.Columns = %d, want 0 (automatic) or a positive number", of, columns)
}

func checkProbability(field string, p float64) error {
	return refuse(!(p >= 0 && p <= 1+1e-9), "%s = %g is not a probability", field, p)
}

func finite(x ...float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}
