package main

import "testing"

// TestHelpNamesWhatWasCalled: the help of collect is that of another program, under the name that the user knows.
func TestHelpNamesWhatWasCalled(t *testing.T) {
	root := newRoot()
	cmd, _, err := root.Find([]string{"collect"})
	if err != nil {
		t.Fatal(err)
	}
	const help = "Usage:\n  demos collect ENVIRONMENT\n\ncollect stores demos in FILE.npz\n"
	const want = "Usage:\n  go run ./kernel-setup collect ENVIRONMENT\n\ncollect stores demos in FILE.npz\n"
	if got := asCalled(help, "demos", cmd); got != want {
		t.Errorf("the help is\n%s\nwant\n%s", got, want)
	}
}
