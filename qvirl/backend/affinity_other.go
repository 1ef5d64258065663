//go:build !linux

package backend

// seeingOneProcessor calls f. Only Linux can show it one processor.
func seeingOneProcessor(f func()) { f() }
