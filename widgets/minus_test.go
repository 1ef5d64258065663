package widgets

import "testing"

func TestMinus(t *testing.T) {
	for text, want := range map[string]string{
		"return -189 in 69 steps": "return −189 in 69 steps", "-1": "−1", "(-0.5, -2)": "(−0.5, −2)",
		"qvirl-20k, 8-by-8, 2000-2029": "qvirl-20k, 8-by-8, 2000-2029", "1e-3": "1e-3", "trade-off": "trade-off",
		"λ=-2": "λ=−2", "−3": "−3", "--5": "--5",
	} {
		if got := minus(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
