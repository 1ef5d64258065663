package widgets

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// number formats with a true minus sign; numbers that would be very long are written with a power of ten.
func number(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if math.Abs(v) >= 1e7 || decimals > 6 && v != 0 {
		return scientific(v)
	}
	if math.Abs(v) >= 1e4 {
		whole, fraction, point := strings.Cut(s, ".")
		s = thousands(whole)
		if point {
			s += "." + fraction
		}
	}
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return strings.Replace(s, "-", "−", 1)
}

// hyphen is one that stands for a minus sign: before a digit, and after neither a letter, a digit nor another hyphen.
var hyphen = regexp.MustCompile(`(^|[^\pL\pN_-])-(\d)`)

// minus is text with true minus signs before numbers.
func minus(text string) string { return hyphen.ReplaceAllString(text, "$1−$2") }

// thousands sets a comma before each three digits from the right.
func thousands(digits string) string {
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// shortNumber formats with three significant digits, or as a whole number where that has more.
func shortNumber(v float64) string {
	if a := math.Abs(v); a >= 1e3 && a < 1e7 {
		return number(v, 0)
	}
	if v != 0 && (math.Abs(v) >= 1e7 || math.Abs(v) < 1e-4) {
		return scientific(v)
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 3, 64), "-", "−", 1)
}

// scientific writes three significant digits and the power of ten in letters that the figures' font has, as −8.19e8.
func scientific(v float64) string {
	digits, power := mantissa(v)
	return strings.ReplaceAll(fmt.Sprintf("%se%d", digits, power), "-", "−")
}

// mantissa returns v = digits · 10^power, with at most three digits.
func mantissa(v float64) (digits string, power int) {
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	power, _ = strconv.Atoi(exponent)
	return strings.TrimSuffix(strings.TrimRight(digits, "0"), "."), power
}

func signed(v float64) string {
	s := number(v, 1)
	if v > 0 && s != "0.0" {
		return "+" + s
	}
	return s
}
