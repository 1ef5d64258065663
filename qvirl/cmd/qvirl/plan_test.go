package main

import (
	"strings"
	"testing"
)

// TestNoteOnEnds: whichever end more often, the demonstrations or the plan's episodes, unless it may be chance.
func TestNoteOnEnds(t *testing.T) {
	for _, c := range []struct {
		demonstrated, planned float64
		says                  string
	}{
		{1, 0, "100 % of the demonstrations reach an end, and 0 % of the plan's episodes: by the planned rewards"},
		{1, 0.625, "62 % of the plan's episodes: by"}, {0.1, 0, "0 % of the plan's episodes: by"},
		{0, 1, "0 % of the demonstrations reach an end, and 100 % of the plan's episodes: if an end is a failure"},
		{0, 0, ""}, {1, 1, ""}, {1, 0.75, ""}, {0.75, 1, ""}, {0, 0.25, ""},
	} {
		if got := noteEnds(c.demonstrated, c.planned); !strings.Contains(got, c.says) || (got == "") != (c.says == "") {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
