//go:build !(cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64) || (windows && amd64)))

package backend

import "github.com/gomlx/compute"

func forbidDownload() {}

// newXLACPU fails in GoMLX's words: this program was built without XLA.
func newXLACPU(config string) (compute.Backend, error) { return compute.NewWithConfig(config) }
