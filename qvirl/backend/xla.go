//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64) || (windows && amd64))

package backend

import (
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla" // registers "xla"
	"github.com/gomlx/go-xla/pjrt"
)

// forbidDownload keeps GoMLX from fetching a plugin from the network.
func forbidDownload() { xla.EnableAutoInstall(false) }

// newXLACPU returns a client of an XLA plugin for the CPU, with one device and one thread, where it can be limited to
// that.
func newXLACPU(config string) (b compute.Backend, err error) {
	_, plugin, _ := strings.Cut(config, ":")
	seeingOneProcessor(func() {
		var client *xla.Backend
		if client, err = xla.NewWithOptions(plugin, pjrt.NamedValuesMap{"cpu_device_count": int64(1)}); err == nil {
			b = client
		}
	})
	return b, err
}
