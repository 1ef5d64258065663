// Package nb keeps the cells of a notebook short: an error ends the cell, and a statement about numbers is checked
// where it is made, whenever the notebook runs.
package nb

import "fmt"

// Must returns v, or ends the cell with the error.
func Must[T any](v T, err error) T {
	Check(err)
	return v
}

// Check ends the cell with the error, if there is one.
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// Verify prints a sentence, formatted as by fmt.Sprintf, with a tick if it holds, and ends the cell if it does not.
func Verify(holds bool, sentence string, args ...any) {
	text := fmt.Sprintf(sentence, args...)
	if !holds {
		panic("this does not hold: " + text)
	}
	fmt.Println("✓", text)
}
