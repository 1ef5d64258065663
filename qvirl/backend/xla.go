//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64) || (windows && amd64))

package backend

// XLA is linked through cgo: a machine without a C compiler builds the packages without it and has pure Go.
import _ "github.com/gomlx/go-xla/compute/xla" // registers "xla"
