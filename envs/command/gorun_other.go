//go:build !linux

package command

// endWithGoRun does nothing where the system has no signal for a parent's death.
func endWithGoRun() {}
